// A walk through the diagram. All steps are here, so moving between them needs no server; the
// browser keeps the current step in the address.

import { follow } from "../../scene/url.js";
import { connect, light, shine } from "../../../site/static/figure/highlight.js";
import { replaceHtml } from "../../../site/static/figure/html.js";

export default function (component) {
  const { data } = component;
  const host = connect(component);
  if (!host.ready) prepare(host);
  host.data = data;
  host.asked = "";
  const { page, name, place: told, at } = data;
  const known = document.ncdOwn?.page === page && document.ncdOwn.told === told;
  host.own = known ? document.ncdOwn : (document.ncdOwn = { page, name, told, at, value: told });
  fill(host, ".ways-slot", data.ways);
  fill(host, ".foot", data.foot);
  host.box.querySelector("input").max = data.stops.length;
  host.box.classList.toggle("back", data.back !== "");
  go(host, host.own.at);
  return host.leave;
}

function prepare(host) {
  const { box } = host;
  host.ready = true;
  box.querySelector(".play").onclick = () => play(host, !host.playing);
  box.querySelector("input").oninput = ({ target }) => stride(host, Number(target.value));
  box.querySelector("select").onchange = () => host.playing && play(host, true);
  for (const button of box.querySelectorAll("[data-by]"))
    button.onclick = () => stride(host, host.own.at + Number(button.dataset.by));
  box.addEventListener("keydown", (event) => arrow(host, event));
  light.goes = (id) => meet(host, id);
  host.leave = () => {
    play(host, false);
    clearTimeout(host.saying);
    light.goes = null;
    shine({ walk: null });
    host.end();
  };
}

// The arrow keys walk wherever the focus is in here, except where they have another meaning.
function arrow(host, event) {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  const last = host.data.stops.length;
  const { at } = host.own;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 1, End: last }[key];
  if (to === undefined || target.matches("input, select") || ctrlKey || metaKey || altKey) return;
  event.preventDefault();
  event.stopPropagation();
  stride(host, to);
}

// Takes a step by hand; automatic play then waits for a whole interval.
function stride(host, to) {
  if (host.playing) play(host, true);
  go(host, to);
}

// Shows a step, or requests it if it is missing.
function go(host, to) {
  const { data } = host;
  const at = Math.max(1, Math.min(data.stops.length, to));
  const html = data.html[at - 1 - data.first];
  const value = data.back || at > 1 ? `${data.back}${at}` : "";
  if (html === undefined) {
    const wanted = value || "1";
    if (host.asked !== wanted) host.send("pick", (host.asked = wanted));
    return;
  }
  Object.assign(host.own, { at, value });
  host.box.querySelector("input").value = at;
  host.box.querySelector(".count").textContent = `${at} of ${data.stops.length}`;
  const [back, next] = host.box.querySelectorAll("[data-by]");
  back.setAttribute("aria-disabled", at === 1);
  next.setAttribute("aria-disabled", at === data.stops.length);
  fill(host, ".here-now", html);
  const title = host.box.querySelector(".here-now h2")?.textContent ?? "";
  host.box.querySelector(".aloud").textContent = `Step ${at}: ${title}`;
  const past = data.stops.slice(0, at - 1).flat();
  shine({ walk: { here: new Set(data.stops[at - 1]), past: new Set(past) } });
  clearTimeout(host.saying); // browsers refuse an address that changes too often
  host.saying = setTimeout(() => follow(location.search, data.page), 200); // with what a knob changes by then
}

// Jumps to the step that makes an array or an op; in stacked layers, to the next such step.
function meet(host, id) {
  const { stops } = host.data;
  const { at } = host.own;
  const found = stops.flatMap((ids, i) => (ids.includes(id) ? [i + 1] : []));
  const to = found.find((i) => i > at) ?? found[0];
  if (to !== undefined) stride(host, to);
  return to !== undefined;
}

function play(host, on) {
  clearInterval(host.playing);
  const pace = Number(host.box.querySelector("select").value);
  host.playing = on ? setInterval(onward, pace, host) : 0;
  const button = host.box.querySelector(".play");
  button.textContent = on ? "Pause" : "Play";
  button.setAttribute("aria-pressed", on);
  if (on && host.own.at === host.data.stops.length) go(host, 1);
}

function onward(host) {
  const { at } = host.own;
  if (at < host.data.stops.length) go(host, at + 1);
  else play(host, false);
}

const fill = (host, slot, html) => replaceHtml(host.box.querySelector(slot), html);
