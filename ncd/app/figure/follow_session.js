// The session of a page follows a size that moves once it rests. Until then the server is asked for
// drawing and panel alone, and formulas write all numbers within a frame.

import { STEPS } from "../../site/static/figure/scrub.js";
import { want } from "./component.js";
import { wanted } from "./live_numbers.js";

export const SETTLES = 200; // milliseconds; a short run may have ended before it is seen to have begun
export const PATIENCE = 10000; // milliseconds for a run to come; after that whatever comes is shown
const RESTS = 300; // milliseconds without a move after which the session follows

const app = () => document.querySelector("[data-test-script-state]");
export const busy = () => !["notRunning", "initial"].includes(app()?.dataset.testScriptState ?? "notRunning");

// Lets the session follow once the size rests.
export function push(host, name, value) {
  host.next = { ...host.next, [name]: value };
  settle(host, RESTS);
}

export function settle(host, wait) {
  clearTimeout(host.resting);
  if (host.next) host.resting = setTimeout(() => flush(host), wait);
}

// Whoever does something else has ended the move: the session is to know the size by then.
export function endMove(host, { type, key }) {
  if (host.next && (type === "pointerdown" || !(key in STEPS || /^(\d|Shift)$/.test(key)))) flush(host);
}

// Runs one after another: asks for the newest values when the current run has ended.
async function flush(host) {
  clearTimeout(host.resting);
  if (host.out) return void (host.overdue = true);
  const { next } = host;
  host.next = null;
  host.overdue = false;
  const known = new URLSearchParams(host.heard?.ask);
  if (Object.entries(next).every(([name, value]) => known.get(name) === `${value}`)) return; // back again
  host.out = true;
  host.send("sizes", next);
  await ended(host.want);
  host.out = false;
  if (host.overdue && host.next) flush(host);
}

// Resolves when the run just requested has started and ended.
function ended(asked) {
  return new Promise((resolve) => {
    let began = false;
    const done = () => {
      observer.disconnect();
      document.removeEventListener("ncd-drawn", drawn);
      clearTimeout(late);
      resolve();
    };
    const look = () => {
      began ||= busy();
      if (began && !busy()) done();
    };
    const drawn = () => {
      if (document.ncdTold["ncd-drawn"].ask === asked) setTimeout(() => look((began = true)), SETTLES);
    };
    const observer = new MutationObserver(look);
    document.addEventListener("ncd-drawn", drawn);
    const late = setTimeout(done, PATIENCE);
    observer.observe(app(), { attributeFilter: ["data-test-script-state"] });
  });
}

// Takes a size; the session hears what was asked for, and says why it became another value.
export function set(host, name, value, asked = value) {
  if (wanted(host).get(name) === `${value}` && asked === value) return;
  want(host, name, `${value}`);
  push(host, name, asked);
}

export const now = (host, name) => Number(wanted(host).get(name));
