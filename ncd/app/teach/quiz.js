// The question below the diagram; the server keeps the round, as other parts of the page hide sizes.

import { connect, paint } from "../../site/static/figure/highlight.js";
import { quizForm } from "../../site/static/figure/quiz.js";

export default function (component) {
  const host = connect(component);
  host.act = (act) => component.setTriggerValue("act", { do: act });
  host.ask ??= quizForm(host.box, (act) => host.act(act));
  host.ask(component.data);
  paint(host);
  return host.end;
}
