// Keeps what is done while the page has no server. Streamlit disables its widgets then, and another
// process, or the same one after a restart, knows nothing of a page until it runs as a whole.

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

const connected = () => Boolean(document.querySelector("[data-test-connection-state=CONNECTED]"));

const knob = (element) => /st-key-(\w+)/.exec(element.closest("[class*=st-key-]")?.className)?.[1];

// Asks for a run after each connection but the first, as soon as somebody looks at the page.
function reconnect(host) {
  let lost = false;
  let used = null; // the slider that has the focus, or had it when the server was lost
  const focused = ({ target }) => {
    if (connected()) used = target.type === "range" ? { ...range(target), name: knob(target) } : null;
  };
  const pressed = (event) => {
    const by = KEYS[event.key];
    if (!by || !used || connected() || document.activeElement !== document.body) return;
    event.preventDefault();
    const now = Number(new URLSearchParams(host.want ?? host.data?.ask).get(used.name));
    const next = Math.min(used.max, Math.max(used.min, now + by * used.step));
    want(host, used.name, `${next}`);
  };
  const look = () => {
    lost ||= !connected();
    if (!lost || !connected() || document.hidden) return;
    lost = false;
    host.send("select", {});
    if (used) refocus(used.name);
  };
  const watcher = new MutationObserver(look);
  watcher.observe(document.body, { subtree: true, attributeFilter: ["data-test-connection-state"] });
  const heard = { focusin: focused, keydown: pressed, visibilitychange: look };
  for (const [event, heed] of Object.entries(heard)) document.addEventListener(event, heed);
  return () => {
    watcher.disconnect();
    for (const [event, heed] of Object.entries(heard)) document.removeEventListener(event, heed);
  };
}

function range({ min, max, step }) {
  return { min: Number(min), max: Number(max), step: Number(step) || 1 };
}

// Focuses a knob's slider once it is there and enabled again, unless something else has the focus.
function refocus(name) {
  const give = () => {
    if (document.activeElement !== document.body) return true;
    const slider = document.querySelector(`.st-key-${name} input[type=range]:enabled`);
    slider?.focus();
    return Boolean(slider);
  };
  if (give()) return;
  const watcher = new MutationObserver(() => give() && watcher.disconnect());
  watcher.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
}
