// A question that a class answers on phones. The bar of the presenter opens it; the sums stand as
// bars above the diagram, and it is closed with its answer, or when another view is shown.

import { ownText, question } from "./lesson.js";
import { asked, fit, here, page, say } from "./presenter.js";

const TALLY_KEY = "ncd-class"; // of the lecturer, in this tab
const TALLY_PAUSE = 1000; // milliseconds between two looks at the sums

function lecturerKey() {
  const made = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  try {
    if (!sessionStorage.getItem(TALLY_KEY)) sessionStorage.setItem(TALLY_KEY, made());
    return sessionStorage.getItem(TALLY_KEY);
  } catch {
    return (lecturerKey.own ??= made()); // where a browser keeps nothing
  }
}

async function tallyAnswer(room, method, body) {
  const address = `./class.json${room ? `?room=${room}` : ""}`;
  const options = { method, headers: { "X-NCD-Key": lecturerKey() }, keepalive: method === "DELETE" };
  try {
    const answer = await fetch(address, { ...options, body: body && JSON.stringify(body) });
    return { status: answer.status, ...(await answer.json()) };
  } catch {
    return { status: 0, error: "The server did not answer. Try again." };
  }
}

const openQuestion = () => question()?.querySelector("[data-pick=show]") && asked().get("ask");

// Waits a little for the question of a view that has just been turned to.
async function questionComes() {
  for (let tries = 0; tries < 25 && !openQuestion(); tries++) await new Promise((done) => setTimeout(done, 120));
  return openQuestion();
}

// Opens the question of the view on phones, or closes it.
export async function askClass(host) {
  if (host.tally?.open) return closeTally(host);
  if (!(await questionComes())) return say(host, "There is no question, or its answer is shown already.");
  const view = here(host);
  const own = { ask: asked().get("ask"), name: view.name, counts: [], open: true };
  own.body = { page: view.name, query: `${view.query}${ownText("&")}` };
  const { room, error } = await tallyAnswer("", "POST", {});
  const found = room ? await tallyAnswer(room, "PUT", own.body) : { status: 0, error };
  if (found.status !== 200) return say(host, found.error);
  Object.assign(own, { room, counts: Array(found.answers).fill(0) });
  host.tally = own;
  const link = new URL(`class?room=${room}`, location.href).href;
  const image = host.find("class-code");
  image.src = `./qr.svg?text=${encodeURIComponent(link)}`;
  image.alt = `QR code of ${link}`;
  host.find("class-link").replaceChildren(...typedAddress(link));
  drawTally(host);
  enlargeCode(host, !host.hasClass); // until the class has found its way
  host.hasClass = true;
  watchTally(host);
}

// The address as it is typed; the room in groups of four, of which the gaps are no part.
function typedAddress(link) {
  const [, before, room] = /^https?:\/\/(.*=)(.*)$/.exec(link);
  const groups = room.match(/.{1,4}/g).map((each) => Object.assign(document.createElement("span"), { textContent: each }));
  return [before, ...groups];
}

// The large code hides the question and the bars, so it says how to come back to them.
export function enlargeCode(host, large) {
  host.find("class-door").classList.toggle("large", large);
  host.find("class-hint").textContent = large ? "Click for the question and its bars" : "Click to enlarge";
}

async function watchTally(host) {
  const own = host.tally;
  while (own?.open && host.tally === own && !host.ended) {
    await new Promise((done) => setTimeout(done, TALLY_PAUSE));
    if (!own.open) return;
    if (!host.on || asked().get("ask") !== own.ask || page() !== own.name) return dropTally(host);
    if (!openQuestion()) return closeTally(host); // its answer is shown
    const found = await tallyAnswer(own.room, "GET");
    if (found.status === 404 && own.open) await tallyAnswer(own.room, "PUT", own.body); // of a server that has begun anew
    if (found.counts && own.open) setCounts(host, found.counts);
  }
}

function setCounts(host, counts) {
  host.tally.counts = counts;
  drawTally(host);
}

// Closes the question; its bars stay until another view is shown.
export async function closeTally(host) {
  const own = host.tally;
  own.open = false;
  enlargeCode(host, false);
  const found = await tallyAnswer(own.room, "DELETE");
  if (host.tally === own) setCounts(host, found.counts ?? own.counts);
}

export function dropTally(host) {
  if (host.tally?.open) closeTally(host);
  host.tally = null;
  drawTally(host);
}

export function drawTally(host) {
  const { find, tally } = host;
  const asks = host.on && Boolean(asked().get("ask"));
  if (tally && (!asks || asked().get("ask") !== tally.ask)) return dropTally(host);
  find("ask-class").hidden = !asks;
  find("ask-class").setAttribute("aria-pressed", Boolean(tally?.open));
  find("tally").hidden = !tally;
  document.documentElement.toggleAttribute("data-tally", Boolean(tally)); // the diagram keeps its room
  if (!tally) return fit();
  const [total, most] = [tally.counts.reduce((a, b) => a + b, 0), Math.max(1, ...tally.counts)];
  find("class-door").hidden = !tally.open;
  find("class-count").textContent = `${total} ${total === 1 ? "answer" : "answers"}${tally.open ? "" : ", closed"}`;
  find("class-bars").innerHTML = tally.counts
    .map((n, i) => `<li><b>${"ABCDEFGH"[i]}</b><span class="class-bar"><i style="width:${(100 * n) / most}%"></i></span><span>${n}</span></li>`)
    .join("");
  fit();
}
