// A place of the result is chosen; what it sees of the picture is framed at once, and its gradient
// arrives with the answer.

import { connect } from "../../../site/static/figure/highlight.js";
import { replaceHtml } from "../../../site/static/figure/html.js";
import { choosePlaces, framed } from "../../../site/static/figure/places.js";

const part = (host, name) => host.box.querySelector(name);

export default function (component) {
  const host = connect(component);
  const { data } = component;
  host.data = data;
  for (const [name, address] of [[".taken .under-heat", data.taken], [".taken .heat", data.heat], [".made img", data.made]]) {
    const image = part(host, name);
    if (image.src !== address) image.src = address;
  }
  part(host, ".taken svg").setAttribute("viewBox", `0 0 ${data.shape[1]} ${data.shape[0]}`);
  part(host, ".made svg").setAttribute("viewBox", `0 0 ${data.count[1]} ${data.count[0]}`);
  part(host, ".made figcaption").textContent = `The result: ${data.count.join(" × ")}`;
  for (const name of ["layers", "foot"]) replaceHtml(part(host, `.${name}`), data[name]);
  for (const box of host.box.querySelectorAll(".picture")) listen(host, box);
  move(host, data.at);
  part(host, ".heat").style.opacity = 1;
  return host.end;
}

function move(host, at) {
  const { count, shape, first, jump, field } = host.data;
  host.at = at.map((n, i) => Math.max(0, Math.min(count[i] - 1, n)));
  const [start, end] = [0, 1].map((far) =>
    host.at.map((n, i) => Math.max(0, Math.min(shape[i], first + n * jump + far * field))));
  part(host, ".taken svg").innerHTML = framed(start[1], start[0], end[1] - start[1], end[0] - start[0]);
  part(host, ".made svg").innerHTML = framed(host.at[1], host.at[0], 1, 1);
  const told = `row ${host.at[0] + 1}, column ${host.at[1] + 1} of the result`;
  part(host, ".at").textContent = told;
  for (const box of host.box.querySelectorAll(".picture")) box.setAttribute("aria-label", `Seen from ${told}; the arrow keys choose another`);
}

function listen(host, box) {
  const step = (by) => {
    choose(host, host.at.map((n, i) => n + by[i]));
    ask(host);
  };
  choosePlaces(box, { at: (share) => drag(host, box, share), step, rest: () => ask(host) });
}

// Returns the place of the result whose field has its middle nearest to the pointer.
function drag(host, box, share) {
  const { shape, count, first, jump, field } = host.data;
  const whole = box.parentElement.classList.contains("made");
  choose(host, share.map((n, i) => (whole ? Math.floor(n * count[i]) : Math.round((n * shape[i] - field / 2 - first) / jump))));
}

// The gradient of the place before fades.
function choose(host, at) {
  const before = String(host.at);
  move(host, at);
  if (String(host.at) !== before) part(host, ".heat").style.opacity = 0.15;
}

function ask(host) {
  clearTimeout(host.asking);
  if (String(host.at) === String(host.data.at)) return void (part(host, ".heat").style.opacity = 1);
  host.asking = setTimeout(() => host.send("pick", `seen_from=${host.at.join(".")}`), 120);
}
