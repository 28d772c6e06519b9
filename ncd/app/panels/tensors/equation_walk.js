// A walk through an equation. The wires of both sides of a step are the same lines, moved: each
// point has a position before and after, and letters move along.

import { connect } from "../../../site/static/figure/highlight.js";
import { reach, replaceHtml } from "../../../site/static/figure/html.js";

const SECONDS = 1.6;
const ROOM = [300, 110]; // of the stage, at least
const SVG = "http://www.w3.org/2000/svg";

export default function (component) {
  const { data } = component;
  const host = connect(component);
  for (const part of ["steps", "told", "begin", "turn", "foot"]) write(host, part, data[part]);
  const range = host.box.querySelector("input");
  const moving = JSON.stringify(data.morph);
  if (host.moving !== moving) {
    host.moving = moving;
    stage(host, data.morph);
    move(host, 0);
    play(host);
  }
  range.oninput = () => {
    cancelAnimationFrame(host.frame);
    move(host, range.value / 1000);
  };
  host.box.querySelector(".pull").onclick = () => play(host);
  return () => {
    cancelAnimationFrame(host.frame);
    host.end();
  };
}

function write(host, part, html) {
  const content = host.box.querySelector(`.${part}`);
  if (!replaceHtml(content, html)) return;
  reach(content);
  for (const svg of content.querySelectorAll(".drawing > svg"))
    svg.style.width = `${1.2 * svg.viewBox.baseVal.width}px`;
}

function stage(host, morph) {
  const svg = host.box.querySelector(".stage");
  const [x0, y0, x1, y1] = morph.box;
  const [wide, tall] = [Math.max(x1 - x0, ROOM[0]), Math.max(y1 - y0, ROOM[1])];
  svg.setAttribute("viewBox", `${(x0 + x1 - wide) / 2} ${(y0 + y1 - tall) / 2} ${wide} ${tall}`);
  svg.replaceChildren();
  const add = (name, attributes = {}, text = "") => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return svg.appendChild(element);
  };
  const dashes = morph.dashes.flatMap((side, n) =>
    side.map(([a, b, c, d]) => [add("path", { class: "dash", d: `M${a} ${b}L${c} ${d}` }), n]),
  );
  const strands = morph.strands.map((strand) => ({
    ...strand,
    path: add("path"),
    text: add("text", { "font-size": 14, "text-anchor": "middle" }, strand.name),
  }));
  const letters = morph.letters.map((letter) => ({
    ...letter,
    sign: add("text", { "font-size": 27 }, letter.text),
    above: letter.raised.map((text) => add("text", { "font-size": 17 }, text)),
  }));
  host.parts = { dashes, strands, letters };
}

const between = (a, b, t) => a + t * (b - a);
const spot = ([a, b], t) => [between(a[0], b[0], t), between(a[1], b[1], t)];

function move(host, t) {
  const { dashes, strands, letters } = host.parts;
  host.at = t;
  host.box.querySelector("input").value = Math.round(1000 * t);
  for (const [path, side] of dashes) path.style.opacity = side ? t : 1 - t;
  for (const { ways, labels, path, text } of strands) {
    const points = ways[0].map((point, n) => spot([point, ways[1][n]], t));
    path.setAttribute("d", `M${points.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")}`);
    const [x, y] = points[Math.round(between(...labels, t) * (points.length - 1))];
    text.setAttribute("x", x);
    text.setAttribute("y", y - 5);
  }
  for (const { places, sign, above } of letters) {
    const [x, y] = spot(places, t);
    sign.setAttribute("x", x);
    sign.setAttribute("y", y);
    above.forEach((text, side) => {
      text.setAttribute("x", x + sign.getComputedTextLength());
      text.setAttribute("y", y - 10);
      text.style.opacity = side ? t : 1 - t;
    });
  }
}

// Animates to the other side, or from the start again; at once for visitors who prefer no motion.
function play(host) {
  cancelAnimationFrame(host.frame);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    move(host, host.at < 1 ? 1 : 0);
    return;
  }
  const from = host.at < 1 ? host.at : 0;
  let start = null;
  const step = (now) => {
    start ??= now;
    const part = Math.min(1, (now - start) / (1000 * SECONDS * (1 - from)));
    const eased = part * part * (3 - 2 * part);
    move(host, between(from, 1, eased));
    if (part < 1) host.frame = requestAnimationFrame(step);
  };
  host.frame = requestAnimationFrame(step);
}
