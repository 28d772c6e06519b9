// A file of views, one visible at a time; the arrow keys go from one to the next.

import { scale, widen } from "./figure/drawing.js";
import { connect, letGo, shine, target } from "./figure/highlight.js";
import { turnTheme } from "./figure/theme.js";

const host = connect({ parentElement: document, setTriggerValue: select });
host.opens = true;
const slides = [...document.querySelectorAll(".slide")];
const find = (name) => document.querySelector(`.${name}`);
const STEPS = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1, Home: -Infinity, End: Infinity };
let at = 0;
let selected = "";

for (const svg of document.querySelectorAll(".drawing svg")) {
  widen(svg);
  scale(svg, 0, 3.2, 80);
}
find("back").onclick = () => walk(-1);
find("next").onclick = () => walk(1);
find("screen").onclick = screen;
find("theme").onclick = turnTheme;
show(Math.min(slides.length, Math.max(1, parseInt(location.hash.slice(1)) || 1)));
addEventListener("hashchange", () => {
  const to = parseInt(location.hash.slice(1));
  if (slides[to - 1]) show(to);
});

function walk(steps) {
  const to = Math.min(Math.max(at + steps, 1), slides.length);
  if (to === at) return;
  show(to);
  history.replaceState(null, "", `#${to}`);
  scrollTo(0, 0);
}

function show(to) {
  at = to;
  slides.forEach((slide, i) => (slide.hidden = i + 1 !== to));
  find("place").textContent = `${to} / ${slides.length}`;
  find("back").disabled = to === 1;
  find("next").disabled = to === slides.length;
  const { axes, select: id } = slides[to - 1].dataset;
  selected = id;
  shine({ axes: axes.split(","), target: target(id), hover: null });
}

// Applies a click; clicking the same part again clears the selection. Axes are already locked.
function select(kind, { id }) {
  if (kind !== "select" || id === undefined) return;
  selected = id === selected ? "" : id;
  shine({ target: target(selected) });
}

function screen() {
  const done = document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen?.();
  done?.catch(() => {});
}

addEventListener("keydown", (event) => {
  const { key, target, defaultPrevented, ctrlKey, metaKey, altKey } = event;
  if (defaultPrevented || ctrlKey || metaKey || altKey) return;
  if (key === "Escape") letGo(host);
  else if (key === "f") screen();
  else if (key in STEPS && !(key === " " && target.closest("button, summary, [tabindex]"))) {
    event.preventDefault();
    walk(STEPS[key]);
  }
});
