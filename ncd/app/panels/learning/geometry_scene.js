// How the plane, the hidden space and the time of a training are drawn.

import { board, line, mark, regions, shade } from "./geometry_canvas.js";
import { classOf, cross, dot, hidden, long, minus, plus, sides, times, went } from "./hidden_space.js";

// The signs of the classes.
export const SHAPES = ["●", "■", "▲", "◆"];
const SMALL = "₀₁₂₃₄₅₆₇₈₉";

export const part = (host, name) => host.box.querySelector(`.${name}`);

export function draw(host) {
  if (!host.net) return;
  const css = getComputedStyle(host.box);
  host.ink = css.color;
  drawPlane(host);
  drawRoom(host);
  drawTime(host);
  tellSpot(host);
}

const scored = (host, x) => sides(host.net, hidden(host.net, host.data.bend, x));

// --- the plane -----------------------------------------------------------------------------------

function drawPlane(host) {
  const canvas = part(host, "plane");
  const { ink, side } = board(canvas);
  const { edge, p } = host.data;
  const at = ([x, y]) => [((x + edge) / (2 * edge)) * side, ((edge - y) / (2 * edge)) * side];
  const scale = (2 * edge) / side;
  regions(host, ink, side, (a, b) => scored(host, [a * scale - edge, edge - b * scale]));
  if (p <= 12) borders(host, ink, at);
  let wrong = 0;
  for (const [x, y, kind] of host.points) {
    const missed = classOf(scored(host, [x, y])) !== kind;
    wrong += missed;
    mark(host, ink, at([x, y]), kind, missed);
  }
  if (host.spot) cross2(host, ink, at(host.spot));
  const { length } = host.points;
  canvas.setAttribute(
    "aria-label",
    `The plane with ${length} points, ${length - wrong} of them on the right side` +
      (host.data.own ? ". Arrows move, Enter sets a point, 1 to 4 choose its class" : ""),
  );
}

// Where each hidden unit is 0 before its bend: a line of the plane.
function borders(host, ink, at) {
  Object.assign(ink, { strokeStyle: host.ink, fillStyle: host.ink, lineWidth: 1.2 });
  ink.font = "italic 13px serif";
  for (const [i, row] of host.net.w1.entries()) {
    const size = dot(row, row);
    if (size < 1e-9) continue;
    const foot = times(row, -host.net.b1[i] / size);
    const along = times([-row[1], row[0]], (4 * host.data.edge) / Math.sqrt(size));
    ink.setLineDash([6, 5]);
    ink.globalAlpha = 0.65;
    ink.beginPath();
    line(ink, at(plus(foot, along)), at(plus(foot, times(along, -1))));
    ink.stroke();
    ink.setLineDash([]);
    ink.globalAlpha = 1;
    const [x, y] = at(plus(foot, times(along, 0.05 * i))); // lines may lie on each other
    ink.fillText(`z${SMALL[i + 1] ?? i + 1}`, x + 5, y - 5);
  }
}

function cross2(host, ink, [x, y]) {
  Object.assign(ink, { strokeStyle: host.ink, lineWidth: 1.6 });
  ink.beginPath();
  ink.arc(x, y, 8, 0, 7);
  line(ink, [x - 13, y], [x + 13, y]);
  line(ink, [x, y - 13], [x, y + 13]);
  ink.stroke();
}

// --- the hidden space ----------------------------------------------------------------------------

function drawRoom(host) {
  const canvas = part(host, "hidden");
  const { ink, side } = board(canvas);
  const { p, bend, edge } = host.data;
  const deep = p > 2;
  canvas.classList.toggle("turns", deep);
  canvas.setAttribute("aria-label", `The points in the hidden space${deep ? ". Arrows turn it" : ""}`);
  const full = (v) => [v[0], v[1] ?? 0, v[2] ?? 0];
  const go = (x) => full(went(host.net, bend, host.basis, host.way, x, host.time));
  const ends = host.points.map(([x, y]) => go([x, y]));
  const corners = [[-1, -1], [-1, 1], [1, -1], [1, 1], [0, 0]].map((c) => go(times(c, edge)));
  const view = seen(host, [...ends, ...corners], deep, side);
  const last = Math.max(0, host.time - host.way.length + 1);
  if (p === 2 && last > 0)
    regions(host, ink, side, (...spot) => sides(host.net, view.back(spot)), last);
  axes(host, ink, view, deep);
  grid(host, ink, view, go);
  if (last > 0) planes(host, ink, view, last);
  const order = ends.map((end, i) => [view.at(end), i]).sort(([a], [b]) => a[2] - b[2]);
  for (const [at, i] of order) {
    const [x, y, kind] = host.points[i];
    mark(host, ink, at, kind, classOf(scored(host, [x, y])) !== kind, deep ? 4.5 : 5);
  }
  if (host.spot) cross2(host, ink, view.at(go(host.spot)));
}

// How places of the hidden space get onto the board: all are seen, from where it is turned to.
function seen(host, places, deep, side) {
  const bent = host.way.at(-1).bend ? Math.max(0, host.time - host.way.length + 1) : 0;
  const box = [0, 1, 2].map((i) => places.map((v) => v[i]));
  const middle = box.map((row) => (bent * (Math.min(...row) + Math.max(...row))) / 2);
  const far = places.map((v) => plus(v, times(middle, -1)));
  const reach = Math.max(0.5, ...far.map((v) => (deep ? long(v) : Math.max(...v.map(Math.abs)))));
  const scale = (0.45 * side) / reach;
  const [yaw, pitch] = deep ? [host.yaw, host.pitch] : [0, 0];
  const at = (v) => {
    const [x, y, z] = plus(v, times(middle, -1));
    const [a, depth] = [x * Math.cos(yaw) + z * Math.sin(yaw), z * Math.cos(yaw) - x * Math.sin(yaw)];
    const up = y * Math.cos(pitch) - depth * Math.sin(pitch);
    const near = depth * Math.cos(pitch) + y * Math.sin(pitch);
    return [side / 2 + scale * a, side / 2 - scale * up, near];
  };
  const back = ([x, y]) => [(x - side / 2) / scale + middle[0], (side / 2 - y) / scale + middle[1]];
  return { at, back, reach, middle };
}

function axes(host, ink, view, deep) {
  const { p } = host.data;
  const ready = host.time > host.way.length - 2;
  const names = p > 3 ? ["across the cut", "spread", "spread"] : ["z₁", "z₂", "z₃"];
  if (p > 3 && host.net.w2.length > 1) names[0] = "spread";
  Object.assign(ink, { strokeStyle: host.ink, fillStyle: host.ink, lineWidth: 1, font: "italic 14px serif" });
  for (let i = 0; i < (deep ? 3 : Math.min(2, Math.max(p, 1))); i++) {
    const unit = [0, 1, 2].map((j) => Number(i === j));
    const end = times(unit, view.reach + Math.abs(view.middle[i]));
    ink.globalAlpha = 0.45;
    ink.beginPath();
    line(ink, view.at(times(end, -1)), view.at(end));
    for (const one of [unit, times(unit, -1)]) {
      const [x, y] = view.at(one);
      if (view.reach < 12) line(ink, [x - 3, y - 3], [x + 3, y + 3]);
    }
    ink.stroke();
    ink.globalAlpha = 0.85;
    const [x, y] = view.at(end);
    const side = ink.canvas.clientWidth;
    if (ready) ink.fillText(names[i], Math.max(4, Math.min(side - 8 * names[i].length - 4, x + 4)), Math.max(14, Math.min(side - 4, y - 4)));
    if (view.reach < 6) {
      const [a, b] = view.at(unit);
      ink.fillText("1", a + 4, b + 13);
    }
  }
  ink.globalAlpha = 1;
}

function grid(host, ink, view, go) {
  const { edge } = host.data;
  const steps = Array.from({ length: 41 }, (_, i) => (i / 20 - 1) * edge);
  Object.assign(ink, { strokeStyle: host.ink, lineWidth: 1, globalAlpha: 0.28 });
  ink.beginPath();
  for (let i = -3; i <= 3; i++)
    for (const turn of [false, true])
      for (const [n, along] of steps.entries()) {
        const [x, y] = view.at(go(turn ? [(i / 3) * edge, along] : [along, (i / 3) * edge]));
        if (n) ink.lineTo(x, y);
        else ink.moveTo(x, y);
      }
  ink.stroke();
  ink.globalAlpha = 1;
}

// The hyperplanes with their normals; of many dimensions that of two classes alone, as it is seen
// from its edge.
function planes(host, ink, view, strength) {
  const { p, q, colours } = host.data;
  if (p > 3 && q > 1) return;
  for (const [k, row] of host.net.w2.entries()) {
    const normal = p > 3 ? [long(row), 0, 0] : [0, 1, 2].map((i) => row[i] ?? 0);
    const size = dot(normal, normal);
    if (size < 1e-9) continue;
    const b = host.net.b2[k];
    const foot = plus(view.middle, times(normal, -(dot(normal, view.middle) + b) / size));
    const unit = times(normal, 1 / Math.sqrt(size));
    const colour = q > 1 ? shade(colours[k]) : host.ink;
    Object.assign(ink, { strokeStyle: colour, fillStyle: colour, lineWidth: 2.2, globalAlpha: strength });
    if (p > 2) sheet(ink, view, foot, unit, strength);
    else {
      const along = times([-unit[1], unit[0], 0], 4 * view.reach);
      ink.beginPath();
      line(ink, view.at(plus(foot, along)), view.at(plus(foot, times(along, -1))));
      ink.stroke();
    }
    arrow(ink, view.at(foot), view.at(plus(foot, times(unit, 0.22 * view.reach))));
  }
  ink.globalAlpha = 1;
}

function sheet(ink, view, foot, unit, strength) {
  const other = Math.abs(unit[0]) < 0.8 ? [1, 0, 0] : [0, 1, 0];
  const one = times(cross(unit, other), 1 / long(cross(unit, other)));
  const two = cross(unit, one);
  ink.beginPath();
  for (const [a, b] of [[1, 1], [1, -1], [-1, -1], [-1, 1]]) {
    const [x, y] = view.at(plus(foot, plus(times(one, 0.62 * a * view.reach), times(two, 0.62 * b * view.reach))));
    ink.lineTo(x, y);
  }
  ink.closePath();
  ink.globalAlpha = 0.16 * strength;
  ink.fill();
  ink.globalAlpha = strength;
  ink.lineWidth = 1.4;
  ink.stroke();
}

function arrow(ink, [a, b], [c, d]) {
  const size = Math.hypot(c - a, d - b);
  if (size < 4) return;
  const [x, y] = [((c - a) / size) * 8, ((d - b) / size) * 8];
  ink.lineWidth = 1.8;
  ink.beginPath();
  line(ink, [a, b], [c, d]);
  line(ink, [c, d], [c - x - y / 2, d - y + x / 2]);
  line(ink, [c, d], [c - x + y / 2, d - y - x / 2]);
  ink.stroke();
}

// --- the time of a training, and the place under the pointer -------------------------------------

function drawTime(host) {
  const { frames, steps } = host.data;
  part(host, "time").toggleAttribute("data-empty", frames.length < 2);
  if (frames.length < 2) return;
  const range = part(host, "frame");
  range.max = frames.length - 1;
  range.value = host.at;
  const top = Math.max(...frames.map(([, loss]) => loss), 1e-9);
  const svg = part(host, "time").querySelector("svg");
  const across = (step) => (600 * step) / steps;
  const dots = frames.map(([step, loss]) => `${across(step).toFixed(1)},${(58 - (54 * loss) / top).toFixed(1)}`);
  svg.querySelector("polyline").setAttribute("points", dots.join(" "));
  const [step, loss, share] = frames[host.at];
  for (const end of ["x1", "x2"]) svg.querySelector("line").setAttribute(end, across(step));
  svg.setAttribute("aria-label", `Loss from ${frames[0][1].toPrecision(3)} to ${frames.at(-1)[1].toPrecision(3)}`);
  const words = `Step ${step.toLocaleString("en")} · loss ${loss.toPrecision(3)} · ${Math.round(1000 * share) / 10} % right`;
  part(host, "then").textContent = words;
  range.setAttribute("aria-valuetext", words);
}

function tellSpot(host) {
  const { bend, p } = host.data;
  const told = part(host, "at");
  if (!host.spot) {
    told.textContent = "Point at the plane to see where a place goes.";
    return;
  }
  const row = (numbers) => `(${numbers.map((x) => minus(x.toFixed(2))).join(", ")})`;
  const z = hidden(host.net, bend, host.spot);
  const scores = sides(host.net, z);
  const words = [`x = ${row(host.spot)}`, `W₂z + b₂ = ${row(scores)}`, `class ${SHAPES[classOf(scores)]}`];
  if (p <= 3) words.splice(1, 0, `z = ${row(z)}`);
  told.textContent = words.join(" → ");
}
