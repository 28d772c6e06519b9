// Loads what runs the system when somebody asks for it, or moves a size. What is loaded hears what to
// do as events.

import { later } from "../document.js";
import { moved } from "../live_sizes.js";

export const task = {};
export const panel = document.querySelector(".run");
let loading = null;

async function load_run() {
  Object.assign(task, (await later).task);
  const script = document.createElement("script");
  script.src = "../runtime/run_here.js";
  const done = new Promise((resolve, fail) => Object.assign(script, { onload: resolve, onerror: fail }));
  document.head.append(script);
  await done;
}

export function tell(text) {
  panel.querySelector(".ran").textContent = text;
}

panel.querySelector(".go").addEventListener("click", async () => {
  try {
    await (loading ??= load_run());
  } catch {
    loading = null;
    return tell("It did not run: this host does not have all files of the site.");
  }
  document.dispatchEvent(new Event("run"));
});
document.addEventListener("unvalued", async () => {
  await (loading ??= load_run()).catch(() => (loading = null));
  if (loading) document.dispatchEvent(new Event("show-run"));
});
document.addEventListener("sizes", () => moved() && (loading ??= load_run()));
