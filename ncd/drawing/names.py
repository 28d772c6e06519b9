"""Names: what stands on the wires, and where it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ncd.drawing import style
from ncd.drawing.marks import names_its_array
from ncd.drawing.plan import Plan, Port, Unit
from ncd.drawing.text import Label, math
from ncd.lang.axes import Axis
from ncd.lang.circuit import Value

Labels = Literal["names", "sizes", "both"]
Names = Mapping[Port, Label]
AGAIN = 3  # a name is written again after so many steps


def axis_label(axis: Axis, labels: Labels, size: float = style.NAME) -> Label:
    """What stands on a wire: the axis' label or its name as mathematics, the size, or both.

    >>> axis_label(Axis("c", 64, label="c_{5-λ}"), "both").words
    'c sub 5 minus lambda equals 64'
    """
    barred = axis.sequence or axis.spatial
    name = axis.label or axis.name
    if axis.size is None or labels == "names" or name == axis.size_text:
        return math(name, size, bold=axis.spatial, bar=barred)
    if labels == "sizes":
        return math(axis.size_text, size)
    return math(f"{name}={axis.size_text}", size, bold=axis.spatial, bar=barred)


def names(plan: Plan, labels: Labels) -> list[Names]:
    """The names that stand at each state: of new wires, at both ends, and before a far-off end."""
    hidden = unseen(plan)
    found: list[Names] = []
    ages: dict[Port, int] = {}
    for s, state in enumerate(plan.states):
        ends = s in (0, len(plan.states) - 1)
        ages = _ages(plan, s, ages, labels) if s else {}
        here: dict[Port, Label] = {}
        for value in state:
            far = _is_joined(plan, s, value)
            for port in plan.drawn(value):
                age = ages.get(port, 0)
                if (ends or age == 0 or (far and age >= AGAIN)) and not (s == 0 and port in hidden):
                    here[port] = axis_label(value.array[port[1]], labels)
        found.append(here)
    return found


def _is_joined(plan: Plan, s: int, value: Value) -> bool:
    """Whether an array ends here in an op that takes several, or that ends some of its wires."""
    if s == len(plan.steps):
        return False
    unit = plan.takers[s][value.id]
    if unit.cell is None:
        return False
    return len(unit.inputs) > 1 or len(unit.glyph.through) < len(value.array) - 1


def _ages(plan: Plan, s: int, before: Mapping[Port, int], labels: Labels) -> dict[Port, int]:
    """How many steps ago each wire of a state began."""
    return {
        port: before.get(unit.ins[unit.before[o]], 0) + 1
        for unit in plan.steps[s - 1]
        if not names_its_array(unit.glyph)
        for o, port in enumerate(unit.outs)
        if o in unit.before and (unit.cell is not None or _same_name(unit, o, labels))
    }


def _same_name(unit: Unit, o: int, labels: Labels) -> bool:
    """Whether a wire that only goes on is called the same at both ends."""
    (before,), (after,) = unit.inputs, unit.outputs
    one, two = before.array[unit.before[o]], after.array[o]
    return one == two or axis_label(one, labels) == axis_label(two, labels)


def unseen(plan: Plan) -> set[Port]:
    """Input wires that begin at the name of their array, and so are not drawn before it."""
    if not plan.steps:
        return set()
    named = [unit for unit in plan.steps[0] if names_its_array(unit.glyph)]
    return {port for unit in named for port in unit.ins}
