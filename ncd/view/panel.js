// A panel: what the server wrote, every axis, op and array in it lit with the rest of the page.

export default function (component) {
  const { data } = component;
  const host = connect(component);
  const content = host.box.querySelector(".content");
  if (host.text !== data.html) {
    content.innerHTML = host.text = data.html;
    for (const svg of content.querySelectorAll(".drawing > svg")) {
      scale(svg, 0.8, 1.35);
      widen(svg);
    }
  }
  paint(host);
  return host.end;
}
