// A walk through the steps of a diagram: buttons, a slider, keys, automatic play, and the step that is
// alight in the diagram. Each host shows what is said of a step.

import { shine } from "./highlight.js";

const STRIP = `<button type="button" class="plain" data-by="-1">Previous</button>
<button type="button" class="plain" data-by="1">Next</button>
<button type="button" class="plain play" aria-pressed="false">Play</button>
<input type="range" min="1" value="1" aria-label="Step">
<b class="count"></b><span class="aloud" aria-live="polite"></span>
<label class="pace">a step in <select aria-label="Pace"><option value="4000">4 s</option><option value="2000" selected>2 s</option><option value="1000">1 s</option><option value="500">½ s</option></select></label>`;

// Puts the controls of a walk into a box. `show` shows the step of a number, from 1, and returns its
// title, or nothing if the step is not there yet. `stops` has the ids of each step, once it is set.
export function walkIn(box, show) {
  box.querySelector(".turns").innerHTML = STRIP;
  const find = (path) => box.querySelector(`.turns ${path}`);
  const walk = { box, find, show, stops: [], at: 0, playing: 0 };
  find(".play").onclick = () => playWalk(walk, !walk.playing);
  find("input").oninput = ({ target }) => stride(walk, Number(target.value));
  find("select").onchange = () => walk.playing && playWalk(walk, true);
  for (const by of [-1, 1]) find(`[data-by="${by}"]`).onclick = () => stride(walk, walk.at + by);
  box.addEventListener("keydown", (event) => walkByKey(walk, event));
  return walk;
}

// The arrow keys walk wherever the focus is in here, except where they have another meaning.
function walkByKey(walk, event) {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  const to = { ArrowLeft: walk.at - 1, ArrowRight: walk.at + 1, Home: 1, End: walk.stops.length }[key];
  if (to === undefined || target.matches("input, select") || ctrlKey || metaKey || altKey) return;
  event.preventDefault();
  event.stopPropagation();
  stride(walk, to);
}

// Takes a step by hand; automatic play then waits for a whole interval.
function stride(walk, to) {
  if (walk.playing) playWalk(walk, true);
  stepTo(walk, to);
}

// Shows a step, if it is there.
export function stepTo(walk, to) {
  const { find, stops } = walk;
  const at = Math.max(1, Math.min(stops.length, to));
  const title = walk.show(at);
  if (title === undefined) return;
  walk.at = at;
  Object.assign(find("input"), { max: stops.length, value: at });
  find(".count").textContent = `${at} of ${stops.length}`;
  find('[data-by="-1"]').setAttribute("aria-disabled", at === 1);
  find('[data-by="1"]').setAttribute("aria-disabled", at === stops.length);
  find(".aloud").textContent = `Step ${at}: ${title}`;
  shine({ walk: { here: new Set(stops[at - 1]), past: new Set(stops.slice(0, at - 1).flat()) } });
}

// Goes to the step that makes an array or an op; in stacked layers, to the next such step. Returns
// whether there is one.
export function meetStep(walk, id) {
  const found = walk.stops.flatMap((ids, i) => (ids.includes(id) ? [i + 1] : []));
  const to = found.find((i) => i > walk.at) ?? found[0];
  if (to !== undefined) stride(walk, to);
  return to !== undefined;
}

function playWalk(walk, on) {
  clearInterval(walk.playing);
  walk.playing = on ? setInterval(() => (walk.at < walk.stops.length ? stepTo(walk, walk.at + 1) : playWalk(walk, false)), Number(walk.find("select").value)) : 0;
  const button = walk.find(".play");
  button.textContent = on ? "Pause" : "Play";
  button.setAttribute("aria-pressed", on);
  if (on && walk.at === walk.stops.length) stepTo(walk, 1);
}

export function endWalk(walk) {
  playWalk(walk, false);
  shine({ walk: null });
}
