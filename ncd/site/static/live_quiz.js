// The quiz of the page asks for the shapes of arrays. Sizes and the asked names are hidden in the
// drawing.

import { part } from "./figure/elements.js";
import { letGo, shine, target } from "./figure/highlight.js";
import { named, SIZE } from "./figure/labels.js";
import { quizForm } from "./figure/quiz.js";
// The sizes come first: the diagram, which they import, begins before them.
import { address, fill, label, live, open_link } from "./live_sizes.js";
import { close, drawing, host, showValues } from "./document.js";

const quiz = document.querySelector("form.quiz");
const round = { on: false, asked: "", done: new Map() };
const showQuestion = quizForm(quiz, (act) => {
  if (act === "show") settle("shown");
  else if (act === "next") pose(following());
  else if (act !== "again") settle(act);
  else {
    round.done.clear();
    pose(following());
  }
});
quiz.querySelector("[data-do=end]").remove(); // above the diagram is a button for it

document.ncdQuiz = refresh;
Object.assign(refresh, { start, pick, on: false, veil });
document.querySelector(".tools .ask").addEventListener("click", () => (round.on ? end() : start()));

// --- questions -----------------------------------------------------------------------------------

// Returns the arrays in the drawing whose shape can be asked for, from left to right.
function askable() {
  const drawn = [...drawing.querySelectorAll(".wire[data-array]")].flatMap((wire) => wire.dataset.array.split(" "));
  return [...new Set(drawn)].filter((id) => live.arrays[id]?.axes.every(([, , , size]) => size));
}

const now = (axis) => axis.map((text) => (fill ? fill(text) : text));
const shape = (id) => live.arrays[id].axes.map(now);
const key = (id) => `${id} ${shape(id).map(([, , , size]) => size)}`;

function following() {
  const every = askable();
  const at = every.indexOf(round.asked) + 1;
  return [...every.slice(at), ...every.slice(0, at)].find((id) => !round.done.has(key(id))) ?? round.asked;
}

function start() {
  round.on = refresh.on = true;
  showValues(false); // they tell the shapes
  close();
  document.body.classList.add("asking");
  quiz.hidden = false;
  pose(following());
  toggle();
}

function end() {
  round.on = refresh.on = false;
  document.body.classList.remove("asking");
  quiz.hidden = true;
  shine({ target: null });
  restore();
  toggle();
}

function toggle() {
  const button = document.querySelector(".tools .ask");
  button.setAttribute("aria-pressed", round.on);
  button.textContent = round.on ? "End the quiz" : "Quiz";
  address();
}

// A click on a wire or an operation chooses the array that it means.
function pick(id) {
  const made = Object.keys(live.arrays).find((array) => live.arrays[array].node === id);
  const asked = live.arrays[id] ? id : made;
  if (asked && askable().includes(asked)) pose(asked);
}

function pose(id) {
  round.asked = id ?? "";
  shine({ target: target(round.asked) });
  refresh();
}

// Updates what depends on sizes: the hidden parts, the choices and the outcome.
function refresh() {
  if (!round.on) return;
  veil();
  const own = live.arrays[round.asked];
  const out = own ? round.done.get(key(round.asked)) : "";
  const choices = new Map();
  for (const id of askable()) for (const [name, called, html] of shape(id)) choices.set(called, [name, called, html]);
  showQuestion({
    asked: round.asked,
    key: own ? key(round.asked) : "",
    ask: own ? `What shape leaves ${part("i", own.of).innerHTML}?` : "No array here can be asked for.",
    said: out ? solution(out) : "",
    facts: own ? { wanted: shape(round.asked), known: live.axes.map(now), found: live.computed, taken: own.taken, drawn: drawnOrder(round.asked) } : {},
    done: Boolean(out),
    choices: [...choices.values()],
    ends: [...round.done.values()],
  });
}

function solution(out) {
  const every = shape(round.asked).map(([, , html, size]) => `${html} ${size}`);
  const sign = out === "shown" ? "It is" : "✓";
  return `${sign} <b>${every.join(" · ") || "a number, without axes"}</b>`;
}

function settle(out) {
  if (!round.asked || round.done.has(key(round.asked))) return;
  round.done.set(key(round.asked), out);
  restore();
  refresh();
}

// Returns the names of an array's axes from the upper wire to the lower.
function drawnOrder(id) {
  const wires = [...drawing.querySelectorAll(`.wire[data-array~="${id}"]`)];
  const placed = wires.map((wire) => [wire.dataset.axis ?? wire.dataset.veiled, wire.getBoundingClientRect().top]);
  return placed.sort(([, one], [, other]) => one - other).map(([name]) => name);
}

// --- what is hidden ------------------------------------------------------------------------------

function veil() {
  if (!round.on) return;
  restore();
  const hidden = round.done.has(key(round.asked)) ? "" : round.asked;
  for (const title of drawing.querySelectorAll("[data-array] > title")) hide(title, title.textContent.replace(SIZE, ""));
  for (const title of drawing.querySelectorAll("[data-node] > title")) hide(title, named(title.parentNode, live.arrays[round.asked]?.of ?? "operation"));
  for (const wire of hidden ? drawing.querySelectorAll(`:is(.wire, .label)[data-array~="${hidden}"]`) : []) {
    hide(wire.querySelector("title"), "an axis of the array that is asked for");
    for (const text of wire.querySelectorAll("text")) hide(text, "?");
    wire.classList.add("veiled");
    wire.dataset.veiled = wire.dataset.axis;
    delete wire.dataset.axis;
  }
}

function hide(element, text) {
  if (!element) return;
  element.ncdTold ??= [...element.childNodes].map((node) => node.cloneNode(true));
  element.textContent = text;
}

function restore() {
  for (const element of drawing.querySelectorAll("title, text")) {
    if (!element.ncdTold) continue;
    element.replaceChildren(...element.ncdTold);
    delete element.ncdTold;
  }
  for (const wire of drawing.querySelectorAll(".veiled")) {
    wire.classList.remove("veiled");
    wire.dataset.axis = wire.dataset.veiled;
  }
  label();
}

// The page begins at what its link says, and follows links to views of itself.
open_link(location.search || location.hash.slice(1));
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-view]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  letGo(host);
  open_link(link.dataset.view);
  document.querySelector("h1").scrollIntoView({ behavior: "smooth" });
});
