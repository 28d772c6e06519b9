// The bar above a diagram: undo and redo, the list of changes, and menus of what can be changed at
// the part that is selected. The server has made the menus; what is pressed is sent back to it.

export default function ({ data, parentElement: root, setTriggerValue }) {
  const host = (root.ncd ??= openBar(root));
  host.send = (wish) => setTriggerValue("wish", wish);
  if (host.told !== JSON.stringify(data)) fillBar(host, data);
  return () => {
    document.removeEventListener("keydown", host.key);
    document.removeEventListener("pointerdown", host.outside);
    if (document.ncdEdits === host) delete document.ncdEdits;
    delete root.ncd;
  };
}

function openBar(root) {
  const box = root.querySelector(".edits");
  const find = (name) => box.querySelector(`.${name}`);
  const host = { root, box, menu: find("menu"), undo: find("undo"), redo: find("redo") };
  host.undo.onclick = () => go(host, host.data.at - 1);
  host.redo.onclick = () => go(host, host.data.at + 1);
  find("history").onclick = (event) => toggleMenu(host, event.currentTarget, () => steps(host));
  host.menu.onkeydown = (event) => walkMenu(host, event);
  find("bar").onkeydown = (event) => walkBar(host, event);
  host.key = (event) => keys(host, event);
  host.outside = (event) => event.composedPath().includes(box) || closeMenu(host);
  host.choices = () => choices(host);
  document.addEventListener("keydown", host.key);
  document.addEventListener("pointerdown", host.outside);
  return (document.ncdEdits = host); // the search of the page lists the changes too
}

function fillBar(host, data) {
  host.told = JSON.stringify(data);
  host.data = data;
  closeMenu(host);
  const { box } = host;
  host.undo.disabled = data.at === 0;
  host.redo.disabled = data.at >= data.steps.length;
  const history = box.querySelector(".history");
  history.textContent = data.at === 1 ? "1 change" : `${data.at} changes`;
  history.classList.toggle("empty", !data.steps.length);
  box.querySelector(".subject").innerHTML = data.subject;
  box.querySelector(".groups").replaceChildren(...data.groups.map((group) => groupButton(host, group)));
  const difference = box.querySelector(".difference");
  difference.innerHTML = data.difference;
  difference.classList.toggle("wrong", data.wrong);
  if (host.back) (bars(host).find((each) => each.textContent === host.back) ?? host.undo).focus();
  host.back = "";
}

const bars = ({ box }) => [...box.querySelectorAll(".bar button:enabled")];

// All that the menus hold, for the search of the page.
function choices(host) {
  const { data, box } = host;
  const every = [...box.querySelectorAll(".groups button")];
  return data.groups.flatMap(({ title, items }, n) =>
    items.filter((item) => !item.refusal).map((item) => ({
      name: "",
      title: items.length === 1 && item.words === title ? title : `${title}: ${item.words}`,
      section: box.querySelector(".subject b")?.textContent ?? "",
      lead: "Changes the diagram of this page.",
      act: () => (item.fields.length ? (every[n].click(), showForm(host, item, title)) : apply(host, item)),
    })),
  );
}

// What needs no further word is done by its button; all else stands in a menu.
function groupButton(host, { title, items }) {
  const alone = items.length === 1 && items[0].words === title && !items[0].fields.length && !items[0].refusal;
  const button = pressed(title, () =>
    alone ? apply(host, items[0]) : toggleMenu(host, button, () => items.map((item) => itemButton(host, item, title))),
  );
  if (alone) return button;
  button.className = "opens";
  button.ariaHasPopup = "menu";
  button.ariaExpanded = "false";
  return button;
}

function pressed(words, act) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: words });
  button.onclick = act;
  return button;
}

function itemButton(host, item, title) {
  const button = pressed(item.words, () => (item.fields.length ? showForm(host, item, title) : apply(host, item)));
  button.role = "menuitem";
  if (item.refusal) {
    button.className = "refused";
    button.append(Object.assign(document.createElement("small"), { textContent: item.refusal }));
  }
  return button;
}

// The list of changes: a press on one shows the system as it was after it.
function steps(host) {
  const { steps, at, first } = host.data;
  return [first, ...steps].map((words, n) => {
    const button = pressed(words, () => go(host, n));
    button.role = "menuitem";
    button.className = n > at ? "undone" : "";
    if (n === at) button.setAttribute("aria-current", "step");
    return button;
  });
}

// --- the menu

function toggleMenu(host, button, content) {
  if (host.opener === button) return closeMenu(host, true);
  closeMenu(host);
  host.opener = button;
  button.ariaExpanded = "true";
  host.menu.role = "menu";
  host.menu.ariaLabel = button.textContent;
  host.menu.replaceChildren(...content());
  place(host);
  host.menu.querySelector("button")?.focus();
}

function place({ box, menu, opener }) {
  menu.hidden = false;
  const room = box.clientWidth - menu.offsetWidth;
  const left = opener.getBoundingClientRect().left - box.getBoundingClientRect().left;
  menu.style.left = `${Math.max(0, Math.min(left, room))}px`;
}

function closeMenu(host, back = false) {
  host.menu.hidden = true;
  host.menu.replaceChildren();
  if (host.opener) host.opener.ariaExpanded = "false";
  if (back) host.opener?.focus();
  host.opener = null;
}

const MOVES = { ArrowDown: 1, ArrowUp: -1 };
const SIDEWAYS = { ArrowRight: 1, ArrowLeft: -1 };

function walkBar(host, event) {
  const every = bars(host);
  if (event.key in SIDEWAYS) every.at((every.indexOf(host.root.activeElement) + SIDEWAYS[event.key]) % every.length).focus();
  else if (event.key === "ArrowDown" && host.root.activeElement.matches(".opens")) host.root.activeElement.click();
  else return;
  event.preventDefault();
}

function walkMenu(host, event) {
  if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    return closeMenu(host, true);
  }
  const items = [...host.menu.querySelectorAll("[role=menuitem]")];
  if (!(event.key in MOVES) || !items.length) return;
  event.preventDefault();
  const at = items.indexOf(host.root.activeElement) + MOVES[event.key];
  items.at(at % items.length).focus();
}

// A small form for what a change needs to know, with what is usual in each field.
function showForm(host, item, title) {
  const form = document.createElement("form");
  form.ariaLabel = item.words;
  const [head, act] = ["b", "button"].map((name) => document.createElement(name));
  head.textContent = item.words;
  Object.assign(act, { className: "act", textContent: title });
  form.append(head, ...item.fields.map(field), act);
  form.onsubmit = (event) => {
    event.preventDefault();
    apply(host, item, Object.fromEntries(new FormData(form)));
  };
  host.menu.role = "dialog";
  host.menu.replaceChildren(form);
  place(host);
  const first = form.querySelector("input, select");
  first.focus();
  first.select?.();
}

function field({ name, label, value, options, is_number, maximum }) {
  const row = document.createElement("label");
  row.append(label);
  const input = document.createElement(options.length ? "select" : "input");
  if (options.length) input.append(...options.map(([each, words]) => new Option(words, each, false, each === value)));
  else if (is_number) Object.assign(input, { type: "number", min: 1, max: maximum, value, required: true });
  else Object.assign(input, { type: "text", value, required: true, maxLength: 60 });
  input.name = name;
  row.append(input);
  return row;
}

// --- what is sent

function apply(host, item, values = {}) {
  host.back = (host.opener ?? host.root.activeElement)?.textContent; // the focus stays at its menu
  closeMenu(host);
  host.send({ apply: item.key, values });
}

function go(host, at) {
  closeMenu(host);
  if (at >= 0 && at <= host.data.steps.length && at !== host.data.at) host.send({ go: at });
}

// --- keys of the whole page, but not of text fields

const typing = (event) => event.composedPath()[0].closest?.("input, textarea, select, [contenteditable=true]");

function keys(host, event) {
  if (typing(event) || event.altKey || event.defaultPrevented) return;
  const name = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) {
    const by = name === "y" || (name === "z" && event.shiftKey) ? 1 : name === "z" ? -1 : 0;
    if (by) event.preventDefault();
    return by ? go(host, host.data.at + by) : undefined;
  }
  const drawn = event.composedPath()[0].closest?.(".drawing svg");
  if (name === "e" && host.data.groups.length) {
    event.preventDefault();
    host.box.querySelector(".groups button").focus();
  } else if (drawn && ["delete", "backspace"].includes(name)) {
    const removes = host.data.groups.flatMap(({ items }) => items).find(({ removes }) => removes);
    if (removes) apply(host, removes);
  }
}
