"""What the quiz hides: sizes, and the names of the array that is asked for."""

from __future__ import annotations

from dataclasses import replace

import ncd
from ncd.app.state import hide_sizes
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.primitives import Annotation, Text
from ncd.drawing.pipeline import draw
from ncd.language.axes import Axis

TERM = ncd.Axes(m=12, k=34)(
    ncd.Linear("m -> k", "L") >> ncd.Elementwise("relu") >> ncd.Linear("k -> 5", "M")
)
CIRCUIT = ncd.elaborate(TERM)
X, A, B, Y = (value.id for value in CIRCUIT.values.values())
FIRST, RELU, LAST = CIRCUIT.cells


def hidden(veil: HiddenSizes, whole: Drawing | None = None) -> Drawing:
    return hide_sizes.hide_in_drawing(whole or draw(TERM, labels="both"), CIRCUIT, veil)


def texts(drawing: Drawing) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in drawing.labels:
        found.setdefault(text.array, []).append(text.label.source.text)
    return found


def test_the_array_that_is_asked_for_is_hidden_until_it_is_answered() -> None:
    assert (HiddenSizes(A).hidden, HiddenSizes(A, frozenset({A})).hidden) == (A, "")
    assert HiddenSizes(A).neighbour_ops(CIRCUIT) == {FIRST.id, RELU.id}
    assert HiddenSizes(X).neighbour_ops(CIRCUIT) == {FIRST.id}
    assert HiddenSizes(Y).neighbour_ops(CIRCUIT) == {LAST.id}
    assert HiddenSizes(A, frozenset({A})).neighbour_ops(CIRCUIT) == frozenset()


def test_a_drawing_has_names_only() -> None:
    assert hide_sizes.sizeless_options(
        {"labels": "both", "notes": {"a": 1}, "cells": True, "thumbnails": {"v0": 1}, "scale": 2}
    ) == {
        "labels": "names",
        "notes": {},
        "cells": False,
        "thumbnails": {},
        "scale": 2,
    }


def test_wires_are_said_without_sizes_but_for_answered_arrays() -> None:
    def words(veil: HiddenSizes) -> dict[str, str]:
        return {wire.array: wire.description for wire in hidden(veil).wires}

    whole = {wire.array: wire.description for wire in draw(TERM, labels="both").wires}
    assert all(", size " in text for text in whole.values())
    found = words(HiddenSizes(A, frozenset({B})))
    assert found[A] == "an axis of the array that is asked for"
    assert found[B] == whole[B]
    assert ", size" not in found[X] and "m" in found[X]
    axes = {wire.array: wire.axis for wire in hidden(HiddenSizes(A)).wires}
    assert (axes[A], axes[X]) == ("", "m")


def test_labels_have_no_size_and_the_hidden_array_no_name() -> None:
    drawn = draw(TERM, labels="sizes")
    before = {text.array: text for text in drawn.labels if text.array}
    after = {text.array: text for text in hidden(HiddenSizes(A, frozenset({Y})), drawn).labels}
    named = {id: text.label.source.text for id, text in after.items()}
    assert (named[X], named[A], named[Y]) == ("m", "?", "5")
    assert (after[A].axis, after[X].axis) == ("", "m")
    for id in (X, A):
        old, new = before[id], after[id]
        assert old.position.x + old.label.width / 2 == new.position.x + new.label.width / 2
        assert old.position.y == new.position.y
        assert old.label.source.size == new.label.source.size
    assert (
        hidden(HiddenSizes(A), drawn).labels[-1].label.source.text == "?"
    )  # an axis with a size only


def test_a_label_of_no_axis_stays() -> None:
    drawn = draw(TERM, labels="sizes")
    plain = replace(drawn.labels[0], axis="", array="")
    assert hidden(HiddenSizes(A), replace(drawn, labels=(plain,))).labels == (plain,)
    answered = hidden(HiddenSizes(A, frozenset({A, X, B, Y})), drawn)
    assert texts(answered) == texts(drawn)


def test_ops_at_the_hidden_array_are_said_by_their_names() -> None:
    glyphs = {glyph.node: glyph.description for glyph in hidden(HiddenSizes(Y)).glyphs}
    assert glyphs[LAST.id] == LAST.op.display_name
    assert glyphs[RELU.id] == "relu" or "relu" in glyphs[RELU.id]
    assert "12" not in glyphs[FIRST.id] and "m" in glyphs[FIRST.id]
    folded = replace(
        draw(TERM), glyphs=(replace(draw(TERM).glyphs[0], node="f1", description="Block (34): 12"),)
    )
    assert hidden(HiddenSizes(Y), folded).glyphs[0].description == "Block"
    nothing = replace(folded, glyphs=(replace(folded.glyphs[0], description=": 12"),))
    assert hidden(HiddenSizes(Y), nothing).glyphs[0].description == "folded"


def test_a_scan_does_not_tell_its_last_position() -> None:
    term = ncd.catalogue["lstm"].build()
    circuit, whole = ncd.elaborate(term), draw(term)
    assert any("=" in t.label.source.text for f in whole.fences for t in f.title[1:])
    scans = {loop.id for loop in circuit.loops if loop.kind == "scan"}
    found = hide_sizes.hide_in_drawing(whole, circuit, HiddenSizes("none"))
    for before, after in zip(whole.fences, found.fences, strict=True):
        said = [text.label.source.text for text in after.title]
        if before.id in scans:
            assert said[0] == before.title[0].label.source.text
            assert said[1].endswith("=?") and not any(map(str.isdigit, said[1]))
            _same_centre(before.title[1], after.title[1])
        else:
            assert after == before


def _same_centre(before: Text, after: Text) -> None:
    a, b = (text.position.x + text.label.width / 2 for text in (before, after))
    assert abs(a - b) < 1e-9


def test_hover_texts_hide_the_sizes_that_are_not_known() -> None:
    full = {id: f"full {id}" for id in CIRCUIT.values}
    found = hide_sizes.hide_in_tooltips(CIRCUIT, HiddenSizes(A, frozenset({B})), full)
    assert found[B] == f"full {B}"
    assert found[A].endswith("?")
    assert "m" in found[X] and "12" not in found[X]


def test_a_line_of_source_has_no_number() -> None:
    html = 'x = f(<span class="number-literal">12</span>, <span class="number-literal">3</span>)'
    hole = '<span class="number-literal">?</span>'
    assert hide_sizes.hide_in_code("x = f(12, 3)", html) == f"x = f({hole}, {hole})"
    assert hide_sizes.hide_in_code('"""Of 12 features."""', "<i>Of 12 features.</i>") == ""


def test_a_note_of_the_hidden_array_says_nothing() -> None:
    drawn = draw(TERM, labels="sizes")
    note = Annotation("note", (drawn.labels[0],), target_id=A, words="an array of 34 numbers")
    whole = replace(drawn, extras=(note, replace(note, target_id=X)))
    first, second = hidden(HiddenSizes(A), whole).extras
    assert (first.words, second.words) == ("", "an array of 34 numbers")
    (label,) = (item for item in first.items if isinstance(item, Text))
    assert label.label.source.text == "m"
    answered = hidden(HiddenSizes(A, frozenset({A})), whole).extras
    assert answered[0].words == "an array of 34 numbers"


def test_a_name_of_several_signs_stays_as_it_is_drawn() -> None:
    level = ncd.Array((Axis("q_1", 16, label="c_λ"),))
    term = ncd.Id(ncd.Type((level,))) >> ncd.Elementwise("relu")
    drawn = draw(term, labels="names")
    found = hide_sizes.hide_in_drawing(drawn, ncd.elaborate(term), HiddenSizes("none"))
    assert found.labels == drawn.labels
    assert {text.axis for text in found.labels if text.array} == {"q_1"}
