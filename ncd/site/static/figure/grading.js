// Grades an answer to "what shape leaves here?", axis by axis: the one grader of the app and of pages
// without a server.

const SMALL = "₀₁₂₃₄₅₆₇₈₉";
const SIZES = /^\d{1,12}(?:[x×*]\d{1,12})*$/;
const NOTHING = ["()", "1", "[]", "scalar", "number", "a number"]; // answers that mean no axis
const LONGEST = 200; // characters of an answer

// Returns {right, words, whole}: the reply as HTML; an answer that is not whole counts as no try.
// Names, sizes or both are accepted, in the array's order or in that of its wires ("drawn", names).
// An axis is [name, called, HTML, size, identifier]; "known" are those that may be named. The size
// of an axis in "found" must be stated, as it is computed and not given; "taken" are the axes that
// go into the op. Both hold what axes are called.
export function grade(text, wanted, known, { found = [], taken = [], drawn = [] } = {}) {
  const typed = text.slice(0, LONGEST).trim();
  if (!typed) return { right: false, words: "Type a shape, or click it together.", whole: false };
  if (!wanted.length && NOTHING.includes(typed.toLowerCase())) return { right: true, words: "", whole: true };
  const asked = wanted.map(asAxis);
  const { items, strange } = answerParts(typed, [...asked, ...known.map(asAxis)]);
  if (strange.length) {
    const what = strange.slice(0, 3).map((word) => `“${safe(word.slice(0, 20))}”`).join(", ");
    const names = new Map([...asked, ...known.map(asAxis)].map(({ called, html }) => [called, html]));
    return { right: false, words: `${what} is no axis here. There are ${[...names.values()].join(", ")}.`, whole: false };
  }
  const ordered = inOrder(items, asked, drawn);
  return items.some(({ called }) => called) ? byNames(items, ordered, found, taken) : bySizes(flat(items), ordered);
}

const asAxis = ([name, called, html, size, identifier]) => ({ name, called, html, sizes: sizesOf(size), names: [called, name, identifier ?? name] });
const sizesOf = (text) => (text ? text.split(/[x×*]/).map(Number) : []);
const flat = (items) => items.flatMap(({ sizes }) => sizes);
const alike = (some, others) => some.join() === others.join();
const plainName = (name) => [...name].map((c) => (SMALL.includes(c) ? SMALL.indexOf(c) : c)).join("").replace(/[_{}]/g, "");
const safe = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const listed = (names) => [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");

// Returns the wanted axes in the order of the wires if the answer has them in that order.
function inOrder(items, wanted, drawn) {
  const axes = drawn.map((name) => wanted.find((axis) => axis.name === name));
  if (axes.length !== wanted.length || axes.includes(undefined)) return wanted;
  const names = items.some(({ called }) => called);
  const follows = names ? alike(items.map(({ called }) => called), axes.map(({ called }) => called)) : alike(flat(items), flat(axes));
  return follows ? axes : wanted;
}

// --- what is typed -------------------------------------------------------------------------------

// Returns the parts of an answer, each an axis, sizes or both, and the words that are neither.
function answerParts(text, known) {
  const names = spellings(known);
  const items = [];
  const strange = [];
  const joined = text.replace(/(?<=\d)\s*[×*]\s*(?=\d)/g, "x").replace(/[×*]/g, " ");
  const times = names.has("x") ? joined : joined.replace(/(?<=\d)\s+x\s+(?=\d)/g, "x");
  const words = times.split(/[\s,;:=()[\]]+/).flatMap((word) => (wordParts(word, names) ? [word] : word.split("·")));
  for (const word of words.filter(Boolean)) {
    const parts = wordParts(word, names);
    if (!parts) strange.push(word);
    for (const part of parts ?? []) {
      const last = items.at(-1);
      if (!part.called && last?.called && last.sizes.length < last.sides) last.sizes.push(...part.sizes);
      else items.push(part);
    }
  }
  return { items, strange };
}

// Returns every way to write the name of an axis; in capitals too, where no other axis is called so.
function spellings(known) {
  const found = new Map();
  const add = (name, axis) => !/^\d*$/.test(name) && !found.has(name) && found.set(name, axis);
  for (const axis of known) for (const name of axis.names) add(plainName(name), axis);
  for (const [name, axis] of Array.from(found)) for (const other of [name.toLowerCase(), name.toUpperCase()]) add(other, axis);
  return found;
}

function wordParts(word, names) {
  const named = (name) => names.get(plainName(name));
  const part = (axis, sizes) => ({ called: axis.called, sizes, sides: axis.sizes.length || 1 });
  if (named(word)) return [part(named(word), [])];
  if (SIZES.test(word)) return [{ called: "", sizes: sizesOf(word), sides: 0 }];
  for (let end = word.length - 1; end > 0; end--) {
    const axis = named(word.slice(0, end));
    if (axis && SIZES.test(word.slice(end))) return [part(axis, sizesOf(word.slice(end)))];
  }
  const letters = [...word].map(named);
  return letters.includes(undefined) ? null : letters.map((axis) => part(axis, []));
}

// --- what is right -------------------------------------------------------------------------------

function byNames(items, wanted, found, taken) {
  const left = [...items];
  const pairs = wanted.map((axis) => {
    const at = left.findIndex(({ called }) => called === axis.called);
    return { axis, item: at < 0 ? null : left.splice(at, 1)[0] };
  });
  const missing = pairs.filter(({ item }) => !item).map(({ axis }) => axis.html);
  const faults = missing.length ? [`You forgot ${listed(missing)}.`] : [];
  faults.push(...new Set(left.map((item) => extra(item, wanted, taken))));
  const order = alike(items.map(({ called }) => called), wanted.map(({ called }) => called));
  if (!faults.length && !order) faults.push("These are the right axes, in another order.");
  const stated = pairs.filter(({ item }) => item);
  const wrong = stated.filter(({ axis, item }) => item.sizes.length && !alike(item.sizes, axis.sizes));
  faults.push(...wrong.map(({ axis }) => `The size of ${axis.html} is another one.`));
  const unsaid = stated.filter(({ axis, item }) => found.includes(axis.called) && !item.sizes.length);
  if (faults.length || !unsaid.length) return { right: !faults.length, words: faults.join(" "), whole: true };
  const words = `The axes are right. What is the size of ${listed(unsaid.map(({ axis }) => axis.html))}?`;
  return { right: false, words, whole: false };
}

function extra({ called, sizes }, wanted, taken) {
  const name = safe(called || sizes.join("×"));
  const count = wanted.filter((axis) => axis.called === called).length;
  if (count) return `${name} stands there ${count === 1 ? "once" : "twice"}.`;
  return taken.includes(called) ? `${name} goes in, but does not leave here.` : `${name} does not leave here.`;
}

function bySizes(stated, wanted) {
  const sizes = flat(wanted);
  const sorted = (numbers) => [...numbers].sort((a, b) => a - b);
  if (alike(stated, sizes)) return { right: true, words: "", whole: true };
  const wrong = (...words) => ({ right: false, words: words.join(" "), whole: true });
  if (alike(sorted(stated), sorted(sizes))) return wrong("These are the right sizes, in another order.");
  const strange = [...new Set(stated)].filter((n) => !sizes.includes(n)).map((n) => `${n} is no size of it.`);
  const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  if (stated.length >= sizes.length) {
    const more = stated.length - sizes.length;
    const other = strange.length ? strange : [`The sizes are ${count(sizes.length, "number")}, not these.`];
    return wrong(...(more ? [`That is ${count(more, "size")} too many.`] : []), ...other);
  }
  const left = [...stated];
  const missing = wanted.filter((axis) => !covered(axis.sizes, left)).map(({ html }) => html);
  return wrong(...(missing.length ? [`You forgot ${listed(missing)}.`] : []), ...strange);
}

// Removes an axis' sizes from those left; returns whether all were there.
function covered(sizes, left) {
  const rest = [...left];
  for (const size of sizes) {
    const at = rest.indexOf(size);
    if (at < 0) return false;
    rest.splice(at, 1);
  }
  left.splice(0, left.length, ...rest);
  return true;
}
