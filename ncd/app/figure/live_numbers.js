// Updates every number on the page while a knob moves: in the drawing, below it, in hover texts,
// and in the panel if the server has sent its formulas.

import { paint } from "../../site/static/figure/highlight.js";
import { fillPart } from "../../site/static/figure/html.js";
import { writeLabels } from "../../site/static/figure/labels.js";
import { bindTexts, LETTERS, texts, writeText } from "../../site/static/figure/polynomials.js";
import { grip, sizeHint } from "../../site/static/figure/scrub.js";

const NUMBER = "[\\d,.]+(?: [kMGT]?[A-Za-z]+)?";
const PANELS = ["shapes", "source", "cost"];

export const wanted = (host) => new URLSearchParams(host.want ?? host.data?.ask ?? "");

function panelNow() {
  const shown = PANELS.map((name) => [name, document.querySelector(`.st-key-${name}`)]);
  const [name = "", frame] = shown.find(([, each]) => each?.offsetParent) ?? [];
  const inner = frame && [...frame.querySelectorAll("*")].find((each) => each.shadowRoot);
  return { name, content: (inner ? inner.shadowRoot : frame)?.querySelector(".content") };
}

// Requests the formulas, unless they are known for these sizes and this panel.
export async function learn(host) {
  const sizes = wanted(host);
  const { name } = panelNow();
  const asked = `${sizes}&scrub=${name}`;
  const known = host.open?.page === host.page && host.open.panelled === name;
  if (host.learning || !host.data?.ask || host.asked === asked) return;
  if (known && !host.open.stale && texts(host.open, sizes)) return;
  host.learning = true;
  host.asked = asked;
  const { page } = host;
  const answer = await fetch(`./_ncd/${page}?${asked}`).catch(() => null);
  const open = answer?.status === 200 && (await answer.json());
  host.learning = false;
  if (!open || host.page !== page) return; // for another page by now
  host.open = { ...open, page, panelled: name };
  host.bound = {};
  adapt(host);
  retell(host, host.pointed);
}

// Writes every number for the sizes wanted now.
export function adapt(host) {
  const { open } = host;
  host.filled = null;
  if (!host.data?.ask || open?.page !== host.page) return;
  const now = texts(open, wanted(host));
  if (!now) return void learn(host);
  const { box } = host;
  writeLabels(box.querySelector(".drawing"), open, now);
  write(host, "chips", box.querySelector(".chips"), now, (root) => bindTexts(root, open.chips));
  const panel = panelNow();
  if (now.whole && panel.content && panel.name === open.panelled)
    write(host, "panel", panel.content, now, (root) => bindTexts(root, open.panel));
  if (!host.want) return; // the server has said the rest
  if (host.data.ask !== host.want) fillPart(host, "cost", now(open.cost));
  host.filled = (id) => now(open.told[id] ?? "");
  retell(host);
}

// Returns the text nodes of a part that depend on sizes. They are found once for each content; a
// run may have replaced it with lines that break elsewhere.
function write(host, slot, root, now, find) {
  const bound = (host.bound ??= {});
  if (bound[slot]?.content !== root.firstElementChild) {
    const every = find(root);
    const found = every.filter(([node, text]) => node && like(text).test(node.data));
    bound[slot] = { content: root.firstElementChild, found };
    if (slot === "panel") host.open.stale = found.length < every.length;
  }
  for (const [node, text] of bound[slot].found) {
    writeText(node, now(text));
  }
}

// Compares texts without their numbers.
function like(text) {
  const plain = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${plain.replace(LETTERS, NUMBER)}$`);
}

// Writes the numbers again when a run has replaced the panel by one of its own sizes.
export const replaced = (host) => host.want && adapt(host);

// Updates the words for what the pointer or the focus is on.
function words(host, told) {
  if (told.matches(".chip")) return "";
  const id = told.dataset.array ?? told.dataset.fence;
  return (id && (host.filled?.(id) || host.data.told[id])) || escaped(told.getAttribute("aria-label"));
}

function escaped(text) {
  const place = document.createElement("i");
  place.textContent = text;
  return place.innerHTML;
}

function hinted(host, element) {
  const own = element && grip(host.hand, element);
  const said = own && sizeHint(own);
  return said ? `<span class="hint">${said}</span>` : "";
}

export function retell(host, element) {
  const tip = host.box.querySelector(".words");
  if (element !== undefined) {
    host.pointed = element;
    host.hint = hinted(host, element);
  }
  const said = host.told ? words(host, host.told) + host.hint : "";
  tip.hidden = !said;
  if (!said || host.saying === said) return;
  tip.innerHTML = host.saying = said;
  if (element !== undefined) paint(host);
}
