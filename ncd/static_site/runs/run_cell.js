// How one number came about: the products of an einsum, the share of a softmax, or the numbers at the
// same place. The result is compared with what the model made, and nothing is said if they differ.

const TERMS = 4; // products that are written out
const MOST_TERMS = 100_000;
const figures = (value) => (value < 0 ? `(${digit(value)})` : digit(value));

// Returns the position along each axis of a number in an array, by the axis and its side.
function position(id, { dims }, flat) {
  const steps = strides(dims);
  return new Map(dimensions(id, dims).map((own, i) => [`${own.name} ${own.side}`, Math.floor(flat / steps[i]) % dims[i]]));
}

// Returns the numbers that an array has along some axes of these sizes, at a position on the others.
function along({ id, data, dims }, where, axes) {
  const own = dimensions(id, dims).map(({ name, side }) => `${name} ${side}`);
  const steps = strides(dims);
  const start = own.reduce((all, name, i) => all + (axes.has(name) ? 0 : steps[i] * (where.get(name) ?? NaN)), 0);
  const spread = (all, [name, size]) => {
    const step = steps[own.indexOf(name)] ?? 0; // an array without the axis is the same along it
    return all.flatMap((at) => Array.from({ length: size }, (_, k) => at + k * step));
  };
  return [...axes].reduce(spread, [start]).map((at) => data[at] ?? NaN);
}

// Returns a sentence about a number, or nothing where it is not known.
function explained({ kind, takes }, values, id, flat) {
  const value = values[id].data[flat];
  const where = position(id, values[id], flat);
  const sizes = new Map(takes.flatMap((own) => dimensions(own, values[own].dims).map(({ name, side, size }) => [`${name} ${side}`, size])));
  const [what, axis] = kind.split(" ");
  const inner = new Map([...sizes].filter(([name]) => (what === "softmax" ? name.trim() === axis : !where.has(name))));
  if ([...inner.values()].reduce((all, size) => all * size, 1) > MOST_TERMS) return "";
  const every = takes.map((own) => along({ id: own, ...values[own] }, where, inner));
  if (every.flat().some(Number.isNaN)) return "";
  if (what === "softmax") return share(every[0], where.get(`${axis} `), value, axis);
  if (what === "einsum") return products(every, value, [...inner.keys()].map((name) => name.trim()));
  return inner.size ? "" : `${digit(value)}, made from ${every.map(([one]) => digit(one)).join(" and ")} at the same place`;
}

const near = (found, value) => Math.abs(found - value) <= 1e-3 * Math.max(1, Math.abs(value));

function products(every, value, inner) {
  if (every.length === 1 && !inner.length) return `${digit(value)}, as in the array that it takes`;
  const terms = every[0].map((_, i) => every.map((own) => own[i]));
  const total = terms.reduce((all, each) => all + each.reduce((one, two) => one * two, 1), 0);
  if (!near(total, value)) return "";
  const written = terms.slice(0, TERMS).map((each) => each.map(figures).join(" · "));
  const more = terms.length - written.length;
  const said = inner.length ? `, summed over ${inner.join(", ")}` : "";
  return `${written.join(" + ")}${more ? ` + … ${more} more` : ""} = ${digit(value)}${said}`;
}

function share(row, at, value, axis) {
  const [, high] = ends(row);
  const parts = row.map((each) => Math.exp(each - high));
  const total = parts.reduce((all, each) => all + each, 0);
  if (!near(parts[at] / total, value)) return "";
  return `exp(${digit(row[at])} − ${figures(high)}) / ${digit(total)} = ${digit(value)}; ${digit(high)} is the largest along ${axis}, and ${digit(total)} the sum of all such exponentials`;
}
