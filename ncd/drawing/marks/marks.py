"""Marks: the shapes on the wires. ``MARKS`` is the hand-written list of all of them.

A new mark is a class in a file here, and one line in the list. The functions below combine the
answers of an op's marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ncd.drawing.elements.routing import GlyphCanvas, Side, draw_wires
from ncd.drawing.marks.mark_kind import MarkKind
from ncd.drawing.marks.shape_marks import (
    Bar,
    BarredCircle,
    BlockBox,
    Circle,
    Cup,
    FunctionBox,
    Load,
    MaskSquare,
    Pentagon,
    RootMeanSquare,
    Save,
    TextBox,
    Triangle,
)
from ncd.drawing.marks.text_marks import (
    ArrayName,
    Arrow,
    ElementwiseLetter,
    Italic,
    Letter,
    ParameterName,
    Plus,
    Word,
)
from ncd.drawing.marks.window_marks import Trapezoid
from ncd.errors import unknown_name_error
from ncd.language.op import Glyph, Mark

MARKS: Mapping[str, MarkKind] = {
    "array": ParameterName(),
    "arrow": Arrow(),
    "bar": Bar(),
    "barred": BarredCircle(),
    "box": TextBox(),
    "circle": Circle(),
    "cup": Cup(),
    "elementwise": ElementwiseLetter(),
    "folded": BlockBox(),
    "function": FunctionBox(),
    "italic": Italic(),
    "letter": Letter(),
    "load": Load(),
    "lookup": Pentagon(),
    "mask": MaskSquare(),
    "name": ArrayName(),
    "pentagon": Pentagon(),
    "plus": Plus(),
    "rms": RootMeanSquare(),
    "save": Save(),
    "trapezoid": Trapezoid(),
    "triangle": Triangle(),
    "word": Word(),
}


def kind(mark: Mark) -> MarkKind:
    """Returns the kind of a mark; raises UnknownNameError for an unknown shape."""
    found = MARKS.get(mark.shape)
    if found is None:
        raise unknown_name_error("mark", mark.shape, MARKS)
    return found


def wants_neighbours(mark: Mark) -> bool:
    """Returns whether a mark needs its wires to be adjacent."""
    return not (kind(mark).lies_above_wires or kind(mark).spans)


@lru_cache(maxsize=4096)
def mark_width(glyph: Glyph) -> float:
    """Returns the width of the widest mark."""
    return max((kind(mark).width(mark) for mark in glyph.marks), default=0.0)


def mark_bend(glyph: Glyph, ins: Sequence[float], outs: Sequence[float]) -> float:
    """Returns how far the wires of the marks move up or down."""
    return max([kind(mark).bend(mark, ins, outs) for mark in glyph.marks], default=0.0)


@lru_cache(maxsize=4096)
def headroom(glyph: Glyph) -> float:
    """Returns the height beyond the usual gap that marks need above the array they stand on."""
    return max((kind(mark).headroom(mark) for mark in glyph.marks), default=0.0)


@lru_cache(maxsize=4096)
def footroom(glyph: Glyph) -> float:
    """Returns the height beyond the usual gap that marks need below that array."""
    return max((kind(mark).footroom(mark) for mark in glyph.marks), default=0.0)


@lru_cache(maxsize=4096)
def names_its_array(glyph: Glyph) -> bool:
    """Returns whether the wires of an array begin at its name here."""
    return any(kind(mark).names_array for mark in glyph.marks)


def takes_cap(glyph: Glyph, alone: bool = False) -> bool:
    """Returns whether a cap's arrow ends at this glyph; ``alone`` if the array has no wires."""
    kinds = [kind(mark) for mark in glyph.marks]
    return any(how.takes_cap or (alone and how.takes_scalar) for how in kinds)


@lru_cache(maxsize=4096)
def in_marks(glyph: Glyph) -> tuple[frozenset[int], frozenset[int]]:
    """Returns the input ports that end at a mark, and the output ports that begin at one."""
    standing = [mark for mark in glyph.marks if not kind(mark).lies_above_wires]
    ins = frozenset(i for mark in standing for i in mark.ins)
    return ins, frozenset(o for mark in standing for o in mark.outs)


@lru_cache(maxsize=4096)
def bend_side(glyph: Glyph) -> Side:
    """Returns where passing wires bend: away from marks that take more wires than they give."""
    ins, outs = in_marks(glyph)
    return "behind" if len(ins) > len(outs) else "before" if len(ins) < len(outs) else ""


def foreign(glyph: Glyph, ins: Sequence[float], outs: Sequence[float]) -> list[float]:
    """Returns the rows in which wires pass over the marks."""
    own, bends = in_marks(glyph)[0], bend_side(glyph)
    over = [(ins[i], outs[o]) for i, o in glyph.through if i not in own]
    if not bends:
        return [y for a, b in over for y in (a, (a + b) / 2, b)]
    over += [(ins[i], outs[o]) for i, o in (*glyph.joins, *glyph.splits)]
    return [a if bends == "behind" else b for a, b in over]


def paint(canvas: GlyphCanvas) -> None:
    """Draws an op: first its wires, then its marks."""
    draw_wires(canvas)
    for mark in canvas.glyph.marks:
        kind(mark).paint(canvas, mark)
