// Runs the system with the sizes of the page: with its trained weights and its example as far as
// they fit the sizes, else with weights and inputs from a seed.

import { part } from "../figure/elements.js";
import { amount } from "../figure/polynomials.js";
import { spelt } from "../figure/sizes.js";
import { shown, START, writer } from "../live_sizes.js";
import { panel, task, tell } from "./run_loader.js";
import { attention, input, output } from "./run_values.js";

const MOST_BYTES = 2 ** 29; // of weights and arrays
const MOST_FLOPS = 2e10; // about ten seconds
const MADE = Object.keys(task.arrays).filter((id) => !task.inputs.includes(id)); // what a model can give
export let worker = null;
let runs = 0;
export let busy = false;
let again = false;
export let last = null; // the run that is shown: its number, message, values, and whether it fits the example
const waiting = new Map();

document.addEventListener("run", run);
document.addEventListener("sizes", () => {
  origin();
  if (worker) run();
});

// Returns the sizes that the example does not have, each with what it has.
function unlike() {
  const most = Object.entries(task.within).filter(([name, most]) => shown.get(name) > most);
  const exact = Object.entries(task.exactly).filter(([name, own]) => shown.get(name) !== own);
  return [...exact.map(([name, own]) => `${spelt(name)} = ${own}`), ...most.map(([name, own]) => `${spelt(name)} up to ${own}`)];
}

// Says where the numbers come from, and why the example is not used.
function origin() {
  const [with_example, without] = task.said;
  const sizes = unlike().join(", ");
  const why = task.learned ? `Its weights are for ${sizes}. At the sizes set now, all numbers are random.` : `The example has ${sizes}. At the sizes set now, the inputs are random.`;
  panel.querySelector(".origin").textContent = sizes ? `${why} ${without}` : with_example;
}

// Says which sizes a model cannot have.
function stays() {
  const now = [...shown].filter(([name, value]) => START.get(name) !== value).map(([name]) => name);
  const found = now.filter((name) => name in task.stays);
  const why = found.map((name) => `${spelt(name)} = ${START.get(name)}, by ${task.stays[name]}`).join("; ");
  const said = why ? `This model is for ${why}.` : `This model is not for this ${now.map(spelt).join(", ")}.`;
  return `${said} Reset the sizes to run it.`;
}

// Says why a run would be too large, if it would be.
function too_large({ bytes, flops }) {
  const most = bytes > MOST_BYTES ? `its arrays and weights take ${amount(bytes, "B")}, and ${amount(MOST_BYTES, "B")}` : flops > MOST_FLOPS ? `it takes ${amount(flops, "FLOPs")}, and ${amount(MOST_FLOPS, "FLOPs")}` : "";
  return most && `At these sizes ${most} are the most in a browser. Smaller sizes run here.`;
}

export async function run() {
  const open = writer(task.run, shown);
  const now = open && JSON.parse(open(task.run.text));
  const no = now ? too_large(now) : stays();
  panel.classList.toggle("old", !!no);
  if (no) {
    again = busy; // what is under way is for other sizes
    return tell(no);
  }
  if (busy) return (again = true);
  const example = !unlike().length;
  const at = (name) => new URL(name, document.baseURI).href;
  const own = ({ kept, ...input }) => (kept && example ? { ...input, file: at(kept[0]), at: kept[1] } : input);
  const message = { model: at(task.file), inputs: now.inputs.map(own) };
  busy = true;
  const found = await calculate({ ...message, more: [], wanted: [...task.inputs, ...task.outputs.map((_, i) => `out${i}`), ...task.maps.map(({ value }) => value)] });
  busy = false;
  if (again) {
    again = false;
    return run();
  }
  if (found.error) return;
  const { ms, values } = found;
  tell(`Ran in this browser, in ${ms < 1 ? "under 1" : Math.round(ms)} ms.`);
  task.outputs.forEach((id, i) => (values[id] = values[`out${i}`]));
  last = { message, values, example, windows: now.windows };
  show_results();
}

function calculate(message) {
  if (!worker) {
    worker = new Worker("../runtime/run_worker.js", { type: "module" });
    worker.onmessage = ({ data }) => (data.error ? fail(data.error) : waiting.get(data.number)?.(data));
    worker.onerror = () => fail("the runtime could not be loaded from this host");
    tell("Loading the runtime, 4 MB …");
  }
  const number = ++runs;
  worker.postMessage({ number, ...message });
  return new Promise((resolve) => waiting.set(number, resolve)).finally(() => waiting.delete(number));
}

// Returns the values of arrays and weights, which are calculated where they are not known yet.
export async function values_of(ids) {
  const { message, values } = last;
  const wanted = ids.filter((id) => !(id in values) && (MADE.includes(id) || task.weights.includes(id)));
  if (wanted.length) {
    const more = MADE.filter((id) => !task.maps.some(({ value }) => value === id));
    const found = await calculate({ ...message, more, wanted });
    Object.assign(values, found.values);
  }
  return values;
}

// Ends the runtime, which may be broken; all that wait for it hear so, and the next run loads another.
function fail(error) {
  worker.terminate();
  worker = null;
  tell(`It did not run: ${error}.`);
  for (const answer of waiting.values()) answer({ error });
}

function show_results() {
  const { values, example } = last;
  const shown_inputs = example ? task.kept.map((id) => input(id, values[id])) : [];
  const maps = task.maps.map((told) => attention(told, values[told.value]));
  const outputs = task.outputs.map((id, i) => output(id, `out${i}`, values[id]));
  const inside = shown_inputs.length ? [part("section", "", part("h3", "What goes in"), ...shown_inputs)] : [];
  panel.querySelector(".results").replaceChildren(...inside, ...maps, ...outputs);
  document.dispatchEvent(new Event("ran"));
}

origin();
