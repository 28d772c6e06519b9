// The presenter view: only the page on the screen, and a list of views walked by keys. The address
// has all of it: `present` is the index in the list, `views` the list, and `with=panel` shows the
// panel too. The list is kept while nothing is presented.

import { copy, embed } from "../page/copy_link.js";
import { askClass, closeTally, drawTally, dropTally, enlargeCode } from "./class_tally.js";
import { code, learn, ownText, PACKED, question, share, take, unpack } from "./lesson.js";
import { rows } from "./view_list.js";

export const OWN = ["present", "views", "with"];
const KEPT = "ncd-views";
const MOST = 40; // views
const LETTERS = 8000; // of all of them in the address
export const CAPTION = 200; // letters
// What is not the state of a panel, beside the sizes.
const ABOVE = /^(seed|device|labels|select|axes|folded|callouts|quiz|ask|input|sample.*|picture|proofread|text.*|drawing)$/;
const BLOCK = ".stMainBlockContainer > .stVerticalBlock"; // all of the page
const AROUND = 24; // pixels above and below it
const LEAST = 0.3; // the share of the window's height that a diagram takes at least
const BESIDE = 0.38; // and at most, above a panel
const TYPES = "input, textarea, select, [contenteditable], [role=slider], [role=spinbutton]";
const MOVES = `${TYPES}, [role=tab], [role=radio], [role=application], [role=listbox], [role=menu]`;
const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Home: -Infinity, End: Infinity };

export default function ({ parentElement, data }) {
  const host = (parentElement.ncdPresent ??= prepare(parentElement, data));
  host.sizes = data.sizes;
  host.find("embed").hidden = !data.framed;
  sync(host);
  return host.end;
}

function prepare(root, { pages, sizes }) {
  const find = (name) => root.querySelector(`.${name}`);
  const host = { find, pages, sizes, on: false, at: 1, views: [] };
  const acts = {
    copy: () => copy(find("copy")),
    embed: () => embed(find("embed")),
    present: () => begin(host),
    add: () => add(host),
    collect: () => add(host),
    back: () => walk(host, -1),
    next: () => walk(host, 1),
    list: () => unfold(host, find("sheet").hidden),
    panel: () => write(host, { with: own().get("with") ? null : "panel" }),
    screen: () => screen(!document.fullscreenElement),
    leave: () => leave(host),
    lesson: () => learn(host),
    link: () => share(host),
    phones: () => code(host, find("phone").hidden),
    shut: () => code(host, false),
    "ask-class": () => askClass(host),
    "class-door": () => enlargeCode(host, !host.find("class-door").matches(".large")),
  };
  for (const [name, act] of Object.entries(acts)) find(name).onclick = act;
  find("open").firstElementChild.onchange = ({ target }) => take(host, target);
  const heard = [
    [window, "popstate", () => sync(host)],
    [window, "keydown", () => arm(host), true], // before others let go at Escape
    [window, "keydown", (event) => press(host, event)],
    [document, "fullscreenchange", () => sync(host)],
  ];
  for (const [where, ...own] of heard) where.addEventListener(...own);
  const room = new ResizeObserver(() => fit());
  for (const where of [".stMain", BLOCK]) room.observe(document.querySelector(where));
  host.end = () => {
    dropTally(host);
    room.disconnect();
    for (const [where, ...own] of heard) where.removeEventListener(...own);
    host.ended = true;
    delete root.ncdPresent;
  };
  return host;
}

// --- the address --------------------------------------------------------------------------------

export const asked = () => new URLSearchParams(location.search);

// Returns the presenter's part of the address.
export function own() {
  return new URLSearchParams([...asked()].filter(([name]) => OWN.includes(name)));
}

// Returns the current page as a view; its panel is part of it once something was chosen there.
export function here(host) {
  const query = asked();
  const chosen = [...query.keys()].some((name) => !(OWN.includes(name) || ABOVE.test(name) || host.sizes.includes(name)));
  if (!host.on && chosen) query.set("with", "panel");
  for (const name of Array.from(query.keys()))
    if (name.startsWith("embed") || name === "go" || (OWN.includes(name) && name !== "with")) query.delete(name);
  const tab = document.querySelector(".st-key-panels [role=tab][aria-selected=true]");
  if (query.has("with") && tab) query.set("panel", tab.textContent);
  return { name: page(), query: `${query}`, caption: "" };
}

export const page = () => location.pathname.split("/").pop();

// `name?query#caption`, separated by semicolons, which are escaped inside.
export function spell(views) {
  return views
    .map(({ name, query, caption }) =>
      [name, query && `?${query}`, caption && `#${encodeURIComponent(caption)}`].join(""),
    )
    .join(";");
}

export function read(text, pages) {
  if (!text || text.length > LETTERS) return [];
  const found = text.split(";").map((each) => {
    const [, name, query, caption = ""] = /^([^?#]*)\??([^#]*)#?(.*)$/s.exec(each);
    return { name, query, caption: plain(caption).slice(0, CAPTION) };
  });
  return found.filter(({ name }) => Object.hasOwn(pages, name)).slice(0, MOST);
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

// A view has its own `with`; the list and the index are added.
export function write(host, change) {
  const query = asked();
  for (const [name, value] of Object.entries(change))
    if (value === null) query.delete(name);
    else query.set(name, value);
  history.replaceState(history.state, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
  sync(host);
}

// A question is answered before its view is left.
function walk(host, steps) {
  const unanswered = steps > 0 && question()?.querySelector("[data-pick=show]");
  if (unanswered && host.tally?.open) closeTally(host);
  if (unanswered) return unanswered.click();
  const to = Math.min(Math.max(host.at + steps, 1), host.views.length);
  if (to !== host.at) go(host, to);
}

export function go(host, place) {
  const view = host.views[place - 1];
  const query = new URLSearchParams(view.query);
  const text = asked().get("text"); // one's own system is the same in all views
  if (text && view.name === page() && !query.has("text")) query.set("text", text);
  for (const [name, value] of asked()) if (name.startsWith("embed")) query.append(name, value);
  query.set("present", place);
  query.set("views", spell(host.views));
  const way = view.name === page() ? "replaceState" : "pushState"; // a page is one entry
  history[way](null, "", new URL(`${view.name}?${query}`, new URL(".", location.href)));
  dispatchEvent(new PopStateEvent("popstate"));
}

// --- the list -----------------------------------------------------------------------------------

function stored() {
  try {
    return sessionStorage.getItem(KEPT) ?? localStorage.getItem(KEPT);
  } catch {
    return ""; // where a browser keeps nothing
  }
}

export function store(host, mine) {
  try {
    sessionStorage.setItem(KEPT, spell(host.views));
    if (mine) localStorage.setItem(KEPT, spell(host.views));
  } catch {
    // the list is in the address only while presenting
  }
}

function add(host) {
  const views = [...host.views];
  const place = (host.on && Math.min(host.at, views.length)) || views.length;
  views.splice(place, 0, here(host));
  const fits = views.length <= MOST && spell(views).length <= LETTERS;
  if (fits) change(host, views, place + 1);
  say(host, fits ? `Added: ${count(views.length)}` : `No more fit: ${count(host.views.length)}`);
}

const count = (n) => (n === 1 ? "1 view" : `${n} views`);

// The current view keeps its index among the others.
export function change(host, views, at = views.indexOf(host.views[host.at - 1]) + 1 || host.at) {
  host.views = views;
  store(host, true);
  if (host.on) write(host, { views: spell(views) || null, present: views.length ? Math.min(at, views.length) : 1 });
  else sync(host);
}

export function say(host, words) {
  const told = host.find("told");
  told.textContent = words;
  clearTimeout(host.told);
  host.told = setTimeout(() => (told.textContent = ""), 2500 + 40 * words.length);
}

// --- what is seen -------------------------------------------------------------------------------

function sync(host) {
  const query = own();
  if (query.get("views")?.startsWith(PACKED)) return unpack(host, query.get("views"));
  const linked = read(query.get("views"), host.pages);
  host.views = linked.length ? linked : read(stored(), host.pages);
  if (linked.length) store(host, false);
  host.on = query.has("present");
  if (query.get("present") === "lesson") learn(host);
  const place = parseInt(query.get("present"));
  const at = Math.max(0, Math.min(place >= 0 ? place : 1, host.views.length || 1));
  const elsewhere = !linked.length && host.views.length && host.views[at - 1]?.name !== page();
  host.at = elsewhere ? 0 : at; // 0: none of them
  const { dataset } = document.documentElement;
  if (host.on) dataset.present = query.get("with") === "panel" ? "panel" : "alone";
  else delete dataset.present;
  draw(host);
  fit();
}

// Gives the diagram the height that all else leaves: the title, the chips, a question, its answer.
export function fit() {
  const { dataset, style } = document.documentElement;
  const whole = document.ncdDiagram?.box.querySelector(".whole");
  style.removeProperty("--whole-tall");
  if (!dataset.present || !whole?.isConnected || innerWidth <= 640) return;
  const rest = document.querySelector(BLOCK).offsetHeight - whole.offsetHeight;
  const tall = document.querySelector(".stMain").clientHeight - rest - AROUND;
  const least = innerHeight * LEAST;
  const beside = dataset.present === "panel" && innerHeight * BESIDE; // a longer panel is scrolled
  style.setProperty("--whole-tall", `${tall < least ? beside || least : Math.min(tall, beside || tall)}px`);
}

function draw(host) {
  const { find, on, at, views } = host;
  const many = views.length;
  find("share").hidden = on;
  find("bar").hidden = !on;
  find("many").textContent = many ? ` ${many}` : "";
  find("walk").hidden = !many;
  find("place").textContent = `${at || "–"} / ${many}`;
  find("back").disabled = at <= 1;
  find("next").disabled = at >= many;
  find("caption").textContent = (on && views[at - 1]?.caption) || "";
  find("caption").hidden = !find("caption").textContent;
  document.documentElement.toggleAttribute("data-said", !find("caption").hidden); // in place of the lead
  find("panel").setAttribute("aria-pressed", own().get("with") === "panel");
  find("screen").setAttribute("aria-pressed", Boolean(document.fullscreenElement));
  const every = `views=${encodeURIComponent(spell(many ? views : [here(host)]))}`;
  find("file").href = `./presentation.html?${every}${ownText("&")}`;
  find("kept").href = `./lesson.json?${every}`;
  if (!on) code(host, false);
  drawTally(host);
  if (!find("sheet").hidden) rows(host);
}

// The presentation begins at the current page: at its view, or outside of the list.
function begin(host) {
  const { views } = host;
  const { name, query } = here(host);
  const now = `${new URLSearchParams(query)}`;
  const same = views.findIndex((view) => view.name === name && `${new URLSearchParams(view.query)}` === now);
  if (same >= 0) go(host, same + 1);
  else write(host, { present: views.length ? 0 : 1, views: spell(views) || null });
  screen(true);
  host.find("next").focus();
}

function leave(host) {
  unfold(host, false);
  screen(false);
  write(host, { present: null, views: null, with: null });
  host.find("present").focus();
}

export function screen(wanted) {
  const done = wanted
    ? document.documentElement.requestFullscreen?.()
    : document.fullscreenElement && document.exitFullscreen();
  done?.catch(() => {}); // a frame may not
}

function unfold(host, open) {
  host.find("sheet").hidden = !open;
  host.find("list").setAttribute("aria-expanded", open);
  if (open) rows(host);
}

// --- the keyboard -------------------------------------------------------------------------------

// Escape first closes the list, or clears the selection.
function arm(host) {
  const light = document.ncdLight;
  host.free = !light?.target && !light?.axes.some(Boolean);
}

function press(host, event) {
  const { key, ctrlKey, metaKey, altKey } = event;
  if (!host.on || event.defaultPrevented || ctrlKey || metaKey || altKey) return;
  const inner = event.composedPath()[0];
  const within = (what) => inner.closest?.(what);
  if (key === "Escape" && host.find("class-door").matches(".large")) enlargeCode(host, false);
  else if (key === "Escape" && !host.find("phone").hidden) code(host, false);
  else if (key === "Escape" && document.fullscreenElement) screen(false);
  else if (key === "Escape") escape(host, within);
  else if (key in STEPS && host.views.length && !within(MOVES)) {
    event.preventDefault();
    walk(host, STEPS[key]);
  } else if (key.toLowerCase() === "f" && !within(`${TYPES}, [data-fence]`)) screen(!document.fullscreenElement);
}

function escape(host, within) {
  if (!host.find("sheet").hidden) {
    unfold(host, false);
    host.find("list").focus();
  } else if (host.free && !within(`${TYPES}, [aria-expanded=true]:not(svg *), [role=dialog], [role=listbox]`)) leave(host);
}
