"""What stands beside a diagram: equations, columns, cells and notes."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

import ncd
from ncd import Block, Copy, Einsum, Equation, Function, Id, Index, Linear, Softmax
from ncd.drawing.cell_grids import dependency_slices
from ncd.drawing.elements.primitives import Annotation, Outline, Rectangle, Text
from ncd.drawing.equation import sides
from ncd.drawing.lint.lint import lint
from ncd.errors import UnknownNameError

G = Function("G", "3 -> 2", "tanh")


def outline(extra: Annotation) -> Rectangle:
    """The box of what an extra is painted on."""
    return Rectangle.from_points(
        p for item in extra.items if isinstance(item, Outline) for c in item.path for p in c
    )


def of_kind(term: ncd.Term, kind: str, **options: object) -> list[Annotation]:
    return [extra for extra in ncd.draw(term, **options).extras if extra.kind == kind]


# --- equations -----------------------------------------------------------------------------------

THREE = Equation(
    Index("a:5 b:7", a=2, b=3),
    Index("a:5 b:7", a=2) >> Index("b", b=3),
    Index("a:5 b:7", b=3) >> Index("a", a=2),
)


def test_the_sides_have_the_ids_of_the_whole_equation() -> None:
    circuit = ncd.elaborate(THREE)
    ids = [cell.id for side in sides(circuit) for cell in side.cells]
    assert ids == [cell.id for cell in sorted(circuit.cells, key=lambda c: int(c.id[1:]))][1:]
    drawn = [glyph.node for glyph in ncd.draw(THREE).glyphs]
    assert drawn == ids


def test_an_equation_that_does_not_fit_goes_on_below_with_its_sign() -> None:
    wide, narrow = ncd.draw(THREE), ncd.draw(THREE, width=300)
    assert [sign.words for sign in wide.extras] == ["equals", "equals"]
    assert len({sign.box.y0 for sign in of_kind(THREE, "sign")}) == 1
    signs = [extra.box for extra in narrow.extras]
    assert signs[0].y1 < signs[1].y0 or signs[0].x0 == signs[1].x0 or len(signs) == 2
    assert narrow.box.width <= 300 < wide.box.width


def test_a_definition_has_its_own_sign() -> None:
    (sign,) = of_kind(Equation(Id("a:2"), Id("a:2"), sign="≝"), "sign")
    assert sign.words == "is defined as"
    assert [item.label.words for item in sign.items if isinstance(item, Text)] == ["equals", "def"]


def test_the_first_arrays_of_both_sides_stand_on_one_row() -> None:
    left, right = Id("4 3") >> G >> Index("4 2", at={"4": 2}), Index("4 3", at={"4": 2}) >> G
    wires = [w for w in ncd.draw(Equation(left, right)).wires if not w.made_by]
    assert {round(w.path[0].a.y, 3) for w in wires if w.axis == "4"} == {
        round(min(w.path[0].a.y for w in wires), 3)
    }


# --- columns -------------------------------------------------------------------------------------


def test_columns_of_data_and_operations_alternate() -> None:
    bands = of_kind(Id("4 3") >> G >> Softmax("2"), "band", bands=True)
    boxes = sorted((outline(band), band.items[0].paint) for band in bands)
    assert [paint for _, paint in boxes] == ["data", "operation"] * 2 + ["data"]
    assert all(a.x1 < b.x0 for (a, _), (b, _) in pairwise(boxes))
    assert all(band.behind for band in bands)


def test_a_column_is_as_high_as_its_arrays() -> None:
    bands = of_kind(Index("4 3", at={"4": 2}), "band", bands=True)
    before, after = (outline(b).height for b in bands if b.items[0].paint == "data")
    assert after < before


def test_a_block_around_everything_holds_its_columns() -> None:
    drawing = ncd.draw(Block(Id("4 3") >> G, "Rows"), bands=True)
    (panel,) = drawing.fences
    columns = [outline(extra) for extra in drawing.extras if extra.behind]
    assert len(columns) == 5 and all(_holds(panel.box, column) for column in columns)
    assert lint(drawing) == []
    drawing = ncd.draw(Id("5") @ Block(Id("4 3") >> G, "Rows"), bands=True)
    (panel,) = drawing.fences
    assert not any(_holds(panel.box, outline(e)) for e in drawing.extras if e.kind == "band")


def _holds(box: Rectangle, inner: Rectangle) -> bool:
    return Rectangle.union([box, inner]) == box


def test_a_wire_that_everything_is_broadcast_over_has_a_band_behind_its_columns() -> None:
    drawing = ncd.draw(Id("4 3") >> G, bands=True)
    lifted = [extra for extra in drawing.extras if extra.kind == "path"]
    assert [extra.words for extra in lifted] == ["broadcast over 4"] * 2
    assert drawing.extras[:2] == tuple(lifted)


# --- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "slices"),
    [
        (Id("4 3") >> G, [(2, None), (2, None)]),
        (Index("4 3", at={"4": 1}), [(1, None), (None,)]),
        (Id("y:2 x:4") >> Softmax("x"), [(1, None), (1, None)]),
        (Einsum("y:2 k:3, x:4 k -> y x"), [(1, None), (2, None), (1, 2)]),
        (Id("a:3") >> Linear("a -> b:2"), [(None,), (None,)]),
    ],
)
def test_blue_cells_are_what_one_slice_of_the_output_needs(
    term: ncd.Term, slices: list[tuple[int | None, ...]]
) -> None:
    circuit = ncd.elaborate(term)
    found = dependency_slices(circuit)
    assert [found[value.id] for value in (*circuit.inputs, *circuit.outputs)] == slices


def test_grids_stand_beside_the_diagram_and_large_ones_are_cut_short() -> None:
    term = Id("y:40 m:5") >> Softmax("m")
    drawing = ncd.draw(term, cells=True)
    before, after, arrow = (extra for extra in drawing.extras if extra.kind == "cells")
    ends = [x for w in drawing.wires for x in (w.path[0].a.x, w.path[-1].d.x)]
    assert outline(before).x1 < min(ends) < max(ends) < outline(after).x0
    cells = [i for i in before.items if isinstance(i, Outline) and i.paint in ("neutral", "touch")]
    assert len(cells) == 8 * 5
    assert sum(cell.paint == "touch" for cell in cells) == 5
    assert arrow.words == "what the blue cells of the output depend on"
    assert lint(drawing) == []


def test_arrays_without_sizes_have_no_cells() -> None:
    assert of_kind(Id("y m") >> Softmax("m"), "cells", cells=True) == []


# --- notes ---------------------------------------------------------------------------------------

ATTENTION = ncd.catalogue["multi-head-attention"].build()


@pytest.mark.parametrize("part", ["Q", "Copy", "n1", "f2", "Multi-Head Attention", "out"])
def test_a_note_points_at_its_part_and_lies_on_nothing(part: str) -> None:
    drawing = ncd.draw(ATTENTION, notes={part: "This is what is to be said of it."})
    (note,) = (extra for extra in drawing.extras if extra.kind == "note")
    glyphs = {glyph.node: Rectangle.union(glyph.ink) for glyph in drawing.glyphs}
    at = glyphs.get(note.target_id) or next(f.box for f in drawing.fences if f.id == note.target_id)
    assert outline(note).meets(at.grown(10))
    assert lint(drawing) == []


def test_a_note_has_the_colour_of_its_part() -> None:
    parts = {"Copy": "copy", "Q": "linear", "q, k, v": "data", "Multi-Head Attention": "note"}
    notes = dict.fromkeys(parts, "Said of it.")
    found = [extra for extra in ncd.draw(ATTENTION, notes=notes).extras if extra.kind == "note"]
    assert [note.items[0].paint for note in found] == list(parts.values())


def test_a_note_on_an_axis_highlights_its_whole_path() -> None:
    drawing = ncd.draw(ATTENTION, notes={"axis h": "It is never mixed."})
    lit, note = drawing.extras
    assert (lit.kind, lit.behind, note.target_id) == ("path", True, "n7")
    paths = [item for item in lit.items if isinstance(item, Outline)]
    boxes = [Rectangle.from_points(p for c in path.path for p in c) for path in paths]
    assert len(boxes) == 3  # from L^Q to a dot, from L^K to the other dot, from L^V to L^O
    ends = [wire.path[n] for wire in drawing.wires if wire.axis == "h" for n in (0, -1)]
    assert all(any(box.meets(Rectangle.from_center(end.a, 1)) for box in boxes) for end in ends)
    with pytest.raises(UnknownNameError):
        ncd.draw(ATTENTION, notes={"axis z": "?"})


def test_a_note_on_an_axis_goes_with_the_dots_that_it_points_at() -> None:
    """They lie in a block that is collapsed; a bare wire would be pointed at instead."""
    block = next(f.id for f in ncd.elaborate(ATTENTION).fences if f.title.startswith("Scaled"))
    notes = {"axis h": "It is never mixed.", "O": "It mixes them."}
    drawing = ncd.draw(ATTENTION, notes=notes, folded=[block])
    assert [extra.target_id for extra in drawing.extras if extra.kind == "note"] == ["n8"]
    plain = Id("x:3 h:2") >> Linear("x -> y:4", "W")
    assert of_kind(plain, "note", notes={"axis h": "It passes."})


def test_a_note_on_arrays_has_one_band_behind_their_names() -> None:
    drawing = ncd.draw(ATTENTION, notes={"q, k, v": "k h each"})
    band = next(extra for extra in drawing.extras if extra.kind == "path")
    covered = [text.axis for text in drawing.labels if outline(band).meets(text.box)]
    assert covered == ["k", "h"] * 3


def test_notes_lie_beside_each_other() -> None:
    notes = {part: f"A note of some length on {part}." for part in "QKVO"} | {"": "A legend."}
    drawing = ncd.draw(ATTENTION, notes=notes)
    assert [extra.words for extra in drawing.extras] == list(notes.values())
    assert lint(drawing) == []
    words = [item.box for e in drawing.extras for item in e.items if isinstance(item, Text)]
    solid = [box for glyph in drawing.glyphs for box in glyph.ink]
    solid += [label.box for label in drawing.labels]
    assert not any(box.meets(other) for box in words for other in solid)
    assert not any(a.meets(b) for a, b in combinations(words, 2))


@pytest.mark.parametrize("width", [800.0, 1000.0])
def test_notes_keep_the_drawing_readable_at_its_width(width: float) -> None:
    notes = {part: f"A note of some length on {part}, and on what it does." for part in "QKVO"}
    drawing = ncd.draw(ATTENTION, notes=notes, width=width)
    assert drawing.box.width * 11 <= width * 13  # a callout's text has 13 units, and 11 pixels


def test_a_note_on_nothing_says_what_there_is() -> None:
    with pytest.raises(UnknownNameError) as error:
        ncd.draw(ATTENTION, notes={"Copi": "?"})
    assert "there is no part 'Copi' to note. Try Copy." in str(error.value)


def test_a_note_on_an_array_that_is_folded_away_is_left_out() -> None:
    drawing = ncd.draw(ATTENTION, folded={"Multi-Head Attention"}, notes={"v": "A value."})
    assert drawing.extras == ()


@pytest.mark.parametrize("part", ["Scaled Dot-Product Attention", "scores", "n5"])
def test_a_note_on_what_is_folded_away_points_at_the_box_around_it(part: str) -> None:
    drawing = ncd.draw(ATTENTION, folded={"Multi-Head Attention"}, notes={part: "Inside."})
    (box,) = drawing.glyphs
    assert [note.target_id for note in drawing.extras] == [box.node]


def test_a_note_on_a_place_in_memory_is_left_out_where_nothing_is_saved() -> None:
    unet = ncd.catalogue["unet"]
    for skips, count in ((0, 1), (1, 0)):
        drawing = ncd.draw(unet.build(skips=skips), notes={"C_λ": "It is saved."})
        notes = [extra for extra in drawing.extras if extra.kind == "note"]
        assert [note.target_id.startswith("save") for note in notes] == [True] * count


def test_an_array_that_is_cut_along_two_axes_is_needed_whole() -> None:
    """One copy is taken at one a, the other at one b."""
    both = Function("F", "b -> c:2") @ Function("G", "a -> d:2")
    circuit = ncd.elaborate(Copy("a:4 b:3") >> both)
    assert dict(dependency_slices(circuit)) == {
        "v0": (None, None),
        "v1": (2, None),
        "v2": (None, 1),
        "v3": (2, None),
        "v4": (None, 1),
    }
