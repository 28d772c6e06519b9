// The diagram: the drawing from the server, and everything around it.

import { readable, scale, showDrawing } from "../../site/static/figure/drawing.js";
import { connect, letGo, light, paint, shine, target } from "../../site/static/figure/highlight.js";
import { fillPart } from "../../site/static/figure/html.js";
import { dropSize, scrub } from "../../site/static/figure/scrub.js";
import { endMove, PATIENCE, set, settle } from "./follow_session.js";
import { adapt, learn, replaced, retell, wanted } from "./live_numbers.js";
import { leaving, moveParts } from "./motion.js";
import { askNewest } from "./newest_answer.js";
import { knob, reconnect } from "./reconnect.js";

const PAIRED = 840; // pixels of a column in which the code has room beside the drawing

export default function (component) {
  const host = connect(component);
  host.opens = true;
  if (host.page !== component.data.page) host.want = null;
  host.page = component.data.page;
  if (!host.ready) prepare(host);
  host.box.style.setProperty("--share", `${component.data.height}vh`);
  host.keyed = component.data.keys;
  fillPart(host, "keys", host.keyed);
  host.listing = component.data.listing;
  fillPart(host, "listing", host.listing);
  host.box.querySelector(".change").hidden = !component.data.changeable;
  show(host);
  measure(host);
  line(host);
  paint(host);
  return host.leave;
}

// The last message under a name, or under a second one that completes it, if their links are equal.
function latest(host, first, second) {
  const { [first]: one, [second]: other } = document.ncdTold ?? {};
  const data = other?.page === one?.page && other?.link === one?.link ? other : one;
  return data?.page === host.page ? data : null;
}

// Shows the drawing that was sent last for this page.
function show(host) {
  const data = latest(host, "ncd-drawn");
  if (!data || data === host.heard || !due(host, data)) return;
  hold(host, data);
  host.heard = host.data = data;
  const changed = renew(host, data);
  fillPart(host, "keys", host.keyed);
  fillPart(host, "noted", data.noted);
  for (const radio of host.box.querySelectorAll(".labels input"))
    radio.checked = radio.value === data.labels;
  const callouts = host.box.querySelector(".callouts");
  callouts.hidden = data.callouts === null;
  callouts.firstChild.checked = data.callouts;
  host.box.querySelector(".labels").hidden = Boolean(data.veiled);
  host.box.querySelector(".quiz input").checked = Boolean(data.quiz);
  if (host.fits === data.wide) host.fits = null;
  measure(host);
  const lit = `${data.selected} ${data.lit}`;
  if (!changed && host.lit !== lit && !late(data.lit)) relight(data);
  host.lit = lit;
  line(host);
  paint(host);
}

// Keeps the height of the frame when only other labels were chosen, so that nothing moves below it.
function hold(host, data) {
  const frame = host.box.querySelector(".drawing");
  const layout = ({ page, wide, ask, callouts, labels }) =>
    `${[page, wide, callouts, /folded=[^&]*/.exec(ask), labels === "values"]}`; // pictures take more room
  if (!host.data || layout(host.data) !== layout(data)) frame.style.minHeight = "";
  else if (host.data.labels !== data.labels) {
    const { height } = getComputedStyle(frame); // to three digits; layout counts in 64ths
    frame.style.minHeight ||= `${parseFloat(height) + 0.01}px`;
  }
}

// Updates what a size changes; returns whether anything changed.
function renew(host, data) {
  light.folds = (id) => id in data.folds;
  light.fold = (id) => {
    if (light.folds(id)) host.send("select", { folded: data.folds[id] });
  };
  const changed = draw(host, data);
  fillPart(host, "chips", data.chips);
  if (changed) relight(data);
  adapt(host);
  paint(host);
  return changed;
}

function relight({ selected, lit }) {
  shine({ target: target(selected), chosen: selected, axes: lit.split(",") });
}

// Returns whether an answer belongs to an earlier choice than the current one, which then stays.
function late(axes) {
  const before = light.asked?.slice(0, -1).includes(axes) && light.asked.at(-1) !== axes;
  if (!before) light.asked = null;
  return Boolean(before);
}

// Returns whether to show a message: not if a slider has moved on from its setting.
function due(host, data) {
  if (data.ask === host.want || !host.past?.has(data.ask) || performance.now() > host.until)
    host.want = host.past = null;
  return !host.want;
}

// While a slider moves, asks for what follows; the page's run comes when it is let go.
function moved(host, thumb) {
  const slider = thumb.closest("[class*=st-key-]");
  if (thumb.type === "range" && slider?.matches(":focus-within, :active")) want(host, knob(thumb), thumb.value);
}

export function want(host, name, value) {
  const params = new URLSearchParams(host.want ?? host.data?.ask);
  if (!params.has(name) || params.get(name) === value) return;
  host.past = (host.past ?? new Set()).add(`${params}`);
  params.set(name, value);
  host.want = `${params}`;
  host.past.delete(host.want);
  host.until = performance.now() + PATIENCE;
  adapt(host);
  learn(host);
  askNewest((host.asker ??= {}), {
    wanted: () => host.want && `./_ncd/${host.page}?${host.want}`,
    headers: () => ({ "X-NCD-Session": document.ncdSeen?.sessions.at(-1) ?? "" }),
    show: (part, address) => showMove(host, part, address),
    fail: () => tellParts(null),
  });
}

// Shows what has come for a move: the drawing with the words around it, or the open panel.
function showMove(host, { parts, cost, ...ahead }, address) {
  const [page, asked] = address.replace("./_ncd/", "").split("?");
  if (host.page !== page) return; // for another page by now
  if (parts) return tellParts(parts);
  if (!host.want) return; // a run has shown it
  fillPart(host, "cost", cost);
  host.data = { ...host.data, ...ahead, ask: asked };
  if (!ahead.svg) return;
  if ("noted" in ahead) fillPart(host, "noted", ahead.noted);
  renew(host, host.data);
  if (asked === host.want && asked === host.heard?.ask) host.want = host.past = null; // back again
}

// Passes what panels show on to them; none lets each show what its run has sent.
function tellParts(parts) {
  document.ncdMoved = parts;
  document.dispatchEvent(new Event("ncd-moved"));
}

// Asks for a drawing that fits, where the column has another width than the drawing was made for.
function measure(host) {
  const room = host.box.clientWidth;
  if (!room || !host.data) return;
  const { wide, widths } = host.data;
  const presented = document.documentElement.dataset.present; // scaled there to what is free
  host.box.classList.toggle("paired", Boolean(host.listing) && room >= PAIRED && !presented);
  const least = presented && innerWidth > 640 ? widths.find((width) => width >= room) ?? widths.at(-1) : 0;
  const fits = least || (widths.findLast((width) => width <= room) ?? widths[0]);
  if (fits === wide || fits === host.fits) return;
  host.fits = fits;
  document.cookie = `ncd_wide=${fits}; path=/; samesite=lax`;
  host.send("select", { wide: `${fits}` });
}

// The line under the diagram, with the measured time once that has arrived; not that of another
// drawing than the one that is shown.
function line(host) {
  const data = latest(host, "ncd-line", "ncd-time");
  if (data && !host.want && data.link === host.heard?.link) fillPart(host, "cost", data.cost);
}

// Runs once, when the page opens.
function prepare(host) {
  const { box } = host;
  host.ready = true;
  box.querySelector(".skip").onclick = () => box.querySelector(".after").focus();
  box.querySelector(".labels").onchange = (event) =>
    host.send("select", { labels: event.target.value });
  box.querySelector(".callouts").onchange = (event) =>
    host.send("select", { callouts: event.target.checked ? "on" : "off" });
  box.querySelector(".quiz").onchange = (event) =>
    host.send("select", { quiz: event.target.checked ? "1" : "" });
  box.querySelector(".change").onclick = ({ target }) => {
    const here = new URLSearchParams(location.search); // which follows a press and a move late
    const ran = new URLSearchParams(host.heard?.ask);
    for (const [name, size] of wanted(host)) if (size !== ran.get(name)) here.set(name, size);
    here.delete("select");
    if (light.chosen) here.set("select", light.chosen);
    here.set("of", host.page);
    target.search = here;
  };
  host.hand = scrub(box, {
    formulas: () => (host.open?.page === host.page ? host.open : null),
    sizes: () => host.data?.ask && wanted(host),
    set: (...size) => set(host, ...size),
    rest: () => settle(host, 0),
    learn: () => learn(host),
  });
  box.addEventListener("pointermove", (event) => tell(host, event.target, event.clientX, event.clientY));
  box.addEventListener("pointerleave", () => tell(host, null));
  box.addEventListener("focusin", (event) => beside(host, event.target));
  box.addEventListener("focusout", () => tell(host, null));
  const release = (event) => {
    escape(host, event);
    endMove(host, event);
  };
  const drawn = () => show(host);
  const timed = () => line(host);
  const heard = {
    keydown: release,
    pointerdown: (event) => endMove(host, event),
    input: (event) => moved(host, event.target), // of a key; a drag is seen in the slider itself
    "ncd-drawn": drawn,
    "ncd-panel": () => replaced(host),
    "ncd-line": timed,
    "ncd-time": timed,
  };
  for (const [event, heed] of Object.entries(heard)) document.addEventListener(event, heed);
  host.column = new ResizeObserver(() => measure(host));
  host.column.observe(box.querySelector(".drawing"));
  const sliders = new MutationObserver((records) => records.forEach((each) => moved(host, each.target)));
  sliders.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
  document.ncdDiagram = host; // what is wanted of it, for a process that is asked next
  const parted = reconnect(host);
  host.leave = () => {
    clearTimeout(host.click);
    clearTimeout(host.resting);
    parted();
    sliders.disconnect();
    host.column.disconnect();
    for (const [event, heed] of Object.entries(heard)) document.removeEventListener(event, heed);
    shine({ hover: null, target: null, axes: [] });
    host.end();
  };
}

// Escape clears the selection wherever the focus is, unless it closes something else.
function escape(host, event) {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  if (host.hand.drag?.on) return dropSize(host.hand, true);
  const inner = event.composedPath()[0];
  if (inner.closest?.("[aria-expanded=true]:not(svg *), [role=dialog], [role=listbox]")) return;
  tell(host, null);
  const key = host.box.querySelector(".key[open]");
  if (!key) return letGo(host);
  key.open = false;
  key.querySelector("summary").focus();
}

// Replaces the drawing only if it changed.
function draw(host, { svg: text, folds, shape, motion }) {
  const moves = motion && host.shape === motion.from;
  host.shape = shape;
  if (host.text === text) return false;
  host.text = text;
  const before = moves && host.box.querySelector(".drawing > svg");
  const old = before && leaving(before);
  const fit = (svg) => {
    const noted = svg.querySelector(".note"); // callouts stand above and below the drawing
    const pictured = svg.querySelector(".thumbnail");
    scale(svg, readable(svg), 1.6, innerWidth <= 640 ? 90 : pictured ? 60 : noted ? 38 : 35);
    keepPictures(host.box, svg);
  };
  const svg = showDrawing(host.box.querySelector(".drawing"), text, Object.keys(folds), fit, old ? motion.ids : {});
  call(svg);
  if (old) moveParts(old, svg, motion.ids);
  // What was pushed down becomes visible in a later frame than the one that moves it.
  requestAnimationFrame(() => setTimeout(() => delete document.documentElement.dataset.opening, 30));
  return true;
}

// While a slider moves, its drawings come without pictures; those of before stay until the run ends.
function keepPictures(box, svg) {
  for (const empty of svg.querySelectorAll(".thumbnail:not(:has(image))")) {
    const old = box.querySelector(`.thumbnail[data-array="${empty.dataset.array}"]`);
    if (!old) continue;
    const [from, to] = [old, empty].map((each) => each.querySelector("rect"));
    const part = (side) => to.getAttribute(side) / from.getAttribute(side);
    const [across, down] = [part("width"), part("height")];
    for (const image of old.querySelectorAll("image")) {
      const moved = image.cloneNode();
      for (const [at, side, share] of [["x", "width", across], ["y", "height", down]]) {
        const away = image.getAttribute(at) - from.getAttribute(at);
        moved.setAttribute(at, +to.getAttribute(at) + share * away);
        moved.setAttribute(side, share * image.getAttribute(side));
      }
      empty.append(moved);
    }
  }
}

// The browser would show a title as a second tooltip; an aria-label is only read aloud.
function call(svg) {
  for (const title of svg.querySelectorAll("title")) {
    const named = title.parentNode;
    named.setAttribute("aria-label", title.textContent);
    if (!named.hasAttribute("role")) named.setAttribute("role", "img");
    title.remove();
  }
}

// Shows what the pointer or the focus is on, in words; for a wire, its array with all sizes.
function tell(host, element, x = 0, y = 0) {
  const tip = host.box.querySelector(".words");
  const held = host.hand.drag?.on && host.told; // what is dragged, wherever the pointer is
  host.told = held || element?.closest?.(".drawing [aria-label]:not(svg), .chip");
  retell(host, held ? null : element);
  if (!host.told) return;
  const frame = host.box.getBoundingClientRect();
  const left = Math.min(x - frame.left + 12, frame.width - tip.offsetWidth);
  tip.style.translate = `${Math.max(0, left)}px ${y - frame.top + 20}px`;
}

function beside(host, element) {
  learn(host);
  if (!element.matches(":focus-visible")) return;
  const { left, bottom } = element.getBoundingClientRect();
  tell(host, element, left, bottom - 12);
}
