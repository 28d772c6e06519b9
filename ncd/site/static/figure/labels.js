// The texts of a drawing whose numbers follow sizes: labels of wires, words, titles, descriptions.

export const SIZE = /, size [^,]+/;
const bindings = new WeakMap(); // the texts of a part of a drawing that are numbers, in letters
const described = new WeakMap(); // the texts of the descriptions, with letters for numbers

// Returns the texts of sizes among those of a label: numbers after "=", or the only texts, as
// subscripts and factors are numbers as well.
function sizesIn(every) {
  let open = every.every((text) => text.classList.contains("r"));
  return every.filter(({ textContent: said }) => {
    if (/^[\d,]+$/.test(said)) return open;
    open = said === "=" || (open && said === "×");
    return false;
  });
}

const visible = (part) => [...part.querySelectorAll("text")].map((text) => text.textContent).join(" ");

// Returns the words of a part behind what stands there, as part_names.py writes them.
export function named(part, words) {
  const shown = visible(part);
  return /[\p{L}\p{N}]/u.test(shown) ? `${shown}: ${words}` : words;
}

// The words of a part: its title, or what is read aloud of it.
const wordsOf = (part) => part.querySelector(":scope > title")?.textContent ?? part.getAttribute("aria-label") ?? "";

function setWords(part, words) {
  const title = part.querySelector(":scope > title");
  if (title) title.textContent = words;
  else part.setAttribute("aria-label", words);
}

// Writes the numbers of a title, a mark or a label; returns whether it has some that follow sizes.
function numbered(part, drawn, fill) {
  if (!drawn) return false;
  if (!bindings.has(part)) {
    const waiting = [...drawn];
    const bindable = (text) => {
      const at = waiting.findIndex(([old]) => old === text.textContent);
      return at < 0 ? [] : [[text, waiting.splice(0, at + 1).at(-1)[1]]];
    };
    bindings.set(part, [...part.querySelectorAll(":scope > text")].flatMap(bindable));
  }
  for (const [text, said] of bindings.get(part)) text.textContent = fill(said);
  return true;
}

// Writes the sizes into the labels and the words of a drawing. `formulas` are those of live_texts.py,
// or a part of them; `fill` writes one at the sizes.
export function writeLabels(drawing, { wires, drawn = {}, words: sentences = {}, loops = {} }, fill) {
  for (const part of drawing.querySelectorAll(":is(.wire, .label)[data-array]")) {
    const { array, axis } = part.dataset;
    const own = array.split(" ").find((id) => wires[`${id}/${axis}`]);
    if (!own) continue;
    const size = fill(wires[`${own}/${axis}`]);
    const words = wordsOf(part).replace(`${visible(part)}: `, "");
    if (!numbered(part, drawn[`${own}/${axis}`], fill)) {
      const places = sizesIn([...part.querySelectorAll(":scope > text")]);
      const numbers = size.split("×");
      places.forEach((place, i) => (place.textContent = numbers[i % numbers.length]));
    }
    setWords(part, named(part, words.replace(SIZE, `, size ${size}`)));
  }
  for (const op of Object.keys({ ...drawn, ...sentences }).length ? drawing.querySelectorAll(".op[data-node]") : []) {
    const words = wordsOf(op).replace(`${visible(op)}: `, "");
    const said = sentences[op.dataset.node];
    if (numbered(op, drawn[op.dataset.node], fill) || said) setWords(op, named(op, said ? fill(said) : words));
  }
  for (const block of drawing.querySelectorAll("[data-fence]")) {
    const before = visible(block);
    if (numbered(block, drawn[block.dataset.fence], fill)) setWords(block, wordsOf(block).replace(before, visible(block)));
    if (!loops[block.dataset.fence] || !block.matches(".fence")) continue;
    const words = wordsOf(block).replace(`${visible(block)}: `, "");
    const [, ...ends] = sizesIn([...block.querySelectorAll(":scope > text")]); // behind the 1
    const numbers = fill(loops[block.dataset.fence]).split("×");
    ends.forEach((place, i) => (place.textContent = numbers[i]));
    setWords(block, named(block, words));
  }
}

// Writes the sizes into descriptions of a drawing, of which `texts` has each with its formula.
export function writeDescriptions(places, texts, fill) {
  for (const place of places) {
    if (place && !described.has(place)) described.set(place, texts[place.textContent]);
    if (place && described.get(place)) place.textContent = fill(described.get(place));
  }
}
