"""How high and wide a drawing may be, counted by hand for a few parts."""

from __future__ import annotations

import numpy as np
import pytest

from ncd.circuit.circuit import Value
from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import PlanItem
from ncd.drawing.elements.primitives import Rectangle
from ncd.drawing.lint import label_rules as rules
from ncd.drawing.lint.flat_drawing import DrawingArrays
from ncd.language.axes import Array
from ncd.language.op import Glyph
from tests.drawing.lint.tiny_pictures import extra, faults, fence, glyph, picture, run, text, wire

WIRE, ARRAY = style.AXIS_GAP, style.ARRAY_GAP
ALL, LEFT, RIGHT = (0, 200), (0, 90), (110, 200)


def level(x: tuple[float, float], name: str, row: float = 50, double: bool = False):
    return wire((x[0], row), (x[1], row), name=name, double=double)


def number(id: str) -> Value:
    return Value(id, Array())


def op(hit: tuple[float, float, float, float], ins=(), outs=()):
    unit = PlanItem(tuple(map(number, ins)), tuple(map(number, outs)), Glyph(), False)
    return glyph(hit, unit=unit)


@pytest.mark.parametrize(
    ("parts", "height"),
    [
        ({"wires": (level(ALL, "v x"),)}, ARRAY),
        ({"wires": (level(ALL, "v x", double=True),)}, ARRAY + style.DOUBLE),
        ({"wires": (level(ALL, "v x"), level(ALL, "v y"))}, WIRE + ARRAY),
        ({"wires": (level(ALL, "v x"), level(ALL, "w y"))}, 2 * ARRAY),
        ({"wires": (level(LEFT, "v x"), level(RIGHT, "w y"))}, ARRAY),
        ({"wires": (level(LEFT, "v x"), level(RIGHT, "v y"))}, ARRAY),
        # one array from the first to the last of its wires, in any order
        ({"wires": (level((0, 20), "v x"), level((50, 70), "v y"), level((0, 99), "w z"))},
         2 * ARRAY),
        ({"wires": (level((50, 70), "v x"), level((0, 20), "v y"), level((0, 99), "w z"))},
         2 * ARRAY),
        ({"wires": (level((90, 99), "v x"), level((0, 9), "v y"), level((20, 80), "w z"))},
         2 * ARRAY - WIRE),
        ({"fences": (fence((0, 0, 99, 9)),)}, 2 * style.INNER + style.FENCE_GAP),
        ({"fences": (fence((0, 0, 99, 9)), fence((120, 0, 199, 9)))},
         2 * style.INNER + style.FENCE_GAP),
        ({"fences": (fence((0, 0, 99, 9), "F", text((1, 1, 2, 2)), text((1, 3, 2, 4))),)},
         2 * style.INNER + style.FENCE_GAP + 2 * style.LEADING + style.TITLE_ROOM[1]),
        ({"fences": (fence((0, 0, 99, 9), brackets=(run((0, 0), (1, 9)),)),)},
         2 * style.BRACKET_ROOM),
        ({"extras": (extra((0, 0, 9, 30), (20, 20, 29, 70)),)}, 70),
        ({"extras": (extra((0, 0, 9, 30), (20, 20, 29, 70), behind=True), extra((0, 0, 9, 30)))},
         30),
        ({"extras": (extra((0, 0, 9, 30)), extra((99, 20, 109, 30)))}, 30),
    ],
)  # fmt: skip
def test_the_height_that_parts_need_is_that_of_the_fullest_column(parts, height):
    found = rules.needed_height(DrawingArrays(picture(**parts)))
    assert found == pytest.approx(height + 2 * style.MARGIN)


def test_nothing_needs_an_empty_page():
    assert rules.needed_height(DrawingArrays(picture())) == style.EMPTY_PAGE[1]


@pytest.mark.parametrize(
    ("glyphs", "where"),
    [
        ((op((60, 40, 80, 60), ins=["v"]),), (0, 80)),
        ((op((60, 40, 80, 60), outs=["v"]),), (60, 200)),
        ((op((60, 40, 80, 60), outs=["v"]), op((120, 40, 140, 60), ins=["v"])), (60, 140)),
        ((op((120, 40, 140, 60), ins=["v"]), op((60, 40, 80, 60), outs=["v"])), (60, 140)),
        ((op((60, 40, 80, 60), ["v"], ["w"]),), [(0, 80), (60, 200)]),
    ],
)
def test_an_array_without_axes_has_the_room_of_its_sign_from_op_to_op(glyphs, where):
    flat = DrawingArrays(picture(glyphs=glyphs))
    spans = rules._numbers(flat)
    assert spans == (where if isinstance(where, list) else [where])
    room = ARRAY + style.HEADROOM_SIGN
    assert rules.needed_height(flat) == pytest.approx(room * len(spans) + 2 * style.MARGIN)


def test_arrays_with_axes_are_counted_by_their_wires():
    unit = PlanItem((Value("v", Array.parse("m:3")),), (), Glyph(), False)
    assert rules._numbers(DrawingArrays(picture(glyphs=(glyph((6, 4, 8, 6), unit=unit),)))) == []
    assert rules._numbers(DrawingArrays(picture(glyphs=(glyph((6, 4, 8, 6)),)))) == []


def test_a_drawing_may_be_three_fifths_and_sixty_units_higher_than_it_needs():
    need = ARRAY + 2 * style.MARGIN
    wires = (level(ALL, "v x"),)
    most = 1.6 * need + 60
    assert faults(rules.check_height, Rectangle(0, 0, 200, most - 0.01), wires=wires) == []
    assert faults(rules.check_height, Rectangle(0, 0, 200, most + 1), wires=wires) == [
        f"the drawing is {most + 1:.0f} high, where {need:.0f} would do"
    ]


WORDS = text((20, 10, 30, 20))


@pytest.mark.parametrize(
    ("parts", "gaps"),
    [
        ({}, [(10, 190)]),
        ({"wires": (level(ALL, "v x"),)}, [(10, 190)]),
        ({"wires": (wire((40, 9), (60, 30)),)}, [(10, 40), (60, 190)]),
        ({"labels": (WORDS,)}, [(10, 20), (30, 190)]),
        ({"labels": (text((10, 10, 190, 20)),)}, []),
        ({"labels": (text((5, 10, 195, 20)),)}, []),
        ({"labels": (text((20, 10, 90, 20)), text((30, 10, 40, 20)))}, [(10, 20), (90, 190)]),
        ({"glyphs": (glyph((40, 9, 60, 30), (99, 9, 100, 10)),)}, [(10, 40), (60, 99), (100, 190)]),
        ({"extras": (extra((40, 9, 60, 30)),)}, [(10, 40), (60, 190)]),
        ({"fences": (fence((40, 9, 150, 30)),)},
         [(10, 40 - style.PAD), (40 + style.PAD, 150 - style.PAD), (150 + style.PAD, 190)]),
    ],
)  # fmt: skip
def test_a_stretch_is_empty_without_a_label_a_mark_a_bend_or_a_border(parts, gaps):
    found = rules.empty_ranges(DrawingArrays(picture(**parts)))
    assert np.array(found).reshape(-1) == pytest.approx(np.array(gaps).reshape(-1), abs=1.01)


@pytest.mark.parametrize(("x", "count"), [(90, 0), (90.5, 1)])
def test_no_stretch_is_empty_for_more_than_sixty_units(x, count):
    labels = text((0, 10, 30, 20)), text((x, 10, 190, 20))
    assert (
        faults(rules.check_width, labels=labels)
        == [f"nothing stands between 30 and {x:.0f}"] * count
    )
