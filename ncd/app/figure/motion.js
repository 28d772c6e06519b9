// After an edit, the parts of a drawing move from where they were in the one before. The server has
// sent the id that each part had there; what is new fades in, what is gone fades out.

const MOTION = { duration: 450, easing: "ease-in-out" };
const LEAVES = { duration: 220, fill: "forwards" };
const PARTS_THAT_MOVE = ":is(.op, .fence, .wire, .label)";

// Returns the id of a part of a drawing; of a wire that of its array and its axis.
function part({ dataset: { fence, node, array, axis = "" } }) {
  return fence ?? node ?? (array && `${array}/${axis}`);
}

// Returns what is needed of a drawing before another one takes its place.
export function leaving(svg) {
  const { x, y } = svg.viewBox.baseVal;
  const { left, top } = svg.getBoundingClientRect();
  const parts = new Map();
  for (const each of svg.querySelectorAll(PARTS_THAT_MOVE)) {
    const id = part(each);
    if (!parts.has(id)) parts.set(id, []);
    const box = (each.querySelector("rect, path, text") ?? each).getBBox(); // later it is not there
    parts.get(id).push({ each, box });
  }
  return { x, y, left, top, scale: svg.getScreenCTM()?.a ?? 1, parts };
}

// Moves the parts of a new drawing from their places in the old one; `ids` has the old id of each.
export function moveParts(old, svg, ids) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const now = leaving(svg);
  const ratio = old.scale / now.scale;
  const shift = (side, edge) => (old[edge] - now[edge]) / now.scale + now[side] - ratio * old[side];
  const there = { ratio, x: shift("x", "left"), y: shift("y", "top") };
  const left = new Map(old.parts);
  for (const [id, elements] of now.parts) {
    const [first, axis] = id.split("/");
    const before = ids[first] && (axis === undefined ? ids[first] : `${ids[first]}/${axis}`);
    const olds = left.get(before);
    left.delete(before);
    elements.forEach((own, n) => (olds?.[n] ? moveOne(olds[n], own, there) : appear(own.each)));
  }
  for (const each of svg.children) if (!each.matches(`${PARTS_THAT_MOVE}, style, desc`)) appear(each);
  fadeOut(svg, [...left.values()].flat().map(({ each }) => each), there);
}

const appear = (element) =>
  element.animate([{ opacity: 0 }, { opacity: 0, offset: 0.4 }, { opacity: 1 }], MOTION);

function moveOne({ each: old, box: a }, { each: element, box: b }, there) {
  if (element.matches(".wire") && bend(old, element, there)) return;
  const [x, y] = [
    there.ratio * a.x + there.x - b.x,
    there.ratio * (a.y + a.height / 2) + there.y - (b.y + b.height / 2),
  ];
  const begin = { transform: `translate(${x}px, ${y}px)` };
  const fence = element.matches(".fence") && element.querySelector(":scope > rect");
  if (!fence) return void element.animate([begin, { transform: "none" }], MOTION);
  const [width, height] = [there.ratio * a.width, there.ratio * a.height];
  const sides = (box) => ({ x: `${box.x}px`, y: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` });
  fence.animate([sides({ x: b.x + x, y: b.y + b.height / 2 + y - height / 2, width, height }), sides(b)], MOTION);
  for (const text of element.querySelectorAll(":scope > text"))
    text.animate([{ transform: `translate(${x}px, ${y + (b.height - height) / 2}px)` }, { transform: "none" }], MOTION);
}

// Bends a wire from its old way to the new one, where both have the same kinds of curves.
function bend(old, element, there) {
  const [olds, news] = [old, element].map((each) => [...each.querySelectorAll("path.ink")]);
  const kinds = (path) => path.getAttribute("d").replace(/[^a-z]/gi, "");
  if (olds.length !== news.length || olds.some((path, n) => kinds(path) !== kinds(news[n]))) return false;
  const begin = { transform: `translate(${there.x}px, ${there.y}px) scale(${there.ratio})` };
  element.animate([begin, { transform: "none" }], MOTION);
  const way = (path) => ({ d: `path("${path.getAttribute("d")}")` });
  news.forEach((path, n) => path.animate([way(olds[n]), way(path)], MOTION));
  return true;
}

// Shows what is gone once more, at its old place, while it fades.
function fadeOut(svg, gone, { ratio, x, y }) {
  const ghost = document.createElementNS(svg.namespaceURI, "g");
  ghost.setAttribute("transform", `translate(${x} ${y}) scale(${ratio})`);
  ghost.setAttribute("aria-hidden", "true");
  ghost.style.pointerEvents = "none";
  for (const each of gone) {
    const copy = each.cloneNode(true);
    for (const name of ["tabindex", "role", "data-node", "data-array", "data-axis", "data-fence"])
      for (const inner of [copy, ...copy.querySelectorAll("*")]) inner.removeAttribute(name);
    ghost.append(copy);
  }
  svg.append(ghost);
  ghost.animate([{ opacity: 1 }, { opacity: 0 }], LEAVES).onfinish = () => ghost.remove();
}
