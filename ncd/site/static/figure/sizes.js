// Sizes that are dragged or typed: those that are legal, and the way of the pointer.

export const NEAR = 4; // pixels that a press may move and still be a click
const WIDE = 320; // pixels over which a size goes through its whole range
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

// Returns a name with its digits as subscripts.
export const spelt = (name) => name.replace(/\d/g, (digit) => SUBSCRIPTS[digit]);

// Returns the nearest legal size.
export function legal({ least, most, multiple }, value) {
  const first = Math.ceil(least / multiple);
  const closest = Math.floor((2 * value + multiple) / (2 * multiple));
  return multiple * Math.max(first, Math.min(closest, Math.floor(most / multiple)));
}

// Returns the legal size that a text asks for, and why it is another number than is written there.
export function readSize(size, text, now) {
  const asked = Number(`${text}`.replaceAll(",", "").trim() || NaN);
  const name = spelt(size.name);
  if (!Number.isFinite(asked)) return { value: now, note: `“${text.trim().slice(0, 20)}” is no whole number. ${name} is ${now}.` };
  const value = legal(size, Math.round(asked));
  const why = `it ${size.limits.startsWith("from") ? "goes" : "is"} ${size.limits}. The nearest is ${value.toLocaleString("en-US")}.`;
  return { value, note: value === asked ? "" : `${name} cannot be ${asked.toLocaleString("en-US")}: ${why}` };
}

// Returns the legal size that is some steps away, within the slider.
export function stepped(range, from, steps) {
  const [low, high] = [Math.min(range.min, from), Math.max(range.max, from)];
  return legal(range, Math.min(high, Math.max(low, from + steps * range.step)));
}

// Returns how many steps the pointer has gone since the press `held` at `x`, ten times as many with
// Shift; null while it may still be a click.
export function dragSteps(held, { clientX, shiftKey }, { min, max, step }) {
  if (!held.on && Math.abs(clientX - held.x) < NEAR) return null;
  const pixels = Math.min(12, Math.max(1, (WIDE * step) / (max - min || 1)));
  held.far = (held.far ?? 0) + ((clientX - held.x) / pixels) * (shiftKey ? 10 : 1);
  held.x = clientX;
  return Math.round(held.far);
}

// Swallows the click at the end of a drag.
export function swallowClick(place) {
  const stop = (event) => event.stopPropagation();
  place.addEventListener("click", stop, { capture: true, once: true });
  setTimeout(() => place.removeEventListener("click", stop, { capture: true }));
}
