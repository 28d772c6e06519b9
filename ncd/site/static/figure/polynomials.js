// Numbers as functions of sizes: sums of products, which may contain floors of quotients and
// remainders (see traced_texts.py). A text has one letter for each number.

const FIRST = 0xe000; // the letters that stand for numbers
export const LETTERS = /[\ue000-\uf8fe]/g;
const PREFIXES = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const NEARLY = 0.9995; // of a prefix: it would be written as 1000 of the one below

// Writes a text at these sizes; returns null if its formula does not hold there.
export function texts(open, sizes) {
  const atoms = [];
  const sums = [];
  const atom = (i) => (atoms[i] ??= part(open.atoms[i]));
  const sum = (i) => (sums[i] ??= open.sums[i].reduce((all, each) => all + product(each), 0n));
  const product = ([times, ...of]) => of.reduce((all, i) => all * atom(i), BigInt(times));
  const part = (said) => {
    if (typeof said === "string") return BigInt(sizes.get(said));
    const [a, b] = said.slice(1).map(sum);
    const rest = ((a % b) + b) % b;
    return said[0] === "%" ? rest : (a - rest) / b;
  };
  const test = { "<": (n) => n < 0n, "<=": (n) => n <= 0n, "=": (n) => n === 0n };
  const same = Object.entries(open.fixed).every(([name, value]) => Number(sizes.get(name)) === value);
  const right = ([i, sign, holds]) => test[sign](sum(i)) === holds;
  if (!same || !open.holds.every(right)) return null;
  const fill = (text) =>
    text.replace(LETTERS, (letter) => {
      const [i, how] = open.letters[letter.charCodeAt(0) - FIRST];
      return written(sum(i), how);
    });
  fill.whole = open.also.every(right);
  fill.right = (facts) => facts.every(right);
  return fill;
}

// Returns the text nodes of a part at some places, each with its text in letters.
export function bindTexts(root, every) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return every.map(([i, text]) => [nodes[i], text]);
}

export function writeText(node, text) {
  if (node && node.data !== text) node.data = text;
}

function written(number, how) {
  if (how[0] === "^") return general(Number(number) ** Number(how.slice(1)));
  if (how[0] === "~") return amount(Number(number), how.slice(1));
  return how === "," ? number.toLocaleString("en-US") : `${number}`;
}

// Returns a number with four significant digits, as Python's format ".4g" does.
function general(number) {
  const [mantissa, exponent] = number.toExponential(3).split("e");
  if (exponent >= -4 && exponent < 4) return `${Number(number.toPrecision(4))}`;
  return `${Number(mantissa)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

// Returns a number with three significant digits and a prefix, formatted as on the server.
export function amount(number, unit) {
  const [factor, prefix] = PREFIXES.find(([least]) => number >= NEARLY * least) ?? [1, ""];
  return `${digits(prefix ? Math.max(1, number / factor) : number)} ${prefix}${unit}`.trim();
}

function digits(number) {
  const places = number >= 999.5 ? 4 : 3;
  const exact = number.toPrecision(60); // a tie goes to the even digit
  const tie = /^(\d\.?\d\.?\d)(\.?)50*$/.exec(exact);
  if (tie && places === 3 && tie[1].replace(".", "").length === 3 && Number(tie[1].at(-1)) % 2 === 0)
    return `${Number(tie[1])}`;
  return places === 4 ? number.toFixed(0) : `${Number(number.toPrecision(3))}`;
}
