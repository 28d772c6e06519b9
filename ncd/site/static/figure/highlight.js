// One highlight for the whole page. An event on the document tells every view what the pointer or
// the focus is on, what is selected (an array, an op or a block) and up to four locked axes,
// without asking the server.

const EVENT = "ncd-light";
const KINDS = ["axis", "node", "array", "fence", "part"]; // a part has no id, but a class
const LIT = KINDS.map((kind) => `[data-${kind}]`).join(",");
const PARTS = "svg :is(.dash,.cells,.band,.note,.path,.arrow,.sign:not([data-fold]))";
const ACTS = "[data-pick],[data-select],[data-fold],[data-axis]:not(.entry),[role=button]";
export const COLOURS = [
  "light-dark(#0a62b5, #6cb8ff)",
  "light-dark(#b63c00, #ff9c5a)",
  "light-dark(#8a2a9e, #e39bf2)",
  "light-dark(#00703f, #4fd68f)",
];
// During a walk through the diagram, `walk` has the current ids and those passed, and `goes`
// handles a click by jumping to the step that makes the id.
export const light = (document.ncdLight ??= { hover: null, target: null, axes: [] });

// The view's state, kept on its root element, which stays the same between runs of the page.
export function connect({ parentElement: root, setTriggerValue }) {
  const host = (root.ncd ??= open(root));
  host.send = setTriggerValue;
  return host;
}

function open(root) {
  const box = root.querySelector(".ncd");
  const host = { root, box, opens: false };
  const hear = () => paint(host);
  document.addEventListener(EVENT, hear);
  host.end = () => {
    document.removeEventListener(EVENT, hear);
    delete root.ncd;
  };
  box.onpointerover = (event) => shine({ hover: aim(event.target) });
  box.onpointerleave = () => shine({ hover: null });
  box.addEventListener("focusin", (event) => shine({ hover: aim(event.target) }));
  box.addEventListener("focusout", () => shine({ hover: null }));
  box.onclick = (event) => act(host, event);
  box.addEventListener("dblclick", ({ target }) => {
    const block = target.closest(".drawing:not(.part) [data-fence]");
    if (block) fold(host, block.dataset.fence);
  });
  box.onkeydown = (event) => press(host, event);
  box.onchange = ({ target: { dataset, value } }) => dataset.set && host.send("pick", `${dataset.set}=${value}`);
  return host;
}

export function shine(change) {
  Object.assign(light, change);
  document.dispatchEvent(new Event(EVENT));
}

// Returns what an element stands for: the innermost axis, else the op, array or block around it.
function aim(element) {
  const data = element.closest?.(LIT)?.dataset;
  const kind = data && KINDS.find((name) => data[name]);
  return kind ? { [kind]: data[kind] } : null;
}

export function target(id) {
  const kind = { n: "node", v: "array", f: "fence", s: "fence" }[id[0]];
  return kind ? { [kind]: id } : null;
}

function matches(element, wanted) {
  if (wanted?.part && element.matches(PARTS)) return element.matches(`.${wanted.part}`);
  const shares = (kind) => element.dataset[kind]?.split(" ").some((name) => wanted[kind].split(" ").includes(name));
  return Boolean(wanted && KINDS.some((kind) => wanted[kind] && shares(kind)));
}

// Returns the index of an axis among the locked ones, or the one it would get.
function place(axis) {
  const own = light.axes.indexOf(axis);
  const free = light.axes.indexOf("");
  const next = Math.min(light.axes.length, COLOURS.length - 1);
  return own >= 0 ? own : free >= 0 ? free : next;
}

// An unlocked axis leaves its index empty, so that the other axes keep their colours.
function toggled(axis) {
  const axes = [...light.axes];
  const own = light.axes.includes(axis);
  axes[place(axis)] = own ? "" : axis;
  return axes.join(",").replace(/,+$/, "");
}

export function paint(host) {
  const { hover, target, axes } = light;
  let dim = false;
  for (const element of host.box.querySelectorAll(`${LIT},${PARTS}`)) {
    const { axis } = element.dataset;
    const kept = Boolean(axis) && axes.includes(axis);
    const chosen = matches(element, target);
    const pointed = matches(element, hover);
    const coloured = kept || Boolean(pointed && hover.axis);
    dim ||= coloured;
    element.classList.toggle("lit", kept || pointed || (chosen && !hover));
    element.classList.toggle("chosen", kept || chosen);
    element.style.setProperty("--light", coloured ? COLOURS[place(axis)] : "");
    if (element.hasAttribute("aria-pressed")) element.setAttribute("aria-pressed", kept);
  }
  host.box.classList.toggle("axis-lit", dim);
  if (light.walk || host.walks) tread(host, light.walk);
}

function tread(host, walk) {
  const moved = host.walks !== walk;
  host.walks = walk;
  host.box.classList.toggle("walks", Boolean(walk));
  for (const element of host.box.querySelectorAll("[data-node],[data-array]")) {
    const ids = `${element.dataset.node ?? ""} ${element.dataset.array ?? ""}`.split(" ");
    const here = Boolean(walk && ids.some((id) => walk.here.has(id)));
    element.classList.toggle("here", here);
    element.classList.toggle("past", !here && Boolean(walk && ids.some((id) => walk.past.has(id))));
  }
  if (moved) show_here(host.box.querySelector(".whole"));
}

// Scrolls a drawing larger than its frame so that the highlighted part is visible.
function show_here(frame) {
  const lit = [...(frame?.querySelectorAll(".here") ?? [])].map((each) => each.getBoundingClientRect());
  if (!lit.length) return;
  const { left, right, top, bottom } = frame.getBoundingClientRect();
  const past = (low, high, least, most) => Math.min(0, low - least - 20) || Math.max(0, high - most + 20);
  const across = past(Math.min(...lit.map((r) => r.left)), Math.max(...lit.map((r) => r.right)), left, right);
  const down = past(Math.min(...lit.map((r) => r.top)), Math.max(...lit.map((r) => r.bottom)), top, bottom);
  if (across || down) frame.scrollBy({ left: across, top: down, behavior: "smooth" });
}

// Returns what a click asks for. A wire stands for its array, its label for the axis; an axis in a
// button is a part of that, so that an answer which is a shape is chosen by a press on its letters.
function wish(element) {
  const own = element.closest?.("button[data-pick]") ?? element.closest?.(ACTS);
  if (!own) return null;
  const { pick, select, fold, axis, array, fence, node } = own.dataset;
  if (pick !== undefined) return { pick };
  if (fold !== undefined) return { fold };
  const named = !own.matches(".wire[data-array]") || element.closest("text, rect");
  if (axis && named) return { axes: toggled(axis) };
  return { id: select ?? array ?? fence ?? node };
}

function act(host, event) {
  const asked = wish(event.target);
  if (!asked) {
    if (host.opens && event.target.closest?.(".drawing")) letGo(host);
    return;
  }
  if (asked.pick !== undefined) host.send("pick", asked.pick);
  else if (asked.fold !== undefined) fold(host, asked.fold);
  else if (asked.axes !== undefined) keep(host, asked.axes);
  else if (light.goes?.(asked.id)) return;
  else if (event.detail < 2) selectSoon(host, asked, event.detail && light.folds?.(asked.id));
}

function fold(host, id) {
  clearTimeout(host.click); // the first of two clicks selects nothing
  light.fold?.(id);
}

// Selects a part; a block that a double click would fold after 0.3 s, the time of a second click.
function selectSoon(host, asked, folds) {
  clearTimeout(host.click);
  const send = () => {
    light.chosen = asked.id; // until a server has answered
    host.send("select", { ...asked, open: host.opens });
  };
  if (folds) host.click = setTimeout(send, 300);
  else send();
}

function keep(host, axes) {
  setAxes(axes);
  host.send("select", { axes });
}

export function letGo(host) {
  if (!light.target && !light.axes.some(Boolean)) return;
  setAxes("", { target: null, hover: null, chosen: "" });
  host.send("select", { id: "", axes: "" });
}

export function setAxes(axes, more = {}) {
  light.asked = [...(light.asked ?? [light.axes.join()]), axes];
  shine({ axes: axes.split(","), ...more });
}

function press(host, event) {
  const { key, target } = event;
  const block = target.closest?.("[data-fence]");
  if ((key === "Enter" || key === " ") && target.closest?.(ACTS) && target.localName !== "button") {
    event.preventDefault();
    act(host, event);
  } else if (key.toLowerCase() === "f" && block && !event.ctrlKey && !event.metaKey)
    fold(host, block.dataset.fence);
}
