"""The quiz about shapes: questions, rounds, locked panels.

The selected array is the question: a click on a wire chooses it, and the link contains it with
``quiz=1``. Sizes of inputs and layers are given, by the knobs. Answers are graded in the browser,
by the ``grading.js`` of pages without a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import hide_sizes, selection
from ncd.app.state.cache import cached_value
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.app.teach.lesson_view import reveal
from ncd.circuit.circuit import Cell, Circuit, Unit, Value, array_names
from ncd.drawing.pipeline import draw
from ncd.language.axes import Axis
from ncd.language.torch_code import Arg
from ncd.site import markup, source_listing
from ncd.site.markup import DIAGRAM_CSS, PANEL_CSS, QUIZ_CSS
from ncd.site.quiz_facts import axis_facts, computed_axes, taken_axes, without_size_labels
from ncd.site.scripts import script
from ncd.write.torch_source.source_file import lines

# --- The questions of a quiz: which arrays it can ask for


def askable_arrays(circuit: Circuit) -> tuple[str, ...]:
    """Returns the ids of arrays with known sizes, in the order in which they are made."""
    sized = lambda value: all(axis.size is not None for axis in value.array)  # noqa: E731
    return tuple(value.id for value in circuit.values.values() if sized(value))


def array_of(circuit: Circuit, selected: str) -> str:
    """Returns the array that a selection means: the output of a selected op or block."""
    if selected in circuit.values:
        return selected
    units: tuple[Unit, ...] = (*circuit.cells, *circuit.loops)
    made = {unit.id: unit.outputs for unit in units}
    made |= {fence.id: fence.states[-1] for fence in circuit.fences}
    last = made.get(selected, ())
    return last[0].id if last else ""


def visible_arrays(scene: Scene) -> Mapping[str, tuple[str, ...]]:
    """Returns the drawn arrays except inputs and arrays passed on unchanged.

    Each comes with the names of its axes from the upper wire to the lower.
    """
    folded = selection.folded_in(scene.circuit)

    def make() -> dict[str, tuple[str, ...]]:
        drawing = draw(scene.term, **hide_sizes.sizeless_options(scene.draw_options), folded=folded)
        given = {value.id for value in scene.circuit.inputs}
        passed = {
            v.id for cell in scene.circuit.cells if _only_passes_on(cell) for v in cell.outputs
        }
        wires = sorted((wire for wire in drawing.wires), key=lambda wire: wire.path[0].a.y)
        shown = dict.fromkeys(wire.array for wire in wires if wire.array not in given | passed)
        return {id: tuple(wire.axis for wire in wires if wire.array == id) for id in shown}

    return cached_value("asked for", scene.term, scene.entry.key, folded, make=make)


def is_given(circuit: Circuit, value: Value) -> bool:
    """Returns whether an array is an input, or an input passed on unchanged."""
    maker = circuit.producers.get(value.id)
    if maker is None:
        return any(value.id == own.id for own in circuit.inputs)
    return _only_passes_on(maker) and all(is_given(circuit, own) for own in maker.inputs)


def _only_passes_on(cell: Cell) -> bool:
    calls = cell.torch_code
    return all(isinstance(own, Arg) for own in (calls if isinstance(calls, tuple) else (calls,)))


# --- Panels during a quiz: source and shapes without sizes; the others are locked


def locked_panel(title: str) -> Panel:
    """Returns a panel during a quiz: source or shapes without sizes, else why it is closed."""
    covered = {"Source": _source, "Shapes": _shapes}.get(title, _locked_html)

    def show(scene: Scene) -> None:
        assert scene.hidden_sizes is not None
        html_panel.render(covered(scene), "covered", on_pick=lambda _: _end())

    return Panel(title, show, needs_run=False)


def _end() -> None:
    """Ends the quiz, or the question of a lesson; a callback."""
    st.session_state[selection.QUIZ] = ""
    reveal()


def _locked_html(scene: Scene) -> str:
    return (
        "<p>This panel tells sizes, so it is closed while they are asked for.</p>"
        '<p><button type="button" class="plain" data-pick="end">Show them</button></p>'
    )


def _source(scene: Scene) -> str:
    """Returns the source with numbers hidden, and without the lines of the array asked for."""
    assert scene.hidden_sizes is not None
    around, circuit = scene.hidden_sizes.neighbour_ops(scene.circuit), scene.circuit
    found = source_listing.Listing(
        (line, hide_sizes.hide_in_code(line.text, html) if around.isdisjoint(line.nodes) else "…")
        for line, html in source_listing.coloured_lines(lines(scene.term), circuit)
    )
    return source_listing.excerpt(found, circuit, scene.dark)


def _shapes(scene: Scene) -> str:
    """Returns every step with the shapes known so far."""
    assert scene.hidden_sizes is not None
    rows = (_row(cell, scene, scene.hidden_sizes) for cell in scene.circuit.cells)
    return markup.table(("Step", "Goes in", "Leaves"), rows)


def _row(cell: Cell, scene: Scene, hiding: HiddenSizes) -> str:
    ins, outs = (
        markup.array_list(_shape_or_question(value, scene, hiding) for value in values)
        for values in (cell.inputs, cell.outputs)
    )
    return (
        f'<tr data-node="{cell.id}" data-select="{cell.id}" tabindex="0">'
        f"<td>{markup.role(cell.op.role, scene.dark)}{markup.text(cell.op.display_name)}</td>"
        f"<td>{ins}</td><td>{outs}</td></tr>"
    )


def _shape_or_question(value: Value, scene: Scene, hiding: HiddenSizes) -> str:
    given = value.id != hiding.hidden and is_given(scene.circuit, value)
    if not (given or value.id in hiding.answered_arrays):
        return hide_sizes.QUESTION_MARK
    return markup.axes_with_sizes(value.array)


# --- The quiz of every page asks for the shapes of arrays

KEY, ROUND = "question", "quiz round"
RIGHT, LATER, SHOWN = "right", "later", "shown"  # solved at once, solved later, or given up
ACTS = (RIGHT, LATER, "show", "next", "again", "end")

_quiz = st.components.v2.component(
    "ncd_quiz",
    html='<form class="ncd quiz" aria-label="Quiz"></form>',
    css=PANEL_CSS + DIAGRAM_CSS + QUIZ_CSS,
    js=script("app/teach/quiz.js"),
)


@dataclass
class Round:
    """The questions and answers of a session on one page.

    ``outcomes`` is the outcome for each array with its sizes, so that another size is another
    question. ``pending_action`` is an action of the visitor that no run has handled yet.
    """

    page: str
    asked_array: str = ""
    outcomes: dict[str, str] = field(default_factory=dict)
    pending_action: str = ""


def is_on() -> bool:
    """Returns whether the session is in a quiz."""
    return bool(st.session_state.get(selection.QUIZ))


def with_question(scene: Scene) -> Scene:
    """Returns the scene with a question, and with everything hidden that is not answered."""
    if not is_on():
        return scene
    found, circuit = _round(scene.entry.name), scene.circuit
    asked = array_of(circuit, scene.selected_id) or found.asked_array
    if asked not in askable_arrays(circuit):
        asked = _next_array(scene, found, "")
    found.asked_array = asked
    if asked:
        _handle(scene, found)
    st.session_state[selection.SELECTED_KEY] = found.asked_array
    values = circuit.values.values()
    known = frozenset(value.id for value in values if _key(value) in found.outcomes)
    return replace(
        scene,
        selected_id=found.asked_array,
        hidden_sizes=HiddenSizes(found.asked_array, known),
        subject_id=found.asked_array,
    )


def _round(page: str) -> Round:
    found: Round | None = st.session_state.get(ROUND)
    if found is None or found.page != page:
        found = st.session_state[ROUND] = Round(page)
    return found


def _key(value: Value) -> str:
    return f"{value.id} {value.array.spec}"


def _next_array(scene: Scene, found: Round, after: str) -> str:
    """Returns the next unanswered array in sight, beginning after ``after``."""
    circuit = scene.circuit
    every = [id for id in askable_arrays(circuit) if id in visible_arrays(scene)] or list(
        askable_arrays(circuit)
    )
    at = every.index(after) + 1 if after in every else 0
    turned = [*every[at:], *every[:at]]
    left = (id for id in turned if _key(circuit.values[id]) not in found.outcomes)
    return next(left, after or next(iter(turned), ""))


# --- what is answered -----------------------------------------------------------------------------


def _handle(scene: Scene, found: Round) -> None:
    """Handles the visitor's action since the last run."""
    act, found.pending_action = found.pending_action, ""
    if act in (RIGHT, LATER):
        found.outcomes.setdefault(_key(scene.circuit.values[found.asked_array]), act)
    elif act == "show":
        found.outcomes.setdefault(_key(scene.circuit.values[found.asked_array]), SHOWN)
    elif act == "next":
        found.asked_array = _next_array(scene, found, found.asked_array)
    elif act == "again":
        found.outcomes.clear()
        found.asked_array = _next_array(scene, found, "")


def facts(scene: Scene, value: Value) -> dict[str, Any]:
    """Returns what ``grading.js`` needs to grade an answer about an array."""
    circuit = scene.circuit
    known = [axis for v in circuit.values.values() for axis in without_size_labels(v.array)]
    return {
        "wanted": [axis_facts(axis) for axis in without_size_labels(value.array)],
        "known": list(dict.fromkeys(map(axis_facts, known))),
        "found": sorted(computed_axes(circuit, scene.settings)),
        "taken": taken_axes(circuit, value.id),
        "drawn": visible_arrays(scene).get(value.id, ()),
    }


# --- what is shown --------------------------------------------------------------------------------


def show(scene: Scene) -> None:
    """Shows the question below the diagram, if the session is in a quiz."""
    if scene.hidden_sizes is None or not is_on():  # a lesson's question hides an array too
        return
    found = _round(scene.entry.name)
    value = scene.circuit.values.get(found.asked_array)
    done = found.outcomes.get(_key(value), "") if value else ""
    _quiz(
        key=KEY,
        data={
            "asked": found.asked_array,
            "ask": _question(scene.circuit, value) if value else "No array here has its sizes.",
            "said": _solution(scene.circuit, value, done) if value and done else "",
            "key": _key(value) if value else "",
            "facts": facts(scene, value) if value and not done else {},
            "done": bool(done),
            "choices": _choices(scene),
            "ends": list(found.outcomes.values()),
        },
        on_act_change=_act,
    )


def _act() -> None:
    """Stores the visitor's action for the next run; a callback."""
    asked = html_panel.sent_value(KEY, "act")
    if not (isinstance(asked, dict) and asked.get("do") in ACTS):
        return
    found: Round | None = st.session_state.get(ROUND)
    if asked["do"] == "end":
        st.session_state[selection.QUIZ] = ""
    elif found is not None:
        found.pending_action = asked["do"]


def _question(circuit: Circuit, value: Value) -> str:
    maker = circuit.producers.get(value.id)
    name = array_names(circuit).get(value.id, "")
    where = f"leaves {markup.text(maker.op.display_name)}" if maker else "goes in here"
    is_new = name and not (maker and name in maker.op.display_name.split())
    more = f', called <i class="name">{markup.text(name)}</i>' if is_new else ""
    return f"What shape {where}{more}?"


def _solution(circuit: Circuit, value: Value, done: str) -> str:
    """Returns the shape, and what the op before it does."""
    shape = markup.axes_with_sizes(value.array) if value.array else "a number, without axes"
    maker = circuit.producers.get(value.id)
    how = f'<span class="muted">{markup.text(maker.description)}</span>' if maker else ""
    sign = "It is" if done == SHOWN else '<span class="tick">✓</span>'
    return f"{sign} <b>{shape}</b> {how}"


def _choices(scene: Scene) -> list[tuple[str, str, str]]:
    """Returns the axes in sight, each with what it adds to an answer, and that as HTML."""
    circuit, seen = scene.circuit, visible_arrays(scene)
    out = computed_axes(circuit, scene.settings)
    alike: dict[str, set[str]] = {}
    axes: dict[str, Axis] = {}
    for value in circuit.values.values():
        if value.id in seen or value in circuit.inputs:
            for axis in (a for a in without_size_labels(value.array) if a.size is not None):
                axes.setdefault(axis.display_name, axis)
                alike.setdefault(axis.display_name, set()).add(axis.size_text)
    return [_choice(a, a.display_name in out or len(alike[name]) > 1) for name, a in axes.items()]


def _choice(axis: Axis, hidden: bool) -> tuple[str, str, str]:
    size = "" if hidden else f" {axis.size_text}"
    return axis.name, f"{axis.display_name}{size}", f"{markup.axis(axis)}{markup.text(size)}"
