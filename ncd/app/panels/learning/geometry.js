// The plane and the hidden space of a perceptron, drawn from its weights at any step of a training.

import { connect } from "../../../site/static/figure/highlight.js";
import { replaceHtml } from "../../../site/static/figure/html.js";
import { draw, part, SHAPES } from "./geometry_scene.js";
import { directions, hidden, plus, stages, times, weights } from "./hidden_space.js";

const SECONDS = 1.2; // of a stage that is played
const NEAR = 0.06; // of the plane, to a point that a click takes away

export default function (component) {
  const { data } = component;
  const host = connect(component);
  host.prepared ??= begin(host);
  const before = host.data;
  const last = !before || host.at >= before.frames.length - 1;
  host.data = data;
  host.at = last ? data.frames.length - 1 : Math.min(host.at, data.frames.length - 1);
  host.points = points(host);
  for (const part of ["said", "where", "foot"]) write(host, part);
  pens(host);
  choose(host, before && key(before) === key(data));
  draw(host);
  return () => {
    cancelAnimationFrame(host.playing);
    host.watcher.disconnect();
    host.end();
  };
}

const key = ({ p, bend }) => `${p} ${bend}`;

function begin(host) {
  Object.assign(host, { told: new Set(), pen: 1, yaw: 0.6, pitch: 0.35, time: 0, spot: null });
  host.watcher = new ResizeObserver(() => draw(host));
  for (const canvas of host.box.querySelectorAll("canvas")) host.watcher.observe(canvas);
  const [plane, room] = ["plane", "hidden"].map((name) => part(host, name));
  plane.onpointermove = (event) => look(host, inPlane(host, event));
  plane.onpointerleave = () => look(host, null);
  plane.onclick = (event) => host.data.own && set(host, inPlane(host, event));
  plane.onkeydown = (event) => walk(host, event);
  plane.onblur = () => look(host, null);
  room.onpointerdown = (event) => event.button || room.setPointerCapture(event.pointerId);
  room.onpointermove = ({ buttons, movementX, movementY }) =>
    buttons && spin(host, movementX / 120, movementY / 120);
  room.onkeydown = (event) => spinBy(host, event);
  part(host, "stage").oninput = ({ target }) => stand(host, Number(target.value));
  part(host, "frame").oninput = ({ target }) => {
    host.at = Number(target.value);
    choose(host, true);
    draw(host);
  };
  part(host, "go").onclick = () => play(host);
  part(host, "stages").onclick = ({ target: { dataset } }) =>
    dataset.stage && stand(host, Number(dataset.stage));
  part(host, "pen").onclick = ({ target: { dataset } }) => edit(host, dataset.do);
  return true;
}

const write = (host, name) => replaceHtml(part(host, name), host.data[name]);

// The weights of the step that is looked at, and the stages that they make.
function choose(host, stay) {
  const { p, q, bend, frames } = host.data;
  const net = weights(frames[host.at][3], p, q);
  const ends = host.points.map(([x, y]) => hidden(net, bend, [x, y]));
  host.net = net;
  host.basis = p > 3 ? directions(net, ends, host.basis?.[0].length === p ? host.basis : null) : null;
  host.way = stages(net, bend, host.basis);
  const { length } = host.way;
  part(host, "stage").max = length;
  stand(host, stay ? Math.min(host.time, length) : length, false);
}

function stand(host, time, drawn = true) {
  if (drawn) cancelAnimationFrame(host.playing);
  host.time = time;
  part(host, "stage").value = time;
  list(host);
  if (drawn) draw(host);
}

function list(host) {
  const rows = [{ name: "the plane" }, ...host.way].map(
    ({ name }, i) =>
      `<li><button type="button" data-stage="${i}"${i === Math.ceil(host.time) ? ' aria-current="step"' : ""}>${name}</button></li>`,
  );
  replaceHtml(part(host, "stages"), rows.join(""));
}

function play(host) {
  cancelAnimationFrame(host.playing);
  const { length } = host.way;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    stand(host, host.time < length ? length : 0);
    return;
  }
  const from = host.time < length ? host.time : 0;
  let start = null;
  const step = (now) => {
    start ??= now;
    const time = Math.min(length, from + (now - start) / (1000 * SECONDS));
    const done = Math.floor(time);
    const share = time - done;
    stand(host, done + share * share * (3 - 2 * share), false);
    draw(host);
    if (time < length) host.playing = requestAnimationFrame(step);
  };
  host.playing = requestAnimationFrame(step);
}

// --- points that are set -------------------------------------------------------------------------

// Those of the server, or those set since: an answer to an older click takes none of them away.
function points(host) {
  const { own, text, places } = host.data;
  if (!own) return places;
  if (!host.told.has(text)) host.text = text;
  host.told.add(text);
  return (host.text.match(/.{5}/g) ?? [])
    .map((each) => [...[0, 2].map((i) => parseInt(each.slice(i, i + 2), 16)), Number(each[4])])
    .map(([x, y, k]) => [fromByte(host, x), -fromByte(host, y), k])
    .filter(([, , k]) => k < host.data.n);
}

const fromByte = ({ data: { edge } }, byte) => (byte / 255) * 2 * edge - edge;
const toByte = ({ data: { edge } }, x) =>
  Math.round(255 * Math.max(0, Math.min(1, (x + edge) / (2 * edge)))).toString(16).padStart(2, "0");

function tell(host, text) {
  host.text = text;
  host.told.add(text);
  host.send("drawn", text);
  host.points = points(host);
  pens(host);
  draw(host);
}

// Sets a point, or takes away the one that stands there.
function set(host, [x, y]) {
  const each = host.text.match(/.{5}/g) ?? [];
  const near = NEAR * host.data.edge;
  const at = each.findIndex((one) => {
    const [a, b] = [0, 2].map((i) => fromByte(host, parseInt(one.slice(i, i + 2), 16)));
    return Math.hypot(a - x, -b - y) < near;
  });
  if (at >= 0) tell(host, each.filter((_, i) => i !== at).join(""));
  else if (each.length < host.data.most)
    tell(host, host.text + toByte(host, x) + toByte(host, -y) + host.pen);
}

function edit(host, wish) {
  if (wish === "undo") tell(host, host.text.slice(0, -5));
  else if (wish === "clear") tell(host, "");
  else if (wish) {
    host.pen = Number(wish);
    pens(host);
  }
}

function pens(host) {
  const { own, n } = host.data;
  host.pen = Math.min(host.pen, n - 1);
  part(host, "pen").hidden = !own;
  part(host, "plane").classList.toggle("own", own);
  if (!own) return;
  const classes = Array.from({ length: n }, (_, k) =>
    `<button type="button" class="plain" data-do="${k}" aria-pressed="${k === host.pen}" aria-label="class ${k + 1}">${SHAPES[k]}</button>`,
  );
  const rest = ["undo", "clear"].map((wish) =>
    `<button type="button" class="plain" data-do="${wish}"${host.text ? "" : " disabled"}>${wish === "undo" ? "Undo" : "Clear"}</button>`,
  );
  replaceHtml(part(host, "pen"), `Set ${classes.join("")}${rest.join("")}`);
}

// --- the pointer and the keys --------------------------------------------------------------------

function inPlane(host, { clientX, clientY }) {
  const { edge } = host.data;
  const { left, top, width, height } = part(host, "plane").getBoundingClientRect();
  return [((clientX - left) / width) * 2 * edge - edge, edge - ((clientY - top) / height) * 2 * edge];
}

function look(host, spot) {
  host.spot = spot;
  draw(host);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function walk(host, event) {
  const { own, edge, n } = host.data;
  const arrow = ARROWS[event.key];
  const wish = { Backspace: "undo", Delete: "clear" }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (arrow) {
    const within = (x) => Math.max(-edge, Math.min(edge, x));
    look(host, plus(host.spot ?? [0, 0], times(arrow, event.shiftKey ? 0.5 : 0.1)).map(within));
  } else if (own && (event.key === "Enter" || event.key === " ")) set(host, host.spot ?? [0, 0]);
  else if (own && wish && host.text) edit(host, wish);
  else if (own && Number(event.key) >= 1 && Number(event.key) <= n) edit(host, String(event.key - 1));
  else return;
  event.preventDefault();
}

function spin(host, across, down) {
  if (host.data.p < 3) return;
  host.yaw += across;
  host.pitch = Math.max(-1.5, Math.min(1.5, host.pitch + down));
  draw(host);
}

function spinBy(host, event) {
  const arrow = ARROWS[event.key];
  if (!arrow || host.data.p < 3 || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  spin(host, 0.12 * arrow[0], -0.12 * arrow[1]);
}
