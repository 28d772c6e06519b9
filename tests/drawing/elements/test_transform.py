"""A moved drawing is the same drawing elsewhere: every coordinate has moved, and nothing else."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import ncd
from ncd.drawing.elements.primitives import Point, Rectangle, move_drawing

DX, DY = 100.0, -7.0


def _shifted(before: Any, after: Any, where: str = "") -> int:
    """Checks that all coordinates differ by (DX, DY); returns how many there are."""
    assert type(after) is type(before), where
    if isinstance(before, Point | Rectangle):
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            assert b - a == pytest.approx((DX, DY)[i % 2]), where
        return 1
    if isinstance(before, tuple):
        pairs = enumerate(zip(before, after, strict=True))
        return sum(_shifted(a, b, f"{where}.{i}") for i, (a, b) in pairs)
    if is_dataclass(before):
        names = [f.name for f in fields(before) if f.name not in ("label", "plan")]
        return sum(_shifted(getattr(before, n), getattr(after, n), f"{where}.{n}") for n in names)
    assert after == before, where
    return 0


@pytest.mark.parametrize("name", ["multi-head-attention", "elementwise", "unet"])
def test_every_coordinate_moves(name: str) -> None:
    """Systems with fences, loops, cell grids, callouts and arrows."""
    entry = ncd.catalogue[name]
    drawing = ncd.draw(entry.build(), **entry.look({}, notes=True))
    assert _shifted(drawing, move_drawing(drawing, DX, DY)) > 100
