"""Equations: drawings side by side with = or ≝ between them, on as many lines as needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ncd.circuit.circuit import Circuit
from ncd.circuit.elaborate import elaborate
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math, roman, wrap
from ncd.drawing.elements.primitives import (
    Annotation,
    Outline,
    Point,
    Rectangle,
    Text,
    merged_scene,
    move_drawing,
    polygon,
)
from ncd.language.blocks import Equation
from ncd.language.terms import Term


def sides(circuit: Circuit) -> tuple[Circuit, ...]:
    """Returns the circuit of each side of an equation, or the circuit alone if it is none.

    The sides keep the ids of the whole circuit.

    >>> from ncd.ops import Einsum
    >>> there, back = Einsum("i:2 j:3 -> j i"), Einsum("j i -> i j")
    >>> both = sides(elaborate(Equation(there >> back, Einsum("i:2 j:3 -> i j"))))
    >>> [[cell.id for cell in side.cells] for side in both]
    [['n1', 'n2'], ['n3']]
    """
    if not isinstance(circuit.term, Equation):
        return (circuit,)
    found, cells, fences = [], 1, 0  # the first cell hands the inputs to all sides
    for i, side in enumerate(circuit.term.sides):
        own = elaborate(side)
        ends = cells + len(own.cells), fences + len(own.fences)
        part = _EquationSide(circuit, range(cells, ends[0]), range(fences, ends[1]))
        found.append(part.circuit(side, i, len(own.columns)))
        cells, fences = ends
    return tuple(found)


@dataclass(frozen=True)
class _EquationSide:
    """The indexes of the cells and fences of one side in the circuit of an equation."""

    equation_circuit: Circuit
    cells: range
    fences: range

    def circuit(self, term: Term, i: int, length: int) -> Circuit:
        steps = tuple(
            tuple(unit for unit in step if self.has(unit.id))
            for step in self.equation_circuit.columns[1 : length + 1]
        )
        n = len(self.equation_circuit.inputs)
        inputs = self.equation_circuit.states[1][i * n : (i + 1) * n]
        made = {v.id for step in steps for unit in step for v in unit.outputs}
        known = made | {v.id for v in inputs}
        states = tuple(
            tuple(value for value in state if value.id in known)
            for state in self.equation_circuit.states[1 : length + 2]
        )
        own = (fence for fence in self.equation_circuit.own_fences if self.has(fence.id))
        fences = tuple(replace(fence, first_state=fence.first_state - 1) for fence in own)
        return Circuit(term, states, steps, fences)

    def has(self, id: str) -> bool:
        return int(id[1:]) in (self.cells if id[0] == "n" else self.fences)


def draw_equation(
    drawings: Sequence[Drawing], sign: str, width: float | None, paint: str = "ink"
) -> Drawing:
    """Returns the sides of an equation as one drawing, on one line if they fit, else on several.

    A sign is "=" or "≝", or has words before it that stand over it: "Associated Transpose ↦". With
    ``paint`` the words stand in an arrow of that colour. Later lines begin with the sign. A
    collapsed box that stands alone stays on one line with its sign, its expansion below.
    """
    placed: list[Drawing] = []
    top = 0.0
    between = _sign(drawings[0], sign) if paint == "ink" else _arrow(drawings[0], sign, paint)
    for line in _lines(drawings, between, width):
        line = [move_drawing(part, 0.0, top - min(p.box.y0 for p in line)) for part in line]
        placed += line
        top = max(part.box.y1 for part in line) + style.LINE_GAP
    return replace(
        merged_scene(placed),
        title=f" {sign} ".join(dict.fromkeys(d.title for d in drawings)),
        description=f" {sign} ".join(d.description for d in drawings),
    )


def _lines(
    drawings: Sequence[Drawing], between: Drawing, width: float | None
) -> list[list[Drawing]]:
    """Distributes the sides and signs over lines, each with its x coordinate."""
    limit = float("inf") if width is None else width
    lines: list[list[Drawing]] = [[]]
    x = 0.0
    for n, part in enumerate(map(_level, drawings)):
        folds = n == 1 and _is_folded(drawings[0])
        broken = folds and any(extra.kind == "arrow" for extra in part.extras)
        if n and (broken or x + between.box.width + part.box.width > limit):
            trails = len(lines) == 1 and folds
            if trails:
                lines[-1].append(_moved_to(between, x))
            lines.append([])
            x = 0.0
            if trails:
                lines[-1].append(_moved_to(part, x))
                x += part.box.width
                continue
        if n:
            lines[-1].append(_moved_to(between, x))
            x += between.box.width
        lines[-1].append(_moved_to(part, x))
        x += part.box.width
    return lines


def _moved_to(drawing: Drawing, x: float) -> Drawing:
    return move_drawing(drawing, x - drawing.box.x0, 0.0)


def _level(drawing: Drawing) -> Drawing:
    """Returns the drawing moved so that the middle of its input arrays is at y = 0."""
    rows = list(_first_rows(drawing)) or [drawing.box.y0, drawing.box.y1]
    return move_drawing(drawing, 0.0, -(min(rows) + max(rows)) / 2)


def _first_rows(drawing: Drawing) -> Iterator[float]:
    seen: set[tuple[str, str]] = set()
    for wire in drawing.wires:
        if wire.path and not wire.made_by and (wire.array, wire.axis) not in seen:
            yield wire.path[0].a.y
        seen.add((wire.array, wire.axis))


def _is_folded(drawing: Drawing) -> bool:
    """Returns whether a drawing is the box of one block."""
    return len(drawing.glyphs) == 1 and drawing.glyphs[0].node.startswith("f")


def _sign(like: Drawing, sign: str) -> Drawing:
    """Returns the sign with the words over it as a drawing, its middle at y = 0."""
    said, words = sign[:-1].strip(), {"=": "equals", "≝": "is defined as"}.get(sign, "")
    over = wrap(said, style.SAID_WIDE, style.SAID) if said else ()
    label = math(sign[-1], style.EQUALS)
    if sign == "≝":
        over, label = (roman("def", style.DEF_WORD),), math("=", style.EQUALS)
    wide = max(line.width for line in (label, *over))
    middle, y = style.EQUALS_ROOM + wide / 2, (label.ascent - label.descent) / 2
    items = [Text(label, Point(middle - label.width / 2, y))]
    for line in reversed(over):
        y = items[-1].box.y0 - style.GAP - max(0.0, line.descent)
        items.append(Text(line, Point(middle - line.width / 2, y)))
    box = Rectangle.union(item.box for item in items)
    box = Rectangle(0.0, box.y0, 2 * middle, box.y1)
    return _alone(like, Annotation("sign", tuple(items), words or said or label.words), box)


def _arrow(like: Drawing, sign: str, paint: str) -> Drawing:
    """Returns the words of a sign in a broad arrow to the right, its middle at y = 0."""
    said = sign[:-1].strip()
    label = wrap(said, float("inf"), style.SAID)[0]
    half, head = style.SAID * 0.85, style.SAID * 1.3
    neck = label.width + style.SAID  # the margins of both drawings are beside it
    points = [(0.0, -half), (neck, -half), (neck, -head), (neck + head, 0.0)]
    points += [(x, -y) for x, y in reversed(points[:-1])]
    shape = Outline(polygon([Point(*point) for point in points]), paint)
    text = Text(label, Point(style.SAID / 2, (label.ascent - label.descent) / 2), paint="light")
    box = Rectangle(0.0, -head, neck + head, head)
    return _alone(like, Annotation("sign", (shape, text), said), box)


def _alone(like: Drawing, extra: Annotation, box: Rectangle) -> Drawing:
    """Returns a sign as a drawing of the same theme as another."""
    return replace(
        like,
        box=box,
        fences=(),
        dashes=(),
        wires=(),
        glyphs=(),
        labels=(),
        extras=(extra,),
        thumbnails=(),
    )
