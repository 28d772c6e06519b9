// On paper the page is light. The styles see to the rest, but a dark drawing has its colours in it.

const PAINTED = ["fill", "stroke", "color", "style"];

// `light` has the light colour for each dark one; gives what to listen to.
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
