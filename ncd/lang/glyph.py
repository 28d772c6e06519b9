"""How an op answers the drawing: which of its wires go on, and the marks that stand in them."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.lang.once import once

Ports = tuple[int, ...]


@dataclass(frozen=True)
class Mark:
    """A shape over some of the wires: ``ins`` and ``outs`` are the ports that it spans.

    ``shape`` is a name of the drawing's catalogue of marks (``ncd/drawing/marks``); ``text`` is in
    the little mathematics of ``ncd.drawing.base.label.math``. ``note`` is a name in small letters
    beside it, of any length, and ``over`` are input wires that it hangs on, and that run on.
    """

    shape: str
    text: str = ""
    ins: Ports = ()
    outs: Ports = ()
    note: str = ""
    over: Ports = ()


@dataclass(frozen=True)
class Glyph:
    """How an op's wires run. Ports count the axes of all arrays, input and output, from the top.

    ``through`` pairs wires that go on, ``joins`` wires that bend onto an output wire at a dot,
    ``splits`` output wires that leave an input wire at a dot, ``caps`` wires that meet in a
    contraction, with ``arrows`` that lead on from them. Any other port ends or starts at a mark, or
    in the open at the edge.
    """

    through: tuple[tuple[int, int], ...] = ()
    joins: tuple[tuple[int, int], ...] = ()
    splits: tuple[tuple[int, int], ...] = ()
    caps: tuple[tuple[int, int], ...] = ()
    marks: tuple[Mark, ...] = ()
    arrows: bool = True

    @once
    def _hash(self) -> int:
        return hash((self.through, self.joins, self.splits, self.caps, self.marks, self.arrows))

    def __hash__(self) -> int:
        """Asked for again and again, as what follows from a glyph is kept."""
        return self._hash
