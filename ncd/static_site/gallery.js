// The gallery. It is searched here at every keystroke, and the query is kept in the address.

const SHORT = new Map(
  Object.entries({ attn: "attention", bn: "batch", conv: "convolution", fc: "linear", ffn: "feed", ln: "layer" }),
);

export default function ({ data, parentElement: root }) {
  const text = JSON.stringify(data);
  if (root.text === text) return;
  root.text = text;
  const input = root.querySelector("input");
  const cards = fill(root, data);
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean).map((word) => SHORT.get(word) ?? word);
    const shown = cards.filter((card) => card.meet(words)).length;
    for (const group of root.querySelectorAll("section")) {
      group.hidden = !group.querySelector("a:not([hidden])");
      if (words.length) group.firstChild.open = true; // what is found is shown
    }
    const none = () => `Nothing matches “${input.value.trim()}”. The nearest: ${nearest(words.join(" "), data)}.`;
    root.querySelector(".count").textContent =
      words.length === 0 ? "" : shown ? `${shown} of ${cards.length}` : none();
  };
  const say = () => {
    const query = input.value.trim() ? `?q=${encodeURIComponent(input.value.trim())}` : "";
    history.replaceState(history.state, "", location.pathname + query);
  };
  input.value ||= new URLSearchParams(location.search).get("q") ?? "";
  input.oninput = () => {
    search();
    say();
  };
  search();
  if (input.value) say(); // it may have been typed before this script was there
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
    return card;
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
  const names = [told.title, told.section, told.source, told.lead];
  const meet = (words) => {
    const found = words.map((word) => met(word, names, told));
    link.hidden = found.includes(null);
    link.querySelector(".met").textContent = [...new Set(found.filter(Boolean))].join(" · ");
    return !link.hidden;
  };
  return { link, meet };
}

// The three systems with the most pairs of letters in common with a text, in their best name.
function nearest(text, data) {
  const likeness = ({ title, ops, also }) => Math.max(...[title, ...ops, ...also].map((name) => alike(text, name)));
  const best = data.map((told) => [likeness(told), told.title]).sort(([a], [b]) => b - a);
  return best.slice(0, 3).map(([, title]) => title).join(", ");
}

function alike(one, other) {
  const pairs = (text) => new Set([...text.toLowerCase()].slice(1).map((letter, i) => text[i].toLowerCase() + letter));
  const [a, b] = [pairs(one), pairs(other)];
  return (2 * [...a].filter((pair) => b.has(pair)).length) / (a.size + b.size || 1);
}

// Returns whether a word matches a system: an axis by its whole name, others by a prefix.
function met(word, names, { axes, ops, also }) {
  const axis = axes.find((name) => name.toLowerCase() === word);
  if (axis) return `axis ${axis}`;
  const start = new RegExp(`(^|[^\\p{L}\\p{N}])${escaped(word)}`, "iu");
  const begins = (text) => start.test(text);
  if (names.some(begins)) return "";
  return ops.find(begins) ?? also.find(begins) ?? null;
}

function escaped(word) {
  return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

// Shows the picture of a card, once: of the app's own text, or from its file.
function draw(link) {
  const { svg: text, picture } = link.told;
  const place = link.querySelector(".picture");
  if (place.firstChild) return;
  if (!text) return place.append(Object.assign(new Image(), { src: picture, alt: "" }));
  const read = new DOMParser().parseFromString(text, "image/svg+xml");
  const svg = document.importNode(read.documentElement, true);
  svg.style.maxWidth = svg.getAttribute("width") + "px";
  for (const side of ["width", "height"]) svg.removeAttribute(side);
  place.append(svg);
}
