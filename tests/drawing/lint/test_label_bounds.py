"""Each rule for labels, marks and borders: silent just within its bound, and loud just beyond."""

from __future__ import annotations

import pytest

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math, sans
from ncd.drawing.elements.primitives import Annotation, Dash, Dot, Point, Text
from ncd.drawing.lint import label_rules as rules
from tests.drawing.lint.tiny_pictures import (
    PAGE,
    extra,
    faults,
    fence,
    glyph,
    outline,
    picture,
    run,
    text,
    wire,
)

SPOT = (50, 40, 60, 50)
SIDES = [(1, 0), (-1, 0), (0, 1), (0, -1)]


def beside(way: tuple[int, int], shared: float) -> tuple[float, float, float, float]:
    """A box as large as SPOT that overlaps it by so much on one side."""
    x, y = ((10 - shared) * step for step in way)
    return (50 + x, 40 + y, 60 + x, 50 + y)


@pytest.mark.parametrize("way", SIDES)
@pytest.mark.parametrize(("shared", "count"), [(0.75, 0), (0.8, 1)])
def test_boxes_may_overlap_by_three_quarters_of_a_unit(way, shared, count):
    other = beside(way, shared)
    q, r = text(SPOT, "q"), text(other, "r")
    assert faults(rules.texts, labels=(q, r)) == ["labels 'q' and 'r' overlap"] * count
    title = fence((1, 1, 199, 99), "F", r)
    assert (
        faults(rules.texts, labels=(q,), fences=(title,)) == ["labels 'q' and 'r' overlap"] * count
    )
    mark = glyph((1, 1, 2, 2), other)
    lies = ["label 'q' lies on the glyph of n1 (N1)"] * count
    assert faults(rules.texts_on_glyphs, labels=(q,), glyphs=(mark,)) == lies
    far = fence((1, 1, 199, 99), "F", text((3, 3, 4, 4), "far"), q)
    assert faults(rules.texts_on_glyphs, labels=(r,), fences=(far,), glyphs=(mark,))[1:] == lies
    two = glyph((3, 3, 4, 4), SPOT, node="n2")
    met = ["the glyphs of n1 (N1) and n2 (N2) overlap"] * count
    assert faults(rules.glyphs, glyphs=(mark, two)) == met
    assert faults(rules.glyphs, glyphs=(glyph(SPOT, other),)) == []  # parts of one mark may
    one, same = extra(SPOT, words="A"), extra(other, words="B", kind="arrow")
    both = ["the sign 'A' and the arrow 'B' overlap"] * count
    assert faults(rules.extras, extras=(one, same)) == both
    assert faults(rules.extras, extras=(extra(SPOT, other),)) == []
    behind = extra(other, words="B", behind=True)
    assert faults(rules.extras, extras=(one, behind)) == []


def test_what_is_written_in_a_mark_may_lie_on_it():
    inside = glyph(SPOT, items=(text(SPOT),))
    assert faults(rules.texts_on_glyphs, labels=(), glyphs=(inside,)) == []
    assert faults(rules.texts, glyphs=(inside,), labels=(text(SPOT, "r"),))  # but no other name


@pytest.mark.parametrize(("row", "count"), [(40.7, 0), (40.8, 1), (49.2, 1), (49.3, 0)])
def test_a_wire_may_graze_a_label_or_an_extra(row, count):
    across = wire((0, row), (200, row), name="v x", made="n1", taken="n2")
    for name, own in (("v x", 0), ("v y", 1), ("w x", 1)):
        array, axis = name.split()
        label = text(SPOT, "q", axis, array)
        found = faults(rules.texts_on_wires, labels=(label,), wires=(across,))
        assert found == ["label 'q' lies on a wire x (v)"] * (count * own)
    for of, own in (("", 1), ("w", 1), ("v", 0), ("n1", 0), ("n2", 0)):
        found = faults(rules.extras, extras=(extra(SPOT, target_id=of),), wires=(across,))
        assert found == ["the sign 'E' lies on a wire x (v)"] * (count * own)


def test_an_extra_may_lie_on_its_own_op_and_on_no_label():
    own, other = (extra(SPOT, target_id=node, words="") for node in ("n1", "n2"))
    assert faults(rules.extras, extras=(own,), glyphs=(glyph(SPOT),)) == []
    assert faults(rules.extras, extras=(other,), glyphs=(glyph(SPOT),)) == [
        "the sign 'n2' lies on the glyph of n1"
    ]
    label, title = text(SPOT, "q"), text((70, 40, 80, 50), "T")
    around = fence((1, 1, 199, 99), "F", title)
    names = ["the sign 'E' lies on label 'q'", "the sign 'E' lies on label 'T'"]
    both = extra(SPOT, (70, 40, 80, 50))
    assert faults(rules.extras, extras=(both,), labels=(label,), fences=(around,)) == names
    own = glyph((1, 1, 2, 2), items=(text((70, 40, 80, 50)),))
    assert faults(rules.extras, extras=(both,), glyphs=(own,)) == []


def moved(side: int, by: float) -> tuple[float, ...]:
    """SPOT with one side further out."""
    return tuple(at + (by if n > 1 else -by) * (n == side) for n, at in enumerate(SPOT))


@pytest.mark.parametrize("side", range(4))
@pytest.mark.parametrize(("by", "count"), [(0, 0), (1.0, 0), (1.1, 1)])
def test_what_lies_in_a_fence_may_reach_one_unit_out_of_it(side, by, count):
    outer, inner = fence(SPOT, "A"), moved(side, by)
    across = tuple(at + (4 if n < 2 else -4) * (n != side) for n, at in enumerate(inner))
    two = ["the fences 'A' and 'B' overlap"] * count
    assert faults(rules.borders, fences=(outer, fence(across, "B"))) == two
    mark = ["the border of 'A' runs through the glyph of n1 (N1)"] * count
    assert faults(rules.borders, fences=(outer,), glyphs=(glyph(across),)) == mark
    name = ["the border of 'A' runs through label 'q'"] * count
    assert faults(rules.borders, fences=(outer,), labels=(text(across),)) == name
    assert faults(rules.borders, fences=(outer, fence(moved(side, 9), "B"))) == []  # it is inside


@pytest.mark.parametrize(("x", "count"), [(59, 0), (58.9, 1)])
def test_fences_that_touch_by_one_unit_are_apart(x, count):
    fences = fence(SPOT, ""), fence((x, 30, 90, 60), "B")
    assert faults(rules.borders, fences=fences) == ["the fences 'f1' and 'B' overlap"] * count


def test_a_callout_may_hide_the_border_of_a_region_and_no_bracket():
    note = Annotation("note", (outline((40, 30, 90, 60)), text((45, 43, 70, 47), "q")))
    said = ["the border of 'F' runs through label 'q'"]
    assert faults(rules.borders, fences=(fence(SPOT),), extras=(note,)) == []
    for x, count in ((65, 1), (75, 0)):
        brackets = tuple(run((at, 20), (at + 1, 80)) for at in (20, x))
        both = fence(SPOT, brackets=brackets)
        assert faults(rules.borders, fences=(both,), extras=(note,)) == said * count
    sign = Annotation("sign", note.items)
    assert faults(rules.borders, fences=(fence(SPOT),), extras=(sign,)) == said


@pytest.mark.parametrize("side", range(4))
@pytest.mark.parametrize(("by", "count"), [(0, 0), (0.5, 1)])
def test_nothing_is_cut_off_at_any_side(side, by, count):
    at = tuple(PAGE[n] + (by if n > 1 else -by) if n == side else SPOT[n] for n in range(4))
    x0, y0, x1, y1 = at
    level = (*run((x0, y0), (x1, y0)), *run((x0, y1), (x1, y1)))
    for part, what in (
        ({"labels": (text(at),)}, "label 'q'"),
        ({"fences": (fence(at),)}, "fence 'F'"),
        ({"fences": (fence(SPOT, "F", text(at, "T")),)}, "label 'T'"),
        ({"glyphs": (glyph(SPOT, at),)}, "glyph n1"),
        ({"wires": (wire(path=level),)}, "wire x of v"),
        ({"dashes": (Dash(level),)}, "a dashed line"),
        ({"extras": (extra(at),)}, "sign 'E'"),
    ):
        assert faults(rules.cut_off, **part) == [f"{what} is cut off"] * count
    assert faults(rules.cut_off, extras=(extra(at, behind=True),)) == []


@pytest.mark.parametrize(
    ("items", "box"),
    [
        ((outline((40, 30, 90, 60)),), (40, 30, 90, 60)),
        ((Dot(Point(50, 40), 5.0),), (45, 35, 55, 45)),
        ((text((40, 30, 90, 60)),), (40, 30, 90, 60)),
        ((outline((1, 2, 3, 4)), Dot(Point(50, 40), 5.0)), (1, 2, 3, 4)),
    ],
)
def test_an_extra_is_as_large_as_its_items(items, box):
    one = Annotation("sign", items, "E")
    shape = glyph(box, node="n9")
    assert faults(rules.extras, extras=(one,), glyphs=(shape,)) == [
        "the sign 'E' lies on the glyph of n9"
    ]
    clear = glyph((box[2], box[1], box[2] + 9, box[3]), (box[0], box[3], box[2], 99), node="n9")
    if len(items) == 1:
        assert faults(rules.extras, extras=(one,), glyphs=(clear,)) == []


def test_the_text_of_a_callout_keeps_four_units_from_all_else():
    label = text((100, 40, 110, 50), "far")
    for x1, count in ((96.7, 0), (96.8, 1)):
        note = Annotation("note", (text((60, 40, x1, 50), "words"),), "N")
        found = faults(rules.extras, extras=(note,), labels=(label,))
        assert found == ["the note 'N' lies on label 'far'"] * count
    bare = Annotation("sign", (text((60, 40, 100, 50), "words"),), "N")
    assert faults(rules.extras, extras=(bare,), labels=(label,)) == []


def test_text_is_eleven_pixels_high_at_the_width_shown():
    name, title = Text(math("q", 16.0), Point(9, 50)), Text(sans("T", 14), Point(50, 50))
    drawn = picture(labels=(name, title))
    for width, count, least in (
        (None, 0, 0),
        (1000, 0, 0),
        (157, 0, 0),
        (156, 1, 10.9),
        (50, 2, 3.5),
    ):
        found = list(rules.too_small(drawn, width))
        if not count:
            assert found == []
            continue
        word = "T" if count == 1 else "q"
        assert found == [
            f"at {width} pixels {count} labels are less than 11 high, such as {word!r};"
            f" the least is {least}"
        ]
    tiny = picture(labels=(Text(math("q", 10.0), Point(9, 50)),))
    assert len(list(rules.too_small(tiny, 10 * PAGE.width))) == 1  # nothing is enlarged
    assert style.READABLE == rules.LEAST_TEXT
