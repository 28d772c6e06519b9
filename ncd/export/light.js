// One light for the whole page. What the pointer or the focus rests on is told to every view by an
// event on the document, without asking the server. What is selected comes with the data of each
// view, and stays lit.

const EVENT = "ncd-light";
const KINDS = ["axis", "node", "array"];
const LIT = KINDS.map((kind) => `[data-${kind}]`).join(",");
const ACTS = "[data-pick],[data-select],[role=button],.label[data-axis]";

// The view's state, kept on its root: the same root is given at every run of the page.
function connect({ parentElement: root, data, setTriggerValue }) {
  const host = (root.ncd ??= open(root));
  host.send = setTriggerValue;
  host.locked = target(data.selected ?? "");
  return host;
}

function open(root) {
  const box = root.querySelector(".ncd");
  const host = { root, box, hover: null, opens: false };
  const hear = (event) => {
    host.hover = event.detail;
    paint(host);
  };
  document.addEventListener(EVENT, hear);
  host.end = () => {
    document.removeEventListener(EVENT, hear);
    delete root.ncd;
  };
  box.onpointerover = (event) => tell(aim(event.target));
  box.onpointerleave = () => tell(null);
  box.addEventListener("focusin", (event) => tell(aim(event.target)));
  box.addEventListener("focusout", () => tell(null));
  box.onclick = (event) => act(host, event);
  box.onkeydown = (event) => press(host, event);
  return host;
}

// The fence or the folded block that is selected.
function choose(box, id) {
  for (const fence of box.querySelectorAll("[data-fence]"))
    if (fence.dataset.fence === id) fence.classList.add("chosen");
    else if (!fence.dataset.node) fence.classList.remove("chosen");
}

function tell(light) {
  document.dispatchEvent(new CustomEvent(EVENT, { detail: light }));
}

// What an element stands for: the innermost axis, else op, else array around it.
function aim(element) {
  const data = element.closest?.(LIT)?.dataset;
  const kind = data && KINDS.find((name) => data[name]);
  return kind ? { [kind]: data[kind] } : null;
}

function target(id) {
  if (id.startsWith("axis:")) return { axis: id.slice(5) };
  if (id.startsWith("n")) return { node: id };
  if (id.startsWith("v")) return { array: id };
  return null;
}

function matches(element, light) {
  const kind = light && KINDS.find((name) => light[name]);
  const have = kind && element.dataset[kind]?.split(" ");
  return Boolean(have && light[kind].split(" ").some((name) => have.includes(name)));
}

function paint(host) {
  const light = host.hover ?? host.locked;
  let axis = false;
  for (const element of host.box.querySelectorAll(LIT)) {
    const lit = matches(element, light);
    axis ||= lit && Boolean(light.axis);
    element.classList.toggle("lit", lit);
    element.classList.toggle("chosen", matches(element, host.locked));
  }
  host.box.classList.toggle("axis-lit", axis);
  if (host.opens) lightTitles(light?.axis);
}

// A map's titles name its axes. Plotly draws them outside of our views, and knows no light.
function lightTitles(axis) {
  for (const title of document.querySelectorAll(".js-plotly-plot :is(.xtitle, .ytitle)")) {
    const lit = axis !== undefined && title.dataset.unformatted?.includes(`<i>${axis}</i>`);
    title.style.fontWeight = lit ? "700" : "";
    title.style.textDecoration = lit ? "underline" : "";
  }
}

function act(host, event) {
  const element = event.target.closest?.(ACTS);
  if (!element) return;
  const { pick, select, axis, array, node, fence } = element.dataset;
  const name = axis && event.target.closest(".wire text,.label") ? `axis:${axis}` : undefined;
  if (pick !== undefined) host.send("pick", pick);
  else host.send("select", { id: select ?? name ?? array ?? fence ?? node, open: host.opens });
}

function press(host, event) {
  if (event.key === "Escape") {
    if (host.locked || host.chosen) host.send("select", { id: "", open: false });
    host.root.activeElement?.blur();
  } else if ((event.key === "Enter" || event.key === " ") && event.target.closest?.(ACTS)) {
    event.preventDefault();
    act(host, event);
  }
}

// A wire is thin: what can be pointed at is wider.
function widen(svg) {
  for (const ink of svg.querySelectorAll(".wire > path:not(.gap)")) {
    const hit = ink.cloneNode();
    hit.setAttribute("class", "hit");
    ink.setAttribute("class", "ink");
    ink.before(hit);
  }
}
