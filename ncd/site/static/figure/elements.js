// Elements of a page.

// Returns an element with a text and more elements.
export function part(tag, text = "", ...inside) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...inside);
  return made;
}
