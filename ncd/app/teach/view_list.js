// The editable list of views: each can be opened, captioned, moved up or removed.

import { CAPTION, change, go } from "./presenter.js";

// What the name of a view does not tell of its settings.
const UNTOLD = /^(labels|callouts|select|axes|folded|colours|slices|text.*|softmax|back|frozen|drawing|panel|with)$/;

export function rows(host) {
  const list = host.find("rows");
  const now = host.views.map(({ name, query }) => `${name}?${query}`).join(";");
  list.parentNode.querySelector(".none").hidden = Boolean(now);
  if (host.drawn !== now) list.replaceChildren(...host.views.map((view, i) => row(host, view, i)));
  host.drawn = now;
  [...list.children].forEach((each, i) => {
    const chosen = i + 1 === host.at;
    each.firstChild.toggleAttribute("aria-current", chosen);
    if (chosen) each.firstChild.setAttribute("aria-current", "true");
  });
}

function row(host, view, i) {
  const told = title(host, view);
  const item = document.createElement("li");
  const open = button(told, "", () => go(host, i + 1));
  const caption = document.createElement("input");
  Object.assign(caption, { value: view.caption, maxLength: CAPTION, placeholder: "a line to show with it" });
  caption.setAttribute("aria-label", `Line shown with ${told}`);
  caption.onchange = () => change(host, host.views.with(i, { ...host.views[i], caption: caption.value.trim() }));
  const up = button("↑", `Earlier: ${told}`, () => {
    const views = [...host.views];
    views.splice(i - 1, 0, ...views.splice(i, 1));
    change(host, views);
    host.find("rows").children[i - 1].firstChild.focus();
  });
  up.className = "up";
  up.disabled = !i;
  const drop = button("×", `Remove: ${told}`, () => {
    change(host, host.views.toSpliced(i, 1));
    (host.find("rows").children[Math.max(0, i - 1)]?.firstChild ?? host.find("list")).focus();
  });
  drop.className = "drop";
  item.append(open, caption, up, drop);
  return item;
}

function button(words, label, act) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: words, onclick: act, title: label });
  if (label) made.setAttribute("aria-label", label);
  return made;
}

// Returns a view in words: the title of its page and its settings.
function title(host, { name, query }) {
  const asked = new URLSearchParams(query);
  const set = [...asked].filter(([key]) => !UNTOLD.test(key));
  const told = set.map(([key, value]) => (key === "quiz" ? key : key === "ask" ? "question" : `${key} ${value}`));
  if (asked.has("with")) told.push(asked.get("panel") ?? "panel"); // only then it is seen
  return [host.pages[name], ...told.map((each) => each.slice(0, 24))].join(" · ");
}
