// The gallery. It is searched here at every keystroke, and the query is kept in the address.

import { readDrawing } from "./figure/drawing.js";
import { answerTo, nothingMatches, topicsOf, wishes } from "./search.js";

export function gallery({ data, parentElement: root }) {
  const text = JSON.stringify(data);
  if (root.text === text) return;
  root.text = text;
  const input = root.querySelector("input");
  const cards = fill(root, data);
  const topics = topicsOf(data);
  const search = () => {
    const asked = wishes(input.value, topics);
    const shown = cards.filter((card) => card.meet(asked)).length;
    arrange(root, cards);
    if (asked.length) for (const group of root.querySelectorAll("section")) group.firstChild.open = true; // what is found is shown
    root.querySelector(".count").textContent =
      asked.length === 0 ? "" : shown ? `${shown} of ${cards.length}` : nothingMatches(input.value.trim(), data);
  };
  const say = () => {
    const query = input.value.trim() ? `?q=${encodeURIComponent(input.value.trim())}` : "";
    history.replaceState(history.state, "", location.pathname + query);
  };
  input.value ||= new URLSearchParams(location.search).get("q") ?? "";
  input.oninput = () => {
    search();
    say();
    const bar = root.querySelector("search");
    if (input.value && bar.getBoundingClientRect().bottom > innerHeight / 2) bar.scrollIntoView(); // answers are in sight
  };
  search();
  if (input.value) say(); // it may have been typed before this script was there
}

// Puts the sections and the cards in them into the order of what was found.
function arrange(root, cards) {
  const sorted = cards.filter(({ link }) => !link.hidden).sort((one, other) => one.rank - other.rank);
  const groups = new Set(sorted.map(({ group }) => group));
  for (const { group } of cards) group.hidden = !groups.has(group);
  for (const { group, link } of sorted) group.querySelector("div").append(link);
  root.querySelector(".cards").append(...groups);
}

// Shows the cards by section, in order.
function fill(root, data) {
  const near = new IntersectionObserver(
    (seen) => seen.forEach(({ isIntersecting, target }) => isIntersecting && draw(target)),
    { rootMargin: "600px" },
  );
  const groups = new Map();
  const cards = data.map((told) => {
    const group = groups.get(told.section) ?? section(told.section);
    groups.set(told.section, group);
    const card = made(told);
    group.querySelector("div").append(card.link);
    near.observe(card.link);
    return Object.assign(card, { group });
  });
  // Paper has all pictures. The app asks first, as it then turns dark ones light.
  const every = () => cards.forEach(({ link }) => draw(link));
  addEventListener("beforeprint", every, { once: true });
  document.addEventListener("ncd-print", every, { once: true });
  root.querySelector(".cards").replaceChildren(...groups.values());
  return cards;
}

function section(name) {
  const group = document.createElement("section");
  group.innerHTML = "<details open><summary><h2></h2></summary><div></div></details>";
  group.querySelector("h2").textContent = name;
  return group;
}

function made(told) {
  const link = document.createElement("a");
  link.href = told.href ?? told.name;
  link.told = told;
  link.innerHTML =
    '<span class="picture"></span><b></b><span class="lead"></span><small></small><small class="met"></small>';
  link.querySelector("b").textContent = told.title;
  link.querySelector(".lead").textContent = told.lead;
  link.querySelector("small").textContent = told.source;
  const card = { link };
  card.meet = (asked) => {
    const found = answerTo(asked, told);
    link.hidden = !found;
    card.rank = found?.rank ?? 0;
    link.querySelector(".met").textContent = (found?.said ?? []).join(" · ");
    return !link.hidden;
  };
  return card;
}

// Shows the picture of a card, once: of the app's own text, or from its file.
function draw(link) {
  const { svg: text, picture } = link.told;
  const place = link.querySelector(".picture");
  if (place.firstChild) return;
  if (!text) return place.append(Object.assign(new Image(), { src: picture, alt: "" }));
  const svg = readDrawing(text);
  svg.style.maxWidth = svg.getAttribute("width") + "px";
  for (const side of ["width", "height"]) svg.removeAttribute(side);
  place.append(svg);
}
