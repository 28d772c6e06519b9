// The page in a frame: requests a drawing whenever a size moves, a block folds or the frame is
// resized, and tells the page around it how high it is.

import { readDrawing, sign, widen } from "../../site/static/figure/drawing.js";
import { connect, light, shine } from "../../site/static/figure/highlight.js";
import { sizeForm } from "../../site/static/figure/size_form.js";
import { askNewest } from "../figure/newest_answer.js";

const { page } = document.body.dataset;
const form = document.querySelector(".sizes");
const drawing = document.querySelector(".drawing");
const dark = matchMedia("(prefers-color-scheme: dark)");
const asked = new URLSearchParams(document.body.dataset.ask);
let folds = JSON.parse(document.body.dataset.folds);
let drawn = `${asked}`;
const asker = {};
let note = ""; // why a size is not what was typed

connect({ parentElement: document, setTriggerValue() {} });
light.fold = (id) => folds[id] && want({ folded: folds[id] });
fit();

const showSizes = sizeForm(form, JSON.parse(document.body.dataset.knobs), {
  now: (name) => Number(asked.get(name)),
  set(name, value) {
    note = "";
    want({ [name]: value });
  },
  say: (text) => say((note = text)),
});
addEventListener("resize", () => want({ wide: innerWidth }));
dark.addEventListener("change", themed);
new ResizeObserver(tall).observe(document.querySelector(".ncd"));
want({ wide: innerWidth });
themed();

// A theme that the address names stays.
function themed() {
  if (!document.documentElement.style.colorScheme) want({ dark: +dark.matches });
}

function want(change) {
  for (const [name, value] of Object.entries(change)) asked.set(name, value);
  asked.set("wide", [340, 620, 860, 1280].findLast((n) => n <= asked.get("wide")) ?? 340);
  link();
  showSizes();
  askNewest(asker, {
    wanted: () => `${asked}` !== drawn && `../_ncd/${page}?${asked}`,
    show,
    fail(status, address) {
      drawn = address.split("?")[1];
      say(status ? "No diagram fits these sizes." : "The server is away.");
    },
  });
}

function say(text) {
  document.querySelector(".told").textContent = text;
}

function show(found, address) {
  drawn = address.split("?")[1];
  say(note);
  folds = found.folds;
  drawing.replaceChildren(readDrawing(found.svg));
  fit();
  shine({});
}

function fit() {
  const svg = drawing.querySelector("svg");
  if (!svg) return;
  svg.removeAttribute("height");
  widen(svg);
  sign(svg, Object.keys(folds));
}

// The full page opens with the sizes of the frame.
function link() {
  const sizes = new URLSearchParams([...asked].filter(([name]) => form.elements[name]));
  form.querySelector("a").search = sizes;
}

function tall() {
  const { height } = document.querySelector(".ncd").getBoundingClientRect();
  parent.postMessage({ ncd: "height", height: Math.ceil(height) }, "*");
}
