"""A lesson in class: the presenter view, and the question below the diagram.

The browser alone walks through the views. Each view is the address of a page, so the page itself
needs no code for it.

The link has it under ``ask``, so that a lecturer's screen and a hundred phones show the same one.
The answer is computed from the term, and leaves the server once somebody has chosen. In the
presenter the key for the next view first shows the answer (``presenter.js``).
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import streamlit as st

from ncd.app.parts import html_panel
from ncd.app.parts.html_panel import read_static
from ncd.app.scene import url
from ncd.app.scene.own_entry import CUSTOM_PAGE, SERVED_MODULES
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.site import markup
from ncd.site.question_html import answer_html
from ncd.site.scripts import script
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import Question, question

# --- The presenter view and its buttons: one component at the head of a page

# Hides the menu before the first paint.
EARLY = """<script>
const presented = new URLSearchParams(location.search);
if (presented.has("present"))
  document.documentElement.dataset.present = presented.get("with") === "panel" ? "panel" : "alone";
</script>"""

_present = st.components.v2.component(
    "ncd_present",
    html=read_static("teach/presenter.html"),
    css=read_static("teach/presenter.css"),
    js=script("app/teach/presenter.js"),
)


def show_presenter(entry: Entry) -> None:
    """Shows the buttons: copy link or code, lesson, present, add a view."""
    sizes = [knob.name for knob in entry.knobs]
    framed = bool(os.environ.get("NCD_FRAMES", "").strip())  # other sites may show it
    data = {"sizes": sizes, "framed": framed, "pages": _titles()}
    _present(key="present", data=data, width="content")


_leave = st.components.v2.component(
    "ncd_unpresented",
    js=script("app/teach/leave_presenter.js"),
)


def leave() -> None:
    """Leaves the presenter view on a page that has nothing to present: its text is corrected."""
    _leave(key="unpresented", data=url.message_number())


@cache
def _titles() -> dict[str, str]:
    """Returns the titles of all pages, by their names."""
    return {name: entry.title for name, entry in (CATALOGUE | SERVED_MODULES).items()} | {
        CUSTOM_PAGE: "Yours"
    }


# --- A question of a lesson below the diagram: several answers, one of them right

KEY = "prediction"
PREDICTION_KEY = "predicted"  # a session key: the question that was answered, and with what
SHOW = "show"  # in place of an answer: nobody has guessed
SHOWS = f'<button type="button" class="show" data-pick="{SHOW}">Show the answer</button>'
CSS = read_static("teach/prediction.css")


def with_question(scene: Scene) -> Scene:
    """Returns the scene with what is asked for selected, and hidden if its shape is asked for."""
    found = current_question(scene)
    return asking(scene, found, bool(_chosen_answer(scene))) if found else scene


def asking(scene: Scene, found: Question, answered: bool = False) -> Scene:
    """Returns a scene with the subject of a question selected, and hidden until it is answered."""
    if not found.subject_id:
        return scene
    chosen = replace(scene.with_selection(found.subject_id), subject_id=found.subject_id)
    if answered or not found.hides:
        return chosen
    others = frozenset(scene.circuit.values) - {found.subject_id}
    return replace(chosen, hidden_sizes=HiddenSizes(found.subject_id, others))


def current_question(scene: Scene) -> Question | None:
    """Returns the question of the link, if this system has it at its sizes and no quiz is on."""
    ask = str(st.session_state.get(selection.QUESTION_KEY, ""))
    if not ask or st.session_state.get(selection.QUIZ):
        return None
    key = ask, tuple(scene.settings.items())
    make = lambda: (question(scene.entry, scene.settings, ask),)  # noqa: E731
    (found,) = cached_value("prediction", scene.term, scene.entry.key, *key, make=make)
    return found


def reveal() -> None:
    """Shows the answer of the link's question; a callback."""
    _choose(SHOW)


def _identity() -> tuple[str, str]:
    """Returns the page and the question of the session."""
    return st.session_state[url.STATE].page, str(st.session_state.get(selection.QUESTION_KEY, ""))


def _choose(answer: str) -> None:
    """Keeps the first answer to a question; a callback."""
    kept = st.session_state.get(PREDICTION_KEY)
    if not (kept and kept[0] == _identity()):
        st.session_state[PREDICTION_KEY] = _identity(), answer[:20]


def _chosen_answer(scene: Scene) -> str:
    """Returns the answer that was given to the question of the link, or an empty text."""
    kept = st.session_state.get(PREDICTION_KEY)
    return str(kept[1]) if kept and kept[0] == _identity() else ""


def show_question(scene: Scene) -> None:
    """Shows the question below the diagram, if the link has one."""
    found = current_question(scene)
    if found is None:
        return
    with st.container(key="prediction-box"):
        html_panel.render(
            f"<style>{CSS}</style>{_html(found, _chosen_answer(scene))}", KEY, on_pick=_choose
        )


def _html(found: Question, chosen: str) -> str:
    """Returns the question with its answers as buttons, marked once one was chosen."""
    rows = "".join(_answer(found, n, chosen) for n in range(len(found.answers)))
    show, told = ("", _verdict_html(found, chosen)) if chosen else (SHOWS, _room(found))
    buttons = f'<div class="answers" role="group" aria-label="Answers">{rows}{show}</div>'
    asked = f'<p class="asked">{markup.sentence(found.text)}</p>'
    return f'<div class="predict">{asked}{buttons}{told}</div>'


def _room(found: Question) -> str:
    """Returns the room of the answer: a text about as long, which says nothing of it."""
    longest = max(len(_fault(found, str(n))) for n in range(len(found.answers)))
    words = -(-(len(f"{_verdict(found, '')} {found.explanation}") + longest) // 5)
    return f'<p class="room" aria-hidden="true">{"nnnn " * words}</p>'


def _verdict_html(found: Question, chosen: str) -> str:
    why = markup.sentence(f"{_fault(found, chosen)} {found.explanation}".strip())
    return f'<p role="status">{_verdict(found, chosen)} {why}</p>'


def _fault(found: Question, chosen: str) -> str:
    """Returns why the chosen answer is wrong; empty if it is right, or none was chosen."""
    faults = dict(zip(map(str, range(len(found.answers))), found.feedback, strict=False))
    return faults.get(chosen, "")


def _answer(found: Question, n: int, chosen: str) -> str:
    right, own = n == found.answer_index, chosen == str(n)
    mark, kind = ("✓ ", "right") if right else ("✗ ", "wrong") if own else ("", "other")
    letter, words = "ABCD"[n], answer_html(found.answers[n])
    if not chosen:
        return f'<button type="button" data-pick="{n}"><b>{letter}</b> {words}</button>'
    return f'<span class="{kind}"><b>{mark}{letter}</b> {words}</span>'


def _verdict(found: Question, chosen: str) -> str:
    letter = "ABCD"[found.answer_index]
    if chosen == SHOW:
        return f"It is <b>{letter}</b>."
    return "<b>Right.</b>" if chosen == str(found.answer_index) else f"No: it is <b>{letter}</b>."
