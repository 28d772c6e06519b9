// A drawing on a page: how it comes there, how large it is, and what the pointer needs in it.

// Returns the SVG element of a text, without what could run or hold other content.
export function readDrawing(text) {
  const read = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  for (const script of read.querySelectorAll("script, foreignObject")) script.remove();
  return document.importNode(read, true);
}

// Scales the drawing to the room in the window, within limits at which it can be read beside the
// rest of the page. In other layouts the style sheet sets the scale.
export function scale(svg, least, most, height = 100) {
  const { width, height: high } = svg.viewBox.baseVal;
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  const room = `min(100%, var(--tall, ${height}vh) * ${width / high})`;
  const [low, top] = [`var(--least, ${least})`, `var(--most, ${most})`];
  svg.style.width = `clamp(min(var(--widest, 100%), ${low} * ${width}px), ${room}, ${top} * ${width}px)`;
}

// The least scale at which its smallest text has 11 pixels.
export function readable(svg) {
  const sizes = [...svg.querySelectorAll("[font-size]")].map((text) => text.getAttribute("font-size"));
  return 11 / Math.min(...sizes, 16);
}

// Adds a wide invisible stroke to each wire, as a thin one is hard to hit.
export function widen(svg) {
  for (const ink of svg.querySelectorAll(".wire > path:not(.gap)")) {
    const hit = ink.cloneNode();
    hit.setAttribute("class", "hit");
    ink.setAttribute("class", "ink");
    ink.before(hit);
  }
}

// The box of a rectangle is known without a layout.
const corner = ({ x, y }) => ({ x: x.baseVal.value, y: y.baseVal.value });
const DEPTH = 9; // of a collapsed block, whose front begins below the corner of its outline

// Adds a small sign to the corner of each block that can be collapsed or expanded.
function sign(svg, ids) {
  for (const block of svg.querySelectorAll("[data-fence]")) {
    const { fence, node } = block.dataset;
    if (!ids.includes(fence)) continue;
    const shape = block.querySelector("rect, path");
    const { x, y } = shape.localName === "rect" ? corner(shape) : shape.getBBox();
    const mark = document.createElementNS(svg.namespaceURI, "g");
    mark.setAttribute("class", "sign");
    mark.setAttribute("transform", `translate(${x + 3} ${y + 3 + (node ? DEPTH : 0)})`);
    mark.dataset.fold = fence;
    mark.innerHTML = `<circle r="7"/><path d="M-3.5 0h7${node ? "M0-3.5v7" : ""}"/>`;
    block.append(mark);
    block.setAttribute("aria-expanded", !node);
    block.setAttribute("aria-keyshortcuts", "f");
  }
}

// Shows a drawing in a place, or the one that is there without a text, with a sign at each block of
// `ids`, which fold; `fit` gives it its size. The part that has the focus keeps it, though it may have had another id, which `moved` knows.
export function showDrawing(place, text, ids, fit, moved = {}) {
  const focused = partName(place.getRootNode().activeElement);
  const svg = text ? readDrawing(text) : place.querySelector("svg");
  if (!svg) return null;
  widen(svg);
  fit(svg);
  place.replaceChildren(svg);
  sign(svg, ids);
  if (focused) focusPart(svg, focused, moved);
  return svg;
}

function focusPart(svg, focused, ids) {
  const every = [...svg.querySelectorAll("[tabindex]")];
  const [node, array, axis] = focused.split("/");
  const moved = (id) => Object.keys(ids).find((own) => ids[own] === id);
  const now = axis === undefined ? moved(node) : `${node && moved(node)}/${array && moved(array)}/${axis}`;
  (every.find((each) => partName(each) === now) ?? every.find((each) => partName(each) === focused))?.focus();
}

function partName(element) {
  const { node = "", array = "", axis = "", fence = "" } = element?.dataset ?? {};
  return element?.closest?.("svg") ? fence || `${node}/${array}/${axis}` : "";
}
