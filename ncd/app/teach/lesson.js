// Lessons from the server, links and files of views, and the code that opens a view on phones.

import { asked, go, here, OWN, own, page, read, say, screen, spell, store, write } from "./presenter.js";

export const PACKED = "z."; // begins a list of views that is compressed
const LOCAL = /^(localhost|127\.|\[::1\])/;

export const ownText = (before) => {
  const text = asked().get("text");
  return text ? `${before}text=${encodeURIComponent(text)}` : "";
};

// Returns the question below the diagram, if the view has one.
export function question() {
  const shown = document.querySelector(".st-key-prediction [data-testid=stBidiComponentIsolated]");
  return shown?.shadowRoot?.querySelector(".predict");
}

// Presents the lesson of the current page, from its button or from a link that says `present=lesson`.
export async function learn(host) {
  if (host.learning) return;
  host.learning = true;
  if (navigator.userActivation?.isActive) screen(true); // while the click is fresh
  const of = page();
  const answer = await fetch(`./lesson.json?of=${of}${ownText("&")}`).catch(() => null);
  const views = answer?.ok && (await answer.json()).views;
  host.learning = false;
  if (host.ended || of !== page()) return; // another one has begun the lesson, and may be further on by now
  if (views) return present(host, views);
  if (host.on) write(host, { present: 1 });
  say(host, "The lesson did not come. Try again.");
}

function present(host, text, at = 1) {
  host.views = read(text, host.pages);
  go(host, at);
  host.find("next").focus();
}

// Has a file or a link's list checked; says what is wrong with it.
async function check(host, text) {
  const answer = await fetch("./lesson.json", { method: "POST", body: text }).catch(() => null);
  const found = await answer?.json().catch(() => null);
  if (!found?.views) say(host, found?.error ?? "The server did not answer. Try again.");
  return found?.views ? found : null;
}

export async function unpack(host, text) {
  if (host.unpacking === text) return;
  host.unpacking = text;
  const found = await check(host, text);
  if (host.unpacking === text) host.unpacking = null;
  if (host.ended || own().get("views") !== text) return;
  write(host, found ? { views: found.views } : { views: null });
}

export async function take(host, input) {
  const [file] = input.files;
  if (file) host.opened = file;
  const found = file && (await check(host, file.size > 64000 ? " ".repeat(64001) + "{" : await file.text()));
  input.value = "";
  if (!found || host.ended || file !== host.opened) return; // another one was opened meanwhile
  store(Object.assign(host, { views: read(found.views, host.pages) }), true);
  go(host, 1);
}

export async function share(host) {
  const { views, find } = host;
  const found = await check(host, spell(views.length ? views : [here(host)]));
  if (!found) return;
  const [first] = views.length ? views : [here(host)];
  const query = [first.query, `present=1&views=${found.packed}`].filter(Boolean).join("&");
  const link = new URL(`${first.name}?${query}${first.query.includes("text=") ? "" : ownText("&")}`, new URL(".", location.href));
  await navigator.clipboard.writeText(link.href).then(
    () => say(host, `Copied: ${link.href.length} letters`),
    () => prompt("The link:", link.href), // where the browser does not let a page copy
  );
  find("link").focus();
}

// Shows the address of the current view as a code, without the presenter's part of it.
export function code(host, open) {
  const { find } = host;
  const [sheet, button] = [find("phone"), find("phones")];
  if (sheet.hidden !== open) return;
  sheet.hidden = !open;
  button.setAttribute("aria-expanded", open);
  if (!open) return host.on && button.focus();
  const query = asked();
  for (const name of OWN) query.delete(name);
  const link = `${location.origin}${location.pathname}${query.size ? `?${query}` : ""}`.replaceAll("%3A", ":");
  const image = find("qr");
  const warn = (words) => Object.assign(find("warn"), { textContent: words, hidden: !words });
  warn(LOCAL.test(location.host) ? "This address is only known on this computer: phones need its name in their network." : "");
  image.onerror = () => warn(`The address has ${link.length} letters, too many for a code. Copy the link.`);
  image.alt = `QR code of ${link}`;
  image.src = `./qr.svg?text=${encodeURIComponent(link)}`;
  find("where").textContent = link;
  find("shut").focus();
}
