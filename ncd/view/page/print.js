// Pages print in the light theme. The style sheets do most of it, but a dark drawing contains its
// colours.

const PAINTED = ["fill", "stroke", "color", "style"];

// `light` maps each dark colour to its light one; returns the listeners for printing.
function printing(light) {
  let before = [];
  return [
    [window, "beforeprint", () => (before = lighten(light))],
    [window, "afterprint", () => before.forEach(([element, name, text]) => element.setAttribute(name, text))],
  ];
}

function lighten(light) {
  const changed = [];
  const roots = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map((each) => each.shadowRoot);
  if (!roots.some((root) => root?.querySelector("svg.dark"))) return changed;
  const painted = PAINTED.map((name) => `[${name}]`).join();
  for (const element of roots.flatMap((root) => [...(root?.querySelectorAll(painted) ?? [])]))
    for (const name of PAINTED) {
      const text = element.getAttribute(name);
      const other = text?.replace(/#[0-9a-f]{6}/g, (colour) => light[colour] ?? colour);
      if (other === text) continue;
      changed.push([element, name, text]);
      element.setAttribute(name, other);
    }
  return changed;
}
