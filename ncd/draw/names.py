"""Names: what stands on the wires, and where it is written."""

from __future__ import annotations

from typing import Literal

from ncd.axes import Axis
from ncd.circuit import Value
from ncd.draw import style
from ncd.draw.columns import Names
from ncd.draw.plan import Plan
from ncd.draw.plan import Wire as Port
from ncd.draw.text import Label, math

Labels = Literal["names", "sizes", "both"]
AGAIN = 3  # a name is written again after so many steps


def axis_label(axis: Axis, labels: Labels, size: float = style.NAME) -> Label:
    """What stands on a wire: the name as mathematics, the size, or both."""
    barred = axis.sequence or axis.spatial
    if axis.size is None or labels == "names":
        return math(axis.name, size, bold=axis.spatial, bar=barred)
    if labels == "sizes":
        return math(axis.size_text, size)
    return math(f"{axis.name}={axis.size_text}", size, bold=axis.spatial, bar=barred)


def names(plan: Plan, s: int, labels: Labels) -> Names:
    """The names that stand at a state: of new wires, at both ends, and before a far-off end."""
    found: dict[Port, Label] = {}
    ends = s in (0, len(plan.states) - 1)
    hidden = unseen(plan) if s == 0 else set()
    for value in plan.states[s]:
        far = _is_joined(plan, s, value)
        for wire in plan.drawn(value):
            age = _age(plan, s, wire)
            if (ends or age == 0 or (far and age >= AGAIN)) and wire not in hidden:
                found[wire] = axis_label(value.array[wire[1]], labels)
    return found


def _is_joined(plan: Plan, s: int, value: Value) -> bool:
    """Whether an array ends here in an op that takes several, or that ends some of its wires."""
    if s == len(plan.steps):
        return False
    unit = next(u for u in plan.steps[s] if value in u.inputs)
    if unit.cell is None:
        return False
    return len(unit.inputs) > 1 or len(unit.glyph.through) < len(value.array) - 1


def _age(plan: Plan, s: int, wire: Port) -> int:
    """How many steps ago the wire began."""
    age = 0
    while s > 0:
        unit = next(u for u in plan.steps[s - 1] if wire in u.outs)
        port = unit.outs.index(wire)
        before = [i for i, o in unit.glyph.through if o == port]
        if not before or any(mark.shape == "name" for mark in unit.glyph.marks):
            break
        wire, s, age = unit.ins[before[0]], s - 1, age + 1
    return age


def unseen(plan: Plan) -> set[Port]:
    """Input wires that begin at the name of their array, and so are not drawn before it."""
    if not plan.steps:
        return set()
    named = [u for u in plan.steps[0] if any(m.shape == "name" for m in u.glyph.marks)]
    return {wire for unit in named for wire in unit.ins}
