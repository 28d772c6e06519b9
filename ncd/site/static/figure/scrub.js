// A size changes where it stands: a chip, a row of a list or the name on a wire is dragged, moved by
// the arrow keys, or typed over.

import { texts } from "./polynomials.js";
import { dragSteps, legal, NEAR, spelt, stepped, swallowClick } from "./sizes.js";

const GRIPS = ".chip:not([data-say]), .row[data-axis], :is(.wire, .label) > :is(text, rect), .wire";
export const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

// Lets the sizes in a box be changed. The host gives four functions: `formulas` returns those of the
// sizes, with their ranges as `knobs` and as `grips` the names that each axis follows from, or null;
// `sizes` returns the sizes that are wanted, `set` takes another one by its name, with the one that
// was asked for, `rest` hears the end of a drag, and `learn` that formulas are missing.
export function scrub(box, host) {
  const hand = { rest() {}, learn() {}, ...host, box, drag: null };
  box.addEventListener("pointerdown", (event) => grab(hand, event));
  box.addEventListener("pointermove", (event) => dragSize(hand, event));
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => dropSize(hand));
  box.addEventListener("dblclick", ({ target }) => typeSize(hand, grip(hand, target)));
  box.addEventListener("keydown", (event) => pressSize(hand, event));
  for (const come of ["pointerover", "focusin"]) box.addEventListener(come, ({ target }) => offer(hand, target));
  return hand;
}

// Returns the axis of an element and the size that it follows from.
export function grip(hand, element) {
  const own = element?.closest?.(GRIPS);
  const axis = own && (own.dataset.axis ?? own.parentNode.dataset.axis);
  if (!axis || !hand.sizes() || (own.matches(".wire") && element !== own)) return null;
  const formulas = hand.formulas();
  const names = formulas?.grips[axis] ?? [];
  const held = hand.sizes().get("held")?.split(",") ?? [];
  const name = names.length === 1 && !held.includes(names[0]) ? names[0] : null;
  return { own, axis, names, name, knob: name && formulas.knobs[name] };
}

// Returns how the size of an axis can be changed, or why not.
export function sizeHint({ name, names }) {
  if (name) return "Drag it, press ← or →, or type a number.";
  if (names.length > 1) return `Follows from ${names.map(spelt).join(" and ")}.`;
  return names.length ? "The sentence sets it." : "";
}

function offer(hand, element) {
  const own = grip(hand, element);
  if (own && sizeHint(own)) own.own.setAttribute("aria-description", sizeHint(own));
  if (own?.knob) own.own.classList.add("grip");
}

const sizeNow = (hand, name) => Number(hand.sizes().get(name));

// --- a drag --------------------------------------------------------------------------------------

function grab(hand, event) {
  const own = event.button === 0 && grip(hand, event.target);
  if (own) hand.drag = { ...own, x: event.clientX, far: 0, id: event.pointerId };
}

function dragSize(hand, event) {
  const { drag: own } = hand;
  if (!own || event.pointerId !== own.id) return void (grip(hand, event.target) && hand.learn());
  if (!own.on && Math.abs(event.clientX - own.x) < NEAR) return;
  if (!own.on) Object.assign(own, grip(hand, own.own));
  if (!own.knob) return void hand.learn();
  if (!own.on) {
    own.on = true;
    own.from = sizeNow(hand, own.name);
    hand.box.setPointerCapture(own.id);
    hand.box.classList.add("scrubbing");
  }
  hand.set(own.name, stepped(own.knob, own.from, dragSteps(own, event, own.knob)));
}

// Ends a drag; the size goes back to where it was if somebody has thought better of it.
export function dropSize(hand, back = false) {
  const { drag: own } = hand;
  hand.drag = null;
  if (!own?.on) return;
  if (back) hand.set(own.name, own.from);
  hand.rest();
  hand.box.classList.remove("scrubbing");
  swallowClick(hand.box);
}

// --- keys ----------------------------------------------------------------------------------------

function pressSize(hand, event) {
  const own = !event.ctrlKey && !event.metaKey && !event.altKey && grip(hand, event.target);
  if (!own || !(event.key in STEPS || /^\d$/.test(event.key))) return;
  if (!own.knob) return void hand.learn();
  event.preventDefault();
  event.stopPropagation();
  if (event.key in STEPS) {
    const steps = STEPS[event.key] * (event.shiftKey ? 10 : 1);
    hand.set(own.name, stepped(own.knob, sizeNow(hand, own.name), steps));
  } else typeSize(hand, own, event.key);
}

// Opens a number field over the size: Enter applies it, Escape cancels.
function typeSize(hand, own, first = "") {
  if (!own?.knob) return;
  const field = document.createElement("input");
  const frame = hand.box.getBoundingClientRect();
  const over = own.own.querySelector("text") ?? own.own; // of a wire the name on it
  const { left, top, height } = over.getBoundingClientRect();
  Object.assign(field, { className: "typed", inputMode: "numeric", value: first, maxLength: 12 });
  field.setAttribute("aria-label", `size of ${own.axis}`);
  field.style.translate = `${left - frame.left}px ${top - frame.top + height / 2}px`;
  const leave = () => {
    field.onblur = null;
    field.remove();
    focusAgain(hand, own);
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
    takeSize(hand, own, value);
  };
  hand.box.append(field);
  field.focus();
}

// Takes the typed size of an axis, or the value from which the nearest follows.
function takeSize(hand, { axis, name, knob }, size) {
  const [formulas, before] = [hand.formulas(), sizeNow(hand, name)];
  const sizes = new Map([...Object.keys(formulas.fixed), ...Object.keys(formulas.knobs)].map((own) => [own, hand.sizes().get(own)]));
  const said = Object.entries(formulas.wires).find(([place]) => place.endsWith(`/${axis}`))?.[1];
  const gives = (value) => parseInt(texts(formulas, sizes.set(name, value))?.(said) ?? "");
  if (!said || gives(before) === before) return hand.set(name, legal(knob, size), size);
  let best = before;
  for (let value = knob.min; value <= knob.max; value += knob.step)
    if (Math.abs(gives(value) - size) < Math.abs(gives(best) - size)) best = value;
  hand.set(name, legal(knob, best));
}

// Restores the focus in the new content.
function focusAgain({ box }, { own, axis }) {
  const other = () => box.querySelector(`:is(.chip, .row)[data-axis="${CSS.escape(axis)}"]`);
  (own.isConnected ? own.closest(".chip, .row, .wire") : other())?.focus();
}
