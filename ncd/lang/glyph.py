"""Glyphs: drawings of ops, as wires that run through and marks on them."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.lang.once import once

Ports = tuple[int, ...]


@dataclass(frozen=True)
class Mark:
    """A shape over some wires of an op.

    ``shape`` is a name of the catalogue of marks (``ncd/drawing/marks``); ``text`` is in the label
    mathematics of ``ncd.drawing.base.label.math``. ``ins`` and ``outs`` are the ports that it
    spans, ``over`` input wires that it is attached to and that run on. ``note`` is a longer name
    beside it, in small letters.
    """

    shape: str
    text: str = ""
    ins: Ports = ()
    outs: Ports = ()
    note: str = ""
    over: Ports = ()


@dataclass(frozen=True)
class Glyph:
    """The wires and marks of an op. Ports number the axes of all inputs, or outputs, from the top.

    ``through`` pairs input with output wires that continue them, ``joins`` input wires with the
    output wire that they bend onto at a dot, ``splits`` input wires with the output wire that
    leaves them at a dot, ``caps`` input wires that meet in a contraction; with ``arrows`` an arrow
    leaves each cap. Any other port ends or starts at a mark, or at the edge of the op.
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
        """Returns the hash, which is computed once: drawings are cached by their glyphs."""
        return self._hash
