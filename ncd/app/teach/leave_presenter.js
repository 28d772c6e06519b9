// Ends a presentation whose page is left.

import { newest } from "../scene/url.js";

export default function ({ data }) {
  if (!newest("unpresented", data)) return; // shown again, when something may be presented
  delete document.documentElement.dataset.present;
  const query = new URLSearchParams(location.search);
  if (!query.has("present")) return;
  for (const name of ["present", "with"]) query.delete(name);
  history.replaceState(history.state, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}
