"""Columns: the x of every state and step, wide enough for its names, marks, bends and fences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncd.circuit import Fence
from ncd.draw import style
from ncd.draw.glyphs import bend_width, width
from ncd.draw.plan import Plan, Wire
from ncd.draw.rows import Rows
from ncd.draw.text import Label, wrap

Names = Mapping[Wire, Label]


@dataclass(frozen=True)
class Columns:
    """Where each state lies (``left`` to ``right``), and the middle of its names."""

    left: tuple[float, ...]
    right: tuple[float, ...]
    names: tuple[float, ...]


def columns(plan: Plan, rows: list[Rows], names: list[Names]) -> Columns:
    """The x of every state; the step after state s goes from ``right[s]`` to ``left[s + 1]``."""
    steps = [_step_width(plan, s, rows) for s in range(len(plan.steps))]
    zones = [_zones(plan, s, names[s]) for s in range(len(plan.states))]
    for fence in plan.fences:
        _widen_for_title(fence, steps, zones)
    left, right, middle, x = [], [], [], 0.0
    for s, (closing, label, opening) in enumerate(zones):
        left.append(x)
        middle.append(x + closing + label / 2)
        x += closing + label + opening
        right.append(x)
        x += steps[s] if s < len(steps) else 0.0
    return Columns(tuple(left), tuple(right), tuple(middle))


def _step_width(plan: Plan, s: int, rows: list[Rows]) -> float:
    wide = [6.0]
    for unit in plan.steps[s]:
        ins, outs = [rows[s][w] for w in unit.ins], [rows[s + 1][w] for w in unit.outs]
        if unit.cell is None:
            wide += [bend_width(b - a) for a, b in zip(ins, outs, strict=True)]
        else:
            wide.append(width(unit.cell, unit.glyph, ins, outs))
    return max(wide)


def _zones(plan: Plan, s: int, names: Names) -> tuple[float, float, float]:
    """The room of a state for fences that close, for names, and for fences that open."""
    closing = max((depth(plan, f, s, "last") for f in plan.fences if f.last == s), default=0)
    opening = max((depth(plan, f, s, "first") for f in plan.fences if f.first == s), default=0)
    label = max((label.width + 12 for label in names.values()), default=0.0)
    ends = s in (0, len(plan.states) - 1)
    return closing * style.PAD, max(label, 16.0 if ends else 0.0), opening * style.PAD


def depth(plan: Plan, fence: Fence, s: int, side: str) -> int:
    """How many fences open (or close) at this state from this one inwards."""
    inner = [f for f in plan.fences if f.parent == fence.id and getattr(f, side) == s]
    brackets = 1 if fence.repeats else 0
    return 1 + brackets + max((depth(plan, f, s, side) for f in inner), default=0)


def _widen_for_title(
    fence: Fence, steps: list[float], zones: list[tuple[float, float, float]]
) -> None:
    """Makes room for the longest word of a title."""
    if not fence.title or fence.first == fence.last:
        return
    need = max(line.width for line in wrap(fence.title, 1.0, style.TITLE)) + 10
    inside = range(fence.first, fence.last)
    have = sum(steps[s] for s in inside) + sum(sum(zones[s]) for s in inside[1:]) + 2 * style.PAD
    if have < need:
        for s in inside:
            steps[s] += (need - have) / len(inside)
