"""The sides of an equation stand in lines, with signs and arrows between them."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest

from ncd import Block, Linear
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import Outline, Rectangle, Text
from ncd.drawing.equation import _arrow, _is_folded, _level, _lines, _moved_to, _sign
from ncd.drawing.pipeline import draw

ONE = draw(Linear("m:3 -> k:2", "L"))
TWO = draw(Linear("m:3 -> k:2 h:2 j:2", "K"))


def test_a_drawing_is_level_if_the_middle_of_its_inputs_is_at_zero() -> None:
    for drawing in (ONE, TWO, draw(Linear("y:2 m:3 -> k:2", "L"))):
        level = _level(drawing)
        rows = [wire.path[0].a.y for wire in level.wires if wire.path and not wire.made_by]
        assert min(rows) == pytest.approx(-max(rows))
        assert level.box.width == pytest.approx(drawing.box.width)
        assert _moved_to(level, 40).box.x0 == 40


@pytest.mark.parametrize("sign", ["=", "≝", "up to order ="])
def test_a_sign_has_its_middle_at_zero_and_room_at_both_sides(sign: str) -> None:
    (extra,) = _sign(ONE, sign).extras
    texts = [item for item in extra.items if isinstance(item, Text)]
    middle = (texts[0].box.x0 + texts[0].box.x1) / 2
    box = _sign(ONE, sign).box
    assert (box.x0, box.x1) == pytest.approx((0, 2 * middle))
    wide = max(text.label.width for text in texts)
    assert middle == pytest.approx(style.EQUALS_ROOM + wide / 2)
    assert texts[0].position.y == pytest.approx(
        (texts[0].label.ascent - texts[0].label.descent) / 2
    )
    for below, above in pairwise(texts):
        assert above.box.y1 <= below.box.y0
        assert above.position.x + above.label.width / 2 == pytest.approx(middle)
    assert extra.words == {"=": "equals", "≝": "is defined as"}.get(sign, "up to order")


def test_an_arrow_is_as_high_above_the_middle_as_below_and_holds_its_words() -> None:
    drawing = _arrow(ONE, "compile =", "touch")
    (extra,) = drawing.extras
    shape, text = extra.items
    assert isinstance(shape, Outline) and isinstance(text, Text)
    corners = [curve.a for curve in shape.path]
    assert len(corners) == 7
    assert {(p.x, -p.y) for p in corners} == {(p.x, p.y) for p in corners}
    (tip,) = [p for p in corners if p.y == 0]
    assert tip.x == max(p.x for p in corners) == drawing.box.x1
    assert max(p.y for p in corners) == drawing.box.y1 == -drawing.box.y0
    neck = sorted({p.x for p in corners})[1]
    assert text.box.x0 > 0
    assert text.box.x1 < neck
    assert (text.box.x0 + text.box.x1) / 2 == pytest.approx(neck / 2, abs=1.5)
    assert abs(text.box.y0 + text.box.y1) < 2
    assert extra.words == "compile"


def test_sides_break_into_lines_where_they_are_too_wide() -> None:
    between = _sign(ONE, "=")
    wide, gap = ONE.box.width, between.box.width
    fits = 3 * wide + 2 * gap
    for width, counts in (
        (None, [5]),
        (inf, [5]),
        (fits + 1e-6, [5]),
        (fits - 1, [3, 2]),
        (2 * wide + gap + 1e-6, [3, 2]),
        (2 * wide + gap - 1, [1, 2, 2]),
    ):
        lines = _lines([ONE] * 3, between, width)
        assert [len(line) for line in lines] == counts
        for line in lines:
            x = 0.0
            for part in line:
                assert part.box.x0 == pytest.approx(x)
                x += part.box.width


def test_a_folded_block_is_a_box_alone() -> None:
    block = Block(Linear("m:3 -> k:2", "L") >> Linear("k -> m", "K"), "Both", name="both")
    folded = draw(block, folded=("f0",))
    assert _is_folded(folded)
    assert not _is_folded(ONE)
    assert not _is_folded(draw(block))
    assert isinstance(folded.box, Rectangle)
