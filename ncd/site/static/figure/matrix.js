// Pictures of matrices: a pixel for each number, read by the pointer or by the arrow keys.

import { paintCells, shade } from "./cells.js";
import { part } from "./elements.js";
import { stepBy } from "./places.js";
import { isDark } from "./theme.js";

const MOST_CELLS = 512; // along a side of a picture
const LETTER = 13; // the least height of a row that has a word
const NARROW = 150; // the width of pictures without words
const SCALES = { positive: 0, signed: 1, grey: 2, signedDark: 3 }; // the places of the colours of maps

export const digit = (value) => (Number.isFinite(value) ? `${Number(value.toPrecision(4))}`.replace("-", "−") : "masked");

// Returns the least and the largest finite number.
export function ends(data) {
  let [low, high] = [Infinity, -Infinity];
  for (const each of data)
    if (Number.isFinite(each)) [low, high] = [Math.min(low, each), Math.max(high, each)];
  return low > high ? [0, 0] : [low, high];
}

// Returns a picture of a matrix. Its `rows` and `columns` have a size, what they are said to be and
// perhaps words; `read` returns the number of a cell, `scales` are the colours of maps, `channels`
// the red, green and blue of a cell, and `pick` is called with a cell that is clicked.
export function matrix(told) {
  const { name, rows, columns, read, wide, low, high, channels, scales, grey, dark = isDark } = told;
  const canvas = document.createElement("canvas");
  const words = { rows: wide > NARROW && rows.words, columns: wide > NARROW && columns.words };
  const [tall, broad] = cellSides(words, rows.size, columns.size, wide);
  const [down, across] = [Math.min(rows.size, MOST_CELLS), Math.min(columns.size, MOST_CELLS)];
  canvas.tabIndex = 0;
  canvas.style.width = `${Math.max(24, across * broad)}px`;
  canvas.style.height = `${Math.max(12, down * tall)}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${name || "The numbers"}: ${rows.size} by ${columns.size} numbers; arrow keys read them`);
  canvas.paint = () => {
    const signed = dark() ? SCALES.signedDark : SCALES.signed;
    const scale = scales[grey ? SCALES.grey : low < 0 ? signed : SCALES.positive];
    const mixed = (...at) => Number.isFinite(read(...at)) && channels(...at).map((each) => 255 * each);
    paintCells(canvas, down, across, channels ? mixed : (...at) => shade(scale, read(...at), low, high));
  };
  canvas.paint();
  const cut = rows.size > down || columns.size > across ? `, the first ${down} × ${across}` : "";
  const tip = pointed(canvas, told, [down, across], `${name ? `${name}: ` : ""}${rows.size} × ${columns.size}${cut}`);
  const box = part("div");
  box.className = words.rows || words.columns ? "worded" : "";
  if (words.columns) box.append(wordList(words.columns, "column-words"));
  if (words.rows) box.append(wordList(words.rows, "row-words"));
  box.append(canvas);
  return part("figure", "", box, part("figcaption", "", tip));
}

// Returns the height and width of a cell, in pixels; a word needs the height of a letter.
function cellSides(words, rows, columns, wide) {
  const alike = Math.max(1, Math.min(14, Math.floor(wide / Math.max(rows, columns))));
  const least = Math.max(alike, LETTER);
  if (words.rows && words.columns) return [least, least];
  return [words.rows ? least : alike, words.columns ? least : alike];
}

function wordList(words, name) {
  const made = part("div", "", ...words.map((word) => part("span", word)));
  made.className = name;
  made.setAttribute("aria-hidden", "true");
  return made;
}

// Returns the line below a picture: what it is, or the number that is pointed at.
function pointed(canvas, { rows, columns, read, pick }, cells, told) {
  const tip = part("output", told);
  let at = [0, 0];
  const rest = () => (tip.textContent = told);
  const place = ({ said, words }, i) => `${said} ${i}${words ? ` ${words[i]}` : ""}`.trim();
  const show = (...where) => {
    at = where.map((each, i) => Math.min(cells[i] - 1, Math.max(0, each)));
    tip.textContent = `${rows.size > 1 ? `${place(rows, at[0])}, ` : ""}${place(columns, at[1])}: ${digit(read(...at)).replace("−", "-")}`;
  };
  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    const spot = (from, length, count) => Math.floor(((from - 1) / (length - 2)) * count);
    show(spot(event.clientY - box.top, box.height, cells[0]), spot(event.clientX - box.left, box.width, cells[1]));
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("click", (event) => {
    point(event);
    pick?.(...at);
  });
  canvas.addEventListener("pointerleave", rest);
  canvas.addEventListener("blur", rest);
  canvas.addEventListener("focus", () => show(...at));
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") pick?.(...at);
    stepBy(event, ([down, across]) => show(at[0] + down, at[1] + across));
  });
  return tip;
}
