// Shows a text editor, and sends its text a moment after each change.

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
  const host = { root, field, known: data.text, sent: [], timer: 0, faults: [] };
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
    complete: (before, inText, whole) => completions(KNOWN, before, inText, whole),
  });
  field.remove();
  if (focused) host.root.querySelector(".cm-content").focus();
  host.view.mark(host.faults);
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
  if (host.view) host.view.set(text);
  else host.field.value = text;
}

function changed(host) {
  clearTimeout(host.timer);
  const length = host.text().length;
  const pasted = length - host.length > PASTED;
  host.length = length;
  host.timer = setTimeout(() => send(host), pasted ? 0 : length > LONG ? 3 * REST : REST);
}

function send(host) {
  clearTimeout(host.timer);
  const text = host.text();
  if (text === (host.sent.at(-1) ?? host.known)) return;
  host.sent.push(text);
  host.send("text", text);
}

function tell(host, { told, wrong, faults }) {
  const line = host.root.querySelector(".told");
  line.textContent = told;
  line.classList.toggle("wrong", wrong);
  host.faults = faults;
  host.view?.mark(faults);
}
