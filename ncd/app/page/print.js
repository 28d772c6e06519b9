// Pages print in the light theme. The style sheets do most of it, but a dark drawing contains its
// colours.

const PAINTED = ["fill", "stroke", "color", "style"];

let before = [];
addEventListener("beforeprint", () => {
  document.dispatchEvent(new Event("ncd-print")); // the gallery draws what is still to be seen
  before = lighten();
});
addEventListener("afterprint", () => before.forEach(([element, name, text]) => element.setAttribute(name, text)));

function lighten() {
  const changed = [];
  const roots = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map((each) => each.shadowRoot);
  if (!roots.some((root) => root?.querySelector("svg.dark"))) return changed;
  const painted = PAINTED.map((name) => `[${name}]`).join();
  for (const element of roots.flatMap((root) => [...(root?.querySelectorAll(painted) ?? [])]))
    for (const name of PAINTED) {
      const text = element.getAttribute(name);
      const other = text?.replace(/#[0-9a-f]{6}/g, (colour) => LIGHT[colour] ?? colour);
      if (other === text) continue;
      changed.push([element, name, text]);
      element.setAttribute(name, other);
    }
  return changed;
}
