// A panel with a map: HTML from the server around a zoomable picture of cells, with axis labels.
// The zoom is kept while the axes stay the same.

import { bytes, floats } from "../../site/static/figure/bytes.js";
import { connect, paint } from "../../site/static/figure/highlight.js";
import { fillPart } from "../../site/static/figure/html.js";
import { paintCells, shade } from "../../site/static/figure/cells.js";
import { stepBy } from "../../site/static/figure/places.js";
import { spot, zoomable } from "../../site/static/figure/zoom.js";
import { followMoves } from "./moved_part.js";

const GAP = 6;
const WIDEST = 130; // of the names beside the rows, and above the columns
const SIGNS = 12; // height of a letter, with what must be free around it
const TIGHT = 420; // pixels of a map in which the buttons stand below the colours, not beside
const WORDS = 32; // rows that have room for a word each

export default function (component) {
  const host = connect(component);
  if (!host.papers) host.papers = papers(host);
  followMoves(host, component.data, (data) => showAll(host, data));
  return () => {
    host.papers();
    host.map?.watch.disconnect();
    host.end();
  };
}

function showAll(host, data) {
  for (const part of ["head", "side", "aside", "foot"]) 
    if (fillPart(host, part, data[part] ?? "")) host.map?.frame.focus();
  const box = host.box.querySelector(".map");
  box.hidden = !data.map;
  if (data.map && host.sent !== JSON.stringify(data.map)) {
    host.sent = JSON.stringify(data.map);
    if (!host.map) host.box.addEventListener("keydown", (event) => close(host, event));
    host.map ??= made(box);
    host.map.send = (cell) => {
      host.opening = !host.box.querySelector(".foot [data-close]");
      host.send("pick", `${host.map.data.picks}=${cell}`);
    };
    fill(host.map, data.map);
  }
  host.box.querySelector(".hint").hidden = data.map?.picks !== "one" || closer(host);
  follow(host);
  reveal(host);
  paint(host);
}

// Lays out the map for the width of paper while it is printed, as no observer is asked meanwhile.
function papers(host) {
  const lay = ({ type }) => {
    const paper = type === "beforeprint";
    host.box.classList.toggle("paper", paper);
    if (!host.map?.data) return;
    const { box, frame } = host.map;
    box.style.height = "";
    arrange(host.map);
    if (paper) box.style.height = px(frame.offsetTop + frame.offsetHeight + GAP);
  };
  for (const event of ["beforeprint", "afterprint"]) addEventListener(event, lay);
  return () => {
    for (const event of ["beforeprint", "afterprint"]) removeEventListener(event, lay);
    host.papers = null;
  };
}

const closer = (host) => host.box.querySelector(".foot [data-close]");

// Scrolls the list of small pictures to the one that is chosen.
function follow(host) {
  const chosen = host.box.querySelector('.side .heads [aria-pressed="true"]');
  const list = chosen?.parentElement;
  if (!list || chosen === host.chosen) return;
  host.chosen = chosen;
  const [own, all] = [chosen, list].map((element) => element.getBoundingClientRect());
  list.scrollTop += Math.max(0, own.bottom - all.bottom) - Math.max(0, all.top - own.top);
}

// Scrolls to what a click has opened below the map.
function reveal(host) {
  if (!host.opening || !closer(host)) return;
  host.opening = false;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const behavior = still ? "auto" : "smooth";
  host.box.querySelector(".foot").scrollIntoView({ block: "nearest", behavior });
}

// Escape closes what is open below the map.
function close(host, event) {
  if (event.key !== "Escape" || event.defaultPrevented || !closer(host)) return;
  event.preventDefault();
  host.map.frame.focus();
  host.send("pick", closer(host).dataset.pick);
}

function made(box) {
  const find = (name) => box.querySelector(name);
  const map = { box, frame: find(".frame"), inner: find(".inner"), at: null };
  map.zoom = zoomable(map.frame, map.inner, () => map.data && arrange(map));
  map.watch = new ResizeObserver(() => map.data && arrange(map));
  map.watch.observe(box);
  for (const button of box.querySelectorAll("[data-zoom]"))
    button.onclick = () => map.zoom.act[button.dataset.zoom]();
  map.frame.addEventListener("pointermove", (event) => point(map, event));
  map.frame.addEventListener("pointerleave", () => rest(map, null));
  map.frame.addEventListener("blur", () => rest(map, null));
  map.frame.addEventListener("keydown", (event) => walk(map, event));
  map.frame.addEventListener("click", (event) => (point(map, event), pick(map)));
  return map;
}

function fill(map, data) {
  const same = map.data?.id === data.id;
  map.data = data;
  map.values = data.cells && floats(data.cells);
  colour(map.inner.querySelector("canvas"), data, map.values);
  ramp(map.box.querySelector(".ramp canvas"), data.palette);
  const [high, low] = map.box.querySelectorAll(".ramp span");
  [high.textContent, low.textContent] = [data.ends[1], data.ends[0]];
  map.box.querySelector(".ramp").hidden = !data.cells;
  map.frame.setAttribute("aria-label", data.label);
  const { names, count } = data.rows;
  const lines = names.length && count <= WORDS ? count * (SIGNS + 4) + slot(map, 0) + GAP : 0;
  map.box.style.setProperty("--lines", px(lines));
  for (const side of ["rows", "columns"])
    map.box.querySelector(`.title.${side}`).innerHTML = data[side].title;
  mark(map);
  rest(map, same && data.picks ? map.at : null);
  if (same) map.zoom.show();
  else map.zoom.fit();
}

// Draws frames around cells and rows, above the picture and below the pointer.
function mark(map) {
  const { rows, columns, marks } = map.data;
  for (const old of map.inner.querySelectorAll(".mark")) old.remove();
  for (const [kind, row, column] of marks) {
    const box = document.createElement("div");
    box.className = `mark ${kind}`;
    Object.assign(box.style, spanned(rows, columns, row, column));
    map.inner.querySelector(".cursor").before(box);
  }
}

// Returns the rectangle of a cell, or of a whole row, in the picture.
function spanned(rows, columns, row, column) {
  const [h, w] = [100 / rows.cells, 100 / columns.cells];
  const whole = column === null;
  const across = whole ? { left: "0", width: "100%" } : { left: `${column * w}%`, width: `${w}%` };
  return { top: `${row * h}%`, height: `${h}%`, ...across };
}

// Paints one pixel for each cell in one of 256 colours; masked cells are transparent.
function colour(canvas, { rows, columns, cells, palette, pixels, low, high }, values) {
  const table = triples(cells ? palette : pixels);
  const place = (row, column) => row * columns.cells + column;
  paintCells(canvas, rows.cells, columns.cells, (...at) =>
    values ? shade(table, values[place(...at)], low, high) : table[place(...at)],
  );
}

function triples(text) {
  const every = bytes(text);
  return Array.from({ length: every.length / 3 }, (_, i) => every.subarray(3 * i, 3 * i + 3));
}

function ramp(canvas, palette) {
  const table = triples(palette);
  paintCells(canvas, 256, 1, (row) => table[255 - row]);
}

// --- places -------------------------------------------------------------------------------------

// Cells are square if both axes are alike; otherwise the map fills the frame.
function arrange(map) {
  const { box, frame, data } = map;
  const { rows, columns } = data;
  const left = Math.min(WIDEST, widest(box, rows)) + 3 * GAP + SIGNS;
  const tight = box.clientWidth < TIGHT;
  const right = !data.cells ? 40 : tight ? 66 : 112;
  const above = slot(map, box.clientWidth - left - right);
  const [room, high] = [box.clientWidth - left - right, box.clientHeight - above - 2];
  if (room < 20 || high < 20) return;
  const side = Math.min(room / columns.count, high / rows.count);
  const [width, height] = data.square
    ? [side * columns.count, side * rows.count]
    : [room, Math.min(high, Math.max(40, 40 * rows.count))];
  const put = (name, style) => Object.assign(box.querySelector(name).style, style);
  Object.assign(frame.style, { left: px(left), top: px(above), width: px(width), height: px(height) });
  put(".title.columns", { left: px(left), width: px(width), top: "0" });
  put(".title.rows", { top: px(above), height: px(height), left: "0" });
  const ramp = Math.max(tight ? height - 96 : height, 60);
  put(".ramp", { left: px(left + width + 2 * GAP), top: px(above), height: px(ramp) });
  const low = above + (tight && data.cells ? ramp + 12 : height - 84);
  put(".zoom", { left: px(left + width + (data.cells && !tight ? 78 : 8)), top: px(low) });
  const { k, x, y } = map.zoom.view;
  ticks(box.querySelector(".ticks.rows"), rows, { length: height, from: y, k, start: above, left, upright: false });
  ticks(box.querySelector(".ticks.columns"), columns, { length: width, from: x, k, start: left, left: above, upright: turned(map, width) });
}

const px = (number) => `${number}px`;

function widest(box, side) {
  const pen = (box.pen ??= document.createElement("canvas").getContext("2d"));
  pen.font = `12px ${getComputedStyle(box).fontFamily}`;
  const texts = side.names.length ? side.names : [String(side.count - 1)];
  return side.count > 1 || side.names.length
    ? Math.max(...texts.map((text) => pen.measureText(text).width))
    : 0;
}

// Labels stand upright above columns narrower than they are.
function turned(map, width) {
  const { names, count } = map.data.columns;
  return names.length > 0 && widest(map.box, map.data.columns) + GAP > (width * map.zoom.view.k) / count;
}

// Returns the height above the columns; the same at every zoom, so that nothing jumps.
function slot(map, width) {
  const { names, count } = map.data.columns;
  const longest = Math.min(WIDEST, widest(map.box, map.data.columns));
  const upright = names.length > 0 && longest + GAP > width / count;
  return (upright ? longest : longest && SIGNS + 2) + SIGNS + 3 * GAP;
}

// Draws as many labels as fit without overlap.
function ticks(box, side, { length, from, k, start, left, upright }) {
  const each = (length * k) / side.count;
  const across = box.classList.contains("columns") && !upright;
  const step = stride((across ? widest(box.parentElement, side) + 2 * GAP : SIGNS + 4) / each, side);
  const found = [];
  const first = Math.ceil((from * side.count - 0.5) / step) * step;
  for (let i = Math.max(0, first); i < side.count && i + 0.5 <= (from + 1 / k) * side.count; i += step) {
    const tick = document.createElement("span");
    tick.className = upright ? "tick upright" : "tick";
    tick.textContent = side.names[i] ?? i;
    const at = start + (i + 0.5) * each - from * length * k;
    Object.assign(tick.style, box.classList.contains("rows")
      ? { top: px(at), right: `calc(100% - ${left - GAP}px)` }
      : { left: px(at), bottom: `calc(100% - ${left - GAP + 2}px)` });
    found.push(tick);
  }
  box.replaceChildren(...(side.count > 1 || side.names.length ? found : []));
}

// Returns the smallest round number of positions between labels.
function stride(least, side) {
  if (side.names.length) return Math.max(1, Math.ceil(least));
  for (let ten = 1; ; ten *= 10)
    for (const one of [1, 2, 5]) if (one * ten >= least) return one * ten;
}

// --- one cell -----------------------------------------------------------------------------------

function point(map, event) {
  const { rows, columns } = map.data;
  const [x, y] = spot(map.inner, event);
  rest(map, [Math.floor(y * rows.cells), Math.floor(x * columns.cells)]);
}

function pick(map) {
  const { picks, rows, columns } = map.data;
  if (picks && map.at) map.send([map.at[0] * rows.block, map.at[1] * columns.block].join());
}

function walk(map, event) {
  if (event.key === "Enter") pick(map);
  stepBy(event, ([down, across]) => {
    const { rows, columns } = map.data;
    const [row, column] = map.at ? within(map, [map.at[0] + down, map.at[1] + across]) : [0, 0];
    const [h, w] = [1 / rows.cells, 1 / columns.cells];
    map.zoom.reveal(column * w, row * h, (column + 1) * w, (row + 1) * h);
    rest(map, [row, column]);
  });
}

// Returns the cell at a point; beyond the edge, the nearest one.
function within(map, place) {
  const { rows, columns } = map.data;
  return [rows, columns].map(({ cells }, n) => Math.max(0, Math.min(cells - 1, place[n])));
}

// Shows the content of a cell beside it, and announces it to screen readers.
function rest(map, place) {
  const { rows, columns } = map.data;
  const at = place && within(map, place);
  map.at = at;
  const [cursor, tip] = [map.inner.querySelector(".cursor"), map.box.querySelector(".tip")];
  cursor.hidden = tip.hidden = !at;
  if (!at) return;
  Object.assign(cursor.style, spanned(rows, columns, ...at));
  const said = [told(rows, at[0]), told(columns, at[1]), worth(map, at)];
  tip.textContent = said.filter(Boolean).join("\n");
  const [cell, all] = [cursor.getBoundingClientRect(), map.box.getBoundingClientRect()];
  const x = cell.right - all.left + 10;
  const far = x + tip.offsetWidth > all.width;
  tip.style.left = px(far ? Math.max(0, cell.left - all.left - tip.offsetWidth - 10) : x);
  const y = cell.top - all.top + 4;
  tip.style.top = px(Math.max(0, Math.min(y, all.height - tip.offsetHeight)));
}

// Returns "query y 3, cat", or the range of positions of a pooled cell.
function told(side, cell) {
  if (!side.said) return "";
  const [first, last] = [cell * side.block, Math.min(side.count, (cell + 1) * side.block) - 1];
  const word = first === last && side.names[first] ? `, ${side.names[first]}` : "";
  return `${side.said} ${first === last ? first : `${first} to ${last}`}${word}`;
}

function worth(map, [i, j]) {
  if (!map.values) return "";
  const value = map.values[i * map.data.columns.cells + j];
  const text = Number.isNaN(value) ? "masked" : figure(value, map.data.whole);
  return `${map.data.said} ${text}`.trim();
}

function figure(value, whole) {
  const text = whole ? String(Math.round(value)) : String(+value.toPrecision(3));
  return text.replace("-", "−");
}
