// A window over a picture: it is dragged, stepped or played, and one number is written out.

import { floats } from "../../../site/static/figure/bytes.js";
import { connect } from "../../../site/static/figure/highlight.js";
import { replaceHtml } from "../../../site/static/figure/html.js";
import { choosePlaces, framed, rect } from "../../../site/static/figure/places.js";

const LEGIBLE = 5; // cells along a side, up to which their numbers are written
const TOUR = 20_000; // milliseconds that a tour of all windows takes, at most
const SLOWEST = 400; // milliseconds at one window

export default function (component) {
  const host = connect(component);
  const { data } = component;
  if (host.data !== data) take(host, data);
  if (!host.listens) listen(host);
  move(host, data.at);
  host.leave ??= () => { halt(host); host.end(); };
  return host.leave;
}

const find = (host, name) => host.box.querySelector(name);
const clamp = (n, most) => Math.max(0, Math.min(most, n));

function take(host, data) {
  host.data = data;
  Object.assign(host, { planes: floats(data.planes), weights: floats(data.weights), result: floats(data.result) });
  host.plane = Math.min(host.plane ?? data.names.length >> 1, data.names.length - 1);
  for (const [box, size] of [["taken", data.shape], ["made", data.count]]) {
    find(host, `.${box} .picture`).style.setProperty("--high", size[0] / size[1]);
    find(host, `.${box} svg`).setAttribute("viewBox", `0 0 ${size[1]} ${size[0]}`);
  }
  find(host, ".taken figcaption").textContent = data.title;
  find(host, ".made figcaption").textContent = `The result: ${data.count.join(" × ")}`;
  for (const name of ["sizes", "maps", "filters", "foot"]) replaceHtml(find(host, `.${name}`), data[name]);
  show(host);
  ground(host);
}

// A picture in colours shows all its planes at once; else the chosen one is in sight.
function show(host) {
  const { taken, made } = host.data;
  for (const [box, address] of [["taken", taken[Math.min(host.plane, taken.length - 1)]], ["made", made]]) {
    const image = find(host, `.${box} img`);
    if (image.src !== address) image.src = address;
  }
}

// The border between picture and padding, and what no window reaches.
function ground(host) {
  const { shape, before, after, stride, dilation, kernel, count } = host.data;
  const [high, wide] = shape;
  const end = [0, 1].map((i) => (count[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1);
  const [top, left] = before.map((n) => Math.max(0, n));
  const [bottom, right] = after.map((n) => Math.max(0, n));
  const off = [
    end[1] < wide ? rect("fallen-off", end[1], 0, wide - end[1], high) : "",
    end[0] < high ? rect("fallen-off", 0, end[0], end[1], high - end[0]) : "",
  ];
  const ring = top || left || bottom || right ? rect("ring", left, top, wide - left - right, high - top - bottom) : "";
  find(host, ".taken svg").innerHTML = `${off.join("")}${ring}<g></g>`;
}

function move(host, at) {
  const { count, kernel, stride, dilation } = host.data;
  host.at = at.map((n, i) => clamp(n, count[i] - 1));
  const [row, column] = host.at;
  const start = [row * stride[0], column * stride[1]];
  const taps = [];
  for (let i = 0; i < kernel[0]; i++)
    for (let j = 0; j < kernel[1]; j++) {
      const place = [start[0] + i * dilation[0], start[1] + j * dilation[1]];
      if (dilation[0] > 1 || dilation[1] > 1) taps.push(rect("tap", place[1], place[0], 1, 1));
      const source = copiedFrom(host, place);
      if (source) taps.push(rect("source", source[1], source[0], 1, 1));
    }
  const span = [0, 1].map((i) => dilation[i] * (kernel[i] - 1) + 1);
  find(host, ".taken g").innerHTML = taps.join("") + framed(start[1], start[0], span[1], span[0]);
  const rest = host.playing
    ? rect("rest", column + 1, row, count[1] - column - 1, 1) + rect("rest", 0, row + 1, count[1], count[0] - row - 1)
    : "";
  find(host, ".made svg").innerHTML = rest + framed(column, row, 1, 1);
  find(host, ".at").textContent = `row ${row + 1}, column ${column + 1}`;
  for (const box of host.box.querySelectorAll(".picture"))
    box.setAttribute("aria-label", `The window at row ${row + 1}, column ${column + 1}; the arrow keys move it`);
  for (const line of host.box.querySelectorAll(".strip line"))
    line.classList.toggle("now", Number(line.dataset.window) === column);
  spell(host);
}

// Returns the pixel whose number stands at a padded place; null at a pixel, and where constants stand.
function copiedFrom({ data: { sources } }, place) {
  if (!sources.length) return null;
  const source = place.map((n, i) => sources[i][n]);
  return source.some((n, i) => n !== place[i]) ? source : null;
}

// --- the sum, written out

function terms(host, plane) {
  const { kernel, stride, dilation, shape, before, after, apart } = host.data;
  const wide = shape[1];
  const high = shape[0];
  const pixelAt = (n, i) => n >= before[i] && n < shape[i] - after[i] && (n - before[i]) % apart[i] === 0;
  const found = [];
  for (let i = 0; i < kernel[0]; i++)
    for (let j = 0; j < kernel[1]; j++) {
      const y = host.at[0] * stride[0] + i * dilation[0];
      const x = host.at[1] * stride[1] + j * dilation[1];
      const inside = pixelAt(y, 0) && pixelAt(x, 1);
      const pixel = host.planes[(plane * high + y) * wide + x];
      const weight = host.weights[(plane * kernel[0] + i) * kernel[1] + j];
      const source = copiedFrom(host, [y, x])?.map((n, side) => n - before[side] + 1);
      found.push({ pixel, weight, product: pixel * weight, inside, source });
    }
  return found;
}

const total = (list) => list.reduce((sum, { product }) => sum + product, 0);
const peak = (list) => list.reduce((most, { product }) => Math.max(most, product), -Infinity);
const short = (n) => (n === -Infinity ? "−∞" : Number.isInteger(n) ? String(n) : Math.abs(n) < 0.005 ? "0.00" : n.toFixed(2)).replace("-", "−");
const added = (n, i) => (i ? (n < -0.005 ? ` − ${short(-n)}` : ` + ${short(n)}`) : short(n));
const held = (n) => (n < -0.005 ? `(${short(n)})` : short(n));

function spell(host) {
  const { kernel, names, bias, count, largest } = host.data;
  const many = names.length > 1;
  const own = terms(host, host.plane);
  const sums = names.map((_, i) => (largest ? peak : total)(terms(host, i)));
  const sum = largest ? Math.max(...sums) : sums.reduce((a, b) => a + b, bias);
  const legible = Math.max(...kernel) <= LEGIBLE;
  const box = find(host, ".products");
  const cell = legible ? (Math.max(...kernel) < 4 ? 56 : 40) : Math.min(24, 206 / Math.max(...kernel) - 2);
  box.style.gridTemplateColumns = `repeat(${kernel[1]}, max-content)`;
  box.style.setProperty("--cell", `${cell}px`);
  box.style.setProperty("--type", Math.max(...kernel) < 4 ? "0.88rem" : "0.74rem");
  const most = largest ? null : Math.max(1e-9, ...own.map(({ product }) => Math.abs(product)));
  box.innerHTML = own.map((term) => (largest ? candidate(term, legible, sum) : product(term, legible && (cell > 40 ? "× " : " "), most))).join("");
  find(host, ".sum figcaption").textContent = largest ? "The numbers in the window" : "Pixel × weight, in the window";
  find(host, ".planes").innerHTML = many
    ? names.slice(0, 12).map((name, i) => `<button type="button" class="plain" data-plane="${i}" aria-pressed="${i === host.plane}">${name}</button>`).join("")
    : "";
  const ends = (i) => (i && i % kernel[1] === 0 && many === false ? "<br>" : "");
  const line = own.length <= LEGIBLE ** 2 ? own.map(({ product }, i) => ends(i) + added(product, i)).join("") : `${own.length} products`;
  const first = many ? `${names[host.plane]}: ${line} = ${short(sums[host.plane])}<br>` : "";
  const parts = many ? (names.length <= 12 ? sums.map(added).join("") : `${names.length} sums`) : line;
  const at = host.at[0] * count[1] + host.at[1];
  const end = `<br>${bias < -0.005 ? "−" : "+"} bias ${short(Math.abs(bias))} = <b>${short(sum)}</b>`;
  find(host, ".written").innerHTML = largest
    ? `the largest of ${own.length * names.length}: <b>${short(sum)}</b>`
    : `${first}${parts}${host.data.learns ? end : ` = <b>${short(sum)}</b>`}`;
  host.box.dataset.sum = sum;
  host.box.dataset.result = host.result[at];
}

function product({ pixel, weight, product, inside, source }, legible, most) {
  const share = Math.round((70 * Math.abs(product)) / most);
  const hue = product < 0 ? "light-dark(#92c5de, #2166ac)" : "light-dark(#f4a582, #a8382c)";
  const times = legible === " " ? short(weight) : `${legible}${held(weight)}`;
  const text = legible ? `<span>${short(pixel)}</span><small>${times}</small>` : "";
  return `<div class="${inside ? "" : "pad"}" title="${short(pixel)} × ${held(weight)} = ${short(product)}${source ? `, the pixel of row ${source[0]}, column ${source[1]}` : ""}" style="background:color-mix(in srgb, ${hue} ${share}%, transparent)">${text}</div>`;
}

// A number of which only the largest goes on.
function candidate({ pixel, inside }, legible, sum) {
  const look = pixel === sum ? "background:color-mix(in srgb, var(--here) 30%, transparent);font-weight:700" : "opacity:0.75";
  return `<div class="${inside ? "" : "pad"}" title="${short(pixel)}" style="${look}">${legible ? short(pixel) : ""}</div>`;
}

// --- what moves the window

function listen(host) {
  host.listens = true;
  for (const box of host.box.querySelectorAll(".picture"))
    choosePlaces(box, { at: (share) => drag(host, box, share), step: (by) => stride(host, by), rest: () => remember(host) });
  for (const button of host.box.querySelectorAll("[data-by]")) button.onclick = () => onward(host, Number(button.dataset.by));
  find(host, ".play").onclick = () => (host.playing ? halt(host) : play(host));
  find(host, ".planes").onclick = ({ target }) => {
    if (target.dataset.plane === undefined) return;
    host.plane = Number(target.dataset.plane);
    show(host);
    spell(host);
    find(host, `[data-plane="${host.plane}"]`).focus();
  };
}

// Returns the window whose middle is nearest to the pointer, on either picture.
function drag(host, box, share) {
  halt(host);
  const { shape, count, kernel, stride, dilation } = host.data;
  const whole = box.parentElement.classList.contains("made");
  move(host, share.map((n, i) => {
    if (whole) return Math.floor(n * count[i]);
    const half = (dilation[i] * (kernel[i] - 1) + 1) / 2;
    return Math.round((n * shape[i] - half) / stride[i]);
  }));
}

function stride(host, step) {
  halt(host);
  move(host, host.at.map((n, i) => n + step[i]));
  remember(host);
}

function onward(host, by) {
  halt(host);
  jump(host, host.at[0] * host.data.count[1] + host.at[1] + by);
  remember(host);
}

function jump(host, index) {
  const [high, wide] = host.data.count;
  const at = clamp(index, high * wide - 1);
  move(host, [Math.floor(at / wide), at % wide]);
}

// Tells the server, for the link, once the window rests.
function remember(host) {
  clearTimeout(host.telling);
  host.telling = setTimeout(() => {
    host.data.at = host.at;
    host.send("pick", `window=${host.at.join(".")}`);
  }, 250);
}

function play(host) {
  const windows = host.data.count[0] * host.data.count[1];
  const pace = Math.min(SLOWEST, TOUR / windows);
  const begun = performance.now();
  host.playing = true;
  label(host);
  const frame = () => {
    if (!host.playing) return;
    const index = Math.floor((performance.now() - begun) / pace);
    jump(host, index);
    if (index < windows) host.frame = requestAnimationFrame(frame);
    else { halt(host); remember(host); }
  };
  frame();
}

function halt(host) {
  if (!host.playing) return;
  host.playing = false;
  cancelAnimationFrame(host.frame);
  label(host);
  move(host, host.at);
}

function label(host) {
  const button = find(host, ".play");
  button.textContent = host.playing ? "Pause" : "Play";
  button.setAttribute("aria-pressed", Boolean(host.playing));
}
