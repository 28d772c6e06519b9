// Sizes that can be moved: sliders, fields, and the sizes in the list of axes. Formulas in the page
// (see live_texts.py) write every text again; where they do not hold, the page says why.

import { drawing, host, later, mode, select, selected, showValues } from "./document.js";
import { COLOURS, light, setAxes } from "./figure/highlight.js";
import { writeDescriptions, writeLabels } from "./figure/labels.js";
import { bindTexts, texts, writeText } from "./figure/polynomials.js";
import { scrub } from "./figure/scrub.js";
import { sizeForm } from "./figure/size_form.js";
import { readSize, spelt } from "./figure/sizes.js";

export const live = JSON.parse(document.getElementById("live").textContent);
for (const own of Object.values(live.arrays)) own.axes = own.axes.map((i) => live.axes[i]);
export const START = new Map(Object.entries(live.settings));
const wanted = new Map(START); // what the visitor asks for
export const shown = new Map(START); // the sizes that the page shows
const parts = new Map(Object.keys(live.parts).map((name) => [name, bound(name)]));
export let fill = null;
let frame = 0;

live.knobs = Object.fromEntries(live.sizes.map((size) => [size.name, size]));

// Returns the text nodes of a part, each with its text in letters.
function bound(name) {
  const place = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
  const every = live.parts[name];
  return { place, texts: place && every ? bindTexts(place, every) : [] };
}

// Lets the parts in a place that was not there before follow the sizes.
export function follow(place) {
  for (const { dataset } of place.querySelectorAll("[data-live]")) {
    if (!parts.has(dataset.live)) continue;
    parts.set(dataset.live, bound(dataset.live));
    if (fill) update(dataset.live);
  }
}

// Returns the writer of texts at some sizes; null where the formulas do not hold.
export function writer(open, sizes) {
  try {
    return texts(open, sizes);
  } catch (error) {
    if (error instanceof RangeError) return null; // a quotient by 0
    throw error;
  }
}

// Writes the sizes into the drawing and its words.
export function label() {
  if (!fill) return;
  writeLabels(drawing, live, fill);
  writeDescriptions([drawing.querySelector("svg > desc"), document.querySelector(".told > .said")], live.described, fill);
}

// --- what is shown -------------------------------------------------------------------------------

function render() {
  frame = 0;
  const found = writer(live, wanted);
  if (found) for (const [name, value] of wanted) shown.set(name, value);
  if (found) fill = found;
  refuse(found ? "" : reason());
  showSizes((name) => wanted.get(name) === shown.get(name));
  document.querySelector(".reset").hidden = !moved() && !document.querySelector(".size.wrong");
  if (!fill) return;
  for (const name of parts.keys()) update(name);
  label();
  if (document.ncdQuiz) document.ncdQuiz();
  document.dispatchEvent(new Event("sizes"));
}

export function moved() {
  return [...shown].some(([name, value]) => START.get(name) !== value);
}

function update(name) {
  const { place, texts: every } = parts.get(name);
  const holds = fill.right(live.conditions[live.part_holds[name]] ?? []);
  const right = holds && (live.parts[name] || !moved());
  place?.classList.toggle("stale", !right);
  if (right) for (const [node, text] of every) writeText(node, fill(text));
}

function refuse(text) {
  const place = document.querySelector(".refused");
  place.hidden = !text;
  if (place.textContent !== text) place.textContent = text;
}

// Says why sizes are not shown: by the error of a term that cannot be, or that it is another one.
function reason() {
  const now = [...shown].filter(([name, value]) => wanted.get(name) !== value);
  const stays = `The diagram stays at ${now.map(([name, value]) => `${spelt(name)} = ${value.toLocaleString("en-US")}`).join(", ")}.`;
  for (const refused of live.refused) {
    const said = writer(refused, wanted);
    if (said) return `${said(refused.text)} ${stays}`;
  }
  const tried = now.map(([name]) => `${spelt(name)} = ${wanted.get(name).toLocaleString("en-US")}`).join(", ");
  return `At ${tried} the diagram is another one, which is not in this file. ${stays}`;
}

// --- what is asked for ---------------------------------------------------------------------------

const showSizes = sizeForm(document.querySelector(".sizes"), live.sizes, {
  fixed: live.fixed,
  now: (name) => wanted.get(name),
  set: ask,
  say,
});

function ask(name, value) {
  wanted.set(name, value);
  frame ||= requestAnimationFrame(render);
  address();
}

function say(note) {
  if (note) requestAnimationFrame(() => refuse(note));
}

document.querySelector(".reset").addEventListener("click", () => {
  for (const [name, value] of START) wanted.set(name, value);
  render();
  address();
});

scrub(host.box, {
  formulas: () => live,
  sizes: () => wanted,
  set(name, value, asked = value) {
    ask(name, value);
    say(readSize(live.knobs[name], asked).note);
  },
});

// --- the link ------------------------------------------------------------------------------------

// Keeps sizes, selection and quiz in the address, under the names that the app has for them.
export function address() {
  const link = new URLSearchParams(location.search || location.hash.slice(1));
  for (const [name, value] of wanted)
    if (START.get(name) === value) link.delete(name);
    else link.set(name, value);
  const axes = light.axes.join(",").replace(/,+$/, "");
  const quiz = document.ncdQuiz?.on ? "1" : "";
  const labels = mode === "valued" ? "values" : "";
  for (const [name, value] of Object.entries({ select: selected, axes, quiz, labels }))
    if (value) link.set(name, value);
    else link.delete(name);
  const text = link.toString();
  try {
    history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
  } catch {
    // a page inside another one has no address of its own
  }
}

// Applies a link: sizes by their names, a selection, axes, a quiz.
export function open_link(text) {
  const link = new URLSearchParams(text);
  for (const [name, value] of START) wanted.set(name, value);
  const notes = live.sizes.map(({ name }) => {
    const asked = link.get(name);
    if (asked === null) return "";
    const { value, note } = readSize(live.knobs[name], `${{ true: 1, false: 0 }[asked] ?? asked}`, START.get(name));
    ask(name, value);
    return note;
  });
  render();
  say(notes.filter(Boolean).join(" "));
  const named = (link.get("axes") ?? "").split(",").slice(0, COLOURS.length);
  const axes = named.map((name) => live.renamed[name] ?? name);
  if (axes.some(Boolean)) setAxes(axes.join(","));
  const id = link.get("select");
  if (id && id !== selected) later.then((found) => id in found && select("select", { id }));
  showValues(link.get("labels") === "values");
  if (link.get("quiz") === "1") document.ncdQuiz?.start();
}
