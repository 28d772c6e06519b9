"""Fences behind their parts, their titles, and the dashed lines between arrays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from ncd.circuit import Fence as Block
from ncd.circuit import Value
from ncd.draw import style
from ncd.draw.columns import Columns, depth
from ncd.draw.drawing import Box, Curve, Dash, Fence, Glyph, Path, Point, Text, ease, line
from ncd.draw.plan import Plan
from ncd.draw.rows import Rows, room_above
from ncd.draw.text import Label, math, wrap

LEADING = 17.0


def titles(plan: Plan, at: Columns | None) -> Mapping[str, float]:
    """The height of every fence's title, broken into lines once the widths are known."""
    return {
        fence.id: LEADING * len(_lines(plan, fence, at)) + 5.0
        for fence in plan.fences
        if fence.title
    }


def _lines(plan: Plan, fence: Block, at: Columns | None) -> tuple[Label, ...]:
    if not fence.title:
        return ()
    width = 10_000.0
    if at is not None:
        x0, x1 = _sides(plan, fence, at)
        width = x1 - x0 - 6
    return wrap(fence.title, width, style.TITLE)


def _sides(plan: Plan, fence: Block, at: Columns) -> tuple[float, float]:
    opening = depth(plan, fence, fence.first, "first")
    closing = depth(plan, fence, fence.last, "last")
    return (
        at.right[fence.first] - style.PAD * opening + 1,
        at.left[fence.last] + style.PAD * closing - 1,
    )


def fences(
    plan: Plan, rows: list[Rows], at: Columns, glyphs: list[Glyph], labels: tuple[Text, ...]
) -> tuple[Fence, ...]:
    """The fences, outer ones first."""
    boxes: dict[str, Box] = {}
    found: dict[str, Fence] = {}
    for fence in reversed(plan.fences):  # inner fences first: outer ones go around them
        x0, x1 = _sides(plan, fence, at)
        inner = [boxes[f.id].grown(style.PAD - 3) for f in plan.fences if f.parent == fence.id]
        held = [c for c in plan.circuit.cells if fence.id in c.fences]
        nodes = {c.id for c in held}
        ink = [b.grown(3) for g in glyphs if g.node in nodes for b in g.ink]
        ink += [t.box.grown(3) for t in labels if x0 < t.at.x < x1 and _inside(fence, t)]
        ys = [
            rows[fence.first + n][wire]
            for n, state in enumerate(fence.states)
            for value in state
            for wire in plan.drawn(value)
        ] or [0.0]
        wires = Box(x0, min(ys) - 10, x1, max(ys) + 9)
        body = Box.around([wires, *inner, *ink])
        lines = _lines(plan, fence, at)
        top = body.y0 - (LEADING * len(lines) + 3 if lines else 0)
        box = Box(x0, top, x1, body.y1)
        if fence.repeats:
            boxes[fence.id] = Box(x0, top - 20, x1, body.y1 + 20)
            found[fence.id] = _brackets(fence, box)
            continue
        boxes[fence.id] = box
        found[fence.id] = Fence(
            fence.id, fence.role, box, _title(lines, box), fence.title or f"{fence.role} part"
        )
    return tuple(found[f.id] for f in plan.fences)


def _brackets(fence: Block, box: Box) -> Fence:
    """Large round brackets; λ runs from 1, written at the foot, to N, at the head."""
    bulge = style.PAD + 1
    left, right = box.x0 + bulge, box.x1 - bulge
    paths = (
        (_bracket(left, box.x0 + 2, box.y0, box.y1),),
        (_bracket(right, box.x1 - 2, box.y0, box.y1),),
    )
    start, stop = math("λ=1", style.NAME), math(f"λ={fence.repeats}", style.NAME)
    texts = (
        Text(start, Point(box.x0, box.y1 + 15)),
        Text(stop, Point(box.x1 - stop.width, box.y0 - 6)),
    )
    words = f"repeated {fence.repeats} times, each with its own weights"
    return Fence(fence.id, fence.role, box, texts, words, paths)


def _bracket(x: float, bulge: float, top: float, bottom: float) -> Curve:
    way, control = bottom - top, bulge + (bulge - x) / 3
    return Curve(
        Point(x, top),
        Point(control, top + 0.25 * way),
        Point(control, bottom - 0.25 * way),
        Point(x, bottom),
    )


def _inside(fence: Block, text: Text) -> bool:
    return any(value.id == text.array for state in fence.states for value in state)


def _title(lines: tuple[Label, ...], box: Box) -> tuple[Text, ...]:
    middle = (box.x0 + box.x1) / 2
    return tuple(
        Text(label, Point(middle - label.width / 2, box.y0 + LEADING * (n + 1) - 1))
        for n, label in enumerate(lines)
    )


# --- dashed lines --------------------------------------------------------------------------------

BELOW, ABOVE = 10.0, 20.0  # a dashed line keeps clear of the wire over it, and of the name under it


def dashes(
    plan: Plan, rows: list[Rows], at: Columns, heights: Mapping[str, float]
) -> tuple[Dash, ...]:
    """A line between every two neighbouring arrays, continuous through the steps that keep them."""
    open_lines: dict[tuple[str, str], list[Curve]] = {}
    done: list[Path] = []
    for s, state in enumerate(plan.states):
        here: dict[tuple[str, str], list[Curve]] = {}
        for a, b in pairwise(state):
            y = _under(plan, rows, s, a, b, heights)
            pieces = open_lines.pop((a.id, b.id), None)
            if pieces is None:
                pieces = [] if s == 0 else _begin(at, s, y)
            pieces.append(line(Point(at.left[s], y), Point(at.right[s], y)))
            here[a.id, b.id] = pieces
        done += [tuple(p) for p in open_lines.values()]
        open_lines = {}
        if s == len(plan.states) - 1:
            done += [tuple(p) for p in here.values()]
            break
        for (a_id, b_id), pieces in here.items():
            step = plan.steps[s]
            above = next(n for n, u in enumerate(step) if a_id in {v.id for v in u.inputs})
            below = next(n for n, u in enumerate(step) if b_id in {v.id for v in u.inputs})
            start = pieces[-1].d
            if above == below or not step[above].outputs or not step[below].outputs:
                reach = min(36.0, 0.5 * (at.left[s + 1] - at.right[s]))
                passing = step[above].cell is None
                done.append(
                    (*pieces, line(start, Point(start.x + (0 if passing else reach), start.y)))
                )
                continue
            after = (step[above].outputs[-1], step[below].outputs[0])
            y = _under(plan, rows, s + 1, *after, heights)
            pieces.append(ease(start, Point(at.left[s + 1], y)))
            open_lines[after[0].id, after[1].id] = pieces
    return tuple(Dash(tuple(c for c in path if c.a != c.d)) for path in done if path)


def _begin(at: Columns, s: int, y: float) -> list[Curve]:
    width = at.left[s] - at.right[s - 1]
    return [line(Point(at.left[s] - 0.4 * width, y), Point(at.left[s], y))]


def _under(
    plan: Plan, rows: list[Rows], s: int, above: Value, below: Value, heights: Mapping[str, float]
) -> float:
    ends = _around(plan, rows, s, above) or [min(_around(plan, rows, s, below), default=0.0) - 40.0]
    starts = _around(plan, rows, s, below) or [max(ends) + style.ARRAY_GAP]
    room = room_above(plan, s, above, below, heights)
    own = [rows[s][w] for w in plan.drawn(above)] or ends
    other = [rows[s][w] for w in plan.drawn(below)] or starts
    clear = 12.0 if room else ABOVE
    top, bottom = max(ends) + BELOW, min(starts) - clear
    if top > bottom - room:  # no room beside the marks: then between the wires of this state
        top, bottom = max(own) + BELOW, min(other) - clear
    return (top + bottom - room) / 2


def _around(plan: Plan, rows: list[Rows], s: int, value: Value) -> list[float]:
    """The rows of an array's wires, and of what the op before or behind makes of them."""
    found = [rows[s][w] for w in plan.drawn(value)]
    for at, near, far in ((s, s, s + 1), (s - 1, s, s - 1)):
        if not 0 <= at < len(plan.steps):
            continue
        for unit in plan.steps[at]:
            here, there = (unit.inputs, unit.outs) if near == at else (unit.outputs, unit.ins)
            if unit.cell and len(here) == 1 and value in here:
                found += [rows[far][w] for w in there]
    return found
