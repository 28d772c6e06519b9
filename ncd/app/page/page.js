// Sets the page's description, and makes links between pages work like the menu: otherwise the
// browser would load the whole app again. Each time one is followed, `go` has another value.

const APP = "[data-testid=stApp]";
const BESIDE = "ninety-seconds"; // a page that the app does not run

// Until a font is there, letters have other widths, and rows of them other heights. The browser
// forgets those that are not in use whenever a style sheet comes.
const letters = Object.assign(document.createElement("div"), { ariaHidden: "true" });
letters.style = "position: fixed; visibility: hidden";
for (const { family, style, weight } of document.fonts) {
  if (!family.includes("NCD")) continue;
  const letter = Object.assign(document.createElement("span"), { textContent: "x" });
  letter.style.font = `${style} ${weight} 1px ${family}`;
  letters.append(letter);
}
document.body.append(letters);

// Marks the menu that has the page, or what hides it.
function mark() {
  const [name] = Object.entries(PAGES).find(([, [title]]) => title === document.title) ?? [];
  const sections = [...document.querySelectorAll("[data-testid=stTopNavSection]")];
  const own = sections.find((each) => each.innerText.trim().startsWith(MENUS[name]));
  const here = own ?? (MENUS[name] && sections.at(-1));
  for (const each of sections)
    if (each !== here) each.removeAttribute("aria-current");
    else if (!each.hasAttribute("aria-current")) each.setAttribute("aria-current", "true");
}

// Recognises a page by its title, as the address changes later.
function named() {
  mark();
  const [, words] = Object.values(PAGES).find(([title]) => title === document.title) ?? [];
  document.querySelector("meta[name=description]").content = words ?? LOST;
  const here = new URL(location.href);
  if (!here.searchParams.has("go")) return;
  here.searchParams.delete("go");
  history.replaceState(history.state, "", here);
}

// Asks for a run: by the diagram, or else, on a page that has none, by an address that is new.
function run() {
  const kept = document.ncdKept;
  if (kept?.shown) return kept.host.send("select", {});
  const here = new URL(location.href);
  here.searchParams.set("go", Date.now());
  history.replaceState(history.state, "", here);
  dispatchEvent(new PopStateEvent("popstate"));
}

// Drawings and maps have the colours of the theme in which they were asked for.
let scheme = null;
const themed = new MutationObserver(() => {
  const before = scheme;
  scheme = getComputedStyle(document.querySelector(APP)).colorScheme;
  if (before !== null && before !== scheme) run();
});

function watch() {
  mark();
  const app = scheme === null && document.querySelector(APP);
  if (!app) return;
  scheme = getComputedStyle(app).colorScheme;
  themed.observe(app, { attributeFilter: ["class"] });
}

function open(event) {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.composedPath().find((element) => element.matches?.("a[href]"));
  const base = new URL(".", location.href).href;
  const [name, query] = link?.href.startsWith(base) ? link.href.slice(base.length).split("?") : [];
  if (name === BESIDE) {
    event.preventDefault(); // otherwise it opens in a new tab
    return location.assign(link.href);
  }
  const menu = link?.closest("[data-testid^=stTopNav], [data-testid^=stSidebarNav]");
  if (menu || !(name in PAGES)) return;
  event.preventDefault();
  visit(name, query);
}

export function visit(name, query = "") {
  const base = new URL(".", location.href).href;
  history.pushState(null, "", `${base}${name}?${query ? `${query}&` : ""}go=${Date.now()}`);
  dispatchEvent(new PopStateEvent("popstate"));
}

// When runs follow closely, Streamlit may drop elements or messages that the next run refers to,
// and then shows nothing. As the address contains the whole state, the page is reloaded.
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
// The menu is made anew when the width of the window changes.
new MutationObserver(watch).observe(document.body, { subtree: true, childList: true });
// The title changes when the server has read the new address.
new MutationObserver(named).observe(document.querySelector("title"), { childList: true });
document.body.dataset.links = "here";
