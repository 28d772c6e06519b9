// Light or dark: what the page asks for, else what the reader's device does.

const night = matchMedia("(prefers-color-scheme: dark)");

export function isDark() {
  const asked = document.documentElement.style.colorScheme;
  return asked ? asked === "dark" : night.matches;
}

export function turnTheme() {
  document.documentElement.style.colorScheme = isDark() ? "light" : "dark";
}

// Calls a function whenever the colours of the page have changed.
export function onTheme(changed) {
  night.addEventListener("change", changed);
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["style"] });
}
