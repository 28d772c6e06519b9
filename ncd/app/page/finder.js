// The search that every page has: by ⌘K, Ctrl+K or the button in the header.

import { answerTo, nothingMatches, topicsOf, wishes } from "../../site/static/search.js";
import { visit } from "./page.js";

const KEY = /Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K";
const finder = document.createElement("dialog");
finder.className = "ncd-finder";
finder.ariaLabel = "Search for a page";
finder.innerHTML = `
  <input type="search" role="combobox" aria-expanded="true" aria-controls="ncd-found" aria-label="Search for a page"
    aria-autocomplete="list" placeholder="a name, a topic, a model" autocomplete="off" spellcheck="false">
  <ul id="ncd-found" role="listbox" aria-label="Pages"></ul>
  <p role="status"></p>`;
const wish = finder.querySelector("input");
const foundPages = finder.querySelector("ul");

const opener = document.createElement("button");
opener.type = "button";
opener.className = "ncd-search";
opener.ariaKeyShortcuts = "Control+K Meta+K";
opener.innerHTML = `<span>Search</span> <kbd>${KEY}</kbd>`;
document.body.append(opener, finder);

// The page that Enter opens is the selected one.
function select(option) {
  for (const each of foundPages.children) each.ariaSelected = String(each === option);
  if (option) wish.setAttribute("aria-activedescendant", option.id);
  else wish.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function selected() {
  return foundPages.querySelector("[aria-selected=true]");
}

function option(told, place) {
  const item = document.createElement("li");
  item.role = "option";
  item.id = `ncd-found-${place}`;
  item.dataset.name = told.name;
  item.innerHTML = "<b></b> <small></small><span></span>";
  item.querySelector("b").textContent = told.title;
  item.querySelector("small").textContent = told.section;
  item.querySelector("span").textContent = told.lead;
  return item;
}

// What can be changed at the selected part of the diagram, where the page has a bar for that.
function editsFor(text) {
  const every = document.ncdEdits?.choices() ?? [];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? every.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word))) : [];
}

function find() {
  const text = wish.value.trim();
  const edits = editsFor(text);
  const asked = wishes(text, topicsOf(SEARCHED_PAGES));
  const found = SEARCHED_PAGES.map((told) => ({ told, met: answerTo(asked, told) })).filter(({ met }) => met);
  found.sort((one, other) => one.met.rank - other.met.rank);
  foundPages.replaceChildren(...[...edits, ...found.map(({ told }) => told)].map(option));
  edits.forEach(({ act }, place) => (foundPages.children[place].act = act));
  select(foundPages.firstChild);
  finder.querySelector("p").textContent = foundPages.firstChild ? "" : nothingMatches(text, SEARCHED_PAGES);
}

function openFinder() {
  wish.value = "";
  find();
  finder.showModal();
}

function follow(item) {
  if (!item) return;
  finder.close();
  if (item.act) item.act();
  else visit(item.dataset.name);
}

const STEPS = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" };
opener.onclick = openFinder;
wish.oninput = find;
wish.onkeydown = (event) => {
  if (event.isComposing) return;
  if (event.key in STEPS) select(selected()?.[STEPS[event.key]] ?? selected());
  else if (event.key === "Enter") follow(selected());
  else if (event.key === "Escape") finder.close(); // at once, where a field of this type is emptied first
  else return;
  event.preventDefault();
};
foundPages.onclick = ({ target }) => follow(target.closest("li"));
finder.onclick = ({ target }) => target === finder && finder.close(); // beside it
addEventListener("keydown", (event) => {
  if (event.key?.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey) || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (finder.open) finder.close();
  else openFinder();
});
