// Lines and their ops light each other: what a line makes is lit in the diagram while the pointer or
// the cursor is on it, and the lines of what is chosen there are lit here.

const HIGHLIGHT = "ncd-light"; // the event of the page's one highlight

function highlight(change) {
  document.ncdLight ??= { hover: null, target: null, axes: [] };
  Object.assign(document.ncdLight, change);
  document.dispatchEvent(new Event(HIGHLIGHT));
}

export function lightLine(host, line) {
  const ids = host.ops?.[line] ?? "";
  if (ids === (host.hovered ?? "")) return;
  host.hovered = ids;
  highlight({ hover: ids ? { node: ids } : null });
}

export function linkLines(host) {
  const editor = host.root.querySelector(".cm-editor");
  editor.addEventListener("pointermove", ({ clientY }) => lightLine(host, host.view.lineAt(clientY)));
  for (const leave of ["pointerleave", "focusout"]) editor.addEventListener(leave, () => lightLine(host, 0));
  const hear = () => (editor.isConnected ? lightLines(host) : document.removeEventListener(HIGHLIGHT, hear));
  document.addEventListener(HIGHLIGHT, hear);
  lightLines(host);
}

// Lights the lines of the ops that the page's highlight is on; not of the line that lights them.
export function lightLines(host) {
  const { hover, target } = document.ncdLight ?? {};
  const ids = (host.hovered ? "" : (hover ?? target)?.node ?? "").split(" ").filter(Boolean);
  const lit = Object.keys(host.ops ?? {}).filter((line) => host.ops[line].split(" ").some((id) => ids.includes(id)));
  if (`${lit}` === (host.lit ?? "")) return;
  host.lit = `${lit}`;
  host.view.light(lit.map(Number));
}

// Lights what a line makes and its wires until something else is chosen, and brings both into view.
export function showParts(host, line, ops, wires) {
  host.hovered = "";
  highlight({ hover: null, target: { node: ops, array: wires } });
  host.view?.show(line);
  const [first] = ops.split(" ");
  const drawing = document.ncdDiagram?.box;
  drawing?.querySelector(`.drawing [data-node~="${first}"]`)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
}
