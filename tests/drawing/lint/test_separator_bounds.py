"""The rules for separators: silent just within their bounds, and loud just beyond."""

from __future__ import annotations

import pytest

from ncd.drawing.lint.wire_rules import dashes
from tests.drawing.lint.tiny_pictures import dash, extra, faults, fence, glyph, run, text, wire


@pytest.mark.parametrize(("row", "count"), [(40.7, 0), (40.8, 1), (59.3, 0)])
def test_a_separator_may_graze_what_stands_beside_it(row, count):
    spot, lines = (90, 40, 110, 60), (dash((0, row), (200, row)),)
    for part, what in (
        ({"labels": (text(spot),)}, "label 'q'"),
        ({"glyphs": (glyph((1, 1, 2, 2), spot),)}, "the glyph of n1 (N1)"),
        ({"extras": (extra(spot),)}, "the sign 'E'"),
    ):
        found = faults(dashes, dashes=lines, **part)
        assert found == [f"a dashed line runs through {what}"] * count


@pytest.mark.parametrize("edge", [20, 80])
@pytest.mark.parametrize(
    ("off", "stop", "count"),
    [
        (0, 100, 1),
        (1.9, 100, 1),
        (-1.9, 100, 1),
        (2.1, 100, 0),
        (-2.1, 100, 0),
        (0, 44, 0),
        (0, 44.2, 1),
    ],
)
def test_a_separator_keeps_two_units_from_a_border_along_which_it_runs(edge, off, stop, count):
    lines = (dash((0, edge + off), (stop, edge + off)),)
    around = fence((40, 20, 160, 80))
    said = ["a dashed line runs along the border of 'F'"] * count
    assert faults(dashes, dashes=lines, fences=(around,)) == said
    brackets = fence((40, 20, 160, 80), brackets=(run((40, 20), (41, 80)),))
    assert faults(dashes, dashes=lines, fences=(brackets,)) == []
    slanted = (dash((0, edge), (200, edge + 60)),)
    assert faults(dashes, dashes=slanted, fences=(around,)) == []


@pytest.mark.parametrize(("x", "count"), [(16, 0), (16.5, 1), (100, 1), (183.5, 1), (184, 0)])
def test_a_separator_touches_a_wire_only_near_its_ends(x, count):
    lines = (dash((0, 50), (200, 50)),)
    one = wire((x - 5, 20), (x + 5, 80))
    found = faults(dashes, dashes=lines, wires=(one,))
    assert found == [f"a dashed line crosses wire x of v, at {x:.0f}"] * count
