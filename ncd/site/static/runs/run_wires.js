// Values on the wires at any sizes: those of the run in this browser.

import { drawing, mode, wireValues } from "../document.js";
import { isDark } from "../figure/theme.js";
import { thumbnailCells } from "../figure/thumbnail_cells.js";
import { paintWires } from "../figure/wire_values.js";
import { moved } from "../live_sizes.js";
import { busy, last, run, values_of, worker } from "./run_here.js";
import { panel } from "./run_loader.js";

document.addEventListener("ran", paint_run);
document.addEventListener("show-run", show_run);

// Runs once; from then on, every move of a size runs anew.
function show_run() {
  if (!worker) run();
  else if (last && !busy) paint_run();
}

async function paint_run() {
  if (mode === "views" || !moved()) return;
  const told = await wireValues;
  const ids = Object.keys(told.arrays);
  const values = await values_of(ids);
  const pairs = ids.filter((id) => values[id]).map((id) => [id, { ...told.arrays[id], ...thumbnailCells(told.arrays[id], values[id]) }]);
  if (mode === "views" || !moved()) return; // by now
  drawing.classList.remove("unvalued");
  for (const old of drawing.querySelectorAll(".thumbnail image")) old.remove();
  paintWires(drawing, { ...told, arrays: Object.fromEntries(pairs) }, isDark());
  document.querySelector(".valued").textContent = panel.querySelector(".origin").textContent;
}
