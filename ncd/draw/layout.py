"""Layout: a term becomes a drawing. Rows, then columns, then wires, marks, dashes and fences."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.axes import Axis
from ncd.circuit import Cell, Circuit, Value, elaborate
from ncd.draw import style
from ncd.draw.columns import Columns, Names, columns
from ncd.draw.drawing import (
    Box,
    Curve,
    Drawing,
    Glyph,
    Path,
    Point,
    Shape,
    Text,
    Wire,
    ease,
    line,
)
from ncd.draw.fences import dashes, fences, titles
from ncd.draw.glyphs import HEAD, Canvas, bends, cap_stretch
from ncd.draw.marks import arrow_head, paint
from ncd.draw.names import Labels, unseen
from ncd.draw.names import names as names_at
from ncd.draw.plan import Plan, Unit, plan
from ncd.draw.plan import Wire as Port
from ncd.draw.rows import Rows, lowered, rows
from ncd.ops.elementwise import Scale
from ncd.terms import Term


def draw(term: Term, labels: Labels = "names", *, dark: bool = False, mark: str = "") -> Drawing:
    """The neural circuit diagram of a term.

    ``labels``: what stands on the wires. ``mark``: the id of an op to be marked as the one that
    fails. Axes without a size are drawn with their names.

    >>> from ncd.terms import Id
    >>> draw(Id("y:2 m:3")).svg(fonts=False)[:4]
    '<svg'
    """
    circuit = elaborate(term)
    planned = plan(circuit)
    heights: Mapping[str, float] = titles(planned, None)
    for _ in range(2):  # a title that is broken into lines needs more room above it
        placed = rows(planned, heights)
        names = [names_at(planned, s, labels) for s in range(len(planned.states))]
        at = columns(planned, placed, names)
        heights = titles(planned, at)
    return _Layout(planned, placed, names, at, heights, mark, dark).drawing()


class _Layout:
    """Puts the parts of one drawing together."""

    def __init__(
        self,
        plan: Plan,
        rows: list[Rows],
        names: list[Names],
        at: Columns,
        heights: Mapping[str, float],
        mark: str,
        dark: bool,
    ) -> None:
        self.plan, self.rows, self.names, self.at = plan, rows, names, at
        self.heights, self.mark, self.dark = heights, mark, dark
        self.apex: dict[str, Point] = {}
        self.tails: dict[Port, Path] = {}
        self.heads: dict[Port, Path] = {}
        self.passes: dict[tuple[int, Port], Path] = {}

    def drawing(self) -> Drawing:
        glyphs = [
            glyph
            for s, step in enumerate(self.plan.steps)
            for unit in step
            if (glyph := self.unit(s, unit)) is not None
        ]
        wires, labels = self.wires(), self.labels()
        own = fences(self.plan, self.rows, self.at, glyphs, labels)
        lines = dashes(self.plan, self.rows, self.at, self.heights)
        boxes = [f.box for f in own] + [b for g in glyphs for b in g.ink] + [t.box for t in labels]
        boxes += [Box(c.a.x, c.a.y - 2, c.d.x, c.d.y + 2) for w in wires for c in w.path]
        boxes += [text.box for fence in own for text in fence.title]
        boxes = boxes or [Box(0.0, 0.0, 40.0, 20.0)]
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
            marked=self.mark,
            dark=self.dark,
        )

    # Steps ---------------------------------------------------------------------------------------

    def unit(self, s: int, unit: Unit) -> Glyph | None:
        x0, x1 = self.at.right[s], self.at.left[s + 1]
        ins = [self.rows[s][w] for w in unit.ins]
        outs = [self.rows[s + 1][w] for w in unit.outs]
        if unit.cell is None:
            late = self.late(s, x0)
            for wire, a, b in zip(unit.ins, ins, outs, strict=True):
                turn = Point(max(x0, late), a)
                self.passes[s, wire] = (line(Point(x0, a), turn), ease(turn, Point(x1, b)))
            return None
        canvas = self.canvas(s, unit, unit.cell, ins, outs)
        paint(canvas)
        self.keep(unit, canvas)
        return self.glyph(unit.cell, canvas)

    def late(self, s: int, x0: float) -> float:
        """Where arrays beside a contraction may bend: behind it."""
        ends = [
            cap_stretch(u.glyph, [self.rows[s][w] for w in u.ins])[1] + 16
            for u in self.plan.steps[s]
            if u.glyph.caps
        ]
        return x0 + max(ends, default=0.0)

    def canvas(self, s: int, unit: Unit, cell: Cell, ins: list[float], outs: list[float]) -> Canvas:
        glyph = unit.glyph
        own_in = {i for m in glyph.marks for i in m.ins if m.shape not in ("elementwise", "arrow")}
        over = [(ins[i], outs[o]) for i, o in glyph.through if i not in own_in]
        side = bends(glyph)
        foreign = [
            y
            for a, b in over
            for y in {"behind": (a,), "before": (b,)}.get(side, (a, (a + b) / 2, b))
        ]
        apex = self.apex.get(cell.inputs[0].id) if cell.inputs else None
        return Canvas(
            cell,
            glyph,
            self.at.right[s],
            self.at.left[s + 1],
            ins,
            outs,
            foreign,
            lowered(unit, ins),
            apex=apex,
        )

    def keep(self, unit: Unit, canvas: Canvas) -> None:
        """Notes where the unit's wires end and begin; a wire that goes on is cut in the middle."""
        if canvas.glyph.caps and canvas.apex:
            self.contraction(unit, canvas)
        for i, o in canvas.glyph.through:
            if i not in canvas.tails and o not in canvas.heads:
                canvas.tails[i], canvas.heads[o] = canvas.over(i, o)
        for port, path in canvas.tails.items():
            self.tails[unit.ins[port]] = path
        for port, path in canvas.heads.items():
            self.heads[unit.outs[port]] = path

    def contraction(self, unit: Unit, canvas: Canvas) -> None:
        """An arrow leaves a cap: with the scale that follows, or a short one."""
        apex = canvas.apex
        assert apex is not None
        out = unit.outputs[0]
        follows = [c for c in self.plan.circuit.cells if out in c.inputs]
        if follows and isinstance(follows[0].op, Scale):
            self.apex[out.id] = apex
            return
        tip = Point(apex.x + 17, apex.y)
        stem = line(apex, Point(tip.x - HEAD, tip.y))
        canvas.items.append(Shape((stem,), "none", style.WIRE, False))
        arrow_head(canvas, tip)

    def glyph(self, cell: Cell, canvas: Canvas) -> Glyph:
        ys = [*canvas.ins, *canvas.outs] or [0.0]
        whole = Box(canvas.x0, min(ys) - 9, canvas.x1, max(ys) + 9)
        boxes = [*canvas.ink, *canvas.hits] or [whole]  # wires beside the mark stay free
        return Glyph(
            node=cell.id,
            role=cell.op.role,
            words=cell.op.words(cell.site),
            items=tuple(canvas.items),
            hit=Box.around(boxes).grown(4),
            ink=tuple(canvas.ink),
        )

    # Wires and names -----------------------------------------------------------------------------

    def wires(self) -> tuple[Wire, ...]:
        hidden = unseen(self.plan)
        found = []
        for value, first, last in self.spans():
            for port in self.plan.drawn(value):
                if port in hidden and first == 0:
                    continue
                path = self.path(port, first, last)
                axis = value.array[port[1]]
                found.append(self.wire(value, axis, path))
        return tuple(found)

    def spans(self) -> list[tuple[Value, int, int]]:
        """Every array with the states at which it begins and ends."""
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for s, state in enumerate(self.plan.states):
            for value in state:
                first.setdefault(value.id, s)
                last[value.id] = s
        return [(v, first[v.id], last[v.id]) for v in self.plan.values.values()]

    def path(self, port: Port, first: int, last: int) -> Path:
        pieces: list[Curve] = [*self.heads.get(port, ())]
        for s in range(first, last + 1):
            y = self.rows[s][port]
            pieces.append(line(Point(self.at.left[s], y), Point(self.at.right[s], y)))
            pieces += self.passes.get((s, port), ())
        pieces += self.tails.get(port, ())
        return tuple(c for c in pieces if c.a != c.d)

    def wire(self, value: Value, axis: Axis, path: Path) -> Wire:
        cells = [u.cell for step in self.plan.steps for u in step if u.cell]
        made = next((c.id for c in cells if value in c.outputs), "")
        taken = next((c.id for c in cells if value in c.inputs), "")
        kind = "sequence axis" if axis.sequence else "spatial axis" if axis.spatial else "axis"
        size = "" if axis.size is None else f", size {axis.size_text}"
        words = f"{kind} {axis.name}{size}, of array ({value.array})"
        return Wire(value.id, axis.name, path, axis.spatial, words, made, taken)

    def labels(self) -> tuple[Text, ...]:
        values = self.plan.values
        found = []
        for s, names in enumerate(self.names):
            for port, label in names.items():
                axis = values[port[0]].array[port[1]]
                lift = style.LABEL_LIFT + (style.DOUBLE / 2 if axis.spatial else 0.0)
                room = style.AXIS_GAP - 1.5 - lift - label.ascent
                y = self.rows[s][port] - lift - max(0.0, min(label.descent - 1.5, room))
                x = self.at.names[s] - label.width / 2
                found.append(Text(label, Point(x, y), axis.name, port[0]))
        return tuple(found)


def describe(circuit: Circuit) -> tuple[str, str]:
    """A title and a description that read well aloud."""
    outer = [f.title for f in circuit.fences if f.title and not f.parent]
    title = outer[0] if outer else "Neural circuit diagram"
    term = circuit.term
    steps = "; ".join(cell.op.words(cell.site) for cell in circuit.cells)
    return title, f"From ({term.dom}) to ({term.cod}). In order: {steps or 'nothing is done'}."
