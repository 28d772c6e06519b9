// A walk through the run, op by op: the diagram lights the step, and below stand its values.

import { filled, later } from "../document.js";
import { part } from "../figure/elements.js";
import { light } from "../figure/highlight.js";
import { endWalk, meetStep, stepTo, walkIn } from "../figure/walk.js";
import { explained } from "./run_cell.js";
import { last, values_of } from "./run_here.js";
import { panel } from "./run_loader.js";
import { pictured, titled } from "./run_values.js";

const walk = walkIn(panel.querySelector(".walk"), show_step);
let steps = []; // once there is a run
const ARRAYS = 3; // shown of those that an op takes, and of those that it makes
const CLICK = "Click a cell, or press Enter on it, to see how its number comes about.";
let chosen_array = ""; // the wire that was clicked

panel.querySelector(".begin").addEventListener("click", () => {
  reveal_walk();
  stepTo(walk, 1);
});
walk.box.querySelector(".end").addEventListener("click", () => {
  leave_walk();
  panel.querySelector(".begin").focus();
});
document.querySelector(".ask").addEventListener("click", () => walk.at && leave_walk());
document.addEventListener("ran", async () => {
  if (!steps.length) await read_steps();
  if (walk.at) show_step(walk.at);
});

async function read_steps() {
  walk.box.querySelector("[data-live]").innerHTML = (await later).walk;
  filled(walk.box);
  const list = (text) => text.split(" ").filter(Boolean);
  steps = [...walk.box.querySelectorAll("article")].map((place) => {
    const { dataset } = place;
    const lists = ["ids", "takes", "makes", "from", "to", "weights", "places"].map((name) => [name, list(dataset[name] ?? "")]);
    const { same, kind, slid, renamed = "[]" } = dataset;
    return { place, same, kind, slid, renamed: JSON.parse(renamed), ...Object.fromEntries(lists) };
  });
  walk.stops = steps.map(({ ids }) => ids);
  panel.querySelector(".begin").hidden = false;
}

// A click on a wire or an op of the diagram goes to the step that makes it, once there is a run.
light.goes = (id) => {
  if (!last || document.ncdQuiz?.on) return false;
  chosen_array = id;
  if (!meetStep(walk, id)) return false;
  reveal_walk();
  walk.box.scrollIntoView({ block: "nearest" });
  return id.startsWith("v"); // an op has a card, too
};

function reveal_walk() {
  walk.box.hidden = false;
  panel.querySelector(".begin").hidden = true;
}

function leave_walk() {
  endWalk(walk);
  walk.at = 0;
  walk.box.hidden = true;
  panel.querySelector(".begin").hidden = false;
}

// Shows the words of a step at once, and its values when they are there; returns its title.
function show_step(at) {
  steps.forEach(({ place }, i) => (place.hidden = i !== at - 1));
  show_values(at);
  return steps[at - 1].place.querySelector("h3").textContent;
}

async function show_values(at) {
  const { takes, makes, same, kind, weights } = steps[at - 1];
  const own = makes.includes(chosen_array) ? [chosen_array, ...makes.filter((id) => id !== chosen_array)] : makes;
  const values = await values_of([...takes, ...own, ...weights]);
  if (at !== walk.at || values !== last.values) return; // of another step, or of a run before
  const row = (title, ids, wide) => {
    const every = ids.filter((id) => values[id]);
    const known = every.slice(0, same && ids === own ? 1 : ARRAYS);
    const made = part("div", "", ...(title ? [part("h3", title)] : []), ...known.map((id) => array_figure(id, values, wide, ids === own && kind ? steps[at - 1] : null)));
    if (every.length > known.length) made.append(part("p", known.length < ARRAYS ? `The same numbers, ${every.length} times.` : `and ${every.length - known.length} more`));
    return known.length ? [made] : [];
  };
  walk.box.querySelector(".figures").replaceChildren(...row("Takes", takes, 160), ...row(takes.length ? "Makes" : "", own, 260));
}

// Returns an array; with a step, a click on a cell says how its number came about.
function array_figure(id, values, wide, step) {
  const said = part("output", CLICK);
  said.className = "cell";
  const known = step && explained(step, values, id, 0);
  const pick = known && ((flat) => (said.textContent = explained(step, values, id, flat)));
  const shown = pictured(id, values[id], wide, false, pick);
  const made = part("section", "", titled(id, values[id].dims), ...shown);
  if (known && made.querySelector("canvas")) made.append(said);
  made.dataset.values = id;
  return made;
}
