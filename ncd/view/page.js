// What the page is about, and its links: a link to another page opens it as the menu does, where the
// browser would load the whole app again. `go` tells it from a way back, which brings nothing along.

export default function ({ data }) {
  const description = document.querySelector("meta[name=description]");
  if (description) description.content = data.words;
  const here = new URL(location.href);
  if (here.searchParams.has("go")) {
    here.searchParams.delete("go");
    history.replaceState(history.state, "", here);
  }
  const open = (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.composedPath().find((element) => element.matches?.("a[href]"));
    const base = new URL(".", location.href).href;
    const [name, query] = link?.href.startsWith(base) ? link.href.slice(base.length).split("?") : [];
    const menu = link?.closest("[data-testid^=stTopNav], [data-testid^=stSidebarNav]");
    if (menu || !data.pages.includes(name)) return;
    event.preventDefault();
    history.pushState(null, "", `${base}${name}?${query ? `${query}&` : ""}go=1`);
    dispatchEvent(new PopStateEvent("popstate"));
  };
  document.addEventListener("click", open);
  document.body.dataset.links = "here";
  return () => document.removeEventListener("click", open);
}
