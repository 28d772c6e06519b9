"""The labels of wires, and where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, math
from ncd.drawing.elements.plan_columns import Plan, PlanItem, Port
from ncd.drawing.marks.marks import names_its_array
from ncd.language.arguments import Labels
from ncd.language.axes import Axis

Names = Mapping[Port, Label]
_LabelAges = dict[Port, tuple[Label, int]]  # a wire's last label, and how many steps ago it was
NONE: Mapping[str, str] = MappingProxyType({})
REPEAT_STEPS = 3  # steps after which a label is repeated where wires meet


def axis_label(axis: Axis, labels: Labels, cast: str = "") -> Label:
    """Returns the label of a wire: the axis' name as mathematics, its size, or both.

    >>> axis_label(Axis("c", 64, label="c_{5-λ}"), "both").words
    'c sub 5 minus lambda equals 64'
    """
    barred = axis.sequence or axis.spatial
    name, to = axis.label or axis.name, f"→{cast}" if cast else ""
    if axis.size is None or labels == "names" or axis.name == axis.size_text:
        return math(name + to, style.NAME, bold=axis.spatial, bar=barred)
    if labels == "sizes":
        return math(axis.size_text + to, style.NAME)
    both = f"{axis.display_name}={axis.size_text}{to}"
    return math(both, style.NAME, bold=axis.spatial, bar=barred)


def names(
    plan: Plan, labels: Labels, every: bool = False, casts: Mapping[str, str] = NONE
) -> list[Names]:
    """Returns the labels of each state: where a reader needs them, once along a wire.

    A wire is labelled at both ends of the diagram, where it begins, behind a crossing, and before
    an op that ends or joins it if its last label is far away. ``every`` labels each state.
    ``casts`` are number formats to which arrays are cast, by their ids; they stand behind the label
    at the array's beginning.
    """
    cast: set[str] = set()
    hidden = hidden_input_wires(plan)
    found: list[Names] = []
    known: _LabelAges = {}
    called: dict[int, list[Label]] = {}  # by id() of the array, as most arrays recur
    for s, state in enumerate(plan.states):
        ends = every or s in (0, len(plan.states) - 1)
        known = _continuing_labels(plan, s, known) if s else {}
        met = _meeting_wires(plan, s)
        here: dict[Port, Label] = {}
        for value in state:
            ports = plan.array_wires(value)
            ages = (known[port][1] for port in ports if port in met and port in known)
            far = any(age >= REPEAT_STEPS for age in ages)
            axes = called.get(id(value.array))
            if axes is None:
                axes = called[id(value.array)] = [axis_label(axis, labels) for axis in value.array]
            for port in ports:
                label = axes[port[1]]
                before, age = known.get(port, (None, 0))
                again = ends or (before is not label and before != label) or (far and port in met)
                known[port] = (label, 0 if again else age)
                if again and not (s == 0 and port in hidden):
                    here[port] = label
            if value.id in casts and value.id not in cast and ports:
                cast.add(value.id)
                port = ports[0]
                here[port] = axis_label(value.array[port[1]], labels, cast=casts[value.id])
        found.append(here)
    return found


def _meeting_wires(plan: Plan, s: int) -> set[Port]:
    """Returns the wires of a state that an op ends or joins, if it takes several of them."""
    found: set[Port] = set()
    for unit in plan.steps[s] if s < len(plan.steps) else ():
        if unit.cell is not None:
            joined = {o for _, o in unit.glyph.joins}
            alone = {i for i, o in unit.glyph.through if o not in joined}
            ports = [port for i, port in enumerate(unit.ins) if i not in alone]
            found.update(ports if len(ports) > 1 else ())
    return found


def _continuing_labels(plan: Plan, s: int, before: _LabelAges) -> _LabelAges:
    """Returns the labels of continuing wires that need no new one."""
    found = {}
    for unit in plan.steps[s - 1]:
        if unit.cell is None or not names_its_array(unit.glyph):
            crossed = _crossed_outputs(unit)
            for o, port in enumerate(unit.outs):
                if o in unit.continued_inputs and o not in crossed:
                    label, age = before[unit.ins[unit.continued_inputs[o]]]
                    found[port] = (label, age + 1)
    return found


def _crossed_outputs(unit: PlanItem) -> set[int]:
    """Returns the outputs whose wires change their order."""
    if unit.passes or len(unit.glyph.through) < 2:
        return set()
    place = {port: n for n, port in enumerate((*unit.in_places, *unit.out_places))}
    ways = sorted((place[unit.ins[i]], place[unit.outs[o]], o) for i, o in unit.glyph.through)
    pairs = [(a, b) for (_, x, a), (_, y, b) in combinations(ways, 2) if x > y]
    return {o for pair in pairs for o in pair}


def hidden_input_wires(plan: Plan) -> set[Port]:
    """Returns input wires that begin at their array's name, and so are not drawn before it."""
    if not plan.steps:
        return set()
    named = [unit for unit in plan.steps[0] if names_its_array(unit.glyph)]
    return {port for unit in named for port in unit.ins}
