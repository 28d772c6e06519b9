"""The lint: checks of a finished drawing.

Labels, marks, callouts and grids lie only on their own parts. Every wire is continuous from source
to end, keeps its distance from others, ends on another only at a dot, and crosses no more often
than the term requires. Separators run through nothing. Nothing is cut off, stretched, or too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ncd.drawing.elements.primitives import DrawingData
from ncd.drawing.lint import label_rules, wire_rules
from ncd.drawing.lint.flat_drawing import DrawingArrays
from ncd.drawing.lint.label_rules import check_height, check_width
from ncd.drawing.lint.wire_rules import crossings, dashes

RULES: tuple[Callable[[DrawingArrays], Iterator[str]], ...] = (
    label_rules.texts,
    label_rules.texts_on_glyphs,
    label_rules.texts_on_wires,
    label_rules.glyphs,
    label_rules.borders,
    label_rules.extras,
    label_rules.cut_off,
    wire_rules.check_continuity,
    wire_rules.check_slopes,
    wire_rules.on_glyphs,
    wire_rules.check_overlaps,
    wire_rules.ends_on,
    wire_rules.caps,
    crossings,
    dashes,
    check_height,
    check_width,
)


def lint(drawing: DrawingData, width: float | None = None) -> list[str]:
    """Returns the faults of a drawing, one sentence each; an empty list if there are none.

    Args:
        drawing: A finished drawing.
        width: The pixels at which it will be shown; text must be readable there.

    >>> import ncd
    >>> lint(ncd.draw(ncd.catalogue["multi-head-attention"].build()), width=1280)
    []
    """
    flat = DrawingArrays(drawing)
    found = [fault for rule in RULES for fault in rule(flat)]
    return [*found, *label_rules.too_small(drawing, width)]
