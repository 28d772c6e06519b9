// Parts of a page whose HTML comes anew, from a server or from a script.

const HELD = ["pick", "set", "turn", "do", "axis", "stage"]; // the marks by which the focus is found again

// Replaces the content of an element if its HTML changed; returns whether it did. The focus stays on
// what has the same mark there, and open parts stay open.
export function replaceHtml(place, html) {
  if (place.html === html) return false;
  const focused = place.getRootNode().activeElement;
  const mark = place.contains(focused) && HELD.find((name) => focused.dataset[name] !== undefined);
  const value = mark && focused.dataset[mark];
  const open = new Set([...place.querySelectorAll("details[open]")].map(summary));
  place.innerHTML = place.html = html;
  for (const part of open.size ? place.querySelectorAll("details") : []) part.open ||= open.has(summary(part));
  if (mark) place.querySelector(`[data-${mark}="${CSS.escape(value)}"]`)?.focus();
  return true;
}

// Replaces a part of a component, by its class; returns whether the part then lacks a focus that it had.
export function fillPart({ box, root }, name, html) {
  const place = box.querySelector(`.${name}`);
  const held = place.contains(root.activeElement);
  return replaceHtml(place, html) && held && !place.contains(root.activeElement);
}

const summary = (part) => part.querySelector("summary")?.textContent;

// Lets the keyboard scroll a table that is wider than its place.
export function reach(content) {
  for (const part of content.querySelectorAll(".scroll"))
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
}
