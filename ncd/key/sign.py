"""A sign of the notation: its name, its explanation and its picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.base.plan_types import Unit
from ncd.drawing.base.primitives import Box
from ncd.drawing.pipeline import draw
from ncd.lang.terms.terms import Term

NEAR = 34.0  # length of wire shown on both sides of a mark


@dataclass(frozen=True)
class Sign:
    """An entry of the legend: ``words`` is a sentence for a newcomer, ``code`` a line of torch.

    ``term`` makes a small term that shows it, drawn with ``options``. If ``mark`` is given, the
    picture is cut to the surroundings of the first mark of this shape.
    """

    name: str
    title: str
    words: str
    code: str
    term: Callable[[], Term] = field(repr=False, compare=False)
    options: dict[str, Any] = field(default_factory=dict, compare=False)
    mark: str = field(default="", compare=False)

    def picture(self, dark: bool = False) -> Drawing:
        """Returns the picture of the sign."""
        drawing = draw(self.term(), dark=dark, **self.options)
        if not self.mark:
            return drawing
        units = ((glyph.hit, glyph.unit) for glyph in drawing.glyphs if glyph.unit)
        return replace(drawing, box=next(_around(*op) for op in units if self._marks(op[1])))

    def _marks(self, unit: Unit) -> bool:
        return any(mark.shape == self.mark for mark in unit.glyph.marks)


def _around(hit: Box, unit: Unit) -> Box:
    """Returns the box of an op and short pieces of its wires."""
    x0, y0, x1, y1 = hit
    return Box(x0 - NEAR * bool(unit.ins), y0, x1 + NEAR * bool(unit.outs), y1)
