"""The parts of a drawing that callouts point at: their places, colours and highlights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.base import style
from ncd.drawing.base.primitives import Box, Dot, DrawnGlyph, DrawnWire, Outline, Path, Point
from ncd.drawing.base.ribbon import ribbon
from ncd.drawing.placement.bands import rectangle
from ncd.lang.circuits.array_names import called
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.errors import UnknownNameError, shown
from ncd.lang.near_names import near_name
from ncd.lang.plain_text import plain_text
from ncd.lang.roles import ROLES

PLACE = re.compile(r"[A-Z]_\S+")  # a name in memory, such as C_λ
AXIS = re.compile(r"axis (\w+)")
PALE = {"neutral", "repeat", "module", "model", ""}  # roles whose callouts are yellow


@dataclass(frozen=True)
class Part:
    """A part: its id, box and colour, whether it is a fence, and what is highlighted behind it."""

    id: str
    box: Box
    role: str = "note"
    fence: bool = False
    lit: tuple[Outline | Dot, ...] = ()
    words: str = ""


def find(drawing: Drawing, circuit: Circuit, name: str) -> Part | None:
    """Returns a part of the drawing; None for a memory name, an axis or arrays that are not drawn.

    Raises UnknownNameError for a part that the drawing has not.
    """
    if axis := AXIS.fullmatch(name):
        if not any(one.name == axis[1] for one in circuit.axes):
            raise _unknown(circuit, name)
        return _path(drawing, circuit, axis[1])
    fences = {fence.id: fence for fence in drawing.fences}
    glyphs = {glyph.node: glyph for glyph in drawing.glyphs}
    for id in _ids(drawing, circuit, name):
        if id in glyphs:
            return _op(drawing, glyphs[id])
        if id in fences:
            return Part(id, fences[id].box, _colour(fences[id].role), True)
        if box := _names(drawing, id):
            return _arrays(drawing, [id]) or Part(id, box)
    several = [id for one in name.split(", ") for id in _named(circuit, one)]
    if "," in name and (found := _arrays(drawing, several)):
        return found
    if PLACE.fullmatch(name) or _hidden(circuit, name):
        return None
    raise _unknown(circuit, name)


def _hidden(circuit: Circuit, names: str) -> bool:
    """Returns whether all names are those of arrays, which lie in a collapsed block."""
    every = (_named(circuit, one) for one in names.split(", "))
    return all(any(id in circuit.values for id in ids) for ids in every)


def _unknown(circuit: Circuit, part: str) -> UnknownNameError:
    known = [*(c.name for c in circuit.cells), *(f.title for f in circuit.fences)]
    near = near_name(part, [name for name in known if name])
    cure = near or "the name of an op, the title of a block, or an id"
    return UnknownNameError(f"there is no part {shown(part)} to note", cure=cure)


def _colour(role: str) -> str:
    return role if role in ROLES and role not in PALE else "note"


def _op(drawing: Drawing, glyph: DrawnGlyph) -> Part:
    """Returns an op in the colour of the block that it fills, or highlighted in yellow."""
    box = Box.around(glyph.ink or (glyph.hit,))
    alike = [fence.box for fence in drawing.fences if fence.role == glyph.role]
    if any(fence.meets(box) for fence in alike):
        return Part(glyph.node, box, _colour(glyph.role))
    if glyph.node.startswith("f") or glyph.role == "note":  # a box of its own
        return Part(glyph.node, box)
    field = Outline(rectangle(box.grown(style.LIT)), "note")
    return Part(glyph.node, box.grown(style.LIT), lit=(field,))  # the glyph has its words


# Arrays and axes ---------------------------------------------------------------------------------


def _arrays(drawing: Drawing, ids: Sequence[str]) -> Part | None:
    """Returns the names of arrays, with one band behind them if they stand under each other."""
    boxes = {id: box for id in ids if (box := _names(drawing, id))}
    if not boxes:
        return None
    last = max(boxes, key=lambda id: boxes[id].y1)
    around = Box.around(boxes.values())
    aligned = around.width < 1.5 * max(box.width for box in boxes.values())
    lit = [box.grown(style.LIT) for box in ([around] if aligned else boxes.values())]
    band = tuple(Outline(rectangle(box), "data") for box in lit)
    return Part(last, boxes[last].grown(style.LIT), "data", lit=band)


def _names(drawing: Drawing, array: str) -> Box | None:
    """Returns the box of an array's first labels on its wires."""
    boxes = [text.box for text in drawing.labels if text.array == array]
    left = min((box.x0 for box in boxes), default=0.0)
    near = [box for box in boxes if box.x0 < left + style.AXIS_GAP]
    return Box.around(near) if near else None


def _path(drawing: Drawing, circuit: Circuit, axis: str) -> Part | None:
    """Returns the path of an axis from its first op on, highlighted; its last dot is pointed at.

    Returns None where a collapsed block hides the dots.
    """
    wires = [wire for wire in drawing.wires if wire.axis == axis and wire.path]
    if not wires:
        return None
    dots = [
        item.center
        for glyph in drawing.glyphs
        for item in glyph.items
        if isinstance(item, Dot) and any(_meets(item.center, wire) for wire in wires)
    ]
    if not dots and _inside(drawing, circuit, axis):
        return None
    end = max(dots, default=wires[-1].path[0].a)
    half = style.LIT + style.DOUBLE / 2 * wires[0].double
    lit = [Outline(ribbon(path, half), "note") for path in _chained(wires)]
    halos = [Dot(dot, style.DOT + style.LIT, "note") for dot in dots]
    owner = next((g.node for g in drawing.glyphs for i in g.items if _is_dot(i, end)), "")
    return Part(
        owner or wires[-1].array,
        Box.at(end, style.DOT + style.LIT),
        lit=(*lit, *halos),
        words=f"the path of axis {axis}",
    )


def _inside(drawing: Drawing, circuit: Circuit, axis: str) -> bool:
    """Returns whether an op in a collapsed block has arrays with an axis."""
    hidden = {id for glyph in drawing.glyphs for id in glyph.cells}
    cells = (cell for cell in circuit.cells if cell.id in hidden)
    return any(
        axis in value.array.names for cell in cells for value in (*cell.inputs, *cell.outputs)
    )


def _chained(wires: Sequence[DrawnWire]) -> list[Path]:
    """Returns the paths of the wires, those that continue each other as one."""
    found: list[Path] = []
    for wire in sorted(wires, key=lambda wire: wire.path[0].a.x):
        before = next((p for p in found if _near(p[-1].d, wire.path[0].a)), ())
        found = [path for path in found if path is not before] + [(*before, *wire.path)]
    return found


def _near(a: Point, b: Point) -> bool:
    return abs(a.x - b.x) + abs(a.y - b.y) < 1.0


def _meets(point: Point, wire: DrawnWire) -> bool:
    return _near(point, wire.path[0].a) or _near(point, wire.path[-1].d)


def _is_dot(item: object, center: Point) -> bool:
    return isinstance(item, Dot) and item.center == center


# Ids ---------------------------------------------------------------------------------------------


def _ids(drawing: Drawing, circuit: Circuit, part: str) -> Iterator[str]:
    """Yields the ids under which a part may be drawn: its own, then boxes around it."""
    hidden = {cell: glyph.node for glyph in drawing.glyphs for cell in glyph.cells}
    parents = {fence.id: fence.parent for fence in circuit.fences}
    named = list(_named(circuit, part))
    yield from named
    yield from (
        g.node
        for g in drawing.glyphs
        if g.words.endswith(f" {plain_text(part)}") and g.role == "note"
    )
    yield from (hidden[id] for id in named if id in hidden)
    for id in named:
        while id := parents.get(id, ""):
            yield id


def _named(circuit: Circuit, part: str) -> Iterator[str]:
    yield part
    yield from (f.id for f in circuit.fences if f.title == part)
    yield from (loop.id for loop in circuit.loops if loop.name == part)
    for cell in circuit.cells:
        label = cell.op.label  # such as "Function G"
        if part in (cell.name, cell.path, label, label.partition(" ")[2]):
            yield cell.id
    yield from (id for id, name in called(circuit).items() if name == part)
