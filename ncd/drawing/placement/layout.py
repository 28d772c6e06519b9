"""Lays out a plan: coordinates, ops, wires, fences, and rows below each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import hypot

from ncd.circuit.circuit import Cell, Value
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import Plan, PlanItem, Port, Rows
from ncd.drawing.elements.primitives import (
    Annotation,
    Curve,
    Dash,
    DrawnFence,
    DrawnGlyph,
    DrawnWire,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    Translation,
    extent,
    fast_replace,
    line,
    merged_scene,
    move_drawing,
    polygon,
    s_curve,
    simplified_path,
)
from ncd.drawing.elements.routing import GlyphCanvas, ObstacleGrid, stems
from ncd.drawing.marks.marks import mark_width, paint, takes_cap
from ncd.drawing.placement.axis_labels import NONE, Names, hidden_input_wires, names
from ncd.drawing.placement.coordinates import ColumnPositions, columns, rows
from ncd.drawing.placement.fences import bands as behind
from ncd.drawing.placement.fences import dashes, fences, titles
from ncd.drawing.placement.repeated_parts import RepeatedPart, repeats
from ncd.drawing.placement.thumbnail_places import NOWHERE, ThumbnailPlaces
from ncd.drawing.placement.wire_order import Gaps
from ncd.drawing.plan.build_plan import ids_of
from ncd.language.arguments import Labels
from ncd.language.axes import Array, Axis
from ncd.language.cached_property import lazy_property

# --- Draws every op on its canvas, and records where wires begin and end at it


class ColumnRouter:
    """The drawn steps of a plan.

    ``glyphs`` are by op id. ``tails`` and ``heads`` are the paths with which wires end and begin at
    ops, ``passes`` the paths of continuing wires that bend in a step.
    """

    def __init__(
        self, plan: Plan, rows: Sequence[Rows], at: ColumnPositions, repeats: Sequence[RepeatedPart]
    ) -> None:
        self.plan, self.rows, self.at = plan, rows, at
        self.glyphs: dict[str, DrawnGlyph] = {}
        self.tails: dict[Port, Path] = {}
        self.heads: dict[Port, Path] = {}
        self.passes: dict[tuple[int, Port], Path] = {}
        self.apex: dict[str, Point] = {}
        again = {s: repeat for repeat in repeats for s in repeat.steps}
        self.moves = {repeat.first_state: self.move(repeat) for repeat in repeats}
        self.shared = {
            repeat.first_state: {
                v.id for s in (repeat.first_state, repeat.last_state) for v in plan.states[s]
            }
            for repeat in repeats
        }
        for s, step in enumerate(plan.steps):
            for unit in step:
                if s in again:
                    self.copy(again[s], s, unit)
                else:
                    self.unit(s, unit)

    def unit(self, s: int, unit: PlanItem) -> None:
        if unit.cell is None:
            self.route_passthrough(s, unit)
            return
        canvas = self.canvas(s, unit, unit.cell)
        paint(canvas)
        self.record_ends(s, unit, canvas)
        self.glyphs[unit.node] = _glyph(unit, unit.cell, canvas)

    # Repeated parts ------------------------------------------------------------------------------

    def move(self, repeat: RepeatedPart) -> Translation:
        """Returns the translation from a repeated part's model."""
        here, there = self.rows[repeat.first_state], self.rows[repeat.model]
        right = self.at.right_edges[repeat.first_state] - self.at.right_edges[repeat.model]
        return Translation(right, min(here.values()) - min(there.values()))

    def copy(self, repeat: RepeatedPart, s: int, unit: PlanItem) -> None:
        """Copies a unit of a repeated part, including the wires at its edges."""
        move, ids = self.moves[repeat.first_state], repeat.ids
        shared = self.shared[repeat.first_state]
        for port in unit.ins:
            if port[0] not in shared:
                continue
            own = ids[port[0]], port[1]
            if (s - repeat.back, own) in self.passes:
                self.passes[s, port] = move.path(self.passes[s - repeat.back, own])
            elif own in self.tails and not unit.passes:
                self.tails[port] = move.path(self.tails[own])
        for port in unit.outs if not unit.passes else ():
            own = ids[port[0]], port[1]
            if port[0] in shared and own in self.heads:
                self.heads[port] = move.path(self.heads[own])
        if unit.cell is not None:
            model, words = self.glyphs[ids[unit.node]], unit.cell.description
            self.glyphs[unit.node] = move.glyph(model, node=unit.node, description=words, unit=unit)

    # One step ------------------------------------------------------------------------------------

    def route_passthrough(self, s: int, unit: PlanItem) -> None:
        """Draws an array that passes beside the ops, or that a loop joins."""
        before, behind = self.rows[s], self.rows[s + 1]
        for i, o in unit.glyph.through:
            one, other = unit.ins[i], unit.outs[o]
            a, b = before[one], behind[other]
            if unit.passes and a == b:
                continue
            x0, x1 = self.at.right_edges[s], self.at.left_edges[s + 1]
            start, stop = (Point(x, y) for x, y in zip(self.bend(s, x0, x1), (a, b), strict=True))
            path = line(Point(x0, a), start), s_curve(start, stop), line(stop, Point(x1, b))
            if unit.passes:
                self.passes[s, one] = path
            else:
                self.tails[one], self.heads[other] = path, ()

    def bend(self, s: int, x0: float, x1: float) -> tuple[float, float]:
        """Returns where passing arrays may bend: behind contractions, and clear of loose marks."""
        starts, stops = [x0], [x1]
        for unit in self.plan.steps[s]:
            if unit.glyph.caps:
                starts.append(x0 + self.at.stretches[unit.node].bend_start)
            elif unit.cell and not unit.inputs:
                stops.append(x1 - mark_width(unit.glyph))
            elif unit.cell and not unit.outputs:
                starts.append(x0 + mark_width(unit.glyph))
        return max(starts), min(stops)

    def canvas(self, s: int, unit: PlanItem, cell: Cell) -> GlyphCanvas:
        places = [self.rows[s][p] for p in unit.in_places]
        places += [self.rows[s + 1][p] for p in unit.out_places]
        row = (min(places) + max(places)) / 2 if places else 0.0
        apex = self.apex.get(cell.inputs[0].id) if cell.inputs else None
        x = self.at.right_edges[s], self.at.left_edges[s + 1]
        return self.at.stretches[unit.node].canvas(cell.op.role, x, row, apex)

    def record_ends(self, s: int, unit: PlanItem, canvas: GlyphCanvas) -> None:
        """Records where a unit's wires begin and end; a cap's arrow may belong to the next op."""
        starts = [start for start, _ in canvas.stems]
        if (
            canvas.incoming_cap_apex and not unit.outs
        ):  # the line of an array without axes runs from mark to mark
            starts = [Point(max(box.x1 for box in canvas.ink), canvas.incoming_cap_apex.y)]
        for value in unit.outputs[:1] if starts and s + 1 < len(self.plan.steps) else ():
            if takes_cap(self.plan.consumers[s + 1][value.id].glyph, alone=not value.array):
                self.apex[value.id] = starts[0]
        if unit.glyph.arrows:
            stems(canvas, bool(unit.outputs and unit.outputs[0].id in self.apex))
        tails, heads = canvas.ends()
        self.tails |= {unit.ins[port]: path for port, path in tails.items()}
        self.heads |= {unit.outs[port]: path for port, path in heads.items()}


def _glyph(unit: PlanItem, cell: Cell, canvas: GlyphCanvas) -> DrawnGlyph:
    boxes = [*canvas.ink, *canvas.hits]  # not the wires, which are clickable themselves
    if not boxes:
        ys = [*canvas.ins, *canvas.outs] or [canvas.row]
        boxes = [Rectangle(canvas.x0, min(ys) - style.SIDE, canvas.x1, max(ys) + style.SIDE)]
    return DrawnGlyph(
        node=cell.id,
        role=cell.op.role,
        description=cell.description,
        items=tuple(canvas.items),
        hit_box=Rectangle.union(boxes).grown(style.MARK_HIT),
        ink=tuple(canvas.ink),
        unit=unit,
    )


# --- Stacks the rows of a diagram and connects them by arrows


def stitch_rows(rows: Sequence[Plan], drawings: Sequence[Drawing]) -> Drawing:
    """Returns the drawings of rows as one drawing."""
    if len(rows) == 1:
        return drawings[0]
    parts, y = [], 0.0
    over = [frozenset[str](), *(ids_of(row.states[-1]) for row in rows[:-1]), frozenset[str]()]
    for n, (row, drawing) in enumerate(zip(rows, drawings, strict=True)):
        part = _with_arrows(_cut(row, drawing), over[n], over[n + 1])
        part = move_drawing(part, -part.box.x0, y - part.box.y0)
        y = part.box.y1 + style.ROW_GAP
        parts.append(part)
    return merged_scene(parts)


def _cut(row: Plan, drawing: Drawing) -> Drawing:
    """Returns the drawing without the bracket of a repetition that only continues."""
    over = {fence.id: fence.goes_on for fence in row.fences}
    fences = tuple(_without_cut_brackets(fence, *over[fence.id]) for fence in drawing.fences)
    return replace(drawing, fences=fences)


def _without_cut_brackets(fence: DrawnFence, before: bool, behind: bool) -> DrawnFence:
    if not fence.brackets:
        return fence
    sides = slice(int(before), 1 if behind else 2)
    return replace(fence, brackets=fence.brackets[sides], title=fence.title[sides])


def _with_arrows(drawing: Drawing, before: Set[str], behind: Set[str]) -> Drawing:
    """Adds arrows where arrays come from the row before or continue in the next one."""
    wires = [wire for wire in drawing.wires if wire.path]
    right = max((wire.path[-1].d.x for wire in wires), default=0.0)
    left = min((wire.path[0].a.x for wire in wires), default=0.0)
    arrows = [
        _leaving(wire)
        for wire in wires
        if wire.array in behind and not wire.taken_by and wire.path[-1].d.x > right - 1
    ]
    arrows += [
        _coming(wire)
        for wire in wires
        if wire.array in before and not wire.made_by and wire.path[0].a.x < left + 1
    ]
    ink = [
        Rectangle.from_points(p for curve in item.path for p in curve)
        for arrow in arrows
        for item in arrow.items
        if isinstance(item, Outline)
    ]
    around = Rectangle.union([drawing.box, *(box.grown(style.MARGIN) for box in ink)])
    return replace(drawing, box=around, extras=(*drawing.extras, *arrows))


def _leaving(wire: DrawnWire) -> Annotation:
    """Returns an arrow from the end of a wire, downwards and on."""
    (x, y), (long, high) = wire.path[-1].d, style.BENT_ARROW
    tip = Point(x + long, y + high)
    bend = Curve(Point(x, y), Point(x + 0.5 * long, y), Point(x + 0.8 * long, y + 0.4 * high), tip)
    return _arrow(wire, bend, "goes on in the next row")


def _coming(wire: DrawnWire) -> Annotation:
    """Returns an arrow from above to the beginning of a wire."""
    (x, y), (long, high) = wire.path[0].a, style.BENT_ARROW
    start = Point(x - long, y - high)
    near = Point(x - 0.8 * long, y - 0.4 * high)
    bend = Curve(start, near, Point(x - 0.5 * long, y), Point(x, y))
    return _arrow(wire, bend, "goes on from the row above")


def _arrow(wire: DrawnWire, bend: Curve, words: str) -> Annotation:
    (x, y), tip = bend.c, bend.d
    away = hypot(tip.x - x, tip.y - y)
    u, v = (tip.x - x) / away, (tip.y - y) / away
    long, half = style.BENT_HEAD, 0.4 * style.BENT_HEAD
    back = Point(tip.x - long * u, tip.y - long * v)
    head = [tip, Point(back.x - half * v, back.y + half * u)]
    head.append(Point(back.x + half * v, back.y - half * u))
    stroke = Curve(bend.a, bend.b, bend.c, back)
    items = [Outline((stroke,), "none", style.WIRE, False), Outline(polygon(head), "ink", 0.0)]
    if wire.double:
        by = style.DOUBLE
        upper = (Curve(*(Point(p.x, p.y - by / 2) for p in stroke)),)
        lower = (Curve(*(Point(p.x, p.y + by / 2) for p in stroke)),)
        items[:1] = [Outline(path, "none", style.WIRE, False) for path in (upper, lower)]
    return Annotation("arrow", tuple(items), f"{wire.axis} {words}", wire.array)


# --- Lays out a plan: y coordinates, then x coordinates, then wires, marks, separators and fences

TRIES = 4
OPEN_ENDS = {  # by whether a wire begins, and ends, without a mark
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
    thumbnails: ThumbnailPlaces = NOWHERE,
) -> Drawing:
    """Returns the drawing of a plan, in one row, without a title and a description.

    ``called`` are the names of its arrays, by their ids.
    """
    named = names(planned, labels, bands, casts)
    heights: Mapping[str, float] = titles(planned, None)
    for _ in range(TRIES):  # widths decide how titles break, and titles decide heights
        gaps = Gaps(planned, heights, thumbnails)
        alike = [] if bands or thumbnails else repeats(planned, named, gaps.cuts)
        placed = rows(planned, gaps, alike)
        at = columns(planned, placed, named, bands, alike, thumbnails)
        needed = titles(planned, at)
        before, heights = heights, needed
        if heights == before:
            break
    alike = [repeat for repeat in alike if at.has_model_width(repeat)]
    return _Layout(planned, placed, named, called, at, alike, bands).drawing(gaps, mark, dark)


@dataclass
class _Layout:
    """Builds the parts of one drawing."""

    plan: Plan
    rows: Sequence[Rows]
    names: Sequence[Names]
    array_names: Mapping[str, str]
    column_positions: ColumnPositions
    repeats: Sequence[RepeatedPart]
    bands: bool = False

    def drawing(self, gaps: Gaps, mark: str, dark: bool) -> Drawing:
        glyphs, wires, labels = [*self.steps.glyphs.values()], self.wires(), self.labels()
        columns = self.column_positions
        pictures = tuple(gaps.thumbnails.placed(self.plan, self.rows, columns.names))
        own = fences(self.plan, self.rows, columns, glyphs, labels, pictures)
        solid = [b for g in glyphs for b in g.ink]
        solid += [picture.box.grown(style.PICTURE_CLEAR) for picture in pictures]
        solid += [text.box for texts in (labels, *(f.title for f in own)) for text in texts]
        edges = [edge for fence in own if not fence.brackets for edge in fence.box.edges]
        left, right = columns.left_edges, columns.right_edges
        spans = [(right[part.first_state], left[part.last_state]) for part in self.repeats]
        ground = ObstacleGrid((*solid, *edges), (wire.path for wire in wires), spans)
        lines = self.separators(gaps, ground)
        bands = behind(self.plan, self.rows, columns, labels, glyphs) if self.bands else ()
        boxes = [*solid, *(f.box for f in own), *(band.box for band in bands), *_wire_bounds(wires)]
        boxes += [extent(dash.path) for dash in lines]
        boxes = boxes or [Rectangle(0.0, 0.0, *style.EMPTY_PAGE)]
        return Drawing(
            title="",
            description="",
            box=Rectangle.union(boxes).grown(style.MARGIN),
            fences=own,
            dashes=lines,
            wires=wires,
            glyphs=tuple(glyphs),
            labels=labels,
            extras=bands,
            thumbnails=pictures,
            highlighted_id=mark,
            dark=dark,
        )

    def separators(self, gaps: Gaps, ground: ObstacleGrid) -> tuple[Dash, ...]:
        """Returns the visible pieces of all separators, those of repeated parts as moved copies."""
        drawn = dashes(self.plan, self.rows, self.column_positions, gaps, self.repeats)
        pieces = [(s, piece) for s, path in drawn for piece in ground.clear(path)]
        for repeat in self.repeats:
            move, inner = (
                self.steps.moves[repeat.first_state],
                range(repeat.model + 1, repeat.last_state - repeat.back),
            )
            pieces += [(-1, move.path(piece)) for s, piece in pieces if s in inner]
        return tuple([Dash(piece) for _, piece in pieces])

    @lazy_property
    def steps(self) -> ColumnRouter:
        return ColumnRouter(self.plan, self.rows, self.column_positions, self.repeats)

    # Wires and names -----------------------------------------------------------------------------

    def wires(self) -> tuple[DrawnWire, ...]:
        hidden = hidden_input_wires(self.plan)
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
            if repeat is not None and last[id] < repeat.last_state:
                for port in self.plan.array_wires(value):
                    found[port] = self.copy(repeat, value, port, found[repeat.ids[id], port[1]])
                continue
            for port in self.plan.array_wires(value):
                if first[id] or port not in hidden:
                    found[port] = self.wire(value, port, first[id], last[id])
        return tuple(found.values())

    def copy(self, repeat: RepeatedPart, value: Value, port: Port, model: DrawnWire) -> DrawnWire:
        """Returns a wire of a repeated part, moved from its model."""
        name, same = self.array_names.get(value.id, ""), self.array_names.get(model.array, "")
        return fast_replace(
            model,
            array=value.id,
            path=self.steps.moves[repeat.first_state].path(model.path),
            words=model.description
            if name == same
            else wire_words(value.array, value.array[port[1]], name),
            made_by=repeat.ids_from_model.get(model.made_by, ""),
            taken_by=repeat.ids_from_model.get(model.taken_by, ""),
        )

    def wire(self, value: Value, port: Port, first: int, last: int) -> DrawnWire:
        plan, steps = self.plan, self.steps
        made = plan.producers[first - 1].get(value.id) if first else None
        taken = plan.consumers[last][value.id] if last < len(plan.steps) else None
        axis, array = value.array[port[1]], value.array
        begins = bool(made and made.node) and port not in steps.heads
        ends = bool(taken and taken.node) and port not in steps.tails
        return DrawnWire(
            array=value.id,
            axis=axis.name,
            path=self.path(port, first, last),
            double=axis.spatial,
            description=wire_words(array, axis, self.array_names.get(value.id, "")),
            made_by=made.node if made else "",
            taken_by=taken.node if taken else "",
            open_ends=OPEN_ENDS[begins, ends],
        )

    def path(self, port: Port, first: int, last: int) -> Path:
        head, tail = self.steps.heads.get(port), self.steps.tails.get(port)
        pieces = [*(self.stub(port, first - 1, first) if head is None else head)]
        start, passes = (
            Point(self.column_positions.left_edges[first], self.rows[first][port]),
            self.steps.passes,
        )
        for s in range(first, last + 1):
            bend = passes.get((s, port))
            if bend or s == last:
                pieces.append(line(start, Point(self.column_positions.right_edges[s], start.y)))
            if bend:
                pieces += bend
                start = bend[-1].d
        pieces += self.stub(port, last, last) if tail is None else tail
        found = simplified_path(pieces)
        return found or (line(start, Point(start.x + style.NUDGE, start.y)),)  # to an array's name

    def stub(self, port: Port, s: int, state: int) -> Path:
        """Returns a short piece of wire in a step without a path for it."""
        if not 0 <= s < len(self.plan.steps):
            return ()
        if s < state and port[0] not in self.plan.producers[s]:  # a delayed input
            return ()
        x0, x1, y = (
            self.column_positions.right_edges[s],
            self.column_positions.left_edges[s + 1],
            self.rows[state][port],
        )
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
        return Text(
            label, Point(self.column_positions.names[s] - label.width / 2, y), axis.name, value.id
        )


def _wire_bounds(wires: Sequence[DrawnWire]) -> list[Rectangle]:
    """Returns the bounding box of all wires with their widths, if there are any.

    A curve of a wire never leaves the box around its two ends.
    """
    points = [end for wire in wires for a, _, _, d in wire.path for end in (a, d)]
    if not points:
        return []
    x0, y0, x1, y1 = Rectangle.from_points(points)
    return [Rectangle(x0, y0 - style.WIRE_ROOM, x1, y1 + style.WIRE_ROOM)]


def wire_words(array: Array, axis: Axis, name: str = "") -> str:
    """Returns the description of a wire: the axis, and the array by name or type."""
    kind = "sequence axis" if axis.sequence else "spatial axis" if axis.spatial else "axis"
    size = "" if axis.size is None else f", size {axis.size_text}"
    whole = f"{name} ({array})" if name else f"({array})"
    below = f", {array.kind}" if array.below else ""
    return f"{kind} {axis.name}{size}, of array {whole}{below}"
