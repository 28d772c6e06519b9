// Copies the link to the page, or HTML that shows its diagram in another page, to the clipboard.

export async function copy(button) {
  await put(button, window.location.href, "Link copied", "The link is in the address bar");
}

// Which sites may show it, the server says.
export async function embed(button) {
  const { origin, pathname, search } = window.location;
  const frame = document.createElement("iframe");
  frame.src = `${origin}/embed${pathname}${search}`;
  frame.title = document.title;
  frame.width = 860;
  frame.height = 480;
  frame.style.border = "0";
  await put(button, frame.outerHTML, "Code copied", "The clipboard is closed");
}

async function put(button, text, done, failed) {
  const before = (button.dataset.before ??= button.textContent);
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = done;
  } catch {
    button.textContent = failed;
  }
  setTimeout(() => (button.textContent = before), 2500);
}
