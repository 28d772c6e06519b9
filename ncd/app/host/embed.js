// The page in a frame: requests a drawing whenever a size moves, a block folds or the frame is
// resized, and tells the page around it how high it is.

import { showDrawing } from "../../site/static/figure/drawing.js";
import { connect, light, paint } from "../../site/static/figure/highlight.js";
import { writeLabels } from "../../site/static/figure/labels.js";
import { texts } from "../../site/static/figure/polynomials.js";
import { scrub } from "../../site/static/figure/scrub.js";
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
let formulas = null;
let learnt = ""; // the settings for which the formulas were asked for
let note = ""; // why a size is not what was typed

const host = connect({ parentElement: document, setTriggerValue() {} });
light.fold = (id) => folds[id] && want({ folded: folds[id] });
draw();

const showSizes = sizeForm(form, JSON.parse(document.body.dataset.knobs), {
  now: (name) => Number(asked.get(name)),
  set,
  say: (text) => say((note = text)),
});
scrub(host.box, { formulas: () => formulas, sizes: () => asked, set, learn });

function set(name, value) {
  note = "";
  want({ [name]: value });
}

// Asks for the formulas of all numbers, when somebody points at a size.
async function learn() {
  if (learnt === `${asked}`) return;
  learnt = `${asked}`;
  const answer = await fetch(`../_ncd/${page}?${asked}&scrub=`).catch(() => null);
  if (answer?.status === 200) formulas = await answer.json();
}

// Writes the sizes into the labels until the drawing comes.
function label() {
  const fill = formulas && texts(formulas, asked);
  if (fill) writeLabels(drawing, formulas, fill);
}

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
  label();
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
  draw(found.svg);
  if (formulas && !texts(formulas, asked)) learn();
}

function draw(text) {
  showDrawing(drawing, text, Object.keys(folds), (svg) => svg.removeAttribute("height"));
  paint(host);
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
