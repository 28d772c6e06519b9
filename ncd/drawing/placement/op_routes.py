"""Draws every op on its canvas, and records where wires begin and end at it."""

from __future__ import annotations

from collections.abc import Sequence

from ncd.drawing.base import style
from ncd.drawing.base.plan_types import Plan, Port, Rows, Unit
from ncd.drawing.base.primitives import Box, DrawnGlyph, Path, Point, ease, line
from ncd.drawing.base.transform import Move
from ncd.drawing.marks import mark_width, paint, takes_cap
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.placement.x_coordinates import Columns
from ncd.drawing.routing.canvas import Canvas
from ncd.drawing.routing.op_wires import stems
from ncd.lang.circuits.circuit import Cell


class Steps:
    """The drawn steps of a plan.

    ``glyphs`` are by op id. ``tails`` and ``heads`` are the paths with which wires end and begin at
    ops, ``passes`` the paths of continuing wires that bend in a step.
    """

    def __init__(
        self, plan: Plan, rows: Sequence[Rows], at: Columns, repeats: Sequence[RepeatedPart]
    ) -> None:
        self.plan, self.rows, self.at = plan, rows, at
        self.glyphs: dict[str, DrawnGlyph] = {}
        self.tails: dict[Port, Path] = {}
        self.heads: dict[Port, Path] = {}
        self.passes: dict[tuple[int, Port], Path] = {}
        self.apex: dict[str, Point] = {}
        again = {s: repeat for repeat in repeats for s in repeat.steps}
        self.moves = {repeat.first: self.move(repeat) for repeat in repeats}
        self.shared = {
            repeat.first: {v.id for s in (repeat.first, repeat.last) for v in plan.states[s]}
            for repeat in repeats
        }
        for s, step in enumerate(plan.steps):
            for unit in step:
                if s in again:
                    self.copy(again[s], s, unit)
                else:
                    self.unit(s, unit)

    def unit(self, s: int, unit: Unit) -> None:
        if unit.cell is None:
            self.go_on(s, unit)
            return
        canvas = self.canvas(s, unit, unit.cell)
        paint(canvas)
        self.keep(s, unit, canvas)
        self.glyphs[unit.node] = _glyph(unit, unit.cell, canvas)

    # Repeated parts ------------------------------------------------------------------------------

    def move(self, repeat: RepeatedPart) -> Move:
        """Returns the translation from a repeated part's model."""
        here, there = self.rows[repeat.first], self.rows[repeat.model]
        right = self.at.right[repeat.first] - self.at.right[repeat.model]
        return Move(right, min(here.values()) - min(there.values()))

    def copy(self, repeat: RepeatedPart, s: int, unit: Unit) -> None:
        """Copies a unit of a repeated part, including the wires at its edges."""
        move, ids = self.moves[repeat.first], repeat.ids
        shared = self.shared[repeat.first]
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
            model, words = self.glyphs[ids[unit.node]], unit.cell.words
            self.glyphs[unit.node] = move.glyph(model, node=unit.node, words=words, unit=unit)

    # One step ------------------------------------------------------------------------------------

    def go_on(self, s: int, unit: Unit) -> None:
        """Draws an array that passes beside the ops, or that a loop joins."""
        before, behind = self.rows[s], self.rows[s + 1]
        for i, o in unit.glyph.through:
            one, other = unit.ins[i], unit.outs[o]
            a, b = before[one], behind[other]
            if unit.passes and a == b:
                continue
            x0, x1 = self.at.right[s], self.at.left[s + 1]
            start, stop = (Point(x, y) for x, y in zip(self.bend(s, x0, x1), (a, b), strict=True))
            path = line(Point(x0, a), start), ease(start, stop), line(stop, Point(x1, b))
            if unit.passes:
                self.passes[s, one] = path
            else:
                self.tails[one], self.heads[other] = path, ()

    def bend(self, s: int, x0: float, x1: float) -> tuple[float, float]:
        """Returns where passing arrays may bend: behind contractions, and clear of loose marks."""
        starts, stops = [x0], [x1]
        for unit in self.plan.steps[s]:
            if unit.glyph.caps:
                starts.append(x0 + self.at.stretches[unit.node].free)
            elif unit.cell and not unit.inputs:
                stops.append(x1 - mark_width(unit.glyph))
            elif unit.cell and not unit.outputs:
                starts.append(x0 + mark_width(unit.glyph))
        return max(starts), min(stops)

    def canvas(self, s: int, unit: Unit, cell: Cell) -> Canvas:
        places = [self.rows[s][p] for p in unit.in_places]
        places += [self.rows[s + 1][p] for p in unit.out_places]
        row = (min(places) + max(places)) / 2 if places else 0.0
        apex = self.apex.get(cell.inputs[0].id) if cell.inputs else None
        x = self.at.right[s], self.at.left[s + 1]
        return self.at.stretches[unit.node].canvas(cell.op.role, x, row, apex)

    def keep(self, s: int, unit: Unit, canvas: Canvas) -> None:
        """Records where a unit's wires begin and end; a cap's arrow may belong to the next op."""
        starts = [start for start, _ in canvas.stems]
        if (
            canvas.apex and not unit.outs
        ):  # the line of an array without axes runs from mark to mark
            starts = [Point(max(box.x1 for box in canvas.ink), canvas.apex.y)]
        for value in unit.outputs[:1] if starts and s + 1 < len(self.plan.steps) else ():
            if takes_cap(self.plan.takers[s + 1][value.id].glyph, alone=not value.array):
                self.apex[value.id] = starts[0]
        if unit.glyph.arrows:
            stems(canvas, bool(unit.outputs and unit.outputs[0].id in self.apex))
        tails, heads = canvas.ends()
        self.tails |= {unit.ins[port]: path for port, path in tails.items()}
        self.heads |= {unit.outs[port]: path for port, path in heads.items()}


def _glyph(unit: Unit, cell: Cell, canvas: Canvas) -> DrawnGlyph:
    boxes = [*canvas.ink, *canvas.hits]  # not the wires, which are clickable themselves
    if not boxes:
        ys = [*canvas.ins, *canvas.outs] or [canvas.row]
        boxes = [Box(canvas.x0, min(ys) - style.SIDE, canvas.x1, max(ys) + style.SIDE)]
    return DrawnGlyph(
        node=cell.id,
        role=cell.op.role,
        words=cell.words,
        items=tuple(canvas.items),
        hit=Box.around(boxes).grown(style.MARK_HIT),
        ink=tuple(canvas.ink),
        unit=unit,
    )
