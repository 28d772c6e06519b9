// Runs the system with the sizes of the page, and shows its outputs and attention maps.

const task = JSON.parse(document.getElementById("run").textContent);
const panel = document.querySelector(".run");
const MOST_NUMBERS = 2 ** 23; // in the inputs of a run
const MOST_HEADS = 48;
const VIRIDIS = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725";
const BLUE_RED = "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f";
let worker = null;
let runs = 0;
let busy = false;
let again = false;

panel.querySelector(".go").addEventListener("click", run);
document.addEventListener("sizes", () => worker && run());

function tell(text) {
  panel.querySelector(".ran").textContent = text;
}

function run() {
  const moved = [...shown].filter(([name, value]) => START.get(name) !== value && !task.free.includes(name));
  panel.classList.toggle("old", moved.length > 0);
  if (moved.length) {
    const first = moved.map(([name]) => `${spelt(name)} = ${START.get(name)}`).join(", ");
    return tell(`The weights of this model are for ${first}. Reset the sizes to run it. ${task.free.length ? `Free: ${task.free.map(spelt).join(", ")}.` : ""}`);
  }
  if (busy) return (again = true);
  const inputs = task.inputs.map(drawn);
  if (inputs.includes(null)) return tell(`These inputs have more than ${MOST_NUMBERS.toLocaleString("en-US")} numbers.`);
  if (!worker) {
    worker = new Worker("../runtime/run_worker.js", { type: "module" });
    worker.onmessage = ({ data }) => finish(data);
    worker.onerror = () => finish({ error: "the runtime could not be loaded from this host" });
    tell("Loading the runtime, 4 MB …");
  }
  busy = true;
  worker.postMessage({ number: ++runs, model: new URL(task.file, document.baseURI).href, inputs });
}

function drawn({ name, below, seed }) {
  const text = panel.querySelector(`[data-input="${name}"]`).textContent;
  const dims = (text.replaceAll(",", "").match(/\d+/g) ?? []).map(Number);
  const count = dims.reduce((all, each) => all * each, 1);
  if (count > MOST_NUMBERS) return null;
  if (below === null) return { name, dims, kind: "float32", data: normals(seed, count) };
  return { name, dims, kind: "int64", data: wholes(seed, count, below) };
}

function finish({ error, ms, values }) {
  busy = false;
  if (error) {
    worker.terminate();
    worker = null;
    return tell(`It did not run: ${error}.`);
  }
  if (again) {
    again = false;
    return run();
  }
  const weights = task.trained ? "trained weights" : "random weights of seed 0";
  tell(`Ran in this browser with ${weights}, in ${ms < 1 ? "under 1" : Math.round(ms)} ms.`);
  const maps = task.maps.map((told) => attention(told, values[told.value]));
  panel.querySelector(".results").replaceChildren(...maps, ...task.outputs.map((told) => output(told, values[told.value])));
}

function part(tag, text = "", ...inside) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...inside);
  return made;
}

const digit = (value) => (Number.isFinite(value) ? `${Number(value.toPrecision(4))}` : "masked");
const numel = (dims, of) => of.reduce((all, i) => all * dims[i], 1);

// Returns the place of each position along some dimensions.
function places(dims, of) {
  const strides = dims.map((_, i) => dims.slice(i + 1).reduce((all, each) => all * each, 1));
  return of.reduce((all, i) => all.flatMap((at) => Array.from({ length: dims[i] }, (_, n) => at + n * strides[i])), [0]);
}

function output({ name, value }, { data, dims }) {
  const made = part("section", "", part("h3", `Output ${name.replaceAll("_", "")}: ${dims.join(" × ") || "one number"}`));
  const rows = dims.length > 1 ? dims.at(-2) : 1;
  const columns = dims.at(-1) ?? 1;
  const read = (row, column) => data[row * columns + column];
  const high = data.reduce((most, each) => (Number.isFinite(each) ? Math.max(most, Math.abs(each)) : most), 0);
  made.append(map(`${name}, the first matrix`, rows, columns, read, [-high, high], ["row", "column"], 400));
  const first = part("p", `First numbers: ${[...data.slice(0, 8)].map(digit).join("  ")}`);
  first.className = "numbers";
  first.dataset.value = value;
  made.append(first);
  return made;
}

function attention({ title, rows, columns, heads, names }, { data, dims }) {
  const said = rows.length
    ? `Attention of ${title}: rows are queries ${names[0]}, columns keys ${names[1]}`
    : `${title}: probabilities over ${names[1]}`;
  const made = part("section", "", part("h3", said));
  const [down, across, every] = [rows, columns, heads].map((of) => places(dims, of));
  const high = data.reduce((most, each) => (each > most ? each : most), 0);
  const grid = part("div");
  grid.className = "heads";
  every.slice(0, MOST_HEADS).forEach((start, head) => {
    const read = (row, column) => data[start + down[row] + across[column]];
    const name = every.length > 1 ? `${names[2]} = ${head}` : rows.length ? "one head" : title;
    grid.append(map(name, down.length, across.length, read, [0, high], ["query", rows.length ? "key" : names[1]]));
  });
  made.append(grid);
  if (every.length > MOST_HEADS) made.append(part("p", `The first ${MOST_HEADS} of ${every.length} heads.`));
  return made;
}

function colour(stops, share) {
  const every = stops.split(" ");
  const at = Math.min(1, Math.max(0, share)) * (every.length - 1);
  const low = Math.min(Math.floor(at), every.length - 2);
  const channel = (stop, i) => parseInt(stop.slice(2 * i, 2 * i + 2), 16);
  return [0, 1, 2].map((i) => channel(every[low], i) * (low + 1 - at) + channel(every[low + 1], i) * (at - low));
}

// A picture of a matrix with a cursor: by the pointer, or by the arrow keys.
function map(name, rows, columns, read, [low, high], [down, across], wide = 220) {
  const canvas = document.createElement("canvas");
  const cell = Math.max(1, Math.min(12, Math.floor(wide / Math.max(rows, columns))));
  const [high_cells, wide_cells] = [Math.min(rows, 512), Math.min(columns, 512)];
  Object.assign(canvas, { width: wide_cells, height: high_cells, tabIndex: 0 });
  canvas.style.width = `${Math.max(24, wide_cells * cell)}px`;
  canvas.style.height = `${Math.max(12, high_cells * cell)}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${name}: ${rows} by ${columns} numbers; arrow keys read them`);
  const image = new ImageData(wide_cells, high_cells);
  for (let row = 0; row < high_cells; row++)
    for (let column = 0; column < wide_cells; column++) {
      const value = read(row, column);
      const shade = colour(low < 0 ? BLUE_RED : VIRIDIS, (value - low) / (high - low || 1));
      image.data.set([...shade, Number.isFinite(value) ? 255 : 0], 4 * (row * wide_cells + column));
    }
  canvas.getContext("2d").putImageData(image, 0, 0);
  const cut = rows > high_cells || columns > wide_cells ? `, the first ${high_cells} × ${wide_cells}` : "";
  const told = `${name}: ${rows} × ${columns}${cut}`;
  const tip = part("output", told);
  let at = [0, 0];
  const rest = () => (tip.textContent = told);
  const show = (row, column) => {
    at = [Math.min(high_cells - 1, Math.max(0, row)), Math.min(wide_cells - 1, Math.max(0, column))];
    const rowText = rows > 1 ? `${down} ${at[0]}, ` : "";
    tip.textContent = `${rowText}${across} ${at[1]}: ${digit(read(...at))}`;
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const place = (from, length, cells) => Math.floor(((from - 1) / (length - 2)) * cells);
    show(place(event.clientY - box.top, box.height, high_cells), place(event.clientX - box.left, box.width, wide_cells));
  });
  canvas.addEventListener("pointerleave", rest);
  canvas.addEventListener("blur", rest);
  canvas.addEventListener("focus", () => show(...at));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    show(at[0] + step[0], at[1] + step[1]);
  });
  return part("figure", "", canvas, part("figcaption", "", tip));
}
