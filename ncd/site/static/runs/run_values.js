// Values of arrays as pictures, with words beside rows and columns, and their numbers by the pointer.

const MOST_HEADS = 48;
const TILES = 8; // slices of an array that are shown
const FEW = [6, 8]; // rows and columns of a table of numbers
const MOST_CELLS = 512; // along a side of a picture
const LETTER = 13; // the least height of a row that has a word
const NARROW = 150; // the width of pictures without words

function part(tag, text = "", ...inside) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...inside);
  return made;
}

const digit = (value) => (Number.isFinite(value) ? `${Number(value.toPrecision(4))}`.replace("-", "−") : "masked");

// Returns the dimensions of an array: the axis, its label, and the side of a spatial one.
function dimensions(id, dims) {
  const sides = ["height", "width"];
  const every = task.arrays[id].slice(1).flatMap((own) => {
    const [name, label, count] = typeof own === "string" ? [own, own, 1] : own;
    return Array.from({ length: count }, (_, i) => ({ name, label, axis: own, side: count > 1 ? (sides[i] ?? "") : "" }));
  });
  return every.map((own, i) => ({ ...own, size: dims[i], said: `${spelt_axis(own.label)} ${own.side}`.trim(), words: words(own.name, dims[i]) }));
}

const spelt_axis = (label) => label.replace(/_\{?(\d+)\}?/g, (_, number) => spelt(number));

// Returns the words along an axis, if the example has that many.
function words(name, size) {
  const known = last.example ? task.words[name] : undefined;
  return known && known.length >= size ? known.slice(0, size) : null;
}

function axis_name({ name, label }) {
  const [base, below] = label.split("_");
  const made = part("i", base);
  made.className = "axis";
  made.dataset.axis = name;
  if (below) made.append(part("sub", below.replace(/[{}]/g, "")));
  return made;
}

function titled(id, dims) {
  const made = part("figcaption", "", part("b", task.arrays[id][0]), " ");
  dimensions(id, dims).forEach((own, i) => made.append(i ? " · " : "", axis_name(own), ` ${own.side} ${own.size}`.replace("  ", " ")));
  if (!dims.length) made.append("one number");
  return made;
}

const strides = (dims) => dims.map((_, i) => dims.slice(i + 1).reduce((all, each) => all * each, 1));

// Returns the place of each position along some dimensions.
function places(dims, of) {
  const steps = strides(dims);
  return of.reduce((all, i) => all.flatMap((at) => Array.from({ length: dims[i] }, (_, n) => at + n * steps[i])), [0]);
}

// Returns the least and the largest finite number.
function ends(data) {
  let [low, high] = [Infinity, -Infinity];
  for (const each of data)
    if (Number.isFinite(each)) [low, high] = [Math.min(low, each), Math.max(high, each)];
  return low > high ? [0, 0] : [low, high];
}

// --- an array ------------------------------------------------------------------------------------

// Returns an array as a table of few numbers, an image in colours, or pictures of its first slices.
function pictured(id, { data, dims }, wide = 220, grey = false, pick = null) {
  const own = dimensions(id, dims);
  const [low, high] = ends(data);
  const range = part("p", data.length > 1 ? `From ${digit(low)} to ${digit(high)}; begins ${[...data.slice(0, 5)].map(digit).join("  ")}` : "");
  range.className = "numbers muted";
  const image = own.findIndex((each, i) => each.side && each.axis === own[i + 1]?.axis);
  const two = image >= 0 ? [image, image + 1] : own.length > 1 ? [0, 1] : [];
  const rest = two.length ? own.map((_, i) => i).filter((i) => !two.includes(i) && own[i].size > 1) : [];
  const [rows, columns] = two.length ? two.map((i) => own[i]) : [{ size: 1, said: "" }, own[0] ?? { size: 1, said: "" }];
  if (!rest.length && rows.size <= FEW[0] && columns.size <= FEW[1]) return [table(data, rows.size, columns), ...(data.length > 1 ? [range] : [])];
  const steps = strides(dims);
  const [down, across] = two.length ? two.map((i) => steps[i]) : [0, 1];
  const most = Math.max(Math.abs(low), Math.abs(high));
  const spot = (start) => (row, column) => start + row * down + column * across;
  const told = grey ? { rows, columns, low, high, wide, scale: 2 } : { rows, columns, low: low < 0 ? -most : 0, high: most, wide };
  const along = two.length ? rest.reduce((best, i) => (best < 0 || dims[i] > dims[best] ? i : best), -1) : -1;
  if (image >= 0 && along === image - 1 && dims[along] === 3) return [map({ ...told, name: "as one image", read: (row, column) => data[row * down + column * across], channels: (row, column) => [0, 1, 2].map((i) => (data[i * steps[along] + row * down + column * across] - low) / (high - low || 1)) }), range];
  const count = along < 0 ? 1 : Math.min(TILES, dims[along]);
  const tiles = Array.from({ length: count }, (_, n) =>
    map({ ...told, name: along < 0 ? "" : `${own[along].said} = ${n}`, ...picks(spot(along < 0 ? 0 : n * steps[along]), data, pick), wide: count > 1 ? wide / 2 : wide }));
  const grid = part("div", "", ...tiles);
  grid.className = "heads";
  if (along >= 0 && dims[along] > count) range.textContent += `. ${dims[along] - count} more along ${own[along].said}`;
  const fixed = rest.filter((i) => i !== along).map((i) => `${own[i].said} = 0`);
  if (fixed.length) range.textContent += `, at ${fixed.join(", ")}`;
  return [grid, range];
}

// Returns how a picture reads its numbers, and what a click on one does.
function picks(spot, data, pick) {
  return { read: (...at) => data[spot(...at)], pick: pick && ((...at) => pick(spot(...at))) };
}

function table(data, rows, { size, words }) {
  const made = part("table");
  const scroll = part("div", "", made);
  scroll.className = "scroll";
  if (words) made.append(part("tr", "", ...words.map((word) => part("th", word))));
  for (let row = 0; row < rows; row++) made.append(part("tr", "", ...[...data.slice(row * size, (row + 1) * size)].map((each) => part("td", digit(each)))));
  return scroll;
}

// Returns an example that goes in: its words in order, or its picture.
function input(id, value) {
  const made = part("div", "", titled(id, value.dims));
  const line = value.dims.length && words(dimensions(id, value.dims)[0].name, value.dims[0]);
  if (line) made.append(Object.assign(part("p", line.join(" ")), { className: "sequence" }));
  if (task.pictures.includes(id)) made.append(...pictured(id, value, 160, true));
  return made;
}

function output(id, name, { data, dims }) {
  const own = dimensions(id, dims);
  const made = part("section", "", part("h3", `Output ${own.map(({ said }) => said).join(" ")}: ${dims.join(" × ") || "one number"}`));
  made.append(...pictured(id, { data, dims }, 400).slice(0, 1));
  const first = part("p", `First numbers: ${[...data.slice(0, 8)].map((each) => digit(each).replace("−", "-")).join("  ")}`);
  first.className = "numbers";
  first.dataset.value = name;
  made.append(first);
  if (own.length === 2 && own[1].words) made.append(Object.assign(part("p", `Most likely at each place: ${best(data, own).join(" ")}`), { className: "sequence" }));
  return made;
}

function best(data, [rows, columns]) {
  return Array.from({ length: rows.size }, (_, row) => {
    const line = data.slice(row * columns.size, (row + 1) * columns.size);
    return columns.words[line.indexOf(Math.max(...line))];
  });
}

function attention({ title, rows, columns, heads, names }, { data, dims }) {
  const said = rows.length
    ? `Attention of ${title}: rows are queries ${names[0]}, columns keys ${names[1]}`
    : `${title}: probabilities over ${names[1]}`;
  const made = part("section", "", part("h3", said));
  const [down, across, every] = [rows, columns, heads].map((of) => places(dims, of));
  const [, high] = ends(data);
  const grid = part("div");
  grid.className = "heads";
  every.slice(0, MOST_HEADS).forEach((start, head) => {
    const read = (row, column) => data[start + down[row] + across[column]];
    const name = every.length > 1 ? `${names[2]} = ${head}` : rows.length ? "one head" : title;
    const side = (name, said, size) => ({ size, said, words: words(name, size) });
    grid.append(map({ name, rows: side(names[0], "query", down.length), columns: side(names[1], rows.length ? "key" : names[1], across.length), read, low: 0, high, wide: 220 }));
  });
  made.append(grid);
  if (every.length > MOST_HEADS) made.append(part("p", `The first ${MOST_HEADS} of ${every.length} heads.`));
  return made;
}

// --- one picture ---------------------------------------------------------------------------------

function colour(stops, share) {
  const every = stops.split(" ");
  const at = Math.min(1, Math.max(0, share)) * (every.length - 1);
  const low = Math.min(Math.floor(at), every.length - 2);
  const channel = (stop, i) => parseInt(stop.slice(2 * i, 2 * i + 2), 16);
  return [0, 1, 2].map((i) => channel(every[low], i) * (low + 1 - at) + channel(every[low + 1], i) * (at - low));
}

// The 256 colours of a scale.
const scales = task.colours.map((stops) => Array.from({ length: 256 }, (_, i) => colour(stops, i / 255)));

// Pictures of signed numbers are painted anew where the page's colours change.
const night = matchMedia("(prefers-color-scheme: dark)");
const repaint = () => document.querySelectorAll("canvas").forEach((canvas) => canvas.paint?.());
night.addEventListener("change", repaint);
new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["style"] });

function signed() {
  const asked = document.documentElement.style.colorScheme;
  return (asked ? asked === "dark" : night.matches) ? 3 : 1;
}

function painted({ read, channels, low, high, scale: number = low < 0 ? signed() : 0 }, rows, columns) {
  const image = new ImageData(columns, rows);
  const scale = scales[number];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const value = read(row, column);
      const share = Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
      const shade = channels ? channels(row, column).map((each) => 255 * each) : scale[Math.round(255 * share)];
      image.data.set(Number.isFinite(value) ? [...shade, 255] : [0, 0, 0, 0], 4 * (row * columns + column));
    }
  return image;
}

// Returns the height and width of a cell, in pixels; a word needs the height of a letter.
function cells(words, rows, columns, wide) {
  const alike = Math.max(1, Math.min(14, Math.floor(wide / Math.max(rows, columns))));
  const least = Math.max(alike, LETTER);
  if (words.rows && words.columns) return [least, least];
  return [words.rows ? least : alike, words.columns ? least : alike];
}

function side(words, name) {
  const made = part("div", "", ...words.map((word) => part("span", word)));
  made.className = name;
  made.setAttribute("aria-hidden", "true");
  return made;
}

// Returns a picture of a matrix with a cursor: by the pointer, or by the arrow keys.
function map(told) {
  const { name, rows, columns, read, wide } = told;
  const canvas = document.createElement("canvas");
  const words = { rows: wide > NARROW && rows.words, columns: wide > NARROW && columns.words };
  const [tall, broad] = cells(words, rows.size, columns.size, wide);
  const [high, across] = [Math.min(rows.size, MOST_CELLS), Math.min(columns.size, MOST_CELLS)];
  Object.assign(canvas, { width: across, height: high, tabIndex: 0 });
  canvas.style.width = `${Math.max(24, across * broad)}px`;
  canvas.style.height = `${Math.max(12, high * tall)}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${name || "The numbers"}: ${rows.size} by ${columns.size} numbers; arrow keys read them`);
  canvas.paint = () => canvas.getContext("2d").putImageData(painted(told, high, across), 0, 0);
  canvas.paint();
  const cut = rows.size > high || columns.size > across ? `, the first ${high} × ${across}` : "";
  const tip = pointed(canvas, told, [high, across], `${name ? `${name}: ` : ""}${rows.size} × ${columns.size}${cut}`);
  const box = part("div");
  box.className = words.rows || words.columns ? "worded" : "";
  if (words.columns) box.append(side(words.columns, "column-words"));
  if (words.rows) box.append(side(words.rows, "row-words"));
  box.append(canvas);
  return part("figure", "", box, part("figcaption", "", tip));
}

// Returns the line below a picture: what it is, or the number that is pointed at.
function pointed(canvas, { rows, columns, read, pick }, cells, told) {
  const tip = part("output", told);
  let at = [0, 0];
  const rest = () => (tip.textContent = told);
  const place = ({ said, words }, i) => `${said} ${i}${words ? ` ${words[i]}` : ""}`.trim();
  const show = (...where) => {
    at = where.map((each, i) => Math.min(cells[i] - 1, Math.max(0, each)));
    tip.textContent = `${rows.size > 1 ? `${place(rows, at[0])}, ` : ""}${place(columns, at[1])}: ${digit(read(...at)).replace("−", "-")}`;
  };
  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    const spot = (from, length, count) => Math.floor(((from - 1) / (length - 2)) * count);
    show(spot(event.clientY - box.top, box.height, cells[0]), spot(event.clientX - box.left, box.width, cells[1]));
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("click", (event) => {
    point(event);
    pick?.(...at);
  });
  canvas.addEventListener("pointerleave", rest);
  canvas.addEventListener("blur", rest);
  canvas.addEventListener("focus", () => show(...at));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter") pick?.(...at);
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    show(at[0] + step[0], at[1] + step[1]);
  });
  return tip;
}
