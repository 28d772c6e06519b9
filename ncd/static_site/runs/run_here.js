// Runs the system with the sizes of the page: with its trained weights and its example as far as
// they fit the sizes, else with weights and inputs from a seed.

const MOST_NUMBERS = 2 ** 23; // in the inputs of a run
const MADE = Object.keys(task.arrays).filter((id) => !task.inputs.some(({ name }) => name === id));
const KEPT = [...MADE, ...task.weights]; // what a model can give besides its results
let worker = null;
let runs = 0;
let busy = false;
let again = false;
let last = null; // the run that is shown: its number, message, values, and whether it fits the example
const waiting = new Map();

document.addEventListener("sizes", () => {
  origin();
  if (worker) run();
});

const fits = () => Object.entries(task.within).every(([name, most]) => shown.get(name) <= most);

// Says where the numbers come from, and why the example is not used.
function origin() {
  const [with_example, without] = task.said;
  const sizes = Object.entries(task.within).map(([name, most]) => `${spelt(name)} up to ${most}`).join(", ");
  const why = task.random ? `It has learned with ${sizes}. At the sizes set now, all numbers are random.` : `The example has ${sizes}. At the sizes set now, the inputs are random.`;
  panel.querySelector(".origin").textContent = fits() ? with_example : `${why} ${without}`;
}

async function run() {
  const fixed = [...shown].filter(([name, value]) => START.get(name) !== value && !task.free.includes(name));
  panel.classList.toggle("old", fixed.length > 0);
  if (fixed.length) {
    const first = fixed.map(([name]) => `${spelt(name)} = ${START.get(name)}`).join(", ");
    return tell(`The weights of this model are for ${first}. Reset the sizes to run it. ${task.free.length ? `Free: ${task.free.map(spelt).join(", ")}.` : ""}`);
  }
  if (busy) return (again = true);
  const example = fits();
  const inputs = task.inputs.map((input, i) => given(input, example ? task.kept[i] : -1));
  if (inputs.includes(null)) return tell(`These inputs have more than ${MOST_NUMBERS.toLocaleString("en-US")} numbers.`);
  const at = (name) => new URL(name, document.baseURI).href;
  const message = { model: at(example || !task.random ? task.file : "random.onnx"), example: at("example.bin"), inputs };
  busy = true;
  const found = await calculate({ ...message, more: [], wanted: [...task.inputs.map(({ name }) => name), ...task.outputs.map((_, i) => `out${i}`), ...task.maps.map(({ value }) => value)] });
  busy = false;
  if (found.error) return fail(found.error);
  if (again) {
    again = false;
    return run();
  }
  const { ms, values } = found;
  tell(`Ran in this browser, in ${ms < 1 ? "under 1" : Math.round(ms)} ms.`);
  task.outputs.forEach((id, i) => (values[id] = values[`out${i}`]));
  last = { message, values, example };
  show_results();
}

function calculate(message) {
  if (!worker) {
    worker = new Worker("../runtime/run_worker.js", { type: "module" });
    worker.onmessage = ({ data }) => waiting.get(data.number)?.(data);
    worker.onerror = () => waiting.get(runs)?.({ error: "the runtime could not be loaded from this host" });
    tell("Loading the runtime, 4 MB …");
  }
  const number = ++runs;
  worker.postMessage({ number, ...message });
  return new Promise((resolve) => waiting.set(number, resolve)).finally(() => waiting.delete(number));
}

// Returns the values of arrays, which are calculated again where they are not known yet.
async function values_of(ids) {
  const { message, values } = last;
  const wanted = ids.filter((id) => !(id in values) && KEPT.includes(id));
  if (wanted.length) {
    const more = KEPT.filter((id) => !task.maps.some(({ value }) => value === id));
    const found = await calculate({ ...message, more, wanted });
    if (found.error) fail(found.error);
    Object.assign(values, found.values);
  }
  return values;
}

function fail(error) {
  worker.terminate();
  worker = null;
  waiting.clear();
  tell(`It did not run: ${error}.`);
}

// Returns an input at the sizes of the page: of the example, or drawn from the seed.
function given({ name, below, seed }, at) {
  const text = panel.querySelector(`[data-input="${name}"]`).textContent;
  const one = task.arrays[name].length === 1; // a number, of no axes
  const dims = one ? [] : (text.replaceAll(",", "").match(/\d+/g) ?? []).map(Number);
  const count = dims.reduce((all, each) => all * each, 1);
  const kind = below === null ? "float32" : "int64";
  if (count > MOST_NUMBERS) return null;
  if (at >= 0) return { name, dims, kind, at };
  return { name, dims, kind, data: below === null ? normals(seed, count) : wholes(seed, count, below) };
}

function show_results() {
  const { values, example } = last;
  const shown_inputs = example ? task.inputs.filter((_, i) => task.kept[i] >= 0).map(({ name }) => input(name, values[name])) : [];
  const maps = task.maps.map((told) => attention(told, values[told.value]));
  const outputs = task.outputs.map((id, i) => output(id, `out${i}`, values[id]));
  const inside = shown_inputs.length ? [part("section", "", part("h3", "What goes in"), ...shown_inputs)] : [];
  panel.querySelector(".results").replaceChildren(...inside, ...maps, ...outputs);
  document.dispatchEvent(new Event("ran"));
}

origin();
