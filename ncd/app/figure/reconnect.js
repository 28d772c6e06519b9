// Keeps what is done while the page has no server. Streamlit disables its widgets then, and another
// process, or the same one after a restart, knows nothing of a page until it runs as a whole.

import { want } from "./component.js";
import { busy, now, push, SETTLES } from "./follow_session.js";

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

const connected = () => Boolean(document.querySelector("[data-test-connection-state=CONNECTED]"));

export const knob = (element) => /st-key-(\w+)/.exec(element.closest("[class*=st-key-]")?.className)?.[1];

const STATES = ["data-test-connection-state", "data-test-script-state"];
const SELDOM = { subtree: true, attributeFilter: STATES };
const CLOSELY = { subtree: true, childList: true, attributeFilter: [...STATES, "disabled"] };

// Whether nothing hears the keys: the focus is on the page itself, or on what was disabled under it.
const idle = () => document.activeElement.matches("body, :disabled");

// Asks for a run after each connection but the first, as soon as somebody looks at the page. Keys
// move the slider that had the focus until it is there again, and then it has the focus again.
export function reconnect(host) {
  const kept = (document.ncdKept ??= keyboard()); // a process that knows nothing of the page makes it anew
  kept.host = host;
  kept.shown = true;
  return () => (kept.shown &&= kept.host !== host);
}

function keyboard() {
  const kept = { host: null, shown: false };
  let used = null; // the slider that has the focus, or had it when the server was lost
  let away = null; // from then to the end of a run: on which page, and how far
  const focused = ({ target }) => {
    if (!away) used = target.type === "range" ? { ...range(target), name: knob(target) } : null;
  };
  const pressed = (event) => {
    const by = KEYS[event.key];
    if (!by || !used || !idle() || away?.path !== location.pathname) return;
    event.preventDefault();
    const from = away.value ?? now(kept.host, used.name);
    away.value = Math.min(used.max, Math.max(used.min, from + by * used.step));
    want(kept.host, used.name, `${away.value}`);
  };
  const look = () => {
    clearTimeout(away?.soon);
    if (!connected()) away = { path: location.pathname, value: away?.value };
    else if (away && !document.hidden) ask();
    watcher.observe(document.body, away ? CLOSELY : SELDOM);
  };
  const ask = () => {
    if (!away.asked) kept.host.send("select", {});
    away.asked = true;
    away.begun ||= busy();
    // A new process first asks the page where it was, and removes everything until it knows.
    if (away.begun && !busy()) away.soon = setTimeout(back, SETTLES);
  };
  const back = () => {
    const slider = used && document.querySelector(`.st-key-${used.name} input[type=range]:enabled`);
    if (!kept.shown || (used && !slider)) return;
    const { value } = away;
    away = null;
    if (!idle()) return focused({ target: document.activeElement });
    slider?.focus();
    if (value !== undefined && `${value}` !== slider.value) push(kept.host, used.name, value);
  };
  const watcher = new MutationObserver(look);
  watcher.observe(document.body, SELDOM);
  const heard = { focusin: focused, keydown: pressed, visibilitychange: look };
  for (const [event, heed] of Object.entries(heard)) document.addEventListener(event, heed);
  return kept;
}

function range({ min, max, step }) {
  return { min: Number(min), max: Number(max), step: Number(step) || 1 };
}
