// The question below the diagram. The typed text stays while the server grades it.

export default function (component) {
  const { data } = component;
  const host = connect(component);
  const form = host.box;
  const input = form.querySelector("input");
  host.act = (act, text = "") => component.setTriggerValue("act", { do: act, text });
  if (!host.ready) prepare(host, form, input);
  for (const slot of ["ask", "axes", "said", "score"]) fill(host, slot, data[slot]);
  const held = form.contains(host.root.activeElement);
  if (host.asked !== data.asked) input.value = "";
  form.classList.toggle("done", data.done);
  form.querySelector("[data-do=again]").hidden = !data.score;
  const moved = host.asked !== data.asked || host.done !== data.done;
  if (held && moved) (data.done ? form.querySelector("[data-do=next]") : input).focus();
  Object.assign(host, { asked: data.asked, done: data.done });
  paint(host);
  return host.end;
}

function prepare(host, form, input) {
  host.ready = true;
  form.onsubmit = (event) => {
    event.preventDefault();
    host.act("answer", input.value);
  };
  form.onclick = ({ target }) => {
    const act = target.closest("[data-do]")?.dataset.do;
    if (act) host.act(act);
    const said = target.closest("[data-say]")?.dataset.say;
    if (said) add(input, said);
  };
}

// A click on a chip appends its axis to the answer.
function add(input, said) {
  input.value = `${input.value.trimEnd()} ${said} `.trimStart();
  input.focus();
}

function fill(host, slot, html) {
  if (host[slot] === html) return;
  host[slot] = html;
  host.box.querySelector(`.${slot}`).innerHTML = html;
}
