"""Frames of blocks: painted where they are, one inside another with room; names in LaTeX."""

from __future__ import annotations

import itertools

import pytest

import ncd
from ncd.drawing.backends.painting import Stroke, layers
from ncd.drawing.backends.tikz import _name
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import Rectangle


@pytest.mark.parametrize("repeated", [False, True])
def test_a_frame_is_painted_around_its_block_and_the_outer_one_around_the_inner(
    repeated: bool,
) -> None:
    layer = ncd.Block(ncd.Linear("m:3 -> m", "L") >> ncd.Softmax("m"), "Inner", "activate")
    inside = ncd.Repeat((layer, layer)) if repeated else layer
    term = ncd.Block(ncd.Softmax("m:3") >> inside, "Outer", "linear")
    drawing = ncd.draw(term)
    boxes = sorted((fence.box for fence in drawing.fences), key=lambda box: -box.width)
    assert len(boxes) >= 2
    for outer, inner in itertools.pairwise(boxes):
        assert outer.x0 < inner.x0 and inner.x1 < outer.x1
        assert inner.y0 - outer.y0 >= style.INNER and outer.y1 - inner.y1 >= style.INNER
    painted = [
        tuple(Rectangle.from_points(p for curve in part.path for p in curve))
        for part in layers(drawing)
        if isinstance(part, Stroke) and part.line == "edge"
    ]
    for fence in drawing.fences:
        if not fence.brackets:
            assert any(box == pytest.approx(tuple(fence.box)) for box in painted)
    for fence in drawing.fences:
        if fence.brackets:
            room = [box for box in boxes if box.x0 < fence.box.x0 and fence.box.x1 < box.x1]
            assert room
            for outer in room:
                least = style.BRACKET_ROOM + style.INNER
                assert fence.box.y0 - outer.y0 >= least - 1e-6
                assert outer.y1 - fence.box.y1 >= least - 1e-6


@pytest.mark.parametrize(
    ("text", "bold", "latex"),
    [
        ("x", False, "x"),
        ("seq", False, r"\mathit{seq}"),
        ("x", True, r"\mathbf{x}"),
        ("λ", False, r"{\lambda}"),
        ("λx", True, r"\boldsymbol{\lambda x}"),
    ],
)
def test_a_name_in_latex(text: str, bold: bool, latex: str) -> None:
    assert _name(text, bold) == latex


def test_a_letter_without_a_sign_of_its_own_is_text() -> None:
    assert _name("λ字", bold=False).startswith(r"\text{\itshape ")
