// The button that changes between light and dark colours.

document.querySelector(".theme").addEventListener("click", () => {
  const root = document.documentElement;
  const asked = root.style.colorScheme;
  const dark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.style.colorScheme = dark ? "light" : "dark";
});
