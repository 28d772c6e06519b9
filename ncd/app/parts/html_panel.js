// A panel: HTML from the server, whose axes, ops and arrays take part in the highlighting.

import { readable, scale, widen } from "../../site/static/figure/drawing.js";
import { connect, paint } from "../../site/static/figure/highlight.js";
import { reach, replaceHtml } from "../../site/static/figure/html.js";
import { followMoves } from "./moved_part.js";

export default function (component) {
  const host = connect(component);
  followMoves(host, component.data, (data) => fillPanel(host, data.html));
  return host.end;
}

function fillPanel(host, html) {
  const content = host.box.querySelector(".content");
  if (replaceHtml(content, html)) {
    reach(content);
    for (const svg of content.querySelectorAll(".drawing > svg")) {
      scale(svg, readable(svg), 1.35);
      widen(svg);
    }
    document.dispatchEvent(new Event("ncd-panel"));
    // What was pushed down becomes visible in a later frame than the one that moves it.
    if (content.querySelector("[data-opens]"))
      requestAnimationFrame(() => setTimeout(() => delete document.documentElement.dataset.opening, 30));
  }
  paint(host);
}
