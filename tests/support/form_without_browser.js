// A page of plain objects, as far as a form of sizes needs one.

class Place {
  constructor(tag) {
    Object.assign(this, { tag, all: [], dataset: {}, classList: { toggle() {} }, textContent: "" });
  }
  append(...more) {
    this.all.push(...more.map((one) => (one.tag ? one : { textContent: one, all: [] })));
  }
  prepend(...rows) {
    this.rows = rows;
  }
  setAttribute() {}
  toggleAttribute(name, on) {
    this[name] = on;
  }
  addEventListener(name, heed) {
    this[name] = heed;
  }
  getRootNode() {
    return {};
  }
  querySelectorAll(path) {
    if (path.startsWith(".size")) return this.rows.filter((row) => row.dataset.size);
    return this.all.filter(({ tag }) => tag !== "label");
  }
}

globalThis.document = { createElement: (tag) => new Place(tag) };
globalThis.Option = class extends Place {
  constructor(textContent, value) {
    super("option");
    Object.assign(this, { textContent, value });
  }
};
const SIZE = { min: 1, max: 16, step: 1, least: 1, most: 99, multiple: 1, limits: "from 1 to 99" };
const SIZES = [
  { ...SIZE, name: "h", help: "heads" },
  { ...SIZE, name: "c", switch: true },
  { ...SIZE, name: "w", names: ["a", "b"] },
  { ...SIZE, name: "n", step: 2 },
];

// Returns the fields of a form, or the words of sizes that are fixed, after something was typed.
function formed(fixed, act) {
  const [form, values, said] = [new Place("form"), { h: 4, c: 1, w: 1, n: 20 }, []];
  const show = sizeForm(form, SIZES, {
    fixed,
    now: (name) => values[name],
    set: (name, value) => (values[name] = value),
    say: (note) => note && said.push(note),
  });
  const [, text] = form.rows[0].querySelectorAll("");
  const typed = (value, event) => form[event]({ target: Object.assign(text, { value }) });
  for (const value of act === "typed" ? ["12", "120"] : [])
    for (const event of ["input", "change"]) typed(value, event);
  const key = { target: text, key: "ArrowUp", shiftKey: true, preventDefault() {} };
  if (act === "key") form.keydown(key);
  show((name) => name !== "h");
  const words = (one) => [one.textContent, ...one.all.map(words)].join("");
  const field = ({ tag, type, value, checked, max, all }) =>
    [tag, type, value, checked, max, all.map((each) => each.textContent).join()].filter(Boolean).join(" ");
  const rows = form.rows.map((row) => (row.dataset.size ? row.querySelectorAll("").map(field) : words(row)));
  return { rows, values, said, wrong: text["aria-invalid"] };
}
