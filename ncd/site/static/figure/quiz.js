// A question about the shape of an array. What is typed, or clicked together, is graded here in all
// hosts; each says what is asked, and keeps the outcome.

import { part } from "./elements.js";
import { grade } from "./grading.js";
import { replaceHtml } from "./html.js";

const FORM = `<label for="shape" class="question"></label>
<div class="answer">
<input id="shape" maxlength="200" autocomplete="off" spellcheck="false" placeholder="a 3 b 4, or 3 4">
<button class="plain" type="submit">Answer</button>
<button class="plain" type="button" data-do="show">Show it</button>
<button class="plain" type="button" data-do="next">Next wire</button>
<span class="score"></span>
<button class="plain quiet" type="button" data-do="again">New round</button>
<button class="plain quiet" type="button" data-do="end">End the quiz</button>
</div>
<p class="said" role="status"></p>
<div class="choices" role="group" aria-label="Axes, to click an answer together"></div>`;

// Makes a form ask. `act` hears "right" at the first try, or "later", and what is pressed: "show",
// "next", "again", "end". Returns what shows a question: the array `asked` for, its `key` with the
// sizes, the HTML of `ask` and of the solution `said` once it is `done`, its `facts` for grading.js,
// `choices` of [axis, what it adds to an answer, HTML], and `ends`, the outcomes so far.
export function quizForm(form, act) {
  form.innerHTML = FORM;
  const quiz = { form, act, input: form.querySelector("input"), tried: new Set(), question: {}, reply: "" };
  form.onsubmit = (event) => {
    event.preventDefault();
    judge(quiz);
  };
  form.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-do]")?.dataset.do;
    const word = target.closest("[data-say]")?.dataset.say;
    if (pressed === "again") quiz.tried.clear();
    if (pressed) act(pressed);
    if (word) add(quiz.input, word);
  });
  return (question) => askQuestion(quiz, question);
}

function askQuestion(quiz, question) {
  const { form, input, question: before } = quiz;
  const held = form.contains(form.getRootNode().activeElement);
  if (before.asked !== question.asked) [input.value, quiz.reply] = ["", ""];
  quiz.question = question;
  fillQuiz(quiz, "question", question.ask);
  fillQuiz(quiz, "said", question.said || quiz.reply);
  fillQuiz(quiz, "score", score(question.ends));
  if (`${before.choices}` !== `${question.choices}`) form.querySelector(".choices").replaceChildren(...question.choices.map(choice));
  form.classList.toggle("done", question.done);
  form.querySelector("[data-do=again]").hidden = !question.ends.length;
  const moved = before.asked !== question.asked || before.done !== question.done;
  if (held && moved) (question.done ? form.querySelector("[data-do=next]") : input).focus();
}

const fillQuiz = ({ form }, slot, html) => replaceHtml(form.querySelector(`.${slot}`), html);

function choice([axis, says, html]) {
  const button = part("button");
  Object.assign(button, { type: "button", className: "chip", innerHTML: html });
  Object.assign(button.dataset, { axis, say: says });
  button.setAttribute("aria-label", `add ${says}`);
  return button;
}

// Counts what was right at once, of all that is done.
function score(ends) {
  if (!ends.length) return "";
  const [first, given] = ["right", "shown"].map((one) => ends.filter((end) => end === one).length);
  return `${first} of ${ends.length} at the first try${given ? `, ${given} shown` : ""}`;
}

// The host is told of a right answer only; a wrong one is answered here.
function judge(quiz) {
  const { key, facts, done } = quiz.question;
  if (done) return quiz.act("next");
  if (!facts.wanted) return;
  const { right, words, whole } = grade(quiz.input.value, facts.wanted, facts.known, facts);
  quiz.reply = words;
  fillQuiz(quiz, "said", words);
  if (right) quiz.act(quiz.tried.has(key) ? "later" : "right");
  else if (whole) quiz.tried.add(key);
}

// A click on a choice appends its axis to the answer.
function add(input, word) {
  input.value = `${input.value.trimEnd()} ${word} `.trimStart();
  input.focus();
}
