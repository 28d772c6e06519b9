// The question below the diagram; grading.js grades what is typed.

import { grade } from "../../site/static/figure/grading.js";
import { connect, paint } from "../../site/static/figure/highlight.js";
import { replaceHtml } from "../../site/static/figure/html.js";

export default function (component) {
  const { data } = component;
  const host = connect(component);
  const form = host.box;
  const input = form.querySelector("input");
  host.act = (act) => component.setTriggerValue("act", { do: act });
  host.question = data;
  if (!host.ready) prepare(host, form, input);
  if (host.asked !== data.asked) [input.value, host.reply] = ["", ""];
  const said = data.said || host.reply || "";
  for (const [slot, html] of Object.entries({ ask: data.ask, axes: data.axes, said, score: data.score })) fill(host, slot, html);
  const held = form.contains(host.root.activeElement);
  form.classList.toggle("done", data.done);
  form.querySelector("[data-do=again]").hidden = !data.score;
  const moved = host.asked !== data.asked || host.done !== data.done;
  if (held && moved) (data.done ? form.querySelector("[data-do=next]") : input).focus();
  Object.assign(host, { asked: data.asked, done: data.done });
  paint(host);
  return host.end;
}

function prepare(host, form, input) {
  host.ready = true;
  form.onsubmit = (event) => {
    event.preventDefault();
    judge(host, input.value);
  };
  form.onclick = ({ target }) => {
    const act = target.closest("[data-do]")?.dataset.do;
    if (act === "again") host.tried?.clear();
    if (act) host.act(act);
    const said = target.closest("[data-say]")?.dataset.say;
    if (said) add(input, said);
  };
}

// Tells the server of a right answer only; a wrong one is answered here.
function judge(host, text) {
  const { key, facts, done } = host.question;
  if (done || !facts.wanted) return;
  const { right, words, whole } = grade(text, facts.wanted, facts.known, facts);
  host.tried ??= new Set();
  if (right) host.act(host.tried.has(key) ? "later" : "right");
  else if (whole) host.tried.add(key);
  host.reply = words;
  fill(host, "said", words);
}

// A click on a chip appends its axis to the answer.
function add(input, said) {
  input.value = `${input.value.trimEnd()} ${said} `.trimStart();
  input.focus();
}

const fill = (host, slot, html) => replaceHtml(host.box.querySelector(`.${slot}`), html);
