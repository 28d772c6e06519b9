"""Edits of a session: undo, redo, what stays selected, and what an edit has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

from ncd.app.scene import session_edits as edits
from ncd.app.scene.edited_system import EDITS_KEY, read_edits
from ncd.app.scene.scene import Scene
from ncd.rewrite.rewriting import Rewrite
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import TrainedWeights

CHAIN = 'Linear("~t:5 m:4 -> t k:3", "Q") >> Elementwise("relu") >> Linear("k -> n:2", "P")'
REMOVE = Rewrite("remove", "n1")
GELU = Rewrite("insert", "v1", (("op", "gelu"),))


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {"text": CHAIN, "select": "n2"}
    with patch.object(st, "session_state", state):
        yield state


def test_an_edit_is_made_taken_back_and_made_again(session: dict[str, Any]) -> None:
    assert edits.make_edit(REMOVE) == edits.make_edit(GELU) == ""
    assert read_edits(session[EDITS_KEY]) == (REMOVE, GELU)
    edits.go_to(0)
    assert edits.session_system().system.entry.text == CHAIN and session[EDITS_KEY] == ""
    assert edits.undone_edits() == (REMOVE, GELU)
    assert edits.edit_labels() == ("Remove Elementwise relu", "Insert GELU on q")
    edits.go_to(1)
    assert (edits.session_edits(), edits.undone_edits()) == ((REMOVE,), (GELU,))
    edits.go_to(9)
    assert (edits.session_edits(), edits.undone_edits()) == ((REMOVE, GELU), ())


def test_after_another_edit_nothing_is_made_again(session: dict[str, Any]) -> None:
    edits.make_edit(REMOVE)
    edits.go_to(0)
    edits.make_edit(GELU)
    assert (edits.session_edits(), edits.undone_edits()) == ((GELU,), ())


def test_an_impossible_edit_changes_nothing(session: dict[str, Any]) -> None:
    edits.make_edit(GELU)
    edits.go_to(0)
    assert edits.make_edit(Rewrite("remove", "n0")).startswith("Remove n0: it takes (t m)")
    assert (edits.session_edits(), edits.undone_edits()) == ((), (GELU,))


def test_what_is_new_is_selected_and_what_stays_stays_selected(session: dict[str, Any]) -> None:
    edits.make_edit(GELU)
    assert session["select"] == "n1"  # the new op
    session["select"] = "n3"
    edits.go_to(0)
    assert session["select"] == "n2"  # as the op was called before
    edits.make_edit(REMOVE)
    assert session["select"] == "n1"
    session["select"] = "n1"
    edits.go_to(0)
    assert session["select"] == "n2"


def test_what_is_gone_is_selected_no_more(session: dict[str, Any]) -> None:
    session["select"] = "n1"
    edits.make_edit(REMOVE)
    assert session["select"] == ""


def test_folded_blocks_stay_folded(session: dict[str, Any]) -> None:
    first = 'Id("~t:5 m:4") >> Block(Elementwise("tanh"), "One")'
    session["text"] = f'{first} >> Block({CHAIN}, "Two")'
    session["folded"] = "f1"
    edits.make_edit(Rewrite("remove", "f0"))
    assert session["folded"] == "f0"


def test_another_text_forgets_the_edits(session: dict[str, Any]) -> None:
    edits.make_edit(REMOVE)
    edits.go_to(0)
    edits.clear_edits()
    assert (edits.session_edits(), edits.undone_edits()) == ((), ())
    assert edits.MOTION_KEY not in session


def edited_scene(**more: Any) -> Scene:
    entry = edits.session_system().system.entry
    sizes, term = entry.settings({}), entry.build()
    return Scene(entry, sizes, 0, "cpu", InputSpec(), False, "names", "", term, **more)


EQUAL = "equal: largest difference 0, with gradients, in 64 bits"


@pytest.mark.parametrize(
    ("edit", "changes"),
    [
        (REMOVE, "<b>Remove Elementwise relu</b>: the same parameters and FLOPs"),
        (
            Rewrite("resize-axis", "axis:n", (("size", 7),)),
            "<b>axis n: Change the size to 7</b>: + 15 parameters, + 22.7 % FLOPs; "
            "out: 5 × 7 (t, n)",
        ),
        (
            Rewrite("fence", "n0", (("title", "Block"),)),
            f"<b>Linear Q: Put a fence around it, titled Block</b>: {EQUAL}; "
            "the same parameters and FLOPs",
        ),
    ],
)
def test_what_an_edit_has_changed_is_told(
    edit: Rewrite, changes: str, session: dict[str, Any]
) -> None:
    assert edits.difference_html(edits.session_system(), edited_scene()) == ""
    assert edits.make_edit(edit) == ""
    now = edits.session_system()
    assert edits.difference_html(now, edited_scene()) == changes
    kept = TrainedWeights(b"", "trained here")
    told = edits.difference_html(now, edited_scene(loaded_weights=kept))
    costs, _, out = changes.removeprefix("<b>").partition("; out: ")
    if EQUAL not in changes:  # such weights do not run
        assert told == f"<b>{costs}; weights trained here{f'; out: {out}' if out else ''}"


def test_the_sides_of_a_law_are_compared_where_they_run_in_a_moment(
    session: dict[str, Any],
) -> None:
    law = Rewrite("fence", "n0", (("title", "Block"),))
    term = edited_scene().term
    for off, words in ((0.5e-9, "equal"), (edits.EQUAL, "not equal")):
        with patch.object(edits, "cached_value", lambda *_, off=off, **__: (0.0, off)):
            assert edits.law_words(edited_scene(), term, law).startswith(f"{words}: largest diff")
            for slow in ("is_quick", "can_run"):
                with patch.object(Scene, slow, False):
                    assert edits.law_words(edited_scene(), term, law) == ""
