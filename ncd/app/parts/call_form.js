// The last line of the text as a form: its sizes are fields, and each writes that line anew.

import { send } from "./editor.js";

const HINTS = {
  "": "A part of the last line",
  assumed: "The text leaves this open: it is assumed, and written into the last line when you change it",
  missing: "The text leaves this open, and nothing says what is usual",
  input: "The sizes of an array, 2 × 16 # 1000 for whole numbers below 1000, or Python: 4, None, [torch.randn(1, 8)]",
};
const SIZES = /^\s*\(?\d+(\s*[×x, ]\s*\d+)*,?\)?\s*$/;
const ARRAY = /^\s*(\(?\d+(?:\s*[×x, ]\s*\d+)+\)?|\(?\d+,\)?|\d+(?=\s*#))\s*(?:#\s*(\d+))?\s*$/;

export function fillForm(host, { forms, drawn, classes }) {
  const place = host.root.querySelector(".form");
  const key = JSON.stringify([forms, drawn, classes]);
  if (host.formed === key) return;
  host.formed = key;
  const focused = place.getRootNode().activeElement?.closest(".form [name]")?.name;
  const parts = forms.flatMap((form) => form.parts.filter((part) => typeof part !== "string").map((part) => [part, form]));
  const fields = parts.map(([part]) => part);
  const made = parts.map(([part, form]) => (part.kind === "mode" ? modeField : sizeField)(host, part, form));
  host.fields = new Map(fields.map((part, i) => [part, made[i].lastChild]));
  const part = (title, wanted) => titled(title, made.filter((_, i) => wanted(fields[i])));
  place.replaceChildren(
    ...classField(host, drawn, classes, forms[0]),
    ...part("", ({ kind, value, assumed }) => kind === "mode" || (value && !assumed)),
    ...part("Missing:", ({ kind, value }) => kind !== "mode" && !value),
    ...part("Assumed:", ({ value, assumed }) => value && assumed),
  );
  place.hidden = !place.childElementCount;
  if (focused) place.querySelector(`[name="${CSS.escape(focused)}"]`)?.focus();
}

function titled(words, fields) {
  if (!words || !fields.length) return fields;
  return [Object.assign(document.createElement("span"), { className: "title", textContent: words }), ...fields];
}

function labelled(words, field, hint = "") {
  const label = document.createElement("label");
  label.title = hint;
  label.append(words, field);
  return label;
}

function sizeField(host, { name, kind, value, assumed }, form) {
  const field = document.createElement("input");
  Object.assign(field, { name, spellcheck: false, autocomplete: "off", value: kind === "shape" ? value.match(/\d+/g)?.join(" × ") ?? "" : value });
  field.size = Math.max(3, field.value.length);
  field.className = !value ? "missing" : assumed ? "assumed" : "";
  field.dataset.kind = kind;
  field.setAttribute("aria-label", [name, field.className].filter(Boolean).join(", "));
  field.placeholder = { shape: "1 × 3 × 64 × 64", input: "1 × 3 × 64 × 64" }[kind] ?? "?";
  if (kind === "input") field.size = 20;
  field.oninput = () => field.setCustomValidity("");
  field.onchange = () => writeForm(host, form);
  return labelled(name, field, HINTS[kind] ?? HINTS[field.className]);
}

// The mode of the module: what its class leaves it in, or what the line says.
function modeField(host, { value, options }, form) {
  const field = document.createElement("select");
  field.name = "mode";
  field.append(...options.map((option) => new Option(...option)));
  field.value = value;
  field.onchange = () => writeForm(host, form);
  const hint = options.length > 1 ? "What train() and eval() change is said below" : "It cannot be read in training: why is said below";
  return labelled("mode", field, hint);
}

// The class to draw, where there are several: its name becomes the last line.
function classField(host, drawn, classes, form) {
  if (!classes.length) return [];
  const field = document.createElement("select");
  field.name = "class";
  field.append(...[...new Set([drawn, ...classes])].map((name) => new Option(name, name, false, name === drawn)));
  field.onchange = () => writeLine(host, form, field.value);
  return [labelled("class", field, "The class that is drawn; the most complete ones come first")];
}

function writeForm(host, form) {
  const words = form.parts.map((part) => (typeof part === "string" ? part : written(part, host.fields.get(part))));
  if (words.every((each) => each !== null)) writeLine(host, form, words.join(""));
}

// The text of a field in the line; null while it is not known, or is none.
function written({ kind, value }, field) {
  const typed = field.value.trim();
  if (kind === "mode") return typed;
  if (kind === "input") return inputCode(typed);
  if (kind !== "shape") return typed || null;
  if (typed && !SIZES.test(typed)) {
    field.setCustomValidity("Sizes are whole numbers, such as 1 × 3 × 224 × 224.");
    field.reportValidity();
    return null;
  }
  const sizes = typed.match(/\d+/g);
  const one = sizes?.length === 1 && /,/.test(value); // of a tuple
  return sizes && (one ? `${sizes[0]},` : sizes.join(", "));
}

// What makes an input: an array of the typed sizes, or what is typed as Python.
function inputCode(typed) {
  const array = ARRAY.exec(typed);
  if (!array) return typed || null;
  const sizes = array[1].match(/\d+/g).join(", ");
  return array[2] ? `torch.randint(${array[2]}, (${sizes},))` : `torch.randn(${sizes})`;
}

function writeLine(host, { first, last }, line) {
  const before = host.text();
  const lines = before.trimEnd().split("\n");
  if (first > lines.length && /^\s/.test(lines.at(-1))) line = `\n${line}`;
  lines.splice(first - 1, last - first + 1, ...line.split("\n"));
  const after = `${lines.join("\n")}\n`;
  host.cured = { before, after };
  if (host.view) host.view.edit(after);
  else host.field.value = after;
  send(host);
}
