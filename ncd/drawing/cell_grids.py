"""Grids of cells beside a diagram: what a slice of the output depends on, and the arrow between.

The cells that one slice of the output depends on are blue, as in the published figures 8, 10 and
11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from math import hypot
from typing import Literal

from fontTools.misc.bezierTools import splitCubicAtT

from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, math
from ncd.drawing.elements.primitives import (
    Annotation,
    Curve,
    DrawingData,
    DrawnWire,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    polygon,
    ribbon,
)
from ncd.drawing.placement.axis_labels import axis_label
from ncd.drawing.placement.fences import rectangle
from ncd.language.axes import Axis

# --- The cells of the inputs that a slice of the output depends on

Slice = tuple[int | None, ...]  # a position along each axis, or all of them


def dependency_slices(circuit: Circuit) -> Mapping[str, Slice]:
    """Returns a slice of each output, at one position of the broadcast axes, and what it needs.

    If ops take a position themselves, the slice is the whole output.

    >>> from ncd import elaborate
    >>> from ncd import Id
    >>> from ncd import Function
    >>> dict(dependency_slices(elaborate(Id("4 3") >> Function("G", "3 -> 2"))))
    {'v1': (2, None), 'v0': (2, None)}
    """
    if circuit.loops:
        return {
            value.id: (None,) * len(value.array) for value in (*circuit.inputs, *circuit.outputs)
        }
    over = _passing(circuit)
    found: dict[str, Slice] = {
        value.id: tuple(
            axis.numel // 2 if over.get((value.id, i)) else None
            for i, axis in enumerate(value.array)
        )
        for value in circuit.outputs
    }
    for cell in reversed(circuit.cells):
        for value, needs in zip(cell.inputs, _input_slices(cell, found), strict=True):
            before = found.get(value.id)
            found[value.id] = needs if before is None else _slice_union(before, needs)
    return found


def broadcast_axis_colours(circuit: Circuit) -> Mapping[str, str]:
    """Returns the axes over which everything is broadcast: "lift", or "inner" if only some inputs.

    >>> from ncd import elaborate
    >>> from ncd import Id
    >>> from ncd import Function
    >>> broadcast_axis_colours(elaborate(Id("4 3, 5") >> Function("H", "3, 5 -> 2")))
    {'4': 'inner'}
    """
    if circuit.loops or not circuit.cells:
        return {}
    over = _passing(circuit)
    return {
        axis.name: "lift" if all(axis.name in v.array.names for v in circuit.inputs) else "inner"
        for value in circuit.outputs
        for i, axis in enumerate(value.array)
        if over.get((value.id, i))
    }


def _passing(circuit: Circuit) -> Mapping[tuple[str, int], bool]:
    """Returns the wires that pass over every op from the inputs on; none if ops take a position."""
    if any(_indexes(cell) for cell in circuit.cells):
        return {}
    found = {(v.id, i): True for v in circuit.inputs for i in range(len(v.array))}
    for cell in circuit.cells:
        ins, outs = _wires(cell.inputs), _wires(cell.outputs)
        for i, o in _going_on(cell):
            if found.get(ins[i]):
                found[outs[o]] = True
    return found


def _input_slices(cell: Cell, found: Mapping[str, Slice]) -> list[Slice]:
    """Returns the slice of each input that the slices of the outputs depend on."""
    outs = [at for value in cell.outputs for at in found[value.id]]
    at: dict[int, int | None] = {}
    for i, o in _going_on(cell):
        at[i] = outs[o] if at.get(i, outs[o]) == outs[o] else None
    at |= _indexes(cell)
    port = count()
    return [tuple(at.get(next(port)) for _ in value.array) for value in cell.inputs]


def _indexes(cell: Cell) -> dict[int, int]:
    """Returns the positions that an op takes, by port: those of its index marks."""
    return {
        port: int(text)
        for mark in cell.op.glyph(cell.site).marks
        if mark.shape == "pentagon"
        for port, text in zip(mark.ins, mark.text.split(","), strict=False)
    }


def _going_on(cell: Cell) -> list[tuple[int, int]]:
    """Returns the wires that an op passes on unchanged."""
    glyph, names = cell.op.glyph(cell.site), {axis.name for axis in cell.site.own_inputs.axes}
    marked = {port for mark in glyph.marks for port in mark.ins}
    axes = [axis.name for array in cell.site.inputs for axis in array]
    pairs = (*glyph.through, *glyph.joins, *glyph.splits)
    return [(i, o) for i, o in pairs if i not in marked or axes[i] not in names]


def _wires(values: tuple[Value, ...]) -> list[tuple[str, int]]:
    return [(value.id, i) for value in values for i in range(len(value.array))]


def _slice_union(a: Slice, b: Slice) -> Slice:
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


# --- The arrow below a diagram, from the cells of one array to those of another

DROPS = (1, 2, 3, 4)  # how far below the diagram it runs, beside the usual way
# Parts of the way: the flatter the curve, the further along; below 0 it leaves straight down.
REACHES = (0.2, 0.14, 0.09, 0.05, 0.0, -0.02, -0.04)


def sweep(drawing: DrawingData, a: Point, b: Point, bottom: float) -> tuple[Path, Path]:
    """Returns the outlines of its shaft and head: one smooth curve that runs below ``bottom``.

    It is as flat as it can be without running over a wire, a mark or a name.
    """
    solid = _solid(drawing)
    for drop, reach in product(DROPS, REACHES):
        curve = _swung(a, b, bottom + drop * style.TOUCH_DROP, reach * (b.x - a.x))
        if not any(box.meets(other) for box in _boxes(curve) for other in solid):
            break
    t = _neck(curve)
    shaft = Curve(*(Point(*point) for point in splitCubicAtT(*curve, t)[0]))
    return ribbon((shaft,), style.TOUCH_WAY / 2), polygon(list(_head(curve.point_at(t), curve.d)))


def _swung(a: Point, b: Point, bottom: float, reach: float) -> Curve:
    """Returns the curve that touches the bottom in its middle."""
    low = (bottom - (a.y + b.y) / 8) / 0.75
    return Curve(a, Point(a.x + reach, low), Point(b.x - reach, low), b)


def _boxes(curve: Curve) -> Iterator[Rectangle]:
    for n in range(48):
        yield Rectangle.from_points([curve.point_at(n / 48), curve.point_at((n + 1) / 48)]).grown(
            style.TOUCH_ROOM
        )


def _solid(drawing: DrawingData) -> list[Rectangle]:
    wires = [
        Rectangle.from_points([c.a, c.d]).grown(1.0) for wire in drawing.wires for c in wire.path
    ]
    inks = [box for glyph in drawing.glyphs for box in glyph.ink]
    return [*wires, *inks, *(text.box for text in drawing.labels)]


def _neck(curve: Curve) -> float:
    """Returns the parameter at which the head begins."""
    end, t = curve.d, 1.0
    while (
        t > 0.5
        and hypot(end.x - curve.point_at(t).x, end.y - curve.point_at(t).y) < style.TOUCH_HEAD
    ):
        t -= 0.005
    return t


def _head(neck: Point, tip: Point) -> Iterator[Point]:
    """Yields the corners of the head, its barbs a little behind its neck."""
    x, y = tip.x - neck.x, tip.y - neck.y
    yield tip
    yield Point(neck.x - x * 0.3 - y * 0.6, neck.y - y * 0.3 + x * 0.6)
    yield neck
    yield Point(neck.x - x * 0.3 + y * 0.6, neck.y - y * 0.3 - x * 0.6)


# --- Grids of cells: input arrays at the left of a diagram, output arrays at its right

Side = Literal["left", "right"]


def with_cell_grids(drawing: Drawing, circuit: Circuit) -> Drawing:
    """Returns the drawing with the grids of its arrays beside it, where their sizes are known.

    >>> from ncd import draw
    >>> from ncd import elaborate
    >>> from ncd import Id
    >>> term = Id("y:2 m:3")
    >>> [extra.kind for extra in with_cell_grids(draw(term), elaborate(term)).extras]
    ['cells', 'cells', 'cells']
    """
    values = (*circuit.inputs, *circuit.outputs)
    if not drawing.wires or not all(_is_small(value) for value in values):
        return drawing
    needs = dependency_slices(circuit)
    shown = any(at is not None for id in needs for at in needs[id])
    paints = broadcast_axis_colours(circuit)
    before = _stacked_grids(drawing, circuit.inputs, "left", needs if shown else {}, paints)
    after = _stacked_grids(drawing, circuit.outputs, "right", needs if shown else {}, paints)
    extras = [grid.extra() for grid in (*before, *after)]
    body = Rectangle.union([drawing.box, *(extra.box for extra in extras)])
    if shown and before and len(after) == 1:  # several outputs depend on several arrays
        bottom, letter = body.y1 - style.MARGIN, _letter(circuit)
        extras.append(_arrow(drawing, before[-1], after[0], bottom, letter))
    box = Rectangle.union([drawing.box, *(extra.box.grown(style.MARGIN) for extra in extras)])
    return replace(drawing, box=box, extras=(*_lifts(drawing, paints), *drawing.extras, *extras))


def with_broadcast_bands(drawing: Drawing, circuit: Circuit) -> Drawing:
    """Returns the drawing with a band behind each wire over which everything is broadcast."""
    return replace(
        drawing, extras=(*_lifts(drawing, broadcast_axis_colours(circuit)), *drawing.extras)
    )


def _lifts(drawing: Drawing, paints: Mapping[str, str]) -> Iterator[Annotation]:
    """Yields a band in its colour behind each wire over which everything is broadcast."""
    over, under, short = style.LIFT
    for wire in drawing.wires:
        if wire.axis in paints and wire.path:
            (x0, y), (x1, _) = wire.path[0].a, wire.path[-1].d
            box = Rectangle(x0 + short, y - over, x1 - short, y + under)
            band = Outline(rectangle(box), paints[wire.axis])
            yield Annotation(
                "path", (band,), f"broadcast over {wire.axis}", wire.array, behind=True
            )


def _is_small(value: Value) -> bool:
    axes = value.array
    return len(axes) <= 3 and all(a.size is not None and not a.spatial for a in axes)


def _letter(circuit: Circuit) -> str:
    """Returns the letter of the only op, if it has one."""
    texts = [mark.text for cell in circuit.cells for mark in cell.op.glyph(cell.site).marks]
    return texts[0] if len(texts) == 1 and texts[0].isalpha() else ""


# Where grids stand --------------------------------------------------------------------------------


def _stacked_grids(
    drawing: Drawing,
    values: Sequence[Value],
    side: Side,
    needs: Mapping[str, Slice],
    paints: Mapping[str, str],
) -> list[_CellRows]:
    """Returns the grids of some arrays, each near its wires, without overlap."""
    grids, below = [], float("-inf")
    for value in values:
        rows = _rows(drawing.wires, value.id, side)
        grid = _CellRows(value.id, value.array, needs.get(value.id, (None,) * len(value.array)))
        grid.blue, grid.is_on_right, grid.paints = value.id in needs, side == "right", paints
        middle = (min(rows) + max(rows)) / 2 if rows else (drawing.box.y0 + drawing.box.y1) / 2
        grid.y = max(middle - grid.grid_height / 2, below + style.CELLS_GAP + grid.height_above)
        below = grid.y + grid.grid_height
        grids.append(grid)
    page = drawing.box.grown(style.CELLS_ROOM - style.MARGIN)
    for grid in grids:
        grid.x = page.x0 - grid.grid_width if side == "left" else page.x1 + style.RULER_TICK
    return grids


def _rows(wires: Sequence[DrawnWire], array: str, side: Side) -> list[float]:
    own = [wire.path for wire in wires if wire.array == array and wire.path]
    return [path[0].a.y if side == "left" else path[-1].d.y for path in own]


@dataclass
class _CellRows:
    """The cells of one array: rows along its last axis but one, slabs along the one before."""

    id: str
    axes: Sequence[Axis]
    used_slice: Slice
    blue: bool = False
    is_on_right: bool = False
    paints: Mapping[str, str] = field(default_factory=dict)
    x: float = 0.0
    y: float = 0.0
    items: list[Outline | Text] = field(default_factory=list)

    def __post_init__(self) -> None:
        slots = [
            _slots(axis.numel, at) for axis, at in zip(self.axes, self.used_slice, strict=True)
        ]
        some: list[int | None] = [0]
        slabs, self.rows, self.columns = ([some] * 3 + slots)[-3:]
        self.slabs = slabs[: style.SLAB[1]]
        if len(self.axes) == 3 and self.used_slice[0] is not None:
            self.slabs = [
                self.used_slice[0],
                *(slot for slot in self.slabs if slot != self.used_slice[0]),
            ]

    @property
    def shift(self) -> float:
        """The offset of the last slab from the first."""
        return style.SLAB[0] * (len(self.slabs) - 1)

    @property
    def grid_width(self) -> float:
        return style.CELL * len(self.columns) + self.shift

    @property
    def grid_height(self) -> float:
        return style.CELL * len(self.rows)

    @property
    def height_above(self) -> float:
        """The height of its ruler and of the slabs behind."""
        return self.shift + style.RULER_TICK + style.NAME

    def label(self, axis: Axis) -> Label:
        return axis_label(axis, "names")

    def extra(self) -> Annotation:
        names = " ".join(axis.name for axis in self.axes)
        for n in reversed(range(len(self.slabs))):
            self.slab(style.SLAB[0] * n, -style.SLAB[0] * n, front=n == 0)
        self.rulers()
        return Annotation("cells", tuple(self.items), f"cells of the array ({names})", self.id)

    def slab(self, dx: float, dy: float, front: bool) -> None:
        x, y, side = self.x + dx, self.y + dy, style.CELL
        for r, row in enumerate(self.rows):
            for c, column in enumerate(self.columns):
                blue = self.blue and front and self.has(row, column)
                box = Rectangle(x + c * side, y + r * side, x + (c + 1) * side, y + (r + 1) * side)
                paint = "touch" if blue else "neutral"
                self.items.append(Outline(rectangle(box), paint, style.CELL_LINE))
                if front and (row is None or column is None):
                    self.dots(box, "light" if blue else "ink")

    def has(self, row: int | None, column: int | None) -> bool:
        """Returns whether a cell belongs to the slice."""
        wanted = (None, None, *self.used_slice)[-2:]
        return all(at is None or at == slot for at, slot in zip(wanted, (row, column), strict=True))

    def dots(self, box: Rectangle, paint: str) -> None:
        label = math("…", style.NAME)
        x, y = (box.x0 + box.x1 - label.width) / 2, (box.y0 + box.y1) / 2
        self.items.append(Text(label, Point(x, y + label.ascent / 2), paint=paint))

    def rulers(self) -> None:
        """Draws thick rulers with the lengths, each with a tick at its end."""
        axes, half, tick = list(self.axes), style.RULER / 2, style.RULER_TICK / 2
        x0, y0 = self.x, self.y
        if not axes:
            return
        x1, y1 = x0 + self.grid_width - self.shift, y0 + self.grid_height
        paint = self.paint(axes[-1])
        self.bar(Rectangle(x0 - half, y0 - half, x1 + half, y0 + half), paint)
        self.bar(Rectangle(x1 - half, y0 - tick, x1 + half, y0 + tick), paint)
        self.word(axes[-1], (x0 + x1) / 2, y0 - tick - self.shift)
        if len(axes) > 1:
            paint = self.paint(axes[-2])
            self.bar(Rectangle(x0 - half, y0 - half, x0 + half, y1 + half), paint)
            self.bar(Rectangle(x0 - tick, y1 - half, x0 + tick, y1 + half), paint)
            label = self.label(axes[-2])
            x = x0 - half - style.RULER_TEXT - label.width
            if self.is_on_right:  # the arrow comes from the left
                x = x1 + self.shift + style.RULER_TEXT
            self.items.append(Text(label, Point(x, (y0 + y1 + label.ascent) / 2), paint=paint))
        if len(axes) > 2:
            label = self.label(axes[-3])
            at = Point(x0 - label.width - style.RULER_TEXT, y0 - self.shift / 2)
            self.items.append(Text(label, at))

    def paint(self, axis: Axis) -> str:
        return self.paints.get(axis.name, "ink")

    def bar(self, box: Rectangle, paint: str = "ink") -> None:
        self.items.append(Outline(rectangle(box), paint))

    def word(self, axis: Axis, x: float, y: float) -> None:
        label = self.label(axis)
        at = Point(x - label.width / 2, y - style.RULER_TEXT - max(0.0, label.descent))
        self.items.append(Text(label, at))

    @property
    def slice(self) -> Rectangle:
        """Returns the cells that the slice touches; they are drawn in blue."""
        row, column = (None, None, *self.used_slice)[-2:]
        r, c = _range(self.rows, row), _range(self.columns, column)
        side = style.CELL
        return Rectangle(
            self.x + c[0] * side, self.y + r[0] * side, self.x + c[1] * side, self.y + r[1] * side
        )


def _slots(size: int, at: int | None) -> list[int | None]:
    """Returns the positions that are drawn; None stands for those left out."""
    most = style.CELLS_MOST
    if size <= most:
        return list(range(size))
    first = 0 if at is None else max(0, min(at - 2, size - most))
    if first == size - most:
        return list(range(first, size))
    return [*range(first, first + most - 2), None, size - 1]


def _range(slots: list[int | None], at: int | None) -> tuple[int, int]:
    if at is None:
        return 0, len(slots)
    n = slots.index(at)
    return n, n + 1


# The arrow ----------------------------------------------------------------------------------------


def _arrow(
    drawing: Drawing, start: _CellRows, end: _CellRows, bottom: float, letter: str
) -> Annotation:
    """Returns an arrow below the diagram, from the needed cells to those computed from them."""
    a = Point(start.x + start.grid_width + style.RULER, start.slice.y1)
    b = Point(end.x - style.RULER_TICK, end.slice.y1)
    items: list[Outline | Text] = [Outline(path, "touch") for path in sweep(drawing, a, b, bottom)]
    if letter:
        label = math(letter, style.MAP)
        x, y = (a.x + b.x) / 2 - label.width / 2, bottom + style.TOUCH_DROP + label.ascent
        items.append(Text(label, Point(x, y + style.RULER_TEXT), paint="touch"))
    return Annotation("cells", tuple(items), "what the blue cells of the output depend on")
