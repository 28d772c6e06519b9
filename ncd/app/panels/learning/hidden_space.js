// A perceptron's way from the plane to its hidden space: W1 x + b1 as turn, stretch, turn and shift
// (its singular value decomposition), and the bend of the activation at last.

const BENDS = {
  none: (z) => z,
  tanh: Math.tanh,
  relu: (z) => Math.max(z, 0),
  sigmoid: (z) => 1 / (1 + Math.exp(-z)),
};
export const dot = (a, b) => a.reduce((sum, each, i) => sum + each * b[i], 0);
export const times = (a, s) => a.map((each) => each * s);
export const plus = (a, b) => a.map((each, i) => each + b[i]);
export const mix = (a, b, s) => a.map((each, i) => each + s * (b[i] - each));
export const long = (a) => Math.sqrt(dot(a, a));
export const cross = ([a, b, c], [d, e, f]) => [b * f - c * e, c * d - a * f, a * e - b * d];
const turned = ([x, y], angle) => [
  x * Math.cos(angle) - y * Math.sin(angle),
  x * Math.sin(angle) + y * Math.cos(angle),
];

// The weights of a row of numbers: of p hidden units and q hyperplanes.
export function weights(numbers, p, q) {
  const rows = (at, count, wide) =>
    Array.from({ length: count }, (_, i) => numbers.slice(at + i * wide, at + (i + 1) * wide));
  return {
    w1: rows(0, p, 2),
    b1: numbers.slice(2 * p, 3 * p),
    w2: rows(3 * p, q, p),
    b2: numbers.slice(3 * p + q * p),
  };
}

const affine = ({ w1, b1 }, x) => w1.map((row, i) => dot(row, x) + b1[i]);
export const hidden = (net, bend, x) => affine(net, x).map(BENDS[bend]);
export const sides = ({ w2, b2 }, z) => w2.map((row, k) => dot(row, z) + b2[k]);
export const classOf = (scores) =>
  scores.length > 1 ? scores.indexOf(Math.max(...scores)) : Number(scores[0] > 0);

// The turn of the plane, the two stretches, and the directions that its axes get to in p dimensions.
function decomposed(w1) {
  const [a, b, c] = [[0, 0], [0, 1], [1, 1]].map(([i, j]) =>
    w1.reduce((sum, row) => sum + row[i] * row[j], 0),
  );
  const angle = 0.5 * Math.atan2(2 * b, a - c);
  const images = [0, Math.PI / 2].map((more) => {
    const axis = turned([1, 0], angle + more);
    return w1.map((row) => dot(row, axis));
  });
  const stretch = images.map(long);
  const axes = images.map((image, i) => (stretch[i] > 1e-9 ? times(image, 1 / stretch[i]) : null));
  axes[0] ??= w1.map((_, i) => Number(i === 0));
  axes[1] ??= apart(w1.map((_, i) => Number(i === 1)), axes[0]);
  return { angle, stretch, axes };
}

// A direction without its part along another one; any other one if nothing is left.
function apart(direction, other) {
  const rest = plus(direction, times(other, -dot(direction, other)));
  const size = long(rest);
  if (size > 1e-6) return times(rest, 1 / size);
  return other.length > 1 ? apart(other.map((_, i) => Number(i === 0)), other) : [0];
}

// The stages of the way at these weights: what each is called, and what it makes of the place that
// the one before has led to, done to a share s. `basis` are the directions shown of many dimensions.
export function stages(net, bend, basis) {
  const { angle, stretch, axes } = decomposed(net.w1);
  const p = net.w1.length;
  const found = [{ name: `turn by ${degrees(-angle)}`, go: (v, s) => turned(v, -s * angle) }];
  const scales = [...stretch];
  let lift = { name: `lay it into ${p} dimensions`, go: null };
  if (p === 1) {
    scales[0] *= axes[0][0];
    scales[1] = 0;
    lift = null;
  } else if (p === 2) {
    const [u, w] = axes;
    if (u[0] * w[1] - u[1] * w[0] < 0) scales[1] *= -1;
    const back = Math.atan2(u[1], u[0]);
    lift = { name: `turn by ${degrees(back)}`, go: (v, s) => turned(v, s * back) };
  } else if (p === 3) {
    const way = rotation([axes[0], axes[1], cross(...axes)]);
    lift = { name: "tilt it into the room", go: ([x, y], s) => way([x, y, 0], s) };
  } else {
    const seen = axes.map((axis) => basis.map((one) => dot(one, axis)));
    lift.go = ([x, y], s) => mix([x, y, 0], plus(times(seen[0], x), times(seen[1], y)), s);
  }
  found.push({
    name: `stretch by ${digits(scales[0])} and ${digits(scales[1])}`,
    go: ([x, y], s) => [x * (1 + s * (scales[0] - 1)), y * (1 + s * (scales[1] - 1))],
  });
  if (lift) found.push(lift);
  const shift = p > 3 ? basis.map((one) => dot(one, net.b1)) : net.b1;
  const by = p > 3 ? "" : ` by (${net.b1.map(digits).join(", ")})`;
  found.push({ name: `shift${by}`, go: (v, s) => plus(v, times(shift, s)) });
  if (bend !== "none") found.push({ name: `bend by ${bend}`, bend: true });
  return found;
}

// Where a point x of the plane is at time t: after Math.floor(t) stages, the next one in part.
export function went(net, bend, basis, way, x, t) {
  const p = net.w1.length;
  const flat = way.at(-1).bend ? way.slice(0, -1) : way;
  let v = x;
  for (const [i, stage] of flat.entries())
    if (t > i) v = stage.go(p === 1 && i === flat.length - 1 ? [v[0]] : v, Math.min(1, t - i));
  if (t <= flat.length) return v;
  const bent = hidden(net, bend, x);
  return mix(v, p > 3 ? basis.map((one) => dot(one, bent)) : bent, t - flat.length);
}

const degrees = (angle) => `${minus(Math.round((angle * 180) / Math.PI))}°`;
export const minus = (text) => String(text).replace("-", "−");
const digits = (number) => minus(Number(number.toPrecision(2)));

// A rotation of the room, given by where it takes the axes, done to a share s; as a quaternion.
function rotation([a, b, c]) {
  const m = (i, j) => [a, b, c][j][i];
  const size = [
    1 + m(0, 0) + m(1, 1) + m(2, 2),
    1 + m(0, 0) - m(1, 1) - m(2, 2),
    1 - m(0, 0) + m(1, 1) - m(2, 2),
    1 - m(0, 0) - m(1, 1) + m(2, 2),
  ];
  const parts = [
    [size[0], m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)],
    [m(2, 1) - m(1, 2), size[1], m(0, 1) + m(1, 0), m(0, 2) + m(2, 0)],
    [m(0, 2) - m(2, 0), m(0, 1) + m(1, 0), size[2], m(1, 2) + m(2, 1)],
    [m(1, 0) - m(0, 1), m(0, 2) + m(2, 0), m(1, 2) + m(2, 1), size[3]],
  ][size.indexOf(Math.max(...size))];
  const [w, ...axis] = times(parts, (parts[0] < 0 ? -1 : 1) / long(parts));
  const angle = 2 * Math.acos(Math.min(1, w));
  const unit = long(axis) > 1e-9 ? times(axis, 1 / long(axis)) : [0, 0, 1];
  return (v, s) => around(v, unit, s * angle);
}

// A vector turned around an axis (Rodrigues).
function around(v, axis, angle) {
  const along = times(axis, dot(axis, v) * (1 - Math.cos(angle)));
  return plus(plus(times(v, Math.cos(angle)), times(cross(axis, v), Math.sin(angle))), along);
}

// Three directions of the hidden space to look at: the hyperplane's normal, if there is one, then
// those in which the points are spread the most, near to those that were shown before.
export function directions(net, points, before) {
  const p = net.w1.length;
  const found = [];
  if (net.w2.length === 1 && long(net.w2[0]) > 1e-9)
    found.push(times(net.w2[0], 1 / long(net.w2[0])));
  const mean = times(points.reduce(plus, Array(p).fill(0)), 1 / Math.max(1, points.length));
  const spread = points.map((point) => plus(point, times(mean, -1)));
  while (found.length < 3) {
    const clear = (v) => found.reduce((rest, one) => plus(rest, times(one, -dot(rest, one))), v);
    let v = before?.[found.length] ?? mean.map((_, i) => Math.cos(1 + i * (found.length + 1)));
    for (let n = 0; n < 30; n++) {
      v = clear(v);
      v = times(v, 1 / (long(v) || 1));
      const next = clear(spread.reduce((sum, d) => plus(sum, times(d, dot(d, v))), Array(p).fill(0)));
      if (long(next) < 1e-9) break;
      v = times(next, 1 / long(next));
    }
    found.push(v);
  }
  return found;
}
