"""The lint: a drawing is checked, not only looked at.

Labels, marks, callouts and grids lie on nothing that is not theirs; every wire is continuous from
its source to its end, runs apart from the others, ends on none but at a dot, and crosses others no
more often than the term needs; dashed lines run through nothing; nothing is cut off, stretched, or
too small to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ncd.drawing.data import Picture
from ncd.drawing.lint import crossings, dashes, extent, texts, wires
from ncd.drawing.lint.flat import Flat

RULES: tuple[Callable[[Flat], Iterator[str]], ...] = (
    texts.texts,
    texts.texts_on_glyphs,
    texts.texts_on_wires,
    texts.glyphs,
    texts.borders,
    texts.extras,
    texts.cut_off,
    wires.whole,
    wires.sharp,
    wires.on_glyphs,
    wires.as_one,
    wires.ends_on,
    wires.caps,
    crossings.crossings,
    dashes.dashes,
    extent.high,
    extent.wide,
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
    return [*found, *texts.too_small(drawing, width)]
