// The widget in a notebook, after anywidget's protocol: traits in, traits out.

function render({ model, el }) {
  faces();
  el.innerHTML = `<div class="ncd ncd-explore"><form class="sizes"></form><p class="told" role="status"></p>
<div class="drawing"></div><div class="value"></div></div>`;
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
  const sizes = (change) => put("sizes", { ...model.get("sizes"), ...change });
  light.fold = (id) => {
    const folds = model.get("drawing").folds[id];
    if (folds) put("folded", folds);
  };
  const views = {
    drawing: () => show(find("drawing"), model.get("drawing"), () => paint(host)),
    value: () => map(find("value"), model.get("value")),
    told: () => (find("told").textContent = model.get("told")),
    sizes: () => fill(find("sizes"), model.get("sizes")),
    selected: () => shine({ target: target(model.get("selected") || "-") }),
    axes: () => shine({ axes: model.get("axes") }),
    dark: () => box.classList.toggle("dark", model.get("dark")),
  };
  form(find("sizes"), model.get("sliders"), sizes);
  for (const [name, view] of Object.entries(views)) {
    model.on(`change:${name}`, view);
    view();
  }
  const dark = isDark(el);
  if (dark !== model.get("dark")) put("dark", dark);
  return () => {
    for (const [name, view] of Object.entries(views)) model.off(`change:${name}`, view);
    host.end();
  };
}

// In a shadow root @font-face does nothing, so the document has it.
function faces() {
  if (document.getElementById("ncd-faces")) return;
  const style = Object.assign(document.createElement("style"), { id: "ncd-faces", textContent: FONTS });
  document.head.append(style);
}

// Whether the page of the notebook has a dark ground, which may be written in any colour space.
function isDark(el) {
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

function form(place, sliders, set) {
  for (const { name, min, max, step, help } of sliders) {
    const label = document.createElement("label");
    label.title = help;
    label.append(Object.assign(document.createElement("span"), { textContent: name }));
    for (const type of ["range", "number"]) {
      const input = Object.assign(document.createElement("input"), { type, name, min, step });
      if (type === "range") input.max = max;
      else input.step = 1;
      input.setAttribute("aria-label", name);
      label.append(input);
    }
    place.append(label);
  }
  place.onsubmit = (event) => event.preventDefault();
  place.oninput = ({ target: { name, value } }) => value && set({ [name]: Number(value) });
}

function fill(place, sizes) {
  for (const input of place.querySelectorAll("input"))
    if (input !== document.activeElement || input.type === "range") {
      if (input.type === "range" && sizes[input.name] > input.max) input.max = sizes[input.name];
      input.value = sizes[input.name];
    }
}

function show(place, { svg, folds, words }, then) {
  if (!svg) return;
  place.innerHTML = svg;
  const drawn = place.querySelector("svg");
  drawn.removeAttribute("height");
  drawn.setAttribute("aria-label", words);
  widen(drawn);
  sign(drawn, Object.keys(folds));
  then();
}

// An array as a map of its numbers, blue below 0 and red above; the pointer reads a number.
function map(place, { title, rows, said }) {
  place.replaceChildren();
  if (!rows) return;
  const [high, wide] = [rows.length, rows[0].length];
  const most = Math.max(...rows.flat().filter(Number.isFinite).map(Math.abs), 1e-9);
  const side = Math.max(3, Math.min(16, Math.floor(320 / Math.max(high, wide))));
  const canvas = Object.assign(document.createElement("canvas"), { width: wide, height: high });
  canvas.style.width = `${side * wide}px`;
  canvas.style.height = `${side * high}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Values of ${title}`);
  const pen = canvas.getContext("2d");
  rows.forEach((row, y) =>
    row.forEach((x, at) => {
      pen.fillStyle = Number.isFinite(x)
        ? `rgb(${x < 0 ? "30 110 190" : "200 60 40"} / ${Math.min(1, Math.abs(x) / most)})`
        : "#888";
      pen.fillRect(at, y, 1, 1);
    }),
  );
  const caption = document.createElement("span");
  const out = document.createElement("output");
  caption.textContent = said ? `${title} (${said})` : title;
  canvas.onpointermove = ({ offsetX, offsetY }) => {
    const [y, x] = [Math.floor(offsetY / side), Math.floor(offsetX / side)];
    out.textContent = rows[y]?.[x] === undefined ? "" : `[${y}, ${x}] ${Number(rows[y][x]).toPrecision(4)}`;
  };
  place.append(canvas, caption, out);
}

export default { render };
