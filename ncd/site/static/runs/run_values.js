// Values of arrays as pictures, with words beside rows and columns, and their numbers by the pointer.

import { shades } from "../figure/cells.js";
import { part } from "../figure/elements.js";
import { digit, ends, matrix } from "../figure/matrix.js";
import { spelt } from "../figure/sizes.js";
import { onTheme } from "../figure/theme.js";
import { places, strides } from "../figure/thumbnail_cells.js";
import { last } from "./run_here.js";
import { task } from "./run_loader.js";

const MOST_HEADS = 48;
const TILES = 8; // slices of an array that are shown
const FEW = [6, 8]; // rows and columns of a table of numbers
const scales = task.colours.map(shades);
const map = (told) => matrix({ ...told, scales });

onTheme(() => document.querySelectorAll("canvas").forEach((canvas) => canvas.paint?.()));

// Returns the dimensions of an array: the axis, its label, and the side of a spatial one.
export function dimensions(id, dims) {
  const sides = ["height", "width"];
  const every = task.arrays[id].slice(1).flatMap((own) => {
    const [name, label, count] = typeof own === "string" ? [own, own, 1] : own;
    return Array.from({ length: count }, (_, i) => ({ name, label, axis: own, side: count > 1 ? (sides[i] ?? "") : "" }));
  });
  return every.map((own, i) => ({ ...own, size: dims[i], said: `${spelt_axis(own.label)} ${own.side}`.trim(), words: words(own.name, dims[i]) }));
}

export const spelt_axis = (label) => label.replace(/_\{?(\d+)\}?/g, (_, number) => spelt(number));

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

export function titled(id, dims) {
  const made = part("figcaption", "", part("b", task.arrays[id][0]), " ");
  dimensions(id, dims).forEach((own, i) => made.append(i ? " · " : "", axis_name(own), ` ${own.side} ${own.size}`.replace("  ", " ")));
  if (!dims.length) made.append("one number");
  return made;
}

// --- an array ------------------------------------------------------------------------------------

// Returns an array as a table of few numbers, an image in colours, or pictures of its first slices.
export function pictured(id, { data, dims }, wide = 220, grey = false, pick = null) {
  const own = dimensions(id, dims);
  const [low, high] = ends(data);
  const range = part("p", data.length > 1 ? `From ${digit(low)} to ${digit(high)}; begins ${Array.from(data.slice(0, 5), digit).join("  ")}` : "");
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
  const told = grey ? { rows, columns, low, high, wide, grey } : { rows, columns, low: low < 0 ? -most : 0, high: most, wide };
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
  for (let row = 0; row < rows; row++) made.append(part("tr", "", ...Array.from(data.slice(row * size, (row + 1) * size), (each) => part("td", digit(each)))));
  return scroll;
}

// Returns an example that goes in: its words in order, or its picture.
export function input(id, value) {
  const made = part("div", "", titled(id, value.dims));
  const line = value.dims.length && words(dimensions(id, value.dims)[0].name, value.dims[0]);
  if (line) made.append(Object.assign(part("p", line.join(" ")), { className: "sequence" }));
  if (task.pictures.includes(id)) made.append(...pictured(id, value, 160, true));
  return made;
}

export function output(id, name, { data, dims }) {
  const own = dimensions(id, dims);
  const made = part("section", "", part("h3", `Output ${own.map(({ said }) => said).join(" ")}: ${dims.join(" × ") || "one number"}`));
  made.append(...pictured(id, { data, dims }, 400).slice(0, 1));
  const first = part("p", `First numbers: ${Array.from(data.slice(0, 8), (each) => digit(each).replace("−", "-")).join("  ")}`);
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

export function attention({ title, rows, columns, heads, names }, { data, dims }) {
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
