// A walk through the run, op by op: the diagram lights the step, and below stand its values.

import { light, shine } from "../figure/highlight.js";
import { part } from "../figure/elements.js";

const walk = panel.querySelector(".walk");
let steps = []; // once there is a run
const ARRAYS = 3; // shown of those that an op takes, and of those that it makes
const CLICK = "Click a cell, or press Enter on it, to see how its number comes about.";
let step_now = 0; // from 1; 0 while there is no walk
let chosen_array = ""; // the wire that was clicked

walk.querySelector("input").addEventListener("input", ({ target }) => step_to(Number(target.value)));
panel.querySelector(".begin").addEventListener("click", () => step_to(1));
walk.querySelector(".end").addEventListener("click", () => {
  end_walk();
  panel.querySelector(".begin").focus();
});
document.querySelector(".ask").addEventListener("click", () => step_now && end_walk());
for (const button of walk.querySelectorAll("[data-by]")) button.addEventListener("click", () => step_to(step_now + Number(button.dataset.by)));
walk.addEventListener("keydown", (event) => {
  const to = { ArrowLeft: step_now - 1, ArrowRight: step_now + 1, Home: 1, End: steps.length }[event.key];
  if (to === undefined || event.target.matches("input")) return;
  event.preventDefault();
  step_to(to);
});
document.addEventListener("ran", async () => {
  if (!steps.length) await read_steps();
  if (step_now) show_step();
});

async function read_steps() {
  walk.querySelector("[data-live]").innerHTML = (await later).walk;
  filled(walk);
  const list = (text) => text.split(" ").filter(Boolean);
  steps = [...walk.querySelectorAll("article")].map((place) => {
    const { dataset } = place;
    const lists = ["ids", "takes", "makes", "from", "to", "weights", "places"].map((name) => [name, list(dataset[name] ?? "")]);
    const { same, kind, slid, renamed = "[]" } = dataset;
    return { place, same, kind, slid, renamed: JSON.parse(renamed), ...Object.fromEntries(lists) };
  });
  walk.querySelector("input").max = steps.length;
  panel.querySelector(".begin").hidden = false;
}

// A click on a wire or an op of the diagram goes to the step that makes it, once there is a run; in
// stacked layers to the next such step.
light.goes = (id) => {
  if (!last || document.ncdQuiz?.on) return false;
  const found = steps.flatMap(({ ids }, i) => (ids.includes(id) ? [i + 1] : []));
  const to = found.find((i) => i > step_now) ?? found[0];
  if (!to) return false;
  step_to(to, id);
  walk.scrollIntoView({ block: "nearest" });
  return id.startsWith("v"); // an op has a card, too
};

function step_to(to, array = "") {
  step_now = Math.max(1, Math.min(steps.length, to));
  chosen_array = array;
  walk.hidden = false;
  panel.querySelector(".begin").hidden = true;
  walk.querySelector("input").value = step_now;
  walk.querySelector(".count").textContent = `${step_now} of ${steps.length}`;
  const [back, next] = walk.querySelectorAll("[data-by]");
  back.setAttribute("aria-disabled", step_now === 1);
  next.setAttribute("aria-disabled", step_now === steps.length);
  steps.forEach(({ place }, i) => (place.hidden = i !== step_now - 1));
  const past = steps.slice(0, step_now - 1).flatMap(({ ids }) => ids);
  shine({ walk: { here: new Set(steps[step_now - 1].ids), past: new Set(past) } });
  show_step();
}

function end_walk() {
  step_now = 0;
  walk.hidden = true;
  panel.querySelector(".begin").hidden = false;
  shine({ walk: null });
}

async function show_step() {
  const at = step_now;
  const { takes, makes, same, kind, weights } = steps[at - 1];
  const own = makes.includes(chosen_array) ? [chosen_array, ...makes.filter((id) => id !== chosen_array)] : makes;
  const values = await values_of([...takes, ...own, ...weights]);
  if (at !== step_now || values !== last.values) return; // of another step, or of a run before
  const row = (title, ids, wide) => {
    const every = ids.filter((id) => values[id]);
    const known = every.slice(0, same && ids === own ? 1 : ARRAYS);
    const made = part("div", "", ...(title ? [part("h3", title)] : []), ...known.map((id) => array_figure(id, values, wide, ids === own && kind ? steps[at - 1] : null)));
    if (every.length > known.length) made.append(part("p", known.length < ARRAYS ? `The same numbers, ${every.length} times.` : `and ${every.length - known.length} more`));
    return known.length ? [made] : [];
  };
  walk.querySelector(".figures").replaceChildren(...row("Takes", takes, 160), ...row(takes.length ? "Makes" : "", own, 260));
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
