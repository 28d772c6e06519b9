"""The lint: a drawing is checked, not only looked at.

Labels, marks, callouts and grids lie on nothing that is not theirs; every wire is continuous from
its source to its end, runs apart from the others, ends on none but at a dot, and crosses others no
more often than the term needs; dashed lines run through nothing; nothing is cut off, stretched, or
too small to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ncd.drawing.base.primitives import Picture
from ncd.drawing.lint import crossing_rules, extent_rules, label_rules, separator_rules, wire_rules
from ncd.drawing.lint.flat_drawing import Flat

RULES: tuple[Callable[[Flat], Iterator[str]], ...] = (
    label_rules.texts,
    label_rules.texts_on_glyphs,
    label_rules.texts_on_wires,
    label_rules.glyphs,
    label_rules.borders,
    label_rules.extras,
    label_rules.cut_off,
    wire_rules.whole,
    wire_rules.sharp,
    wire_rules.on_glyphs,
    wire_rules.as_one,
    wire_rules.ends_on,
    wire_rules.caps,
    crossing_rules.crossings,
    separator_rules.dashes,
    extent_rules.high,
    extent_rules.wide,
)


def lint(drawing: Picture, width: float | None = None) -> list[str]:
    """What is wrong with a drawing, a sentence each; an empty list for a sound one.

    ``width``: the pixels that it will be shown at, for its text to be read.

    >>> import ncd
    >>> lint(ncd.draw(ncd.catalogue["multi-head-attention"].build()), width=1280)
    []
    """
    flat = Flat(drawing)
    found = [fault for rule in RULES for fault in rule(flat)]
    return [*found, *label_rules.too_small(drawing, width)]
