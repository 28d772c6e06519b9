// The widget in a notebook, after anywidget's protocol: traits in, traits out.

import { shades } from "./figure/cells.js";
import { showDrawing } from "./figure/drawing.js";
import { connect, light, paint, shine, target } from "./figure/highlight.js";
import { ends, matrix } from "./figure/matrix.js";
import { scrub } from "./figure/scrub.js";
import { sizeForm } from "./figure/size_form.js";

function render({ model, el }) {
  faces();
  el.innerHTML = `<div class="ncd ncd-explore"><form class="sizes compact" aria-label="Sizes"></form><p class="told" role="status"></p>
<div class="drawing"></div><label class="wired"><input type="checkbox"> values on the wires</label><div class="value"></div></div>`;
  const box = el.firstElementChild;
  const find = (name) => box.querySelector(`.${name}`);
  const put = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const host = connect({
    parentElement: el,
    setTriggerValue: (kind, { id, axes }) => {
      if (axes !== undefined) put("axes", axes.split(",").filter(Boolean));
      if (id !== undefined) put("selected", id === model.get("selected") ? "" : id);
    },
  });
  light.fold = (id) => {
    const folds = model.get("drawing").folds[id];
    if (folds) put("folded", folds);
  };
  const views = {
    drawing: () => {
      show(find("drawing"), model.get("drawing"));
      paint(host);
    },
    value: () => map(find("value"), model.get("value"), () => model.get("dark")),
    wire_values: () => (find("wired input").checked = model.get("wire_values")),
    told: () => (find("told").textContent = model.get("told")),
    sizes: () => showSizes(),
    selected: () => shine({ target: target(model.get("selected") || "-") }),
    axes: () => shine({ axes: model.get("axes") }),
    dark: () => {
      box.classList.toggle("dark", model.get("dark"));
      find("value canvas")?.paint();
    },
  };
  const sizes = model.get("sliders").map(withLimits);
  const set = (name, value) => {
    views.told();
    put("sizes", { ...model.get("sizes"), [name]: value });
  };
  const say = (note) => note && (find("told").textContent = note);
  const showSizes = sizeForm(find("sizes"), sizes, { now: (name) => model.get("sizes")[name], set, say });
  const formulas = { knobs: Object.fromEntries(sizes.map((size) => [size.name, size])), wires: {}, fixed: {} };
  formulas.grips = Object.fromEntries(sizes.map(({ name }) => [name, [name]])); // an axis of that name
  scrub(box, { formulas: () => formulas, sizes: () => new Map(Object.entries(model.get("sizes"))), set });
  find("wired input").onchange = ({ target: { checked } }) => put("wire_values", checked);
  for (const [name, view] of Object.entries(views)) {
    model.on(`change:${name}`, view);
    view();
  }
  const dark = hasDarkGround(el);
  if (model.get("follows_page") && dark !== model.get("dark")) put("dark", dark);
  return () => {
    for (const [name, view] of Object.entries(views)) model.off(`change:${name}`, view);
    host.end();
  };
}

// A slider that somebody has written may have no limits but its own.
const withLimits = (size) => ({ least: size.min, most: Infinity, multiple: 1, limits: `${size.min} or more`, ...size });

// In a shadow root @font-face does nothing, so the document has it.
function faces() {
  if (document.getElementById("ncd-faces")) return;
  const style = Object.assign(document.createElement("style"), { id: "ncd-faces", textContent: FONTS });
  document.head.append(style);
}

// Whether the page of the notebook has a dark ground, which may be written in any colour space.
function hasDarkGround(el) {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  for (let at = el; at; at = at.parentElement ?? at.getRootNode().host) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = getComputedStyle(at).backgroundColor;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    if (a > 127) return r + g + b < 380;
  }
  return false;
}

function show(place, { svg, folds, words }) {
  if (!svg) return;
  const drawn = showDrawing(place, svg, Object.keys(folds), (svg) => svg.removeAttribute("height"));
  drawn.setAttribute("aria-label", words);
}

// Shows an array as a map of its numbers.
function map(place, { title, rows, said }, dark) {
  place.replaceChildren();
  if (!rows) return;
  const [low, high] = ends(rows.flat());
  const most = Math.max(-low, high, 1e-9);
  const [down, across] = [rows, rows[0]].map(({ length: size }, i) => ({ size, said: ["row", "column"][i] }));
  const read = (row, column) => rows[row][column];
  const caption = said ? `${title} (${said})` : title;
  const scale = { scales, dark, low: low < 0 ? -most : 0, high: most };
  place.append(matrix({ name: `Values of ${caption}`, rows: down, columns: across, read, wide: 320, ...scale }));
}

const scales = MAP_COLOURS.map(shades);

export default { render };
