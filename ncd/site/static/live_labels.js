// The texts of the drawing whose numbers follow sizes: labels of wires, words, titles, descriptions.

const SIZE = /, size [^,]+/;
const bindings = new WeakMap(); // the texts of a part of the drawing that are numbers, in letters
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
function named(part, words) {
  const shown = visible(part);
  return /[\p{L}\p{N}]/u.test(shown) ? `${shown}: ${words}` : words;
}

// Writes the numbers of a title, a mark or a label; returns whether it has some that follow sizes.
function numbered(part, id) {
  if (!live.drawn[id]) return false;
  if (!bindings.has(part)) {
    const waiting = [...live.drawn[id]];
    const bindable = (text) => {
      const at = waiting.findIndex(([old]) => old === text.textContent);
      return at < 0 ? [] : [[text, waiting.splice(0, at + 1).at(-1)[1]]];
    };
    bindings.set(part, [...part.querySelectorAll(":scope > text")].flatMap(bindable));
  }
  for (const [text, said] of bindings.get(part)) text.textContent = fill(said);
  return true;
}

// Writes the sizes into the words of the drawing.
function label() {
  if (!fill) return;
  for (const title of drawing.querySelectorAll(":is(.wire, .label)[data-array] > title")) {
    const { array, axis } = title.parentNode.dataset;
    const own = array.split(" ").find((id) => live.wires[`${id}/${axis}`]);
    if (!own) continue;
    const size = fill(live.wires[`${own}/${axis}`]);
    const words = title.textContent.replace(`${visible(title.parentNode)}: `, "");
    if (!numbered(title.parentNode, `${own}/${axis}`)) {
      const places = sizesIn([...title.parentNode.querySelectorAll(":scope > text")]);
      const numbers = size.split("×");
      places.forEach((place, i) => (place.textContent = numbers[i % numbers.length]));
    }
    title.textContent = named(title.parentNode, words.replace(SIZE, `, size ${size}`));
  }
  for (const title of drawing.querySelectorAll(".op[data-node] > title")) {
    const op = title.parentNode;
    const words = title.textContent.replace(`${visible(op)}: `, "");
    const said = live.words[op.dataset.node];
    if (numbered(op, op.dataset.node) || said) title.textContent = named(op, said ? fill(said) : words);
  }
  for (const title of drawing.querySelectorAll("[data-fence] > title")) {
    const block = title.parentNode;
    const before = visible(block);
    if (numbered(block, block.dataset.fence))
      title.textContent = title.textContent.replace(before, visible(block));
  }
  for (const title of drawing.querySelectorAll(".fence[data-fence] > title")) {
    const loop = title.parentNode;
    if (!live.loops[loop.dataset.fence]) continue;
    const words = title.textContent.replace(`${visible(loop)}: `, "");
    const [, ...ends] = sizesIn([...loop.querySelectorAll(":scope > text")]); // behind the 1
    const numbers = fill(live.loops[loop.dataset.fence]).split("×");
    ends.forEach((place, i) => (place.textContent = numbers[i]));
    title.textContent = named(loop, words);
  }
  for (const place of [drawing.querySelector("svg > desc"), document.querySelector(".told > .said")]) {
    if (place && !described.has(place)) described.set(place, live.described[place.textContent]);
    if (place && described.get(place)) place.textContent = fill(described.get(place));
  }
}
