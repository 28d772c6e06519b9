"""Panels during a quiz: source and shapes without sizes; the others are locked."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from ncd.code import lines
from ncd.export import markup, source_listing
from ncd.lang.circuits.circuit import Cell, Value
from ncd.view.base import hide_sizes, html_panel, selection
from ncd.view.base.hide_sizes import Veil
from ncd.view.quiz import prediction
from ncd.view.quiz.questions import is_given
from ncd.view.session.scene import Scene


@dataclass
class LockedPanel:
    """A panel during a quiz: source or shapes without sizes, else a sentence that says why not."""

    TITLE: str
    RUNS: bool = False

    def show(self, scene: Scene) -> None:
        """Shows the panel without sizes."""
        assert scene.veil is not None
        html = {"Source": _source, "Shapes": _shapes}.get(self.TITLE, _locked)(scene)
        html_panel.show(html, "covered", on_pick=lambda _: _end())


def _end() -> None:
    """Ends the quiz, or the question of a lesson; a callback."""
    st.session_state[selection.QUIZ] = ""
    prediction.reveal()


def _locked(scene: Scene) -> str:
    return (
        "<p>This panel tells sizes, so it is closed while they are asked for.</p>"
        '<p><button type="button" class="plain" data-pick="end">Show them</button></p>'
    )


def _source(scene: Scene) -> str:
    """Returns the source with numbers hidden, and without the lines of the array asked for."""
    assert scene.veil is not None
    around, circuit = scene.veil.around(scene.circuit), scene.circuit
    found = source_listing.Listing(
        (line, hide_sizes.code(line.text, html) if around.isdisjoint(line.nodes) else "…")
        for line, html in source_listing.coloured_lines(lines(scene.term), circuit)
    )
    return source_listing.excerpt(found, circuit, scene.dark)


def _shapes(scene: Scene) -> str:
    """Returns every step with the shapes known so far."""
    assert scene.veil is not None
    rows = (_row(cell, scene, scene.veil) for cell in scene.circuit.cells)
    return markup.table(("Step", "Goes in", "Leaves"), rows)


def _row(cell: Cell, scene: Scene, hiding: Veil) -> str:
    ins, outs = (
        markup.listed(_known(value, scene, hiding) for value in values)
        for values in (cell.inputs, cell.outputs)
    )
    return (
        f'<tr data-node="{cell.id}" data-select="{cell.id}" tabindex="0">'
        f"<td>{markup.role(cell.op.role, scene.dark)}{markup.text(cell.op.label)}</td>"
        f"<td>{ins}</td><td>{outs}</td></tr>"
    )


def _known(value: Value, scene: Scene, hiding: Veil) -> str:
    given = value.id != hiding.hidden and is_given(scene.circuit, value)
    if not (given or value.id in hiding.known):
        return hide_sizes.ASKED
    return markup.sized(value.array)
