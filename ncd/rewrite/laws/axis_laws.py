"""Laws of axes: inverse changes of axes cancel, and a map goes through a broadcast."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ncd.circuit.circuit import Cell
from ncd.formulas.formula import Operand
from ncd.language.axes import Signature, Type
from ncd.ops import (
    Concat,
    Cut,
    Elementwise,
    Group,
    LayerNorm,
    Linear,
    Map,
    Reduce,
    Rename,
    RMSNorm,
    Scale,
    Softmax,
    Split,
)
from ncd.rewrite.laws.linear_laws import LawResult
from ncd.rewrite.rules.rule import Options
from ncd.rewrite.rules.step_edits import LawSite, StepLaw, new_slot, substitute

INVERSES: dict[type, type] = {
    Group: Split,
    Split: Group,
    Rename: Rename,
    Cut: Concat,
    Concat: Cut,
}
ALONG_AXES = (Linear, LayerNorm, RMSNorm, Softmax, Reduce, Rename, Group, Split)


class CancelInverses(StepLaw):
    """A change of axes and its inverse behind it are no change."""

    name: ClassVar[str] = "cancel-inverses"
    op_kinds: ClassVar[tuple[type, ...]] = tuple(INVERSES)

    def title(self, options: Options) -> str:
        return "Cancel with its inverse behind it"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        users = {site.only_user(slot) for slot in site.step.gives}
        steps = {user[0] for user in users if user is not None}
        if None in users or len(steps) != 1:
            return None
        (j,) = steps
        one, two = site.cell(site.i), site.cell(j)
        if one is None or two is None or type(two.op) is not INVERSES[type(one.op)]:
            return None
        own, after = site.region, site.region.steps[j]
        if after.takes != site.step.gives or len(after.gives) != len(site.step.takes):
            return None
        if (one.site.own_inputs, one.site.own_outputs) != (
            two.site.own_outputs,
            two.site.own_inputs,
        ):
            return None
        pairs = dict(zip(after.gives, site.step.takes, strict=True))
        if any(own.arrays[a] != own.arrays[b] for a, b in pairs.items()):
            return None
        return substitute(site.with_steps({site.i: (), j: ()}), pairs), None


class ThroughBroadcast(StepLaw):
    """An op on each copy of an array is the op on the array, and then the copies."""

    name: ClassVar[str] = "through-broadcast"
    op_kinds: ClassVar[tuple[type, ...]] = (Map,)

    def title(self, options: Options) -> str:
        return "Broadcast after the next op, which runs once then"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        user, cell = site.only_user(site.step.gives[0]), site.cell(site.i)
        if user is None or cell is None or not is_broadcast(cell):
            return None
        next_cell, after, own = site.cell(user[0]), site.region.steps[user[0]], site.region
        new = {*cell.site.outputs[0].names} - {*cell.site.inputs[0].names}
        if next_cell is None or not _ignores(next_cell, new):
            return None
        (made,) = next_cell.op.infer_outputs(Type((own.arrays[site.step.takes[0]],)))
        out = own.arrays[after.gives[0]]
        if {*made.names} | new != {*out.names}:
            return None
        own, slot = new_slot(own, made)
        first = replace(after, takes=site.step.takes, gives=(slot,))
        copies = Map(Signature(Type((made,)), Type((out,))), Operand(1))
        last = replace(site.step, term=copies, takes=(slot,), gives=after.gives)
        return replace(site, region=own).with_steps({site.i: (), user[0]: (first, last)}), None


def is_broadcast(cell: Cell) -> bool:
    """Returns whether an op copies one array along new axes."""
    op = cell.op
    return (
        isinstance(op, Map)
        and op.function == Operand(1)
        and len(cell.inputs) == 1
        and len(cell.site.outputs[0]) > len(cell.site.inputs[0])
        and cell.site.outputs[0].below == cell.site.inputs[0].below
    )


def _ignores(cell: Cell, names: set[str]) -> bool:
    """Returns whether an op of one array does the same at each place of some axes."""
    op = cell.op
    if len(cell.inputs) != 1 or len(cell.outputs) != 1:
        return False
    if isinstance(op, Map):
        return not op.dom[0] and not op.signature.cod[0] and not {*op.reads.names} & names
    if isinstance(op, Elementwise | Scale):
        return True
    own = {axis.name for axis in (*cell.site.own_inputs.axes, *cell.site.own_outputs.axes)}
    return isinstance(op, ALONG_AXES) and not own & names
