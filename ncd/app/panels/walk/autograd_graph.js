// The autograd graph in a zoomable frame. It is one Tab stop; the arrow keys go from node to node.

import { readDrawing } from "../../../site/static/figure/drawing.js";
import { connect, paint } from "../../../site/static/figure/highlight.js";
import { fillPart } from "../../../site/static/figure/html.js";
import { zoomable } from "../../../site/static/figure/zoom.js";

const XLINK = "http://www.w3.org/1999/xlink";
const SMALLEST = 11; // the size to be read, in pixels

export default function (component) {
  const { data } = component;
  const host = connect(component);
  for (const part of ["head", "pass", "foot"]) 
    if (fillPart(host, part, data[part])) host.box.querySelector(`.${part} [data-pick]:not(:disabled)`)?.focus();
  const frame = host.box.querySelector(".frame");
  for (const button of host.box.querySelectorAll(".levels [data-pick]"))
    button.ariaPressed = button.dataset.pick === data.level;
  host.zoom ??= begin(host, frame);
  frame.setAttribute("aria-label", data.label);
  if (host.svg !== data.svg) draw(host, frame, data);
  for (const node of host.nodes) {
    const { node: ops = "", array } = node.dataset;
    const here = ops.split(" ").includes(data.at) || array === data.at;
    node.classList.toggle("now", Boolean(data.at) && here);
  }
  paint(host);
  const here = host.nodes.find((node) => node.matches(".now, .chosen"));
  if (here?.id !== host.here) meet(host, here);
  host.here = here?.id;
  return host.end;
}

// The arrow keys go to the previous and the next step, from anywhere in the pass.
function turn(host, event) {
  const button = host.box.querySelector(`.pass [data-turn="${event.key}"]:not(:disabled)`);
  if (!button || event.target.matches("input, select")) return;
  event.preventDefault();
  button.focus();
  button.click();
}

function begin(host, frame) {
  for (const button of host.box.querySelectorAll("[data-zoom]"))
    button.onclick = () => host.zoom.act[button.dataset.zoom]();
  frame.addEventListener("focusin", ({ target }) => meet(host, target.closest(".node")));
  frame.addEventListener("keydown", (event) => walk(host, event));
  host.box.querySelector(".pass").addEventListener("keydown", (event) => turn(host, event));
  return zoomable(frame, frame.querySelector(".inner"));
}

// Makes the frame high enough for a graph that can be read, as far as it may; returns how many times
// the graph that fits the frame must grow for that.
function legible(frame, svg) {
  const { width, height } = svg.viewBox.baseVal;
  const letters = parseFloat(svg.querySelector("text")?.getAttribute("font-size")) || SMALLEST;
  const grown = (shown) => Math.max(1, SMALLEST / (letters * shown));
  const across = frame.clientWidth / width;
  frame.parentElement.style.aspectRatio = `${width} / ${grown(across) * height}`;
  return grown(Math.min(across, frame.clientHeight / height));
}

// A new graph opens at its left end, with letters that can be read; the same graph at other sizes or
// in other colours keeps its view.
function draw(host, frame, { svg: text, level }) {
  host.svg = text;
  const svg = readDrawing(text);
  const grown = legible(frame, svg);
  svg.setAttribute("preserveAspectRatio", grown > 1 ? "xMinYMid" : "xMidYMid");
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  svg.setAttribute("role", "presentation");
  const focused = host.root.activeElement?.closest?.(".node")?.id;
  frame.querySelector(".inner").replaceChildren(svg);
  for (const group of svg.querySelectorAll(".node, .cluster, .edge, .graph")) name(group);
  const nodes = [...svg.querySelectorAll(".node[data-select]")].map((node) => [left(node), node]);
  host.nodes = nodes.sort(([one], [other]) => one - other).map(([, node]) => node);
  for (const node of host.nodes) node.setAttribute("tabindex", -1);
  host.nodes[0]?.setAttribute("tabindex", 0);
  if (host.level !== level) host.zoom.open(grown);
  host.level = level;
  if (focused) host.nodes.find((node) => node.id === focused)?.focus();
}

const left = (node) => node.getBoundingClientRect().left;

// A group's accessible name is what stands in it, not its id; signs that cannot be said are words.
function name(group) {
  const words = group.querySelector(":scope > g > a")?.getAttributeNS(XLINK, "title") ?? "";
  group.querySelector(":scope > title")?.remove(); // it would be read as well, and says the same
  for (const link of group.querySelectorAll(":scope > g > a")) link.replaceWith(...link.childNodes);
  if (!group.dataset.select) return;
  group.setAttribute("role", "button");
  const shown = [...group.querySelectorAll("text")].map((line) => line.textContent).join("\n");
  const norm = words.match(/‖∇‖ [^;]+/)?.[0].replace("‖∇‖", ": gradient norm") ?? "";
  group.setAttribute("aria-label", shown + norm);
}

// Moves the focused node into view and makes it the Tab stop.
function meet(host, node) {
  if (!node) return;
  for (const other of host.nodes) other.setAttribute("tabindex", other === node ? 0 : -1);
  const [all, own] = [host.box.querySelector(".inner"), node].map((e) => e.getBoundingClientRect());
  const across = (x) => (x - all.left) / all.width;
  const down = (y) => (y - all.top) / all.height;
  host.zoom.reveal(across(own.left), down(own.top), across(own.right), down(own.bottom));
}

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function walk(host, event) {
  if ("+=".includes(event.key)) requestAnimationFrame(() => meet(host, event.target.closest(".node")));
  const at = host.nodes?.indexOf(event.target.closest(".node")) ?? -1;
  const last = (host.nodes?.length ?? 0) - 1;
  const to = { Home: 0, End: last }[event.key] ?? at + STEPS[event.key];
  if (at < 0 || !(to >= 0 && to <= last)) return;
  event.preventDefault();
  host.nodes[to].focus();
}
