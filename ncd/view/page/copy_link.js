// Copies the link to the page to the clipboard.

async function copy(button) {
  const before = "Copy link";
  try {
    await navigator.clipboard.writeText(window.location.href);
    button.textContent = "Link copied";
  } catch {
    button.textContent = "The link is in the address bar";
  }
  setTimeout(() => (button.textContent = before), 2500);
}
