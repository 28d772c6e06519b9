// Sizes can be changed in place: a chip or a wire's label is dragged, moved by the arrow keys, or
// typed over. The server has sent formulas for all numbers, so they follow within a frame; it is
// asked for the drawing and the panel at each size. The page runs once the size rests.

import { texts } from "../../site/static/figure/polynomials.js";
import { dragSteps, legal, NEAR, spelt, stepped, swallowClick } from "../../site/static/figure/sizes.js";

const SETTLES = 200; // milliseconds; a short run may have ended before it is seen to have begun
const RESTS = 300; // milliseconds without a move after which the session follows

// --- runs ----------------------------------------------------------------------------------------

const app = () => document.querySelector("[data-test-script-state]");
const busy = () => !["notRunning", "initial"].includes(app()?.dataset.testScriptState ?? "notRunning");

// Lets the session follow once the size rests.
function push(host, name, value) {
  host.next = { ...host.next, [name]: value };
  settle(host, RESTS);
}

function settle(host, wait) {
  clearTimeout(host.resting);
  if (host.next) host.resting = setTimeout(() => flush(host), wait);
}

// Whoever does something else has ended the move: the session is to know the size by then.
function endMove(host, { type, key }) {
  if (host.next && (type === "pointerdown" || !(key in STEPS || /^(\d|Shift)$/.test(key)))) flush(host);
}

// Runs one after another: asks for the newest values when the current run has ended.
async function flush(host) {
  clearTimeout(host.resting);
  if (host.out) return void (host.overdue = true);
  const { next } = host;
  host.next = null;
  host.overdue = false;
  const known = new URLSearchParams(host.heard?.ask);
  if (Object.entries(next).every(([name, value]) => known.get(name) === `${value}`)) return; // back again
  host.out = true;
  host.send("sizes", next);
  await ended(host.want);
  host.out = false;
  if (host.overdue && host.next) flush(host);
}

// Resolves when the run just requested has started and ended.
function ended(asked) {
  return new Promise((resolve) => {
    let began = false;
    const done = () => {
      observer.disconnect();
      document.removeEventListener("ncd-drawn", drawn);
      clearTimeout(late);
      resolve();
    };
    const look = () => {
      began ||= busy();
      if (began && !busy()) done();
    };
    const drawn = () => {
      if (document.ncdTold["ncd-drawn"].ask === asked) setTimeout(() => look((began = true)), SETTLES);
    };
    const observer = new MutationObserver(look);
    document.addEventListener("ncd-drawn", drawn);
    const late = setTimeout(done, PATIENCE);
    observer.observe(app(), { attributeFilter: ["data-test-script-state"] });
  });
}

// --- hands ---------------------------------------------------------------------------------------

// Returns the axis of an element and the knob that its size depends on.
function grip(host, element) {
  const own = host.data?.ask && element?.closest?.(".chip, :is(.wire, .label) > :is(text, rect), .wire");
  const axis = own && (own.dataset.axis ?? own.parentNode.dataset.axis);
  if (!axis || (own.matches(".wire") && element !== own)) return null;
  const names = (host.open?.page === host.page && host.open.grips[axis]) || [];
  const held = wanted(host).get("held")?.split(",") ?? [];
  const name = names.length === 1 && !held.includes(names[0]) ? names[0] : null;
  return { own, axis, names, name, knob: name && host.open.knobs[name] };
}

function hint({ name, names }) {
  if (name) return "Drag it, press ← or →, or type a number.";
  if (names.length > 1) return `Follows from ${names.map(spelt).join(" and ")}.`;
  return names.length ? "The sentence sets it." : "";
}

// The session hears what was asked for, and says why it became another value.
function set(host, name, value, asked = value) {
  if (wanted(host).get(name) === `${value}` && asked === value) return;
  want(host, name, `${value}`);
  push(host, name, asked);
}

// Moves a knob by some steps, within its slider.
function move(host, { name, knob }, from, steps) {
  set(host, name, stepped(knob, from, steps));
}

const now = (host, name) => Number(wanted(host).get(name));

function grab(host, event) {
  const own = event.button === 0 && grip(host, event.target);
  if (own) host.drag = { ...own, x: event.clientX, far: 0, id: event.pointerId };
}

function drag(host, event) {
  const { drag: own } = host;
  if (!own || event.pointerId !== own.id) return void (grip(host, event.target) && learn(host));
  if (!own.on && Math.abs(event.clientX - own.x) < NEAR) return;
  if (!own.on) Object.assign(own, grip(host, own.own));
  if (!own.knob) return void learn(host);
  if (!own.on) {
    own.on = true;
    own.from = now(host, own.name);
    host.box.setPointerCapture(own.id);
    host.box.classList.add("scrubbing");
  }
  move(host, own, own.from, dragSteps(own, event, own.knob));
}

function drop(host, back = false) {
  const { drag: own } = host;
  host.drag = null;
  if (!own?.on) return;
  if (back) set(host, own.name, own.from);
  settle(host, 0);
  host.box.classList.remove("scrubbing");
  swallowClick(host.box);
}

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

function key(host, event) {
  const own = !event.ctrlKey && !event.metaKey && !event.altKey && grip(host, event.target);
  if (!own || !(event.key in STEPS || /^\d$/.test(event.key))) return;
  if (!own.knob) return void learn(host);
  event.preventDefault();
  event.stopPropagation();
  if (event.key in STEPS) {
    const steps = STEPS[event.key] * (event.shiftKey ? 10 : 1);
    move(host, own, now(host, own.name), steps);
  } else type(host, own, event.key);
}

// Opens a number field over the size: Enter applies it, Escape cancels.
function type(host, own, first = "") {
  const field = document.createElement("input");
  const frame = host.box.getBoundingClientRect();
  const over = own.own.querySelector("text") ?? own.own; // of a wire the name on it
  const { left, top, height } = over.getBoundingClientRect();
  Object.assign(field, { className: "typed", inputMode: "numeric", value: first, maxLength: 12 });
  field.setAttribute("aria-label", `size of ${own.axis}`);
  field.style.translate = `${left - frame.left}px ${top - frame.top + height / 2}px`;
  const leave = () => {
    field.onblur = null;
    field.remove();
    again(host, own);
  };
  field.onblur = leave;
  field.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Escape") leave();
    if (event.key !== "Enter") return;
    event.preventDefault(); // the chip that has the focus next is not pressed
    const value = Number(field.value.replaceAll(",", "").trim() || NaN);
    if (!Number.isInteger(value)) return field.setAttribute("aria-invalid", true);
    leave();
    take(host, own, value);
  };
  host.box.append(field);
  field.focus();
}

// Returns the knob's value for a typed size: the size itself, or the value it follows from.
function take(host, { axis, name, knob }, size) {
  const sizes = wanted(host);
  const said = Object.entries(host.open.wires).find(([place]) => place.endsWith(`/${axis}`))?.[1];
  const gives = (value) => {
    sizes.set(name, value);
    return parseInt(texts(host.open, sizes)?.(said) ?? "");
  };
  if (!said || gives(now(host, name)) === now(host, name)) return set(host, name, legal(knob, size), size);
  let best = now(host, name);
  for (let value = knob.min; value <= knob.max; value += knob.step)
    if (Math.abs(gives(value) - size) < Math.abs(gives(best) - size)) best = value;
  set(host, name, legal(knob, best));
}

// Restores the focus in the new content.
function again(host, { own, axis }) {
  (own.isConnected ? own.closest(".chip, .wire") : chip(host, axis))?.focus();
}

const chip = (host, axis) => host.box.querySelector(`.chip[data-axis="${CSS.escape(axis)}"]`);
