// A panel: what the server wrote, every axis, op and array in it lit with the rest of the page.

export default function (component) {
  const { data } = component;
  const host = connect(component);
  const content = host.box.querySelector(".content");
  if (host.text !== data.html) content.innerHTML = host.text = data.html;
  paint(host);
  return host.end;
}
