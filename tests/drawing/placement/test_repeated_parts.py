"""Parts that are alike are laid out once, and stand as if each were laid out by itself."""

from __future__ import annotations

import pytest

from ncd.drawing import layout_cache
from ncd.drawing.elements.primitives import DrawingData, Outline, Rectangle
from ncd.drawing.lint.lint import lint
from ncd.drawing.pipeline import draw
from ncd.drawing.placement import layout
from ncd.drawing.placement.repeated_parts import RepeatedPart, repeats
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.ops import Add, Copy, Elementwise, Linear
from tools.bench.peers import layer, resnet


def residual(function: str, title: str = "Layer") -> Term:
    body = Linear("m -> d:8", "up") >> Elementwise(function) >> Linear("d -> m:4", "down")
    return Block(Copy("y:3 m:4") >> body @ Id("y:3 m:4") >> Add(), title, "residual")


def drawn(term: Term, monkeypatch: pytest.MonkeyPatch, *, alone: bool) -> tuple[DrawingData, int]:
    """The drawing without folding, and how many repeated parts were found for it."""
    found: list[RepeatedPart] = []

    def spied(*given: object) -> list[RepeatedPart]:
        found[:] = [] if alone else repeats(*given)  # type: ignore[arg-type]
        return found

    monkeypatch.setattr(layout, "repeats", spied)
    layout_cache.clear_cache()
    return draw(term, folded=(), width=None), len(found)


def ends(picture: DrawingData) -> list[tuple[object, ...]]:
    return [
        (w.array, w.axis, w.description, w.double, w.made_by, w.taken_by, w.open_ends)
        for w in picture.wires
    ]


def places(picture: DrawingData) -> list[float]:
    """Every coordinate of a picture."""
    paths = [wire.path for wire in picture.wires] + [dash.path for dash in picture.dashes]
    items = [item for glyph in picture.glyphs for item in glyph.items]
    paths += [item.path for item in items if isinstance(item, Outline)]
    boxes: list[Rectangle] = [glyph.hit_box for glyph in picture.glyphs]
    boxes += [box for glyph in picture.glyphs for box in glyph.ink]
    boxes += [fence.box for fence in picture.fences] + [text.box for text in picture.texts]
    points = [x for path in paths for curve in path for point in curve for x in point]
    return [*points, *(x for box in (*boxes, picture.box) for x in box)]


@pytest.mark.parametrize(
    ("term", "least"),
    [
        (Then(*[residual("relu")] * 4), 3),
        (Then(residual("relu"), *[residual("gelu")] * 2, residual("relu")), 2),
        (Then(*[layer(5)] * 3), 4),
        (Then(*[Block(Copy("y:3 m:4") >> Add(), "Twice")] * 4), 2),
        (resnet(), 1),
    ],
)
def test_twins_stand_as_if_they_were_laid_out(
    term: Term, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied, count = drawn(term, monkeypatch, alone=False)
    alone, _ = drawn(term, monkeypatch, alone=True)
    assert count >= least
    assert ends(copied) == ends(alone)
    assert [g.node for g in copied.glyphs] == [g.node for g in alone.glyphs]
    assert [g.description for g in copied.glyphs] == [g.description for g in alone.glyphs]
    assert sorted(places(copied)) == pytest.approx(sorted(places(alone)), abs=1e-6)
    assert not lint(copied)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other", [residual("gelu"), residual("relu", "Another layer"), residual("relu", "")]
)
def test_what_differs_is_no_twin(other: Term, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(residual("relu") >> other, monkeypatch, alone=False)[1] == 0
