"""Grids of cells: input arrays at the left of a diagram, output arrays at its right.

The cells that one slice of the output depends on are blue, as in the published figures 8, 10 and
11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.base import style
from ncd.drawing.base.label import Label, math
from ncd.drawing.base.primitives import Box, DrawnWire, Extra, Outline, Point, Text
from ncd.drawing.overlays.dependency_slice import Slice, lifted, touched
from ncd.drawing.overlays.sweep_arrow import sweep
from ncd.drawing.placement.axis_labels import axis_label
from ncd.drawing.placement.bands import rectangle
from ncd.lang.circuits.circuit import Circuit, Value
from ncd.lang.types.axes import Axis

Side = Literal["left", "right"]


def celled(drawing: Drawing, circuit: Circuit) -> Drawing:
    """Returns the drawing with the grids of its arrays beside it, where their sizes are known.

    >>> from ncd.drawing.pipeline import draw
    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.lang.terms.terms import Id
    >>> term = Id("y:2 m:3")
    >>> [extra.kind for extra in celled(draw(term), elaborate(term)).extras]
    ['cells', 'cells', 'cells']
    """
    values = (*circuit.inputs, *circuit.outputs)
    if not drawing.wires or not all(_is_small(value) for value in values):
        return drawing
    needs = touched(circuit)
    shown = any(at is not None for id in needs for at in needs[id])
    paints = lifted(circuit)
    before = _stacked(drawing, circuit.inputs, "left", needs if shown else {}, paints)
    after = _stacked(drawing, circuit.outputs, "right", needs if shown else {}, paints)
    extras = [grid.extra() for grid in (*before, *after)]
    body = Box.around([drawing.box, *(extra.box for extra in extras)])
    if shown and before and len(after) == 1:  # several outputs depend on several arrays
        bottom, letter = body.y1 - style.MARGIN, _letter(circuit)
        extras.append(_arrow(drawing, before[-1], after[0], bottom, letter))
    box = Box.around([drawing.box, *(extra.box.grown(style.MARGIN) for extra in extras)])
    return replace(drawing, box=box, extras=(*_lifts(drawing, paints), *drawing.extras, *extras))


def lifting(drawing: Drawing, circuit: Circuit) -> Drawing:
    """Returns the drawing with a band behind each wire over which everything is broadcast."""
    return replace(drawing, extras=(*_lifts(drawing, lifted(circuit)), *drawing.extras))


def _lifts(drawing: Drawing, paints: Mapping[str, str]) -> Iterator[Extra]:
    """Yields a band in its colour behind each wire over which everything is broadcast."""
    over, under, short = style.LIFT
    for wire in drawing.wires:
        if wire.axis in paints and wire.path:
            (x0, y), (x1, _) = wire.path[0].a, wire.path[-1].d
            box = Box(x0 + short, y - over, x1 - short, y + under)
            band = Outline(rectangle(box), paints[wire.axis])
            yield Extra("path", (band,), f"broadcast over {wire.axis}", wire.array, behind=True)


def _is_small(value: Value) -> bool:
    axes = value.array
    return len(axes) <= 3 and all(a.size is not None and not a.spatial for a in axes)


def _letter(circuit: Circuit) -> str:
    """Returns the letter of the only op, if it has one."""
    texts = [mark.text for cell in circuit.cells for mark in cell.op.glyph(cell.site).marks]
    return texts[0] if len(texts) == 1 and texts[0].isalpha() else ""


# Where grids stand --------------------------------------------------------------------------------


def _stacked(
    drawing: Drawing,
    values: Sequence[Value],
    side: Side,
    needs: Mapping[str, Slice],
    paints: Mapping[str, str],
) -> list[_Grid]:
    """Returns the grids of some arrays, each near its wires, without overlap."""
    grids, below = [], float("-inf")
    for value in values:
        rows = _rows(drawing.wires, value.id, side)
        grid = _Grid(value.id, value.array, needs.get(value.id, (None,) * len(value.array)))
        grid.blue, grid.last, grid.paints = value.id in needs, side == "right", paints
        middle = (min(rows) + max(rows)) / 2 if rows else (drawing.box.y0 + drawing.box.y1) / 2
        grid.y = max(middle - grid.tall / 2, below + style.CELLS_GAP + grid.over)
        below = grid.y + grid.tall
        grids.append(grid)
    page = drawing.box.grown(style.CELLS_ROOM - style.MARGIN)
    for grid in grids:
        grid.x = page.x0 - grid.wide if side == "left" else page.x1 + style.RULER_TICK
    return grids


def _rows(wires: Sequence[DrawnWire], array: str, side: Side) -> list[float]:
    own = [wire.path for wire in wires if wire.array == array and wire.path]
    return [path[0].a.y if side == "left" else path[-1].d.y for path in own]


@dataclass
class _Grid:
    """The cells of one array: rows along its last axis but one, slabs along the one before."""

    id: str
    axes: Sequence[Axis]
    at: Slice
    blue: bool = False
    last: bool = False
    paints: Mapping[str, str] = field(default_factory=dict)
    x: float = 0.0
    y: float = 0.0
    items: list[Outline | Text] = field(default_factory=list)

    def __post_init__(self) -> None:
        slots = [_slots(axis.numel, at) for axis, at in zip(self.axes, self.at, strict=True)]
        some: list[int | None] = [0]
        slabs, self.rows, self.columns = ([some] * 3 + slots)[-3:]
        self.slabs = slabs[: style.SLAB[1]]
        if len(self.axes) == 3 and self.at[0] is not None:
            self.slabs = [self.at[0], *(slot for slot in self.slabs if slot != self.at[0])]

    @property
    def shift(self) -> float:
        """The offset of the last slab from the first."""
        return style.SLAB[0] * (len(self.slabs) - 1)

    @property
    def wide(self) -> float:
        return style.CELL * len(self.columns) + self.shift

    @property
    def tall(self) -> float:
        return style.CELL * len(self.rows)

    @property
    def over(self) -> float:
        """The height of its ruler and of the slabs behind."""
        return self.shift + style.RULER_TICK + style.NAME

    @property
    def beside(self) -> float:
        """The width of the ruler at its left."""
        labels = [self.label(axis).width for axis in self.axes[:-1]]
        return max(labels, default=0.0) + 2 * style.RULER_TEXT + style.RULER

    def label(self, axis: Axis) -> Label:
        return axis_label(axis, "names")

    def extra(self) -> Extra:
        names = " ".join(axis.name for axis in self.axes)
        for n in reversed(range(len(self.slabs))):
            self.slab(style.SLAB[0] * n, -style.SLAB[0] * n, front=n == 0)
        self.rulers()
        return Extra("cells", tuple(self.items), f"cells of the array ({names})", self.id)

    def slab(self, dx: float, dy: float, front: bool) -> None:
        x, y, side = self.x + dx, self.y + dy, style.CELL
        for r, row in enumerate(self.rows):
            for c, column in enumerate(self.columns):
                blue = self.blue and front and self.has(row, column)
                box = Box(x + c * side, y + r * side, x + (c + 1) * side, y + (r + 1) * side)
                paint = "touch" if blue else "neutral"
                self.items.append(Outline(rectangle(box), paint, style.CELL_LINE))
                if front and (row is None or column is None):
                    self.dots(box, "light" if blue else "ink")

    def has(self, row: int | None, column: int | None) -> bool:
        """Returns whether a cell belongs to the slice."""
        wanted = (None, None, *self.at)[-2:]
        return all(at is None or at == slot for at, slot in zip(wanted, (row, column), strict=True))

    def dots(self, box: Box, paint: str) -> None:
        label = math("…", style.NAME)
        x, y = (box.x0 + box.x1 - label.width) / 2, (box.y0 + box.y1) / 2
        self.items.append(Text(label, Point(x, y + label.ascent / 2), paint=paint))

    def rulers(self) -> None:
        """Draws thick rulers with the lengths, each with a tick at its end."""
        axes, half, tick = list(self.axes), style.RULER / 2, style.RULER_TICK / 2
        x0, y0 = self.x, self.y
        if not axes:
            return
        x1, y1 = x0 + self.wide - self.shift, y0 + self.tall
        paint = self.paint(axes[-1])
        self.bar(Box(x0 - half, y0 - half, x1 + half, y0 + half), paint)
        self.bar(Box(x1 - half, y0 - tick, x1 + half, y0 + tick), paint)
        self.word(axes[-1], (x0 + x1) / 2, y0 - tick - self.shift)
        if len(axes) > 1:
            paint = self.paint(axes[-2])
            self.bar(Box(x0 - half, y0 - half, x0 + half, y1 + half), paint)
            self.bar(Box(x0 - tick, y1 - half, x0 + tick, y1 + half), paint)
            label = self.label(axes[-2])
            x = x0 - half - style.RULER_TEXT - label.width
            if self.last:  # the arrow comes from the left
                x = x1 + self.shift + style.RULER_TEXT
            self.items.append(Text(label, Point(x, (y0 + y1 + label.ascent) / 2), paint=paint))
        if len(axes) > 2:
            label = self.label(axes[-3])
            at = Point(x0 - label.width - style.RULER_TEXT, y0 - self.shift / 2)
            self.items.append(Text(label, at))

    def paint(self, axis: Axis) -> str:
        return self.paints.get(axis.name, "ink")

    def bar(self, box: Box, paint: str = "ink") -> None:
        self.items.append(Outline(rectangle(box), paint))

    def word(self, axis: Axis, x: float, y: float) -> None:
        label = self.label(axis)
        at = Point(x - label.width / 2, y - style.RULER_TEXT - max(0.0, label.descent))
        self.items.append(Text(label, at))

    @property
    def slice(self) -> Box:
        """Returns the cells that the slice touches; they are drawn in blue."""
        row, column = (None, None, *self.at)[-2:]
        r, c = _range(self.rows, row), _range(self.columns, column)
        side = style.CELL
        return Box(
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


def _arrow(drawing: Drawing, start: _Grid, end: _Grid, bottom: float, letter: str) -> Extra:
    """Returns an arrow below the diagram, from the needed cells to those computed from them."""
    a = Point(start.x + start.wide + style.RULER, start.slice.y1)
    b = Point(end.x - style.RULER_TICK, end.slice.y1)
    items: list[Outline | Text] = [Outline(path, "touch") for path in sweep(drawing, a, b, bottom)]
    if letter:
        label = math(letter, style.MAP)
        x, y = (a.x + b.x) / 2 - label.width / 2, bottom + style.TOUCH_DROP + label.ascent
        items.append(Text(label, Point(x, y + style.RULER_TEXT), paint="touch"))
    return Extra("cells", tuple(items), "what the blue cells of the output depend on")
