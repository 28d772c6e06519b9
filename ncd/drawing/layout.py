"""Layout: a plan becomes a drawing. Rows, then columns, then wires, marks, dashes and fences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ncd.drawing import style
from ncd.drawing.bands import bands as behind
from ncd.drawing.canvas import Canvas
from ncd.drawing.clear import Ground
from ncd.drawing.columns import Columns, columns
from ncd.drawing.dashes import dashes
from ncd.drawing.data import (
    Box,
    DrawnGlyph,
    DrawnWire,
    Path,
    Point,
    Text,
    ease,
    extent,
    line,
    straightened,
)
from ncd.drawing.describe import describe
from ncd.drawing.drawing import Drawing
from ncd.drawing.fences import fences, titles
from ncd.drawing.gaps import Gaps
from ncd.drawing.marks import mark_width, paint, takes_cap
from ncd.drawing.names import Labels, Names, names, unseen
from ncd.drawing.plan import Plan, Port, Rows, Unit
from ncd.drawing.rows import rows
from ncd.drawing.strands import stems
from ncd.drawing.stretch import canvas, free
from ncd.lang.axes import Array, Axis
from ncd.lang.called import called
from ncd.lang.circuit import Cell, Value

TRIES = 4


def lay(
    planned: Plan,
    labels: Labels,
    *,
    bands: bool = False,
    dark: bool = False,
    mark: str = "",
) -> Drawing:
    """The drawing of a plan, in one row."""
    named = names(planned, labels, bands)
    heights: Mapping[str, float] = titles(planned, None)
    for _ in range(TRIES):  # a title that is broken into lines needs more room above it
        gaps = Gaps(planned, heights)
        placed = rows(planned, gaps)
        at = columns(planned, placed, named, bands)
        needed = titles(planned, at)
        before, heights = heights, needed
        if heights == before:
            break
    return _Layout(planned, placed, named, at, bands).drawing(gaps, mark, dark)


@dataclass
class _Layout:
    """Puts the parts of one drawing together."""

    plan: Plan
    rows: Sequence[Rows]
    names: Sequence[Names]
    at: Columns
    bands: bool = False
    apex: dict[str, Point] = field(default_factory=dict)
    tails: dict[Port, Path] = field(default_factory=dict)
    heads: dict[Port, Path] = field(default_factory=dict)
    passes: dict[tuple[int, Port], Path] = field(default_factory=dict)

    def drawing(self, gaps: Gaps, mark: str, dark: bool) -> Drawing:
        glyphs = [glyph for s in range(len(self.plan.steps)) for glyph in self.step(s)]
        wires, labels = self.wires(), self.labels()
        own = fences(self.plan, self.rows, self.at, glyphs, labels)
        solid = [b for g in glyphs for b in g.ink]
        solid += [text.box for texts in (labels, *(f.title for f in own)) for text in texts]
        edges = [edge for fence in own if not fence.brackets for edge in fence.box.edges]
        ground = Ground((*solid, *edges), (wire.path for wire in wires))
        lines = dashes(self.plan, self.rows, self.at, gaps, ground)
        extras = behind(self.plan, self.rows, self.at, labels, glyphs) if self.bands else ()
        boxes = [*solid, *(f.box for f in own)]
        boxes += [_high(extent(wire.path)) for wire in wires if wire.path]
        boxes += [extent(dash.path) for dash in lines]
        boxes += [extra.box for extra in extras]
        boxes = boxes or [Box(0.0, 0.0, *style.EMPTY)]
        title, description = describe(self.plan.circuit)
        return Drawing(
            title=title,
            description=description,
            box=Box.around(boxes).grown(style.MARGIN),
            fences=own,
            dashes=lines,
            wires=wires,
            glyphs=tuple(glyphs),
            labels=labels,
            extras=extras,
            marked=mark,
            dark=dark,
        )

    # Steps ---------------------------------------------------------------------------------------

    def step(self, s: int) -> list[DrawnGlyph]:
        found = []
        for unit in self.plan.steps[s]:
            ins = [self.rows[s][p] for p in unit.ins]
            outs = [self.rows[s + 1][p] for p in unit.outs]
            if unit.cell is None:
                self.go_on(s, unit, ins, outs)
                continue
            canvas = self.canvas(s, unit, unit.cell, ins, outs)
            paint(canvas)
            self.keep(s, unit, canvas)
            found.append(_glyph(unit, unit.cell, canvas))
        return found

    def go_on(self, s: int, unit: Unit, ins: list[float], outs: list[float]) -> None:
        """Draws an array that passes on beside the ops, or that a loop joins."""
        x0, x1 = self.at.right[s], self.at.left[s + 1]
        start, stop = self.bend(s, x0, x1)
        for i, o in unit.glyph.through:
            a, b = Point(start, ins[i]), Point(stop, outs[o])
            if unit.passes and a.y == b.y:
                continue
            path = line(Point(x0, a.y), a), ease(a, b), line(b, Point(x1, b.y))
            if unit.passes:
                self.passes[s, unit.ins[i]] = path
            else:
                self.tails[unit.ins[i]] = path
                self.heads[unit.outs[o]] = ()

    def bend(self, s: int, x0: float, x1: float) -> tuple[float, float]:
        """Where arrays beside the ops may bend: behind contractions, and clear of loose marks."""
        starts, stops = [x0], [x1]
        for unit in self.plan.steps[s]:
            if unit.glyph.caps:
                starts.append(x0 + free(unit, [self.rows[s][p] for p in unit.ins]))
            elif unit.cell and not unit.inputs:
                stops.append(x1 - mark_width(unit.glyph))
            elif unit.cell and not unit.outputs:
                starts.append(x0 + mark_width(unit.glyph))
        return max(starts), min(stops)

    def canvas(self, s: int, unit: Unit, cell: Cell, ins: list[float], outs: list[float]) -> Canvas:
        places = [self.rows[s][p] for p in unit.in_places]
        places += [self.rows[s + 1][p] for p in unit.out_places]
        row = (min(places) + max(places)) / 2 if places else 0.0
        apex = self.apex.get(cell.inputs[0].id) if cell.inputs else None
        x = self.at.right[s], self.at.left[s + 1]
        return canvas(unit, cell.op.role, x, ins, outs, row, apex)

    def keep(self, s: int, unit: Unit, canvas: Canvas) -> None:
        """Notes where the unit's wires end and begin; a cap's arrow is the next op's, or short."""
        starts = [start for start, _ in canvas.stems]
        if canvas.apex and not unit.outs:  # a number alone goes on from sign to sign
            starts = [Point(max(box.x1 for box in canvas.ink), canvas.apex.y)]
        for value in unit.outputs[:1] if starts and s + 1 < len(self.plan.steps) else ():
            if takes_cap(self.plan.takers[s + 1][value.id].glyph, alone=not value.array):
                self.apex[value.id] = starts[0]
        stems(canvas, bool(unit.outputs and unit.outputs[0].id in self.apex))
        tails, heads = canvas.ends()
        self.tails |= {unit.ins[port]: path for port, path in tails.items()}
        self.heads |= {unit.outs[port]: path for port, path in heads.items()}

    # Wires and names -----------------------------------------------------------------------------

    def wires(self) -> tuple[DrawnWire, ...]:
        hidden = unseen(self.plan)
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        values: dict[str, Value] = {}
        for s, state in enumerate(self.plan.states):
            for value in state:
                values.setdefault(value.id, value)
                first.setdefault(value.id, s)
                last[value.id] = s
        return tuple(
            self.wire(value, port, first[id], last[id])
            for id, value in values.items()
            for port in self.plan.drawn(value)
            if first[id] or port not in hidden
        )

    @cached_property
    def called(self) -> Mapping[str, str]:
        return called(self.plan.circuit)

    def wire(self, value: Value, port: Port, first: int, last: int) -> DrawnWire:
        makers, takers = self.plan.makers[first - 1 : first], self.plan.takers[last : last + 1]
        made = makers[0].get(value.id) if first else None
        taken = takers[0][value.id] if takers else None
        axis, array = value.array[port[1]], value.array
        open = {"begins": made and made.node and port not in self.heads}
        open |= {"ends": taken and taken.node and port not in self.tails}
        return DrawnWire(
            array=value.id,
            axis=axis.name,
            path=self.path(port, first, last),
            double=axis.spatial,
            words=wire_words(array, axis, self.called.get(value.id, "")),
            made_by=made.node if made else "",
            taken_by=taken.node if taken else "",
            open=frozenset(end for end, is_open in open.items() if is_open),
        )

    def path(self, port: Port, first: int, last: int) -> Path:
        head, tail = self.heads.get(port), self.tails.get(port)
        pieces = [*(self.stub(port, first - 1, first) if head is None else head)]
        start = Point(self.at.left[first], self.rows[first][port])
        for s in range(first, last + 1):
            bend = self.passes.get((s, port))
            if bend or s == last:
                pieces.append(line(start, Point(self.at.right[s], start.y)))
            if bend:
                pieces += bend
                start = bend[-1].d
        pieces += self.stub(port, last, last) if tail is None else tail
        return straightened(pieces)

    def stub(self, port: Port, s: int, state: int) -> Path:
        """A little of a wire in a step that says nothing of it."""
        if not 0 <= s < len(self.plan.steps):
            return ()
        if s < state and port[0] not in self.plan.makers[s]:  # an input that begins late
            return ()
        x0, x1, y = self.at.right[s], self.at.left[s + 1], self.rows[state][port]
        reach = min(style.STUB, (x1 - x0) / 2)
        return (
            (line(Point(x0, y), Point(x0 + reach, y)),)
            if s == state
            else (line(Point(x1 - reach, y), Point(x1, y)),)
        )

    def labels(self) -> tuple[Text, ...]:
        values = {value.id: value for state in self.plan.states for value in state}
        return tuple(
            self.label(s, values[port[0]], port)
            for s, names in enumerate(self.names)
            for port in names
        )

    def label(self, s: int, value: Value, port: Port) -> Text:
        axis, label = value.array[port[1]], self.names[s][port]
        lift = style.LABEL_LIFT + (style.DOUBLE / 2 if axis.spatial else 0.0)
        room = style.AXIS_GAP - style.LABEL_ROOM - lift - label.ascent
        y = self.rows[s][port] - lift - max(0.0, min(label.descent - style.LABEL_ROOM, room))
        return Text(label, Point(self.at.names[s] - label.width / 2, y), axis.name, value.id)


def _high(box: Box) -> Box:
    """The box of a wire with its own width."""
    return Box(box.x0, box.y0 - style.WIRE_ROOM, box.x1, box.y1 + style.WIRE_ROOM)


def _glyph(unit: Unit, cell: Cell, canvas: Canvas) -> DrawnGlyph:
    ys = [*canvas.ins, *canvas.outs] or [canvas.row]
    whole = Box(canvas.x0, min(ys) - style.SIDE, canvas.x1, max(ys) + style.SIDE)
    boxes = [*canvas.ink, *canvas.hits] or [whole]  # wires beside the mark stay free
    return DrawnGlyph(
        node=cell.id,
        role=cell.op.role,
        words=cell.op.words(cell.site),
        items=tuple(canvas.items),
        hit=Box.around(boxes).grown(style.MARK_HIT),
        ink=tuple(canvas.ink),
        unit=unit,
    )


def wire_words(array: Array, axis: Axis, name: str = "") -> str:
    """What a wire is: an axis of an array, which may have a name."""
    kind = "sequence axis" if axis.sequence else "spatial axis" if axis.spatial else "axis"
    size = "" if axis.size is None else f", size {axis.size_text}"
    whole = f"{name} ({array})" if name else f"({array})"
    below = f", {array.kind}" if array.below else ""
    return f"{kind} {axis.name}{size}, of array {whole}{below}"
