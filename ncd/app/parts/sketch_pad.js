// A canvas for pen strokes, sent to the server as text when the pen is lifted.

const SIDE = 512; // pixels drawn, whatever it measures on the screen
const STEP = 0.012; // of the side, from one point of a stroke to the next

export default function ({ data, parentElement: root, setTriggerValue }) {
  const host = (root.ncd ??= prepare(root));
  host.send = setTriggerValue;
  Object.assign(host, { pen: data.pen, most: data.most });
  host.canvas.setAttribute("aria-label", data.label);
  const known = host.told.has(data.strokes) || host.stroke; // an answer to what is drawn already
  if (!known) host.strokes = read(data.strokes);
  host.told.add(data.strokes);
  show(host);
}

function prepare(root) {
  const canvas = root.querySelector("canvas");
  const host = { root, canvas, strokes: [], stroke: null, told: new Set() };
  [canvas.width, canvas.height] = [SIDE, SIDE];
  canvas.onpointerdown = (event) => begin(host, event);
  canvas.onpointermove = (event) => go(host, event);
  canvas.onpointerup = canvas.onpointercancel = () => end(host);
  canvas.onkeydown = (event) => press(host, event);
  root.onclick = ({ target: { dataset } }) => dataset.do && act(host, dataset.do);
  return host;
}

// Two hexadecimal digits for each coordinate; dots separate strokes.
const read = (text) =>
  text.split(".").filter(Boolean).map((stroke) =>
    stroke.match(/..../g).map((point) => [0, 2].map((i) => parseInt(point.slice(i, i + 2), 16) / 255)));

const hex = (share) => Math.round(255 * Math.max(0, Math.min(1, share))).toString(16).padStart(2, "0");

const written = (strokes) => strokes.map((stroke) => stroke.flat().map(hex).join("")).join(".");

function begin(host, event) {
  if (event.button || host.stroke) return;
  event.preventDefault();
  host.canvas.focus({ preventScroll: true });
  host.canvas.setPointerCapture(event.pointerId);
  if (written(host.strokes).length + 5 > host.most) return;
  host.strokes.push((host.stroke = [place(host, event)]));
  show(host);
}

function go(host, event) {
  if (!host.stroke) return;
  for (const each of event.getCoalescedEvents?.() ?? [event]) {
    const point = place(host, each);
    const last = host.stroke.at(-1);
    const far = Math.hypot(point[0] - last[0], point[1] - last[1]) > STEP;
    if (far && written(host.strokes).length + 4 <= host.most) host.stroke.push(point);
  }
  show(host);
}

function place(host, event) {
  const { left, top, width, height } = host.canvas.getBoundingClientRect();
  return [(event.clientX - left) / width, (event.clientY - top) / height];
}

function end(host) {
  if (!host.stroke) return;
  host.stroke = null;
  tell(host);
}

function press(host, event) {
  const wish = { Delete: "clear", Backspace: "undo" }[event.key];
  const back = (event.ctrlKey || event.metaKey) && event.key === "z";
  if (!wish && !back) return;
  event.preventDefault();
  act(host, wish ?? "undo");
}

function act(host, wish) {
  if (!host.strokes.length) return;
  host.strokes = wish === "clear" ? [] : host.strokes.slice(0, -1);
  tell(host);
}

function tell(host) {
  const text = written(host.strokes);
  host.told.add(text);
  host.send("drawn", text);
  show(host);
}

function show({ root, canvas, strokes, pen }) {
  const ink = canvas.getContext("2d");
  ink.clearRect(0, 0, SIDE, SIDE);
  Object.assign(ink, { lineWidth: pen * SIDE, lineCap: "round", lineJoin: "round", strokeStyle: "#fff" });
  for (const stroke of strokes) {
    ink.beginPath();
    for (const [x, y] of [stroke[0], ...stroke]) ink.lineTo(x * SIDE, y * SIDE);
    ink.stroke();
  }
  for (const button of root.querySelectorAll("button")) button.disabled = !strokes.length;
}
