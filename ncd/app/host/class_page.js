// The page on which a phone answers. It asks now and then which question is open; what was chosen is
// kept in this tab alone, and can be changed as long as the question is open.

const room = new URLSearchParams(location.search).get("room") ?? "";
const address = `./class.json?room=${encodeURIComponent(room)}`;
const find = (name) => document.querySelector(name);
const PAUSE = 3000; // milliseconds between two looks, and as much again at random
const LETTERS = "ABCDEFGH";
let number = 0; // of the question on the screen

function key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// A phone that loads the page again is the same phone.
function phone() {
  try {
    const name = `ncd-phone-${room}`;
    if (!localStorage.getItem(name)) localStorage.setItem(name, key());
    return localStorage.getItem(name);
  } catch {
    return (phone.own ??= key()); // where a browser keeps nothing
  }
}

async function ask(options) {
  try {
    const answer = await fetch(address, options);
    return { ok: answer.ok, status: answer.status, ...(await answer.json()) };
  } catch {
    return { ok: false, status: 0, error: "The server does not answer. This page tries again." };
  }
}

const tell = (words) => (find(".told").textContent = words);

function show({ question, answers }) {
  find("h1").innerHTML = question; // made by the server from the term
  find(".answers").replaceChildren(
    ...answers.map((words, n) => {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      button.innerHTML = `<b>${LETTERS[n]}</b>${words}`;
      button.setAttribute("aria-pressed", false);
      button.onclick = () => choose(n);
      return button;
    }),
  );
}

async function choose(n) {
  const body = JSON.stringify({ phone: phone(), answer: n });
  const found = await ask({ method: "POST", body, headers: { "Content-Type": "application/json" } });
  if (!found.ok) return found.status === 404 ? close() : tell(found.error);
  for (const [i, button] of [...find(".answers").children].entries()) button.setAttribute("aria-pressed", i === n);
  tell(`You have chosen ${LETTERS[n]}. You can change it until the question is closed.`);
}

function close() {
  const closed = number;
  number = 0;
  find(".answers").replaceChildren();
  find("h1").textContent = closed ? "The question is closed." : "No question is open.";
  tell("The next one comes to this page by itself.");
}

async function look() {
  if (document.hidden) return;
  const found = await ask();
  if (found.status === 404) {
    if (number || !find("h1").textContent) close();
  } else if (!found.ok) tell(found.error);
  else if (found.number !== number) {
    number = found.number;
    show(found);
    tell("Choose one.");
  }
}

async function watch() {
  await look();
  setTimeout(watch, PAUSE * (1 + Math.random()));
}

document.addEventListener("visibilitychange", look);
watch();
