// The diagram: the drawing as the server made it.

export default function (component) {
  const { data } = component;
  const host = connect(component);
  host.opens = true;
  host.chosen = data.selected;
  host.box.querySelector(".skip").onclick = () => host.box.querySelector(".after").focus();
  draw(host, data.svg, data.largest);
  paint(host);
  choose(host.box, data.selected);
  return host.end;
}

// Replaces the drawing only if it is another one, and gives the focus back to where it was.
function draw(host, text, largest) {
  if (host.text === text) return;
  host.text = text;
  const read = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  for (const script of read.querySelectorAll("script")) script.remove();
  const svg = document.importNode(read, true);
  widen(svg);
  const width = svg.viewBox?.baseVal?.width || 800;
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  svg.style.width = `clamp(${0.8 * width}px, 100%, ${largest * width}px)`;
  const focused = name(host.root.activeElement);
  host.box.querySelector(".drawing").replaceChildren(svg);
  if (focused) [...svg.querySelectorAll("[tabindex]")].find((e) => name(e) === focused)?.focus();
}

function name(element) {
  const { node = "", array = "", axis = "", fence = "" } = element?.dataset ?? {};
  return element?.closest?.("svg") ? `${node}/${array}/${axis}/${fence}` : "";
}
