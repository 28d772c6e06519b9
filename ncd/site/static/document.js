// The page of one diagram: the selection and its card, collapsed blocks, light and dark theme.

import { bytes } from "./figure/bytes.js";
import { showDrawing } from "./figure/drawing.js";
import { connect, letGo, light, paint, shine, target } from "./figure/highlight.js";
import { spelt } from "./figure/sizes.js";
import { isDark, onTheme, turnTheme } from "./figure/theme.js";
import { paintWires } from "./figure/wire_values.js";
import { address, follow, label, shown, START } from "./live_sizes.js";

export const host = connect({ parentElement: document, setTriggerValue: select });
host.opens = true;
export const drawing = document.querySelector(".drawing");
const READABLE = 0.8; // of the size of a drawing, so that its titles have 11 pixels
const hint = document.querySelector(".hint");
let state = document.getElementById("states").dataset.state;
let known = null; // the drawings, once they are unpacked
export let mode = "views"; // or "valued", with values on the wires
export let wireValues = null; // once they are asked for
let view = 0; // the place of those for this width; the first is in the page itself
export let selected = "";
let from = null; // where the focus was when a card opened

showDrawing(drawing, "", rowIds(), fit);
mark();

// Slightly enlarged where there is room.
function fit(svg) {
  svg.style.width = `min(100%, ${1.3 * svg.viewBox.baseVal.width}px)`;
}

// A row for each block that can be collapsed.
function rows() {
  return [...document.querySelectorAll(".row[data-fold]")];
}

function rowIds() {
  return rows().map((row) => row.dataset.fold);
}

// Applies a click; clicking the same part again clears the selection. Axes are already locked.
export function select(kind, { id }) {
  if (kind !== "select") return;
  if (id === undefined) return address();
  if (document.ncdQuiz?.on && id) return document.ncdQuiz.pick(id);
  selected = id === selected ? "" : id;
  shine({ target: target(selected) });
  open_card();
  address();
}

// Shows the card of the selection, the only one in the document.
async function open_card() {
  const html = (await later)[selected];
  const { activeElement: before } = document;
  const [keys, inside] = [before?.matches(":focus-visible"), before?.closest(".card")];
  document.querySelector(".card")?.remove();
  if (!html) return;
  hint.insertAdjacentHTML("beforebegin", html);
  const card = document.querySelector(".card");
  if (!inside) from = before;
  if (keys) card.focus();
  filled(card);
}

// Updates what has come into the page: its sizes, its buttons, its highlights.
export function filled(place) {
  follow(place);
  mark();
  paint(host);
}

export function close() {
  const back = document.activeElement?.closest(".card") ? from : null;
  letGo(host);
  back?.focus();
}

light.fold = foldBlock;

// The page contains, compressed, the drawings of every state of its collapsed blocks for some widths
// of the page, the cards by their ids, and the parts that open.
export const later = unpack("later");
const views = unpack("states").then(({ parts, views, valued }) => {
  const drawn = ([name, own]) => [name, own.map((i) => parts[i]).join("")];
  const drawings = ({ states }) => ({ drawings: Object.fromEntries(Object.entries(states).map(drawn)) });
  return { views: views.map(drawings), valued: valued.map(drawings) };
});
views.then((every) => {
  known = every[mode];
  mark();
});

async function unpack(id) {
  const packed = bytes(document.getElementById(id).textContent);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

async function foldBlock(id) {
  const { drawings: found } = (await views)[mode][view];
  if (!rows().some((row) => row.dataset.fold === id)) return;
  const shut = new Set(state.split(" ").filter(Boolean));
  const folds = !shut.has(id);
  if (folds) shut.add(id);
  else shut.delete(id);
  const inner = folds ? inside(id) : new Set();
  const wanted = new Set([...shut].filter((other) => !inner.has(other)));
  state = nearest(Object.keys(found), wanted, id);
  show(found[state]);
}

// A large diagram has only some states in the page: picks the one most like the wish.
function nearest(names, wanted, id) {
  let best = state;
  let least = Infinity;
  for (const name of names) {
    const shut = new Set(name.split(" ").filter(Boolean));
    const both = [...shut].filter((other) => wanted.has(other)).length;
    const apart = shut.size + wanted.size - 2 * both;
    if (shut.has(id) === wanted.has(id) && apart < least) [best, least] = [name, apart];
  }
  return best;
}

// The blocks hidden inside a collapsed one.
function inside(id) {
  const depth = (row) => parseFloat(row.style.marginLeft);
  const at = rows().findIndex((row) => row.dataset.fold === id);
  const after = rows().slice(at + 1);
  const end = after.findIndex((row) => depth(row) <= depth(rows()[at]));
  return new Set((end < 0 ? after : after.slice(0, end)).map((row) => row.dataset.fold));
}

// Shows the drawing for the widest page on which it can be read here.
async function choose(changed = false) {
  const every = (await views)[mode];
  const across = ({ drawings: found }) => Number(/viewBox="\S+ \S+ (\S+)/.exec(Object.values(found)[0])[1]);
  const fits = every.findIndex((each) => drawing.clientWidth >= READABLE * across(each));
  const wanted = fits < 0 ? every.length - 1 : fits;
  if (wanted === view && !changed) return;
  [view, known] = [wanted, every];
  const { drawings: found } = every[view];
  if (!(changed && state in found)) [state] = Object.keys(found);
  show(found[state]);
}

addEventListener("resize", () => choose());
choose();

// --- values on the wires -------------------------------------------------------------------------

const valuesButton = document.querySelector(".tools .values");
valuesButton?.addEventListener("click", () => showValues(mode === "views"));
document.addEventListener("sizes", paintValues);
onTheme(paintValues);

export async function showValues(on) {
  if (!valuesButton || on === (mode === "valued")) return;
  mode = on ? "valued" : "views";
  valuesButton.setAttribute("aria-pressed", on);
  address();
  await choose(true);
}

// Paints the values, which are those of the first sizes; says at which others there are none.
async function paintValues() {
  const note = document.querySelector(".valued");
  note.hidden = mode === "views";
  if (note.hidden) return;
  const told = await (wireValues ??= unpack("wire-values"));
  const others = [...START].filter(([name, value]) => shown.get(name) !== value);
  drawing.classList.toggle("unvalued", others.length > 0);
  const first = others.map(([name, value]) => `${spelt(name)} = ${value.toLocaleString("en-US")}`).join(", ");
  note.textContent = first ? `The values are those of ${first}: at the sizes set now this file has none.` : told.said;
  if (first) document.dispatchEvent(new Event("unvalued")); // a site runs the system
  else paintWires(drawing, told, isDark());
}

function show(text) {
  showDrawing(drawing, text, rowIds(), fit);
  label();
  document.ncdQuiz?.veil();
  paintValues();
  paint(host);
  mark();
}

// Returns whether a drawing here has a block folded the other way.
function turns(id) {
  const has = (name) => name.split(" ").includes(id);
  return !known || Object.keys(known[view].drawings).some((name) => has(name) !== has(state));
}

// Updates the legend and the block buttons: axes that are not drawn are hidden, and a block inside
// a collapsed one cannot be collapsed itself.
function mark() {
  for (const row of document.querySelectorAll(".row[data-axis]"))
    row.hidden = !drawing.querySelector(`.wire[data-axis="${CSS.escape(row.dataset.axis)}"]`);
  const shut = new Set(state.split(" "));
  for (const button of document.querySelectorAll("button[data-fold]")) {
    const { fold: id } = button.dataset;
    button.setAttribute("aria-expanded", !shut.has(id));
    button.disabled = !drawing.querySelector(`[data-fence="${id}"]`) || !turns(id);
    if (!button.classList.contains("row")) button.textContent = shut.has(id) ? "Unfold" : "Fold";
  }
}

document.addEventListener("click", (event) => {
  if (event.target.closest(".close")) close();
  else if (event.target.closest(".theme")) turnTheme();
});
for (const part of document.querySelectorAll("[data-later]")) part.addEventListener("toggle", open_part, { once: true });

async function open_part({ target: part }) {
  const place = part.querySelector("[data-live]");
  place.innerHTML = (await later)[part.dataset.later];
  filled(part);
}

// In another page, with `embed` in its link, it shows the diagram, its sizes and cards alone;
// `dark` (1 or 0) chooses a theme, and `sizes=off` leaves the sizes out.
const asked = new URLSearchParams(location.search);
if (asked.has("embed")) embed(document.documentElement);

function embed(root) {
  root.classList.add("embed");
  root.style.colorScheme = { 1: "dark", 0: "light" }[asked.get("dark")] ?? "";
  const sizes = document.querySelector(".sizes");
  sizes.classList.toggle("off", asked.get("sizes") === "off");
  const whole = Object.assign(document.createElement("a"), { target: "_blank", textContent: document.title });
  sizes.append(whole);
  const here = () => (whole.href = location.href.replace(/\bembed=?&?/, ""));
  document.addEventListener("sizes", here);
  here();
  const box = document.querySelector(".ncd");
  const tell = () => parent.postMessage({ ncd: "height", height: Math.ceil(box.getBoundingClientRect().height) }, "*");
  new ResizeObserver(tell).observe(box);
}

document.addEventListener(
  "keydown",
  (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  },
  true,
);
