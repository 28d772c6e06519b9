// A panel: HTML from the server, whose axes, ops and arrays take part in the highlighting.

export default function (component) {
  const { data } = component;
  const host = connect(component);
  const content = host.box.querySelector(".content");
  if (host.text !== data.html) {
    const { pick, set } = host.root.activeElement?.dataset ?? {};
    content.innerHTML = host.text = data.html;
    reach(content);
    const same = ({ dataset }) => dataset.pick === pick && dataset.set === set;
    if (pick ?? set) [...content.querySelectorAll("[data-pick],[data-set]")].find(same)?.focus();
    for (const svg of content.querySelectorAll(".drawing > svg")) {
      scale(svg, readable(svg), 1.35);
      widen(svg);
    }
    document.dispatchEvent(new Event("ncd-panel"));
    // What was pushed down becomes visible in a later frame than the one that moves it.
    if (content.querySelector("[data-opens]"))
      requestAnimationFrame(() => setTimeout(() => delete document.documentElement.dataset.opening, 30));
  }
  content.onchange = ({ target: { dataset, value } }) =>
    dataset.set && host.send("pick", `${dataset.set}=${value}`);
  paint(host);
  return host.end;
}
