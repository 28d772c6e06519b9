// The gallery. It is searched here at every keystroke, and the query is kept in the address.

const SHORT = new Map(
  Object.entries({ attn: "attention", bn: "batch", conv: "convolution", fc: "linear", ffn: "feed", ln: "layer" }),
);

// How well a card answers: a topic by its place among the answers, its title, the beginning of a
// topic, another text, a part of it.
const TITLE = 10;
const BEGUN = 15;
const TEXT = 30;
const PART = 31;

export default function ({ data, parentElement: root }) {
  const text = JSON.stringify(data);
  if (root.text === text) return;
  root.text = text;
  const input = root.querySelector("input");
  const cards = fill(root, data);
  const topics = [...new Set(data.flatMap((told) => Object.keys(told.topics)))];
  const search = () => {
    const asked = wishes(input.value, topics);
    const shown = cards.filter((card) => card.meet(asked)).length;
    arrange(root, cards);
    if (asked.length) for (const group of root.querySelectorAll("section")) group.firstChild.open = true; // what is found is shown
    const none = () => `Nothing matches “${input.value.trim()}”. The nearest: ${nearest(input.value.trim(), data)}.`;
    root.querySelector(".count").textContent =
      asked.length === 0 ? "" : shown ? `${shown} of ${cards.length}` : none();
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

// Returns what a query asks for: each a topic, or a word. A topic may have several words, and its
// end may still be missing where the query ends.
function wishes(text, topics) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  while (words.length) {
    const several = [5, 4, 3, 2, 1].filter((n) => n <= words.length);
    const begun = (n) => named(words.slice(0, n), topics, n === words.length);
    const n = several.find((n) => begun(n).length) ?? 1;
    found.push({ topics: begun(n), parts: words.splice(0, n).map((word) => SHORT.get(word) ?? word) });
  }
  return found;
}

// Returns the topics that words name, or, at the end of a query, those that begin like them, each
// with how much is missing.
function named(words, topics, last) {
  const text = words.join(" ").replace(/[-–_]/g, " ");
  const whole = topics.filter((topic) => topic === text || `${topic}s` === text);
  if (whole.length || !last || text.length < 3) return whole.map((topic) => [topic, 0]);
  return topics.filter((topic) => topic.startsWith(text)).map((topic) => [topic, BEGUN]);
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
    const found = asked.map((wish) => met(wish, told));
    link.hidden = found.includes(null);
    card.rank = found.reduce((sum, own) => sum + (own?.rank ?? 0), 0);
    link.querySelector(".met").textContent = [...new Set(found.flatMap((own) => own?.said ?? []))].join(" · ");
    return !link.hidden;
  };
  return card;
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

// Returns how a system answers a wish, as a topic or by its words: the rank of it, the least the
// best, and what is said of it. Null if it does not.
function met({ topics, parts }, told) {
  const places = topics.flatMap(([topic, rank]) => (Object.hasOwn(told.topics, topic) ? [rank + told.topics[topic]] : []));
  const found = parts.map((word) => met_word(word, told));
  const read = found.includes(null) ? null : { rank: Math.max(...found.map(({ rank }) => rank)), said: found.flatMap(({ said }) => said) };
  const best = Math.min(...places);
  return places.length && !(read?.rank < best) ? { rank: best, said: [] } : read;
}

// A word is the beginning of a word of a text, or the whole name of an axis.
function met_word(word, { name, title, section, source, lead, axes, ops, also }) {
  const start = new RegExp(`(^|[^\\p{L}\\p{N}])${escaped(word)}`, "iu");
  const begins = (text) => start.test(text);
  if ([title, name].some(begins)) return { rank: TITLE, said: [] };
  const axis = axes.find((own) => own.toLowerCase() === word);
  if (axis) return { rank: TEXT, said: [`axis ${axis}`] };
  if ([section, source, lead].some(begins)) return { rank: TEXT, said: [] };
  const part = ops.find(begins) ?? also.find(begins);
  return part === undefined ? null : { rank: PART, said: [part] };
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
