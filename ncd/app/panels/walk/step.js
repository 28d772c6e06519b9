// A walk through the diagram. All steps are here, so moving between them needs no server; the
// browser keeps the current step in the address.

import { follow } from "../../scene/url.js";
import { connect, light } from "../../../site/static/figure/highlight.js";
import { fillPart } from "../../../site/static/figure/html.js";
import { endWalk, meetStep, stepTo, walkIn } from "../../../site/static/figure/walk.js";

export default function (component) {
  const { data } = component;
  const host = connect(component);
  if (!host.walk) prepare(host);
  host.data = data;
  host.asked = "";
  const { page, name, place: told, at } = data;
  const known = document.ncdOwn?.page === page && document.ncdOwn.told === told;
  host.own = known ? document.ncdOwn : (document.ncdOwn = { page, name, told, at, value: told });
  fillPart(host, "ways-slot", data.ways);
  fillPart(host, "foot", data.foot);
  host.box.classList.toggle("back", data.back !== "");
  Object.assign(host.walk, { stops: data.stops, at: host.own.at });
  stepTo(host.walk, host.own.at);
  return host.leave;
}

function prepare(host) {
  host.walk = walkIn(host.box, (at) => show(host, at));
  light.goes = (id) => meetStep(host.walk, id);
  host.leave = () => {
    clearTimeout(host.saying);
    light.goes = null;
    endWalk(host.walk);
    host.end();
  };
}

// Shows a step and returns its title, or requests it if it is missing.
function show(host, at) {
  const { data } = host;
  const html = data.html[at - 1 - data.first];
  const value = data.back || at > 1 ? `${data.back}${at}` : "";
  if (html === undefined) {
    const wanted = value || "1";
    if (host.asked !== wanted) host.send("pick", (host.asked = wanted));
    return undefined;
  }
  Object.assign(host.own, { at, value });
  fillPart(host, "here-now", html);
  clearTimeout(host.saying); // browsers refuse an address that changes too often
  host.saying = setTimeout(() => follow(location.search, data.page), 200); // with what a knob changes by then
  return host.box.querySelector(".here-now h2")?.textContent ?? "";
}
