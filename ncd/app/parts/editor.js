// Shows a text editor, and sends its text a moment after each change.

import { fillForm } from "./call_form.js";
import { lightLine, lightLines, linkLines, showParts } from "./lit_lines.js";

const REST = 350; // milliseconds without a key before a text is sent
const LONG = 1500; // letters from which a text is read with more work, so that it rests longer
const PASTED = 40; // letters that come at once are no typing, and nothing is waited for
const NAME = /[a-z]\w*/g; // an axis in a pattern

export default function ({ data, parentElement: root, setTriggerValue }) {
  const host = (root.ncd ??= prepare(root, data));
  host.send = setTriggerValue;
  const told = host.sent.lastIndexOf(data.text); // an answer to what was typed here
  if (told >= 0) host.sent.splice(0, told + 1);
  else if (data.text !== host.known) put(host, data.text);
  host.known = data.text;
  const now = host.text() === data.text; // or else the answer is to a text of a moment ago
  if (!now) return;
  tell(host, data);
}

function prepare(root, data) {
  const field = root.querySelector("textarea");
  field.setAttribute("aria-label", data.label);
  field.value = data.text;
  const host = { root, field, known: data.text, sent: [], timer: 0, faults: [], beside: [], fresh: true };
  host.length = data.text.length;
  host.text = () => host.view?.text() ?? field.value;
  field.oninput = () => changed(host);
  field.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(host);
  };
  upgrade(host, data); // the field stays where this fails
  return host;
}

async function upgrade(host, data) {
  const { codeEditor, KNOWN } = await import(new URL(data.script, document.baseURI).href);
  const { field } = host;
  const focused = field.getRootNode().activeElement === field;
  const text = field.value;
  host.view = codeEditor({
    parent: field.parentElement,
    text,
    label: data.label,
    changed: () => changed(host),
    finished: () => send(host),
    moved: (line) => host.view && lightLine(host, line),
    complete: (before, inText, whole) => completions(KNOWN, before, inText, whole),
  });
  field.remove();
  const content = host.root.querySelector(".cm-content");
  content.tabIndex = 0; // as it is by itself, but not for every reader of the page
  if (focused) content.focus();
  host.view.mark(host.faults);
  host.view.beside(host.beside);
  linkLines(host);
  showFault(host);
}

function completions(known, before, inText, whole) {
  if (inText) return axes(whole).map((label) => ({ label, type: "variable" }));
  const prefix = Object.keys(known).find((each) => each && before.endsWith(each));
  if (!prefix && /[\w.]$/.test(before)) return [];
  return known[prefix ?? ""].map(({ label, detail, info }) => ({ label, detail, info: info || undefined, type: "function" }));
}

// The axes that patterns in quotation marks name.
function axes(whole) {
  const patterns = whole.match(/"[^"\n]*"/g) ?? [];
  return [...new Set(patterns.flatMap((pattern) => pattern.match(NAME) ?? []))].sort();
}

function put(host, text) {
  clearTimeout(host.timer);
  host.sent = [];
  host.length = text.length;
  host.fresh = true;
  if (host.view) host.view.set(text);
  else host.field.value = text;
}

function changed(host) {
  clearTimeout(host.timer);
  const length = host.text().length;
  const pasted = length - host.length > PASTED;
  host.length = length;
  host.fresh = pasted;
  host.timer = setTimeout(() => send(host), pasted ? 0 : length > LONG ? 3 * REST : REST);
}

export function send(host) {
  clearTimeout(host.timer);
  const text = host.text();
  if (text === (host.sent.at(-1) ?? host.known)) return;
  host.sent.push(text);
  host.send("text", text);
}

function tell(host, data) {
  const [sentence, told, cures, findings] = [".sentence", ".told", ".cures", ".findings"].map((name) => host.root.querySelector(name));
  sentence.replaceChildren(...spelled(data.sentence));
  told.textContent = data.told;
  for (const each of [sentence, told]) each.classList.toggle("wrong", data.wrong);
  fillForm(host, data);
  told.hidden = data.wrong && data.sentence !== ""; // the reason is said in its place
  cures.replaceChildren(...data.cures.flatMap((cure) => remedy(host, cure)), ...undo(host, data.text));
  const [waiting, raw] = [".waiting", ".raw"].map((name) => host.root.querySelector(name));
  waiting.textContent = data.waiting;
  waiting.hidden = !data.waiting;
  raw.hidden = !data.raw;
  raw.lastChild.textContent = data.raw;
  host.ops = data.ops;
  findings.replaceChildren(...remarks(host, data.remarks));
  findings.hidden = !data.remarks.length;
  [host.faults, host.beside, host.ops] = [data.faults, data.beside, data.ops];
  host.view?.mark(host.faults);
  host.view?.beside(host.beside);
  if (host.view) lightLines(host);
  showFault(host);
}

// Brings the line that fails into view, once for a text that came as a whole.
function showFault(host) {
  const wrong = host.faults.find(({ mild }) => !mild);
  if (!host.fresh || !host.view || !wrong) return;
  host.fresh = false;
  host.view.show(wrong.from[0]);
}

// The parts of a text; those between backticks are code.
function spelled(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, i) => (i % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part));
}

// What is found; sizes that only inform are folded below all else.
function remarks(host, found) {
  const folded = found.filter(({ kind, cures }) => kind === "size" && !cures.length);
  const shown = found.filter((each) => folded.length < 2 || !folded.includes(each)).map((each) => remark(host, each));
  return folded.length < 2 ? shown : [...shown, sizes(host, folded)];
}

function sizes(host, found) {
  const item = Object.assign(document.createElement("li"), { className: "size" });
  const list = document.createElement("ul");
  list.append(...found.map((each) => remark(host, each)));
  item.append(fold("For which sizes it works", list, found.map(({ words }) => words).join(" ")));
  return item;
}

function fold(title, content, more = "") {
  const made = document.createElement("details");
  const summary = document.createElement("summary");
  const rest = document.createElement("span");
  rest.append(...spelled(more));
  summary.append(title, ...(more ? [": ", rest] : []));
  made.append(summary, content);
  return made;
}

function remark(host, { kind, words, line, ops, wires, cures }) {
  const item = document.createElement("li");
  item.className = kind;
  const shown = ops ? [button("Show it", "lights the wires and what the line makes", () => showParts(host, line, ops, wires), "link")] : [];
  item.append(...spelled(words), ...shown, ...cures.flatMap((cure) => remedy(host, cure)));
  return item;
}

// A button that makes the edits of a cure, and all lines that they change where these are several.
function remedy(host, { words, text, hint, changes }) {
  const made = button(words, hint, () => {
    host.cured = { before: host.text(), after: text };
    replace(host, text);
  });
  if (!changes.length) return [made];
  const lines = document.createElement("pre");
  lines.append(...changes.map(([sign, number, line]) => changedLine(sign, `${sign} ${number}`.padEnd(6) + line)));
  const whole = fold("all changes", lines);
  whole.className = "changes";
  return [made, whole];
}

function changedLine(sign, words) {
  return Object.assign(document.createElement("span"), { className: sign === "+" ? "added" : "removed", textContent: `${words}\n` });
}

// A button that takes the last cure or field back, while its text stands there.
function undo(host, text) {
  if (host.cured?.after !== text) return [];
  const back = () => replace(host, host.cured.before);
  return [button("Undo", "the text as it was before", back, "plain")];
}

function button(words, hint, act, look = "") {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: look, textContent: words, title: hint, onclick: act });
  return made;
}

// Edits the text as its reader would, who sees at once what comes out.
function replace(host, text) {
  if (host.view) host.view.edit(text);
  else host.field.value = text;
  send(host);
  host.root.querySelector(".answer").focus();
}
