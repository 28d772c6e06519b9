// What the page is about, and its links: a link to another page opens it as the menu does, where the
// browser would load the whole app again. `go` tells it from a way back, which brings nothing along.

// By its title: of a page that the menu opens, the address comes later.
function named() {
  const [, words] = Object.values(PAGES).find(([title]) => title === document.title) ?? [];
  document.querySelector("meta[name=description]").content = words ?? LOST;
  const here = new URL(location.href);
  if (!here.searchParams.has("go")) return;
  here.searchParams.delete("go");
  history.replaceState(history.state, "", here);
}

function open(event) {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.composedPath().find((element) => element.matches?.("a[href]"));
  const base = new URL(".", location.href).href;
  const [name, query] = link?.href.startsWith(base) ? link.href.slice(base.length).split("?") : [];
  const menu = link?.closest("[data-testid^=stTopNav], [data-testid^=stSidebarNav]");
  if (menu || !(name in PAGES)) return;
  event.preventDefault();
  history.pushState(null, "", `${base}${name}?${query ? `${query}&` : ""}go=1`);
  dispatchEvent(new PopStateEvent("popstate"));
}

// Where runs follow each other closely, Streamlit may clear away what the next one has begun to fill,
// or let go a message that the next one names, and then shows nothing any more. The address says all
// that the page has: it is loaded again.
const ENDS = /delta path|setIn/;
const GONE = "[data-test-connection-state=DISCONNECTED_FOREVER]";
const SOON = 10_000; // milliseconds in which once is enough

function again() {
  const last = Number(sessionStorage.getItem("again"));
  if (Date.now() < last + SOON) return;
  sessionStorage.setItem("again", Date.now());
  location.reload();
}

for (const event of ["error", "unhandledrejection"])
  addEventListener(event, ({ reason, message }) => ENDS.test(reason ?? message) && again());
new MutationObserver(() => document.querySelector(GONE) && again()).observe(document.body, {
  subtree: true,
  attributeFilter: ["data-test-connection-state"],
});
document.addEventListener("click", open);
// A page has another title, and says it once the server has read its address.
new MutationObserver(named).observe(document.querySelector("title"), { childList: true });
document.body.dataset.links = "here";
