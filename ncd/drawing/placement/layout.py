"""Lays out a plan: y coordinates, then x coordinates, then wires, marks, separators and fences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.base import style
from ncd.drawing.base.plan_types import Plan, Port, Rows
from ncd.drawing.base.primitives import (
    Box,
    Dash,
    DrawnWire,
    Path,
    Point,
    Text,
    extent,
    line,
    straightened,
)
from ncd.drawing.base.transform import changed
from ncd.drawing.placement.array_separators import dashes
from ncd.drawing.placement.axis_labels import NONE, Labels, Names, names, unseen
from ncd.drawing.placement.bands import bands as behind
from ncd.drawing.placement.group_boxes import fences, titles
from ncd.drawing.placement.op_routes import Steps
from ncd.drawing.placement.repeated_parts import RepeatedPart, repeats
from ncd.drawing.placement.separation import Gaps
from ncd.drawing.placement.x_coordinates import Columns, columns
from ncd.drawing.placement.y_coordinates import rows
from ncd.drawing.routing.obstacles import Ground
from ncd.lang.circuits.circuit import Value
from ncd.lang.once import once
from ncd.lang.types.axes import Array, Axis

TRIES = 4
OPEN = {  # by whether a wire begins, and ends, without a mark
    (False, False): frozenset[str](),
    (True, False): frozenset({"begins"}),
    (False, True): frozenset({"ends"}),
    (True, True): frozenset({"begins", "ends"}),
}


def lay(
    planned: Plan,
    labels: Labels,
    called: Mapping[str, str] = NONE,
    *,
    bands: bool = False,
    dark: bool = False,
    mark: str = "",
    casts: Mapping[str, str] = NONE,
) -> Drawing:
    """Returns the drawing of a plan, in one row, without a title and a description.

    ``called`` are the names of its arrays, by their ids.
    """
    named = names(planned, labels, bands, casts)
    heights: Mapping[str, float] = titles(planned, None)
    for _ in range(TRIES):  # widths decide how titles break, and titles decide heights
        gaps = Gaps(planned, heights)
        alike = [] if bands else repeats(planned, named, gaps.cuts)
        placed = rows(planned, gaps, alike)
        at = columns(planned, placed, named, bands, alike)
        needed = titles(planned, at)
        before, heights = heights, needed
        if heights == before:
            break
    alike = [repeat for repeat in alike if at.same(repeat)]
    return _Layout(planned, placed, named, called, at, alike, bands).drawing(gaps, mark, dark)


@dataclass
class _Layout:
    """Builds the parts of one drawing."""

    plan: Plan
    rows: Sequence[Rows]
    names: Sequence[Names]
    called: Mapping[str, str]
    at: Columns
    repeats: Sequence[RepeatedPart]
    bands: bool = False

    def drawing(self, gaps: Gaps, mark: str, dark: bool) -> Drawing:
        glyphs, wires, labels = [*self.steps.glyphs.values()], self.wires(), self.labels()
        own = fences(self.plan, self.rows, self.at, glyphs, labels)
        solid = [b for g in glyphs for b in g.ink]
        solid += [text.box for texts in (labels, *(f.title for f in own)) for text in texts]
        edges = [edge for fence in own if not fence.brackets for edge in fence.box.edges]
        spans = [(self.at.right[t.first], self.at.left[t.last]) for t in self.repeats]
        ground = Ground((*solid, *edges), (wire.path for wire in wires), spans)
        lines = self.separators(gaps, ground)
        extras = behind(self.plan, self.rows, self.at, labels, glyphs) if self.bands else ()
        boxes = [*solid, *(f.box for f in own)]
        boxes += _around(wires)
        boxes += [extent(dash.path) for dash in lines]
        boxes += [extra.box for extra in extras]
        boxes = boxes or [Box(0.0, 0.0, *style.EMPTY)]
        return Drawing(
            title="",
            description="",
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

    def separators(self, gaps: Gaps, ground: Ground) -> tuple[Dash, ...]:
        """Returns the visible pieces of all separators, those of repeated parts as moved copies."""
        drawn = dashes(self.plan, self.rows, self.at, gaps, self.repeats)
        pieces = [(s, piece) for s, path in drawn for piece in ground.clear(path)]
        for repeat in self.repeats:
            move, inner = (
                self.steps.moves[repeat.first],
                range(repeat.model + 1, repeat.last - repeat.back),
            )
            pieces += [(-1, move.path(piece)) for s, piece in pieces if s in inner]
        return tuple([Dash(piece) for _, piece in pieces])

    @once
    def steps(self) -> Steps:
        return Steps(self.plan, self.rows, self.at, self.repeats)

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
        again = {s: repeat for repeat in self.repeats for s in repeat.inner}
        found: dict[Port, DrawnWire] = {}
        for id, value in values.items():
            repeat = again.get(first[id])
            if repeat is not None and last[id] < repeat.last:
                for port in self.plan.drawn(value):
                    found[port] = self.copy(repeat, value, port, found[repeat.ids[id], port[1]])
                continue
            for port in self.plan.drawn(value):
                if first[id] or port not in hidden:
                    found[port] = self.wire(value, port, first[id], last[id])
        return tuple(found.values())

    def copy(self, repeat: RepeatedPart, value: Value, port: Port, model: DrawnWire) -> DrawnWire:
        """Returns a wire of a repeated part, moved from its model."""
        name, same = self.called.get(value.id, ""), self.called.get(model.array, "")
        return changed(
            model,
            array=value.id,
            path=self.steps.moves[repeat.first].path(model.path),
            words=model.words
            if name == same
            else wire_words(value.array, value.array[port[1]], name),
            made_by=repeat.own.get(model.made_by, ""),
            taken_by=repeat.own.get(model.taken_by, ""),
        )

    def wire(self, value: Value, port: Port, first: int, last: int) -> DrawnWire:
        plan, steps = self.plan, self.steps
        made = plan.makers[first - 1].get(value.id) if first else None
        taken = plan.takers[last][value.id] if last < len(plan.steps) else None
        axis, array = value.array[port[1]], value.array
        begins = bool(made and made.node) and port not in steps.heads
        ends = bool(taken and taken.node) and port not in steps.tails
        return DrawnWire(
            array=value.id,
            axis=axis.name,
            path=self.path(port, first, last),
            double=axis.spatial,
            words=wire_words(array, axis, self.called.get(value.id, "")),
            made_by=made.node if made else "",
            taken_by=taken.node if taken else "",
            open=OPEN[begins, ends],
        )

    def path(self, port: Port, first: int, last: int) -> Path:
        head, tail = self.steps.heads.get(port), self.steps.tails.get(port)
        pieces = [*(self.stub(port, first - 1, first) if head is None else head)]
        start, passes = Point(self.at.left[first], self.rows[first][port]), self.steps.passes
        for s in range(first, last + 1):
            bend = passes.get((s, port))
            if bend or s == last:
                pieces.append(line(start, Point(self.at.right[s], start.y)))
            if bend:
                pieces += bend
                start = bend[-1].d
        pieces += self.stub(port, last, last) if tail is None else tail
        return straightened(pieces)

    def stub(self, port: Port, s: int, state: int) -> Path:
        """Returns a short piece of wire in a step without a path for it."""
        if not 0 <= s < len(self.plan.steps):
            return ()
        if s < state and port[0] not in self.plan.makers[s]:  # a delayed input
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
            [
                self.label(s, values[port[0]], port)
                for s, names in enumerate(self.names)
                for port in names
            ]
        )

    def label(self, s: int, value: Value, port: Port) -> Text:
        axis, label = value.array[port[1]], self.names[s][port]
        lift = style.LABEL_LIFT + (style.DOUBLE / 2 if axis.spatial else 0.0)
        room = style.AXIS_GAP - style.LABEL_ROOM - lift - label.ascent
        y = self.rows[s][port] - lift - max(0.0, min(label.descent - style.LABEL_ROOM, room))
        return Text(label, Point(self.at.names[s] - label.width / 2, y), axis.name, value.id)


def _around(wires: Sequence[DrawnWire]) -> list[Box]:
    """Returns the bounding box of all wires with their widths, if there are any.

    A curve of a wire never leaves the box around its two ends.
    """
    points = [end for wire in wires for a, _, _, d in wire.path for end in (a, d)]
    if not points:
        return []
    x0, y0, x1, y1 = Box.of(points)
    return [Box(x0, y0 - style.WIRE_ROOM, x1, y1 + style.WIRE_ROOM)]


def wire_words(array: Array, axis: Axis, name: str = "") -> str:
    """Returns the description of a wire: the axis, and the array by name or type."""
    kind = "sequence axis" if axis.sequence else "spatial axis" if axis.spatial else "axis"
    size = "" if axis.size is None else f", size {axis.size_text}"
    whole = f"{name} ({array})" if name else f"({array})"
    below = f", {array.kind}" if array.below else ""
    return f"{kind} {axis.name}{size}, of array {whole}{below}"
