// Values on the wires: small pictures in the frames of a drawing, painted from a byte for each
// number. wire_values.py says what the data are.

import { bytes } from "./bytes.js";
import { paintCells, shades } from "./cells.js";

const BARS = 24; // the height of bars, in pixels of their tile
const SOLID = 200; // the place of their colour among 256

// Paints the values of arrays, by their ids, into the frames of a drawing.
export function paintWires(drawing, { arrays, colours }, dark) {
  const scales = colours[dark ? "dark" : "light"].map(shades);
  for (const group of drawing.querySelectorAll(".thumbnail")) {
    const told = arrays[group.dataset.array];
    if (!told) continue;
    const frame = group.querySelector("rect");
    const [x, y] = ["x", "y"].map((side) => Number(frame.getAttribute(side)));
    for (const old of group.querySelectorAll("image")) old.remove();
    const painted = tiles(told, scales[Number(told.signed)]);
    told.tiles.slice(0, painted.length).forEach(([left, top, width, height], i) => {
      const image = document.createElementNS(group.namespaceURI, "image");
      const places = { x: x + left, y: y + top, width, height, preserveAspectRatio: "none", href: painted[i] };
      for (const [name, value] of Object.entries(places)) image.setAttribute(name, value);
      group.append(image);
    });
    group.setAttribute("aria-label", told.said);
    group.querySelector("title").textContent = told.said;
  }
}

// Returns each tile of an array as the address of its picture.
function tiles({ painting, shape: [count, rows, columns], cells }, scale) {
  const every = typeof cells === "string" ? bytes(cells) : cells;
  const canvas = document.createElement("canvas");
  return Array.from({ length: count }, (_, tile) => {
    const at = (row, column) => (tile * rows + row) * columns + column;
    const colour = {
      map: (...place) => every[at(...place)] && scale[Math.round(((every[at(...place)] - 1) / 254) * 255)],
      bars: (row, column) => BARS - row <= Math.ceil((every[column] / 255) * BARS) && scale[SOLID],
      colour: (...place) => every.subarray(3 * at(...place), 3 * at(...place) + 3),
    }[painting];
    paintCells(canvas, painting === "bars" ? BARS : rows, columns, colour);
    return canvas.toDataURL();
  });
}
