"""Builds the term of a module from its steps, once every axis has a name."""

from __future__ import annotations

from collections.abc import Iterable

from ncd.importing.base.atoms import Atom, Dim, every, group_of, leaves
from ncd.importing.base.import_values import Constant, Refused, Slot, Step
from ncd.importing.base.op_order import reordered
from ncd.importing.graph_calls import fact
from ncd.importing.graph_reader import Walked
from ncd.importing.module_blocks import Item, alive, assembled, late, origins
from ncd.importing.naming.axis_names import AxisNames, PartOfGroup
from ncd.lang.errors import NCDError
from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axes import Array, Type


def built(walked: Walked) -> tuple[Term, tuple[Constant, ...], tuple[str, ...]]:
    """Returns the term of the steps, its weights, and the node of torch's graph of each op.

    Raises Refused for steps that do not fit.
    """
    steps = walked.builder.steps
    axes = AxisNames([slot.atoms for slot in walked.inputs.values()], steps, walked.called)
    arrays: dict[Slot, Array] = {}
    for slot in walked.inputs.values():
        bound = axes((slot.below,))[0] if slot.below is not None else None
        arrays[slot] = Array(axes(slot.atoms), bound)
    items = _items(steps, axes, arrays)
    outputs = []
    for value in walked.outputs:
        slot, more = _in_order(value.slot, every(value.dims), axes, arrays)
        outputs.append(slot)
        items += more
    ready = late(alive(items, tuple(outputs)))
    weights = tuple(weight for item in ready for weight in item.weights)
    inputs = tuple(walked.inputs.values())
    term = assembled(ready, inputs, tuple(outputs), arrays)
    return term, weights, origins(ready, term)


def _items(steps: Iterable[Step], axes: AxisNames, arrays: dict[Slot, Array]) -> list[Item]:
    """Returns the ops of all steps.

    Raises Refused for all that do not fit, but for none that takes what another of them gives.
    """
    found: list[Item] = []
    reasons: dict[str, str] = {}
    for step in steps:
        if any(slot not in arrays for slot in step.takes):
            continue
        try:
            found.append(_item(step, axes, arrays))
        except Refused as error:
            reasons |= error.reasons
    if reasons:
        raise Refused(reasons)
    return found


def _item(step: Step, axes: AxisNames, arrays: dict[Slot, Array]) -> Item:
    """Returns the op of a step, and records the arrays that it gives; raises Refused."""
    given = [arrays[slot] for slot in step.takes]
    try:
        term = step.make(axes, given)
        found = (Id(Type(given)) >> term).cod if given else term.cod
        given_now = dict(zip(step.gives, found, strict=True))
        for slot, array in given_now.items():
            wanted = axes(_together(slot.atoms)).names
            if set(array.names) != set(wanted):
                raise Refused({step.node: f"it gives ({array}), not ({' '.join(wanted)})"})
        arrays |= given_now
    except (NCDError, PartOfGroup) as error:
        raise Refused({step.node: str(error)}) from None
    except Exception as error:  # whatever an op raises for what nobody has thought of
        raise Refused({step.node: f"it has no op here ({fact(error)})"}) from None
    return Item(term, step.takes, step.gives, step.path, weights=step.weights, node=step.node)


def _together(atoms: Iterable[Atom]) -> Dim:
    """Returns atoms with those of a spatial group next to each other."""
    return tuple(dict.fromkeys(one for a in leaves(atoms) for one in group_of(a) or (a,)))


def _in_order(
    slot: Slot, dim: Dim, axes: AxisNames, arrays: dict[Slot, Array]
) -> tuple[Slot, list[Item]]:
    """Returns an output with its axes in torch's order, and the op that puts them so."""
    array = arrays[slot]
    try:
        wanted = Array(axes(dim), array.below)
    except PartOfGroup:
        wanted = array
    if wanted.names == array.names:
        return slot, []
    ordered = slot.on(slot.atoms)
    arrays[ordered] = wanted
    return ordered, [Item(reordered(array, wanted), (slot,), (ordered,))]
