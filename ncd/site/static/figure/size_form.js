// The sizes of a system as a form: each is a slider with a field, a switch, a choice, or its value
// alone where that cannot change.

import { part } from "./elements.js";
import { readSize } from "./sizes.js";

const grouped = (value) => value.toLocaleString("en-US");
const muted = (text) => Object.assign(part("span", text), { className: "muted" });
let forms = 0; // of a page, so that the labels of each have fields of their own

// Puts sizes into a form, each as `size_data` of live_texts.py tells it. `now` returns the value of a
// size that is wanted, `set` takes another one, `say` why that is not the one that was typed.
// Returns what shows the values; `isShown` tells those that the diagram has.
export function sizeForm(form, sizes, { now, set, say, fixed = {} }) {
  const id = ++forms;
  form.prepend(...sizes.map((size) => (size.name in fixed ? fixedSizeRow(size, fixed[size.name]) : sizeRow(size, id))));
  const sizeOf = ({ name }) => sizes.find((size) => size.name === name);
  const read = (field) => readSize(sizeOf(field), field.value, now(field.name));
  const take = (field) => {
    const { value, note } = read(field);
    set(field.name, value);
    say(note);
    field.value = grouped(value);
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => target.type === "text" && take(target));
  form.addEventListener("input", ({ target }) => {
    if (target.type === "checkbox") return set(target.name, +target.checked);
    const { value, note } = read(target);
    if (target.type !== "text" || !note) set(target.name, value); // else once it is typed
  });
  form.addEventListener("keydown", (event) => {
    const { target, key, shiftKey } = event;
    const step = { ArrowUp: 1, ArrowDown: -1 }[key];
    if (target.type !== "text" || !(step || key === "Enter")) return;
    event.preventDefault();
    if (step) target.value = now(target.name) + step * sizeOf(target).step * (shiftKey ? 10 : 1);
    take(target);
  });
  return (isShown = () => true) => {
    for (const place of form.querySelectorAll(".size[data-size]"))
      showSize(place, now(place.dataset.size), isShown(place.dataset.size));
  };
}

const heading = ({ name, help }) => [part("b", name), " ", ...(help ? [muted(help)] : [])];

function sizeRow(size, id) {
  const { name, help = "", min, max, step, names, switch: turns } = size;
  const field = (tag, more = {}) => Object.assign(document.createElement(tag), { name, ...more });
  const slider = names ? field("select") : field("input", turns ? { type: "checkbox" } : { type: "range", min, max, step });
  const typed = { type: "text", inputMode: "numeric", autocomplete: "off", maxLength: 12 };
  const fields = names || turns ? [slider] : [slider, field("input", typed)];
  if (names) slider.append(...names.map((said, value) => new Option(said, value)));
  slider.setAttribute("aria-label", help ? `${name}, ${help}` : name);
  fields.at(-1).id = `size-${name}-${id}`;
  const label = Object.assign(part("label", "", ...heading(size)), { htmlFor: fields.at(-1).id, title: help });
  const place = Object.assign(part("div", "", label, ...fields), { className: "size" });
  place.dataset.size = name;
  return place;
}

function fixedSizeRow(size, now) {
  const said = size.names?.[now] ?? (size.switch ? ["off", "on"][now] : grouped(now));
  const value = part("span", said, " ", muted("fixed"));
  value.title = "Another value is another drawing, which is not in this file.";
  return Object.assign(part("div", "", part("span", "", ...heading(size)), value), { className: "size fixed" });
}

function showSize(place, value, isShown) {
  const [slider, text] = place.querySelectorAll("input, select");
  if (slider.type === "checkbox") slider.checked = Boolean(value);
  if (value > Number(slider.max)) slider.max = value;
  if (value < Number(slider.min)) slider.min = value;
  slider.value = value;
  if (!text) return;
  if (text !== place.getRootNode().activeElement) text.value = grouped(value);
  place.classList.toggle("wrong", !isShown);
  text.toggleAttribute("aria-invalid", !isShown);
}
