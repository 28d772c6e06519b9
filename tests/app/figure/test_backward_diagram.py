"""The backward pass as a diagram: what is loaded, under which name, and what is too large."""

from __future__ import annotations

import pytest
import streamlit as st

import ncd
from ncd.app.figure import backward_diagram
from ncd.app.figure.backward_diagram import MOST, WIDEST, readable, taps
from ncd.errors import LimitError
from ncd.run.checkpointing import SavedArray, saved
from tests.app.figure.test_diagram_parts import own
from tests.app.panels.views import scene


def test_a_saved_array_has_its_name_and_its_bytes() -> None:
    term = ncd.Linear("m:3 -> k:2", "L") >> ncd.Softmax("k")
    circuit = ncd.elaborate(term)
    given, _, out = circuit.cells[0].inputs[0], None, circuit.outputs[0]
    found = taps(circuit, saved(term).arrays)
    softmax = circuit.cells[-1]
    ((label, array),) = found[softmax.id]
    assert label.endswith("8 B") and array == out.array  # two numbers of 4 bytes
    assert any(tap.array == given.array for own in found.values() for tap in own)


def test_what_an_op_keeps_for_itself_looks_like_the_array_that_is_most_alike() -> None:
    circuit = ncd.elaborate(ncd.Id("y:2 m:3") >> ncd.Softmax("m"))
    cell = next(c for c in circuit.cells if c.op.role == "softmax")
    ((out,), (given,)) = cell.outputs, cell.inputs

    def tap(shape: tuple[int, ...]) -> object:
        own = SavedArray(cell.id, "", shape, "", 24)
        return taps(circuit, (own,)).get(cell.id)

    assert tap((2, 3)) == [("24 B", out.array)]
    for shape in ((3, 2), (6,)):  # the same numbers in another order have the name of the array
        assert tap(shape) == [("weights 24 B", out.array)]
    assert tap((5,)) is None
    assert taps(circuit, (SavedArray("nothing", "", (2, 3), "", 24),)) == {}
    named = SavedArray(cell.id, given.id, (2, 3), "", 24)
    ((label, array),) = taps(circuit, (named,))[cell.id]
    assert array == given.array and label.endswith("24 B")


def test_of_two_sizes_alike_the_one_in_order_is_taken() -> None:
    assert backward_diagram._unlike((2, 3), (2, 3)) == 0
    assert backward_diagram._unlike((3, 2), (2, 3)) == 1
    assert backward_diagram._unlike((6,), (2, 3)) == 2


def test_a_long_name_is_its_last_word() -> None:
    here = scene("multi-head-attention")
    labels = [
        tap.label for own in taps(here.circuit, saved(here.term).arrays).values() for tap in own
    ]
    names = [label.rsplit(" ", 2)[0] for label in labels]
    assert names and all("_" not in name for name in names)
    assert all(len(name) <= 12 or " " not in name for name in names)


def many(count: int) -> ncd.Term:
    term: ncd.Term = ncd.Id("m:3")
    for _ in range(count):
        term = term >> ncd.Elementwise("tanh")
    return term


def test_a_backward_pass_of_many_boxes_is_not_drawn() -> None:
    sizes = {}
    for count in (1, 2):
        circuit = ncd.elaborate(many(count))
        drawn = ncd.elaborate(readable(circuit, saved(circuit.term).arrays))
        sizes[count] = len(drawn.cells)
    each = sizes[2] - sizes[1]
    most = 2 + (MOST - sizes[2]) // each
    fits, large = (ncd.elaborate(many(n)) for n in (most, most + 1))
    readable(fits, saved(fits.term).arrays)
    said = r"boxes and notes, with \d+ arrays side by side, are too many to be read"
    with pytest.raises(LimitError, match=said):
        readable(large, saved(large.term).arrays)


def test_many_arrays_side_by_side_are_not_drawn() -> None:
    def beside(count: int) -> ncd.Term:
        term: ncd.Term = ncd.Id("m:2")
        for _ in range(count - 1):
            term = term @ ncd.Id("m:2")
        return term

    readable(ncd.elaborate(beside(WIDEST)), ())
    with pytest.raises(LimitError, match=f"with {WIDEST + 1} arrays side by side"):
        readable(ncd.elaborate(beside(WIDEST + 1)), ())


def test_the_diagram_is_drawn_once_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    here = scene("multi-head-attention")
    session: dict[str, str] = {}
    monkeypatch.setattr(st, "session_state", session)
    assert "Draw the backward pass" in backward_diagram.html(here, ())
    session["mirror"] = "1"
    both = backward_diagram.html(here, ())
    assert both.count("<svg") == 2 and "Hide the backward pass" in both
    assert "Of equal layers one is drawn." not in both
    layer = ncd.Linear("m -> m", "L") >> ncd.Softmax("m")
    for count in (1, 2):
        layers = backward_diagram.html(own(ncd.Id("m:3") >> ncd.Repeat((layer,) * count)), ())
        assert ("Of equal layers one is drawn." in layers) == (count > 1)
        assert layers.count("<svg") == 2
    monkeypatch.setattr(backward_diagram, "MOST", 1)
    large = backward_diagram.html(own(many(3)), ())
    assert large.startswith('<p class="muted">No diagram of the backward pass: ')
    assert "<svg" not in large and "are too many to be read" in large
