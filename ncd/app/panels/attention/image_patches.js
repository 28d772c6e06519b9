// Two pictures: a patch is chosen in one, and its attention is shown over the other.

import { floats } from "../../../site/static/figure/bytes.js";
import { connect, paint } from "../../../site/static/figure/highlight.js";
import { replaceHtml } from "../../../site/static/figure/html.js";
import { shares, stepBy } from "../../../site/static/figure/places.js";

export default function (component) {
  const { data } = component;
  const host = connect(component);
  const find = (name) => host.box.querySelector(name);
  host.data = data;
  const [asks, answers] = host.box.querySelectorAll(".picture");
  for (const [box, side, address] of [[asks, data.asks, 0], [answers, data.answers, 1]]) {
    const image = box.querySelector("img");
    if (image.src !== data.pictures[address]) image.src = data.pictures[address];
    replaceHtml(box.parentElement.querySelector("figcaption"), side.title);
  }
  const ends = host.box.querySelectorAll(".ramp span");
  [ends[0].textContent, ends[1].textContent] = data.ends;
  host.weights = floats(data.weights);
  replaceHtml(find(".words"), data.words);
  replaceHtml(find(".side"), data.side);
  put(find(".at"), data.asks, data.at);
  asks.setAttribute("aria-label", `Patch ${data.at.join(", ")} asks; the arrow keys choose another`);
  listen(host, asks, answers);
  paint(host);
  return host.end;
}

function listen(host, asks, answers) {
  const hover = host.box.querySelector(".hover");
  asks.onpointermove = (event) => {
    hover.hidden = false;
    put(hover, host.data.asks, patch(asks, host.data.asks, event));
  };
  asks.onpointerleave = () => (hover.hidden = true);
  asks.onclick = (event) => choose(host, patch(asks, host.data.asks, event));
  const step = (by) => {
    const { count } = host.data.asks;
    choose(host, host.data.at.map((at, i) => Math.max(0, Math.min(count[i] - 1, at + by[i]))));
  };
  asks.onkeydown = (event) => stepBy(event, step);
  answers.onpointermove = (event) => tell(host, answers, event);
  answers.onpointerleave = () => (host.box.querySelector(".tip").hidden = true);
}

// Returns the patch whose centre is nearest to the pointer.
function patch(box, { shape, count, step, kernel }, event) {
  return shares(box, event).map((share, i) => {
    const nearest = Math.round((share * shape[i] - kernel / 2) / step);
    return Math.max(0, Math.min(count[i] - 1, nearest));
  });
}

function put(element, { shape, step, kernel }, at) {
  const share = (n, i) => `${(100 * n) / shape[i]}%`;
  Object.assign(element.style, {
    top: share(at[0] * step, 0),
    left: share(at[1] * step, 1),
    height: share(kernel, 0),
    width: share(kernel, 1),
  });
}

// Marks the chosen patch at once; its weights arrive with the answer.
function choose(host, at) {
  if (String(at) === String(host.data.at)) return;
  host.data.at = at;
  put(host.box.querySelector(".at"), host.data.asks, at);
  host.send("pick", `patch=${at.join(".")}`);
}

function tell(host, box, event) {
  const tip = host.box.querySelector(".tip");
  const at = patch(box, host.data.answers, event);
  const weight = host.weights[at[0] * host.data.answers.count[1] + at[1]];
  tip.textContent = `patch ${at.join(", ")}\nweight ${+weight.toPrecision(3)}`;
  tip.hidden = false;
  const { left, top } = host.box.getBoundingClientRect();
  const x = Math.min(event.clientX - left + 14, host.box.clientWidth - tip.offsetWidth);
  Object.assign(tip.style, { left: `${x}px`, top: `${event.clientY - top + 16}px` });
}
