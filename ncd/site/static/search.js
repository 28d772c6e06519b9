// Finds systems by their names, topics, ops and axes: for the gallery, and for the search that
// every page has.

const SHORT = new Map(
  Object.entries({ attn: "attention", bn: "batch", conv: "convolution", fc: "linear", ffn: "feed", ln: "layer" }),
);

// How well a card answers: a topic by its place among the answers, its title, the beginning of a
// topic, another text, a part of it.
const TITLE = 10;
const BEGUN = 15;
const TEXT = 30;
const PART = 31;

export function topicsOf(data) {
  return [...new Set(data.flatMap((told) => Object.keys(told.topics)))];
}

// Returns what a query asks for: each a topic, or a word. A topic may have several words, and its
// end may still be missing where the query ends.
export function wishes(text, topics) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  while (words.length) {
    const several = [5, 4, 3, 2, 1].filter((n) => n <= words.length);
    const begun = (n) => topicsNamed(words.slice(0, n), topics, n === words.length);
    const n = several.find((n) => begun(n).length) ?? 1;
    found.push({ topics: begun(n), parts: words.splice(0, n).map((word) => SHORT.get(word) ?? word) });
  }
  return found;
}

// Returns the topics that words name, or, at the end of a query, those that begin like them, each
// with how much is missing.
function topicsNamed(words, topics, last) {
  const text = words.join(" ").replace(/[-–_]/g, " ");
  const whole = topics.filter((topic) => topic === text || `${topic}s` === text);
  if (whole.length || !last || text.length < 3) return whole.map((topic) => [topic, 0]);
  return topics.filter((topic) => topic.startsWith(text)).map((topic) => [topic, BEGUN]);
}

// Returns how a system answers all wishes: its rank, and what is said of it. Null if it does not.
export function answerTo(asked, told) {
  const found = asked.map((wish) => metWish(wish, told));
  if (found.includes(null)) return null;
  const rank = found.reduce((sum, own) => sum + own.rank, 0);
  return { rank, said: [...new Set(found.flatMap((own) => own.said))] };
}

// Returns how a system answers a wish, as a topic or by its words: the rank of it, the least the
// best, and what is said of it. Null if it does not.
function metWish({ topics, parts }, told) {
  const places = topics.flatMap(([topic, rank]) => (Object.hasOwn(told.topics, topic) ? [rank + told.topics[topic]] : []));
  const found = parts.map((word) => metWord(word, told));
  const read = found.includes(null) ? null : { rank: Math.max(...found.map(({ rank }) => rank)), said: found.flatMap(({ said }) => said) };
  const best = Math.min(...places);
  return places.length && !(read?.rank < best) ? { rank: best, said: [] } : read;
}

// A word is the beginning of a word of a text, or the whole name of an axis.
function metWord(word, { name, title, section, source, lead, axes, ops, also }) {
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

export function nothingMatches(text, data) {
  return `Nothing matches “${text}”. The nearest: ${nearest(text, data)}.`;
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
