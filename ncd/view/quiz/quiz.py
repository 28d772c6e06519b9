"""The quiz of every page asks for the shapes of arrays.

The selected array is the question: a click on a wire chooses it, and the link contains it with
``quiz=1``. Sizes of inputs and layers are given, by the knobs. Answers are graded in the browser,
by the ``grading.js`` of pages without a server.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from ncd.export import markup
from ncd.export.quiz_facts import axis_facts, computed_axes, plain, taken_axes
from ncd.export.shared_assets import DIAGRAM_CSS, GRADING_JS, LIGHT_JS, PANEL_CSS
from ncd.lang.circuits.array_names import called
from ncd.lang.circuits.circuit import Circuit, Value
from ncd.lang.types.axes import Axis
from ncd.view.base import html_panel, selection
from ncd.view.base.hide_sizes import Veil
from ncd.view.base.static_files import static
from ncd.view.quiz.questions import array_of, askable, visible_arrays
from ncd.view.session.scene import Scene

KEY, ROUND = "question", "quiz round"
RIGHT, LATER, SHOWN = "right", "later", "shown"  # solved at once, solved later, or given up
ACTS = (RIGHT, LATER, "show", "next", "again", "end")

_quiz = st.components.v2.component(
    "ncd_quiz",
    html=static("quiz/quiz.html"),
    css=PANEL_CSS + DIAGRAM_CSS + static("quiz/quiz.css"),
    js=LIGHT_JS + GRADING_JS + static("quiz/quiz.js"),
)


@dataclass
class Round:
    """The questions and answers of a session on one page.

    ``done`` is the outcome for each array with its sizes, so that another size is another
    question. ``wish`` is an action of the visitor that no run has handled yet.
    """

    page: str
    asked: str = ""
    done: dict[str, str] = field(default_factory=dict)
    wish: str = ""


def is_on() -> bool:
    """Returns whether the session is in a quiz."""
    return bool(st.session_state.get(selection.QUIZ))


def with_question(scene: Scene) -> Scene:
    """Returns the scene with a question, and with everything hidden that is not answered."""
    if not is_on():
        return scene
    found, circuit = _round(scene.entry.name), scene.circuit
    asked = array_of(circuit, scene.selected) or found.asked
    if asked not in askable(circuit):
        asked = _next(scene, found, "")
    found.asked = asked
    if asked:
        _handle(scene, found)
    st.session_state[selection.KEY] = found.asked
    values = circuit.values.values()
    known = frozenset(value.id for value in values if _key(value) in found.done)
    return replace(scene, selected=found.asked, veil=Veil(found.asked, known), about=found.asked)


def _round(page: str) -> Round:
    found: Round | None = st.session_state.get(ROUND)
    if found is None or found.page != page:
        found = st.session_state[ROUND] = Round(page)
    return found


def _key(value: Value) -> str:
    return f"{value.id} {value.array.spec}"


def _next(scene: Scene, found: Round, after: str) -> str:
    """Returns the next unanswered array in sight, beginning after ``after``."""
    circuit = scene.circuit
    every = [id for id in askable(circuit) if id in visible_arrays(scene)] or list(askable(circuit))
    at = every.index(after) + 1 if after in every else 0
    turned = [*every[at:], *every[:at]]
    left = (id for id in turned if _key(circuit.values[id]) not in found.done)
    return next(left, after or next(iter(turned), ""))


# --- what is answered -----------------------------------------------------------------------------


def _handle(scene: Scene, found: Round) -> None:
    """Handles the visitor's action since the last run."""
    act, found.wish = found.wish, ""
    if act in (RIGHT, LATER):
        found.done.setdefault(_key(scene.circuit.values[found.asked]), act)
    elif act == "show":
        found.done.setdefault(_key(scene.circuit.values[found.asked]), SHOWN)
    elif act == "next":
        found.asked = _next(scene, found, found.asked)
    elif act == "again":
        found.done.clear()
        found.asked = _next(scene, found, "")


def facts(scene: Scene, value: Value) -> dict[str, Any]:
    """Returns what ``grading.js`` needs to grade an answer about an array."""
    circuit = scene.circuit
    known = [axis for v in circuit.values.values() for axis in plain(v.array)]
    return {
        "wanted": [axis_facts(axis) for axis in plain(value.array)],
        "known": list(dict.fromkeys(map(axis_facts, known))),
        "found": sorted(computed_axes(circuit, scene.settings)),
        "taken": taken_axes(circuit, value.id),
        "drawn": visible_arrays(scene).get(value.id, ()),
    }


# --- what is shown --------------------------------------------------------------------------------


def show(scene: Scene) -> None:
    """Shows the question below the diagram, if the session is in a quiz."""
    if scene.veil is None or not is_on():  # a lesson's question hides an array too
        return
    found = _round(scene.entry.name)
    value = scene.circuit.values.get(found.asked)
    done = found.done.get(_key(value), "") if value else ""
    _quiz(
        key=KEY,
        data={
            "asked": found.asked,
            "ask": _question(scene.circuit, value) if value else "No array here has its sizes.",
            "said": _solution(scene.circuit, value, done) if value and done else "",
            "key": _key(value) if value else "",
            "facts": facts(scene, value) if value and not done else {},
            "done": bool(done),
            "axes": _chips(scene),
            "score": _score(found),
        },
        on_act_change=_act,
    )


def _act() -> None:
    """Stores the visitor's action for the next run; a callback."""
    asked = html_panel.asked(KEY, "act")
    if not (isinstance(asked, dict) and asked.get("do") in ACTS):
        return
    found: Round | None = st.session_state.get(ROUND)
    if asked["do"] == "end":
        st.session_state[selection.QUIZ] = ""
    elif found is not None:
        found.wish = asked["do"]


def _question(circuit: Circuit, value: Value) -> str:
    maker = circuit.makers.get(value.id)
    name = called(circuit).get(value.id, "")
    where = f"leaves {markup.text(maker.op.label)}" if maker else "goes in here"
    is_new = name and not (maker and name in maker.op.label.split())
    more = f', called <i class="name">{markup.text(name)}</i>' if is_new else ""
    return f"What shape {where}{more}?"


def _solution(circuit: Circuit, value: Value, done: str) -> str:
    """Returns the shape, and what the op before it does."""
    shape = markup.sized(value.array) if value.array else "a number, without axes"
    maker = circuit.makers.get(value.id)
    how = f'<span class="muted">{markup.text(maker.words)}</span>' if maker else ""
    sign = "It is" if done == SHOWN else '<span class="tick">✓</span>'
    return f"{sign} <b>{shape}</b> {how}"


def _chips(scene: Scene) -> str:
    """Returns the axes in sight as buttons, each with its size if that is given."""
    circuit, seen = scene.circuit, visible_arrays(scene)
    out = computed_axes(circuit, scene.settings)
    alike: dict[str, set[str]] = {}
    axes: dict[str, Axis] = {}
    for value in circuit.values.values():
        if value.id in seen or value in circuit.inputs:
            for axis in (a for a in plain(value.array) if a.size is not None):
                axes.setdefault(axis.called, axis)
                alike.setdefault(axis.called, set()).add(axis.size_text)
    return "".join(_chip(a, a.called in out or len(alike[name]) > 1) for name, a in axes.items())


def _chip(axis: Axis, hidden: bool) -> str:
    size = "" if hidden else f" {axis.size_text}"
    says = markup.text(f"{axis.called}{size}")
    return (
        f'<button type="button" class="chip" data-axis="{markup.text(axis.name)}" '
        f'data-say="{says}" aria-label="add {says}">{markup.axis(axis)}{markup.text(size)}</button>'
    )


def _score(found: Round) -> str:
    ends = list(found.done.values())
    if not ends:
        return ""
    shown = f", {ends.count(SHOWN)} shown" if SHOWN in ends else ""
    return f"{ends.count(RIGHT)} of {len(ends)} at the first try{shown}"
