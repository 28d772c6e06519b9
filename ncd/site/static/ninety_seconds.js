// Walks through the steps of "Read it in 90 seconds": all that is said comes with the page, and a
// picture, whose address the page tells, for each size that is dragged to.

const steps = JSON.parse(document.querySelector("#steps").textContent);
const find = (name) => document.querySelector(name);
const [picture, figure, slider, title] = [".picture", "figure", ".drag input", "h1"].map(find);
const dark = matchMedia("(prefers-color-scheme: dark)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const NARROW = 600; // pixels, below which pictures are drawn for a phone
const LETTER = 16; // the size of an axis name in drawing units
const LARGEST = 3.2; // at most, in letters of the page
const LETTERS = "ABCD";
const TURN = 600; // milliseconds in which a picture grows into the next
const frames = new Map();
const guesses = new Map(); // the answer that was chosen, by step
const sizes = steps.map(({ start }) => start);
let at = 0;
let shown = null; // the frame on the screen, and its step
let wanted = 0;

// --- the walk

const stepOf = (hash) => Math.min(Math.max(Number.parseInt(hash.slice(1)) || 1, 1), steps.length) - 1;

function go(to, focus = true) {
  if (to < 0 || to >= steps.length) return;
  at = to;
  history.replaceState(null, "", `#${at + 1}`);
  tell();
  draw();
  if (focus) title.focus({ preventScroll: true });
}

// Writes texts that take turns into one place; all but the chosen one are there for their room.
function take(place, texts, chosen) {
  place.replaceChildren(
    ...texts.map((text, i) => {
      const line = Object.assign(document.createElement("p"), { innerHTML: text });
      if (i !== chosen) Object.assign(line, { className: "unseen", ariaHidden: "true" });
      return line;
    }),
  );
}

function tell() {
  const step = steps[at];
  const last = at === steps.length - 1;
  title.innerHTML = step.title;
  find(".count").textContent = last ? "On your own" : `Step ${at + 1} of ${steps.length - 1}`;
  find(".name").innerHTML = `${step.size} · ${step.help}`;
  Object.assign(slider, { min: step.first, max: step.first + step.words.length - 1, value: sizes[at] });
  take(find(".question"), [step.question], 0);
  find(".doors").hidden = !last;
  find(".back").disabled = !at;
  find(".next").disabled = last;
  for (const [i, button] of [...find(".steps").querySelectorAll("button")].entries()) {
    button.toggleAttribute("aria-current", i === at);
    if (i === at) button.setAttribute("aria-current", "step");
    button.className = guesses.has(i) ? "done" : "";
  }
  say();
  ask();
}

function say() {
  const { words, first, help } = steps[at];
  take(find(".words"), words, sizes[at] - first);
  find(".drag .value").textContent = sizes[at];
  slider.setAttribute("aria-valuetext", `${sizes[at]} ${help}`);
}

// --- the guess

function ask() {
  const { answers, right, feedback } = steps[at];
  const chosen = guesses.get(at);
  const buttons = answers.map((answer, i) => {
    const button = document.createElement("button");
    const known = chosen !== undefined;
    const [mark, kind] = !known ? ["", ""] : i === right ? ["✓ ", "right"] : i === chosen ? ["✗ ", "wrong"] : ["", ""];
    button.innerHTML = `${known ? mark : `<kbd aria-hidden="true">${LETTERS[i]}</kbd>`}<span>${answer}</span>`;
    Object.assign(button, { type: "button", className: kind, disabled: known, onclick: () => guess(i) });
    return button;
  });
  find(".answers").replaceChildren(...buttons);
  const room = find(".feedback");
  const said = room.querySelector(".said");
  room.replaceChildren(said);
  for (const text of feedback) {
    const line = Object.assign(document.createElement("p"), { innerHTML: `✗ ${text}`, className: "unseen", ariaHidden: "true" });
    room.append(line);
  }
  said.innerHTML = chosen === undefined ? "" : feedback[chosen];
  said.className = `said ${chosen === undefined ? "" : chosen === right ? "right" : "wrong"}`;
  said.dataset.mark = chosen === undefined ? "" : chosen === right ? "✓ " : "✗ ";
  find(".doors").classList.toggle("shut", chosen === undefined);
}

function guess(answer) {
  if (guesses.has(at) || answer >= steps[at].answers.length) return;
  guesses.set(at, answer);
  tell();
  (at === steps.length - 1 ? find(".doors a") : find(".next")).focus({ preventScroll: true });
}

// --- the picture

function frame(step, size) {
  const asked = { step: step + 1, size, narrow: +(innerWidth < NARROW), dark: +dark.matches };
  const address = document.body.dataset.frames.replace(/\{(\w+)\}/g, (_, name) => asked[name]);
  if (!frames.has(address)) {
    const found = fetch(address).then((answer) => {
      if (!answer.ok) throw new Error(answer.status);
      return answer.json();
    });
    found.catch(() => frames.delete(address));
    frames.set(address, found);
  }
  return frames.get(address);
}

async function draw() {
  const mine = ++wanted;
  const found = await frame(at, sizes[at]).catch(() => null);
  if (mine !== wanted) return; // another one is wanted by now
  if (found) return show(found);
  picture.textContent = "The picture did not come. Drag once more.";
  shown = null;
}

function show(found) {
  const before = shown && place();
  const turned = shown && shown.step !== at;
  shown = { ...found, step: at };
  picture.innerHTML = found.svg;
  figure.setAttribute("aria-label", found.about);
  figure.dataset.shown = `${at + 1} ${sizes[at]}`;
  const after = place();
  if (before && turned && !calm.matches) grow(before, after);
  if (at + 1 < steps.length) frame(at + 1, sizes[at + 1]);
}

// Sets the picture as large as its step has room at all sizes; what stays keeps its place.
function place() {
  const svg = picture.querySelector("svg");
  if (!svg) return null;
  const [x0, y0, x1, y1] = shown.room;
  const { clientWidth, clientHeight } = figure;
  const letter = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const most = (LARGEST * letter) / LETTER;
  const scale = Math.min(clientWidth / (x1 - x0), clientHeight / (y1 - y0), most);
  const [left, top] = [(clientWidth - (x0 + x1) * scale) / 2, (clientHeight - (y0 + y1) * scale) / 2];
  const [own, high, right, low] = shown.box;
  svg.setAttribute("width", (right - own) * scale);
  svg.setAttribute("height", (low - high) * scale);
  Object.assign(svg.style, { left: `${left + own * scale}px`, top: `${top + high * scale}px` });
  return { scale, left, top, corner: [left + own * scale, top + high * scale] };
}

// The first wire begins where it began in the picture before, and moves to its new place.
function grow(before, after) {
  const ratio = before.scale / after.scale;
  const x = before.left - after.left + (after.left - after.corner[0]) * (1 - ratio);
  const y = before.top - after.top + (after.top - after.corner[1]) * (1 - ratio);
  picture.querySelector("svg").animate(
    [{ transform: `translate(${x}px, ${y}px) scale(${ratio})`, opacity: 0.35 }, { transform: "none", opacity: 1 }],
    { duration: TURN, easing: "cubic-bezier(0.3, 0, 0.1, 1)" },
  );
}

// --- what is pressed

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event;
  const answer = LETTERS.indexOf(key.toUpperCase()) + 1 || Number.parseInt(key);
  if (key.length === 1 && answer > 0) return guess(answer - 1);
  const way = key === " " && !target.matches("button, a, input") ? 1 : STEPS[key];
  if (!way || (target === slider && key.startsWith("Arrow"))) return;
  event.preventDefault();
  go(at + way);
}

for (const [i] of steps.entries()) {
  const item = document.createElement("li");
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: i === steps.length - 1 ? "★" : i + 1 });
  button.setAttribute("aria-label", i === steps.length - 1 ? "On your own" : `Step ${i + 1}`);
  button.onclick = () => go(i);
  item.append(button);
  find(".steps").append(item);
}
slider.oninput = () => {
  sizes[at] = Number(slider.value);
  say();
  draw();
};
find(".back").onclick = () => go(at - 1);
find(".next").onclick = () => go(at + 1);
addEventListener("keydown", press);
addEventListener("hashchange", () => go(stepOf(location.hash)));
dark.addEventListener("change", draw);
let narrow = innerWidth < NARROW;
new ResizeObserver(() => {
  if (narrow !== innerWidth < NARROW) draw();
  narrow = innerWidth < NARROW;
  place();
}).observe(figure);
go(stepOf(location.hash), false);
