// The first values of a weight, by its formula: an operation with its parts, a number, or a name: of
// an axis along which it counts, of a size such as n_x, or of numbers that are drawn.

import { normals, uniforms } from "./torch_random.js";

const OPERATIONS = {
  "+": (a, b) => a + b,
  "-": (a, b) => (b === undefined ? -a : a - b),
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "**": (a, b) => a ** b,
  "<": (a, b) => Number(a < b),
  "<=": (a, b) => Number(a <= b),
  ">": (a, b) => Number(a > b),
  ">=": (a, b) => Number(a >= b),
  "==": (a, b) => Number(a === b),
  "!=": (a, b) => Number(a !== b),
  and: (a, b) => Number(a && b),
  or: (a, b) => Number(a || b),
  not: (a) => Number(!a),
  where: (test, yes, no) => (test ? yes : no),
  clamp: (a, low, high) => Math.min(Math.max(a, low), high),
  relu: (a) => Math.max(a, 0),
  rsqrt: (a) => 1 / Math.sqrt(a),
  sigmoid: (a) => 1 / (1 + Math.exp(-a)),
  silu: (a) => a / (1 + Math.exp(-a)),
  softplus: (a) => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a))),
  elu: (a) => (a > 0 ? a : Math.expm1(a)),
  ...Object.fromEntries(["abs", "ceil", "cos", "exp", "expm1", "floor", "log", "log1p", "max", "min", "sign", "sin", "sqrt", "tanh"].map((name) => [name, Math[name]])),
};

// Returns a formula as a number, or as a function of the place in memory.
function calculated(formula, named) {
  if (!Array.isArray(formula)) return typeof formula === "number" ? formula : named(formula);
  const [name, ...parts] = formula;
  const apply = OPERATIONS[name];
  if (!apply) throw new Error(`a weight begins with ${name}, which a page does not know`);
  const inner = parts.map((each) => calculated(each, named));
  if (inner.every((each) => typeof each === "number")) return apply(...inner);
  const [a, b, c] = inner.map((each) => (typeof each === "number" ? () => each : each));
  return (i) => (c ? apply(a(i), b(i), c(i)) : b ? apply(a(i), b(i)) : apply(a(i)));
}

export function initial(start, axes, seed, count) {
  if (Array.isArray(start) && typeof start[0] === "number") return Float32Array.from(start);
  const found = calculated(start, (name) => {
    if (name in CONSTANTS) return CONSTANTS[name];
    if (name in DRAWS) {
      const drawn = DRAWS[name](seed, count);
      return (i) => drawn[i];
    }
    const place = axes.findIndex(([own]) => own === name);
    if (place < 0) return axes.find(([own]) => `n_${own}` === name)[1];
    const step = axes.slice(place + 1).reduce((all, [, size]) => all * size, 1);
    return (i) => Math.floor(i / step) % axes[place][1];
  });
  const values = new Float32Array(count);
  if (typeof found === "number") return values.fill(found);
  for (let i = 0; i < count; i++) values[i] = found(i);
  return values;
}

const CONSTANTS = { e: Math.E, pi: Math.PI, inf: Infinity };
const DRAWS = { normal: normals, uniform: uniforms };
