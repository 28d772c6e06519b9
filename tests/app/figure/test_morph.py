"""The animation between two drawings: it has room for both."""

from __future__ import annotations

import pytest

from ncd.app.figure.morph import morph
from ncd.drawing.pipeline import draw
from ncd.ops import Linear, Named


def test_the_box_holds_both_drawings() -> None:
    one, two = draw(Named("m:3", "X")), draw(Linear("m:3 -> k:2", "L"))
    assert one.box.x0 > two.box.x0 and one.box.x1 > two.box.x1
    box = [two.box.x0, min(one.box.y0, two.box.y0), one.box.x1, max(one.box.y1, two.box.y1)]
    assert morph(one, two)["box"] == morph(two, one)["box"] == pytest.approx(box)
