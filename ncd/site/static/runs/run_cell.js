// How one number came about: the products of an einsum, a linear map or a convolution, the share of a
// softmax, or the numbers at the same place. The result is compared with what the model made, and nothing is said if they differ.

import { digit, ends } from "../figure/matrix.js";
import { strides } from "../figure/thumbnail_cells.js";
import { last } from "./run_here.js";
import { dimensions, spelt_axis } from "./run_values.js";

const TERMS = 4; // products that are written out
const MOST_TERMS = 100_000;
const figures = (value) => (value < 0 ? `(${digit(value)})` : digit(value));

// Returns an array with its dimensions as an op calls them: the axis and its side, and the size.
function seen(id, { data, dims }, renamed = {}) {
  const sides = dimensions(id, dims).map(({ name, side, size }) => ({ axis: renamed[name] ?? name, side, size }));
  return { data, dims, sides: sides.map((own) => ({ ...own, name: `${own.axis} ${own.side}` })) };
}

// Returns the position along each dimension of a number in an array.
function position({ dims, sides }, flat) {
  const steps = strides(dims);
  return new Map(sides.map(({ name }, i) => [name, Math.floor(flat / steps[i]) % dims[i]]));
}

// Returns the numbers that an array has along some dimensions, at a position on the others.
function along({ data, dims, sides }, where, spread) {
  const steps = strides(dims);
  const inner = new Set(spread.map(({ name }) => name));
  const start = sides.reduce((all, { name }, i) => all + (inner.has(name) ? 0 : steps[i] * (where.get(name) ?? NaN)), 0);
  const every = (all, { name, size }) => {
    const step = steps[sides.findIndex((own) => own.name === name)] ?? 0; // an array without it is the same along it
    return all.flatMap((at) => Array.from({ length: size }, (_, k) => at + k * step));
  };
  return spread.reduce(every, [start]).map((at) => data[at] ?? NaN);
}

const total_of = (sides) => sides.reduce((all, { size }) => all * size, 1);
const place_of = (sides, where) => sides.reduce((all, { name, size }) => all * size + where.get(name), 0);
const on = ({ sides }, axes) => axes.flatMap((axis) => sides.filter((own) => own.axis === axis));

// Returns a sentence about a number, or nothing where it is not known.
export function explained(step, values, id, flat) {
  const { takes, weights, renamed } = step;
  const made = seen(id, values[id]);
  const where = position(made, flat);
  const value = made.data[flat];
  const given = takes.map((own, i) => seen(own, values[own], renamed[i]));
  if (weights.length) return weights.every((name) => values[name]) ? learned(step, values, given[0], made, where, value) : "";
  const [what, axis] = step.kind.split(" ");
  const every = new Map(given.flatMap(({ sides }) => sides.map((own) => [own.name, own])));
  const inner = [...every.values()].filter((own) => (what === "softmax" ? own.axis === axis : !where.has(own.name)));
  if (total_of(inner) > MOST_TERMS) return "";
  const numbers = given.map((own) => along(own, where, inner));
  if (numbers.flat().some(Number.isNaN)) return "";
  if (what === "softmax") return share(numbers[0], place_of(inner, where), value, axis);
  if (what === "einsum") {
    const terms = numbers[0].map((_, i) => numbers.map((own) => own[i]));
    return products(terms, value, [...new Set(inner.map((own) => spelt_axis(own.axis)))].join(", "));
  }
  return inner.length ? "" : `${digit(value)}, made from ${numbers.map(([one]) => digit(one)).join(" and ")} at the same place`;
}

// Returns the products of a linear map or a convolution, each a weight times a number, and the bias.
function learned(step, values, given, made, where, value) {
  const { from, to, places: [old, moved] } = step;
  const spread = on(given, old ? [...from, old] : from);
  if (total_of(spread) > MOST_TERMS) return "";
  const numbers = along(given, where, spread);
  const [weight, bias] = step.weights.map((name) => values[name].data);
  const rows = on(made, to);
  const row = place_of(rows, where);
  const sides = on(given, old ? [old] : []).map(({ size }) => size);
  const centre = on(made, old ? [moved] : []).map(({ name }) => where.get(name));
  const pairs = old ? in_window(last.windows[step.slid], numbers.length, sides, total_of(rows), row, centre) : numbers.map((_, i) => [row * numbers.length + i, i]);
  const terms = pairs.map(([at, i]) => [weight[at], numbers[i]]);
  return products(terms, value, [...from.map(spelt_axis), ...(old ? ["the window"] : [])].join(", "), bias?.[row], "each a weight times a number, ");
}

// Returns the places of the weights of a window, with those of the numbers that they multiply; none
// for positions in the padding.
function in_window({ window, groups }, count, sides, rows, row, centre) {
  const area = sides.reduce((all, size) => all * size, 1);
  const channels = count / area / groups;
  const first = Math.floor(row / (rows / groups)) * channels;
  const offsets = window.reduce((all, [kernel]) => all.flatMap((each) => Array.from({ length: kernel }, (_, k) => [...each, k])), [[]]);
  return Array.from({ length: channels }, (_, channel) => channel).flatMap((channel) =>
    offsets.flatMap((offset, k) => {
      const place = offset.map((each, i) => centre[i] * window[i][1] + each * window[i][3] - window[i][2]);
      if (place.some((each, i) => each < 0 || each >= sides[i])) return [];
      const flat = place.reduce((all, each, i) => all * sides[i] + each, 0);
      return [[(row * channels + channel) * offsets.length + k, (first + channel) * area + flat]];
    }),
  );
}

const near = (found, value) => Math.abs(found - value) <= 1e-3 * Math.max(1, Math.abs(value));

// Returns a sum of products in words, with what is added in the end and what the factors are.
function products(terms, value, inner, bias, factors = "") {
  if (terms[0]?.length === 1 && !inner) return `${digit(value)}, as in the array that it takes`;
  const total = terms.reduce((all, each) => all + each.reduce((one, two) => one * two, 1), bias ?? 0);
  if (!near(total, value)) return "";
  const written = terms.slice(0, TERMS).map((each) => each.map(figures).join(" · "));
  const more = terms.length - written.length;
  const parts = [...written, ...(more ? [`… ${more} more`] : []), ...(bias === undefined ? [] : [figures(bias)])];
  const said = inner ? `, ${factors}summed over ${inner}` : "";
  return `${parts.join(" + ")} = ${digit(value)}${said}${bias === undefined ? "" : `; ${digit(bias)} is the bias`}`;
}

function share(row, at, value, axis) {
  const [, high] = ends(row);
  const parts = row.map((each) => Math.exp(each - high));
  const total = parts.reduce((all, each) => all + each, 0);
  if (!near(parts[at] / total, value)) return "";
  return `exp(${digit(row[at])} − ${figures(high)}) / ${digit(total)} = ${digit(value)}; ${digit(high)} is the largest along ${spelt_axis(axis)}, and ${digit(total)} the sum of all such exponentials`;
}
