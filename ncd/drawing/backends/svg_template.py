"""Templates: a drawing and its SVG with gaps for words, which may state other sizes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ncd.drawing.backends.part_names import named
from ncd.drawing.backends.svg import text, write
from ncd.drawing.base.primitives import DrawnGlyph, DrawnWire, Picture
from ncd.drawing.base.transform import changed
from ncd.lang.circuits.circuit import Circuit

GAP = re.compile("⦃([0-9]+)⦄")
Place = tuple[int, int]  # the number of an array on the way through a circuit, and of its axis
Spot = tuple[Place, str]  # and what the array is called, if it is named
Way = Callable[[Circuit, frozenset[str]], Circuit]


@dataclass
class Pattern:
    """A drawing, the sources of its words, and its SVG with gaps for them.

    ``wires`` and ``ops`` have a source for each drawn element, None for a collapsed block, whose
    words contain no sizes. ``shut`` are the collapsed blocks, ``way`` selects the visible part.
    """

    drawing: Any
    shut: frozenset[str]
    way: Way
    wires: tuple[Spot, ...]
    ops: tuple[int | None, ...]
    pieces: dict[bool, list[str]] = field(default_factory=dict)
    shown: dict[int, str] = field(default_factory=dict)  # what stands at each gap

    @property
    def parts(self) -> int:
        return len(self.wires) + len(self.ops) + 1


W = TypeVar("W", DrawnWire, DrawnGlyph)


def with_words(part: W, words: str) -> W:
    """Returns a copy with other words."""
    return part if words == part.words else changed(part, words=words)


def svg(drawing: Picture, fonts: bool) -> str:
    """Returns the SVG of a drawing; a cached template only gets its words filled in."""
    pattern: Pattern | None = getattr(drawing, "_pattern", None)
    if pattern is None:
        return write(drawing, fonts)
    pieces = pattern.pieces.get(fonts)
    if pieces is None:
        pieces = pattern.pieces[fonts] = _pieces(drawing, fonts, pattern.shown)
    if not pieces:
        return write(drawing, fonts)
    words = [named(pattern.shown.get(n, ""), own) for n, own in enumerate(_words(drawing))]
    filled = list(pieces)
    filled[1::2] = [text(words[int(n)]) for n in pieces[1::2]]
    return "".join(filled)


def _words(drawing: Picture) -> Iterator[str]:
    yield drawing.title
    yield drawing.description
    yield from (wire.words for wire in drawing.wires)
    yield from (glyph.words for glyph in drawing.glyphs)


def _pieces(drawing: Picture, fonts: bool, shown: dict[int, str]) -> list[str]:
    """Returns the SVG split at the names, or nothing if a text looks like a gap.

    Into ``shown`` goes what stands at each gap.
    """

    written = Counter((0, 1))

    def naming(visible: str, words: str) -> str:
        gap = GAP.match(words)
        if gap is None:
            return named(visible, words)
        written[int(gap[1])] += 1
        shown[int(gap[1])] = visible
        return words

    count = len(drawing.wires) + 2
    wires = tuple(with_words(w, f"⦃{n}⦄") for n, w in enumerate(drawing.wires, 2))
    glyphs = tuple(with_words(g, f"⦃{n}⦄") for n, g in enumerate(drawing.glyphs, count))
    blank = replace(drawing, title="⦃0⦄", description="⦃1⦄", wires=wires, glyphs=glyphs)
    pieces = GAP.split(write(blank, fonts, naming=naming))
    return pieces if Counter(map(int, pieces[1::2])) == written else []
