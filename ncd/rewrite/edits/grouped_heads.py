"""Attention in which several heads share their keys and values: grouped queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ncd.circuit.circuit import Cell, Circuit
from ncd.errors import MismatchError
from ncd.formulas.formula import Operand
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.op import Op
from ncd.language.terms import Term
from ncd.language.wire import Wiring
from ncd.ops import Einsum, Group, Linear, Map, Rename, Softmax
from ncd.rewrite.rules.rule import (
    Options,
    Replacement,
    Rule,
    Target,
    Weights,
    count_option,
    unused_axis_name,
)

MOST_HEADS = 1024


@dataclass(frozen=True)
class AttentionParts:
    """The linear maps to keys and values of an attention, and the axis of its heads."""

    maps: tuple[Cell, ...]
    heads: Axis


def attention_parts(circuit: Circuit, softmax: Cell) -> AttentionParts | None:
    """Returns the keys and values of the attention around a softmax; None if it is none.

    Keys are what the scores are a product with, along the axis of the softmax; values are what its
    weights are multiplied by.
    """
    if not isinstance(softmax.op, Softmax):
        return None
    own = softmax.op.axis[0].name
    scores = _maker(circuit, softmax, Einsum)
    after = [cell for cell in circuit.cells if _takes(circuit, cell, softmax)]
    if scores is None or len(after) != 1:
        return None
    inputs = [value.id for cell in (scores, after[0]) for value in cell.inputs
              if own in value.array.names]  # fmt: skip
    found = [_linear(circuit, id) for id in inputs]
    maps = tuple(cell for cell in found if cell is not None)
    shared = [
        axis
        for axis in scores.site.outputs[0]
        if maps and all(axis in cell.site.own_outputs[0] for cell in maps)
    ]
    if len(maps) != 2 or len(shared) != 1 or any(len(c.site.own_outputs[0]) < 2 for c in maps):
        return None
    return AttentionParts(maps, shared[0]) if isinstance(shared[0].size, int) else None


def _source(circuit: Circuit, id: str) -> Cell | None:
    """Returns the op that makes an array, behind wires that only pass it on."""
    maker = circuit.producers.get(id)
    if maker is None:
        return None
    if isinstance(maker.op, Wiring):
        place = [value.id for value in maker.outputs].index(id)
        return _source(circuit, maker.inputs[maker.op.sources[place]].id)
    return maker


def _maker(circuit: Circuit, cell: Cell, kind: type[Op]) -> Cell | None:
    """Returns the op of a kind from which an op takes its array, by way of ops on single arrays."""
    found = _source(circuit, cell.inputs[0].id)
    while found is not None and not isinstance(found.op, kind) and len(found.inputs) == 1:
        found = _source(circuit, found.inputs[0].id)
    return found if found is not None and isinstance(found.op, kind) else None


def _takes(circuit: Circuit, cell: Cell, maker: Cell) -> bool:
    if not isinstance(cell.op, Einsum):
        return False
    return any(_source(circuit, value.id) is maker for value in cell.inputs)


def _linear(circuit: Circuit, id: str) -> Cell | None:
    found = _source(circuit, id)
    while found is not None and isinstance(found.op, Rename):
        found = _source(circuit, found.inputs[0].id)
    return found if found is not None and isinstance(found.op, Linear) else None


class GroupHeads(Rule):
    """Lets groups of heads share one head of keys and values each."""

    name: ClassVar[str] = "group-heads"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        cell = target.cell
        parts = attention_parts(target.circuit, cell) if cell is not None else None
        if parts is not None:
            n = parts.heads.numel
            choices = dict.fromkeys((n // 2, 1))
            yield from ((target.place, {"heads": g}) for g in choices if 0 < g < n and n % g == 0)

    def title(self, options: Options) -> str:
        g = options["heads"]
        return f"Share {g} head{'s' * (g > 1)} of keys and values among all queries"

    def replacement(self, target: Target, options: Options) -> Replacement:
        where = f"Group the heads of {target.words}"
        parts = attention_parts(target.circuit, target.cell) if target.cell else None
        if parts is None:
            fact = f"{target.words} is no softmax between a map to keys and one to values"
            raise MismatchError(fact, where=where, cure="the softmax of an attention")
        groups, n = count_option(options, "heads", MOST_HEADS, where), parts.heads.numel
        if n % groups:
            fact = f"axis {parts.heads.name} has size {n}, which {groups} does not divide"
            raise MismatchError(fact, where=where, cure="a number that divides it")
        taken = unused_axis_name(target.circuit, "g"), unused_axis_name(target.circuit, "q")
        g, q = Axis(taken[0], groups), Axis(taken[1], n // groups)
        new = {target.paths.path(c.id): _map_to_groups(c, parts.heads, g, q) for c in parts.maps}
        return Replacement(new, lambda old: _mean_heads(parts, groups, old))


def _map_to_groups(cell: Cell, heads: Axis, g: Axis, q: Axis) -> Term:
    """Returns a map to fewer heads, each of which is then copied for all of its queries."""
    op, (new,) = cell.op, cell.site.own_outputs
    assert isinstance(op, Linear)
    few = Array(g if axis == heads else axis for axis in new)
    many = Array(part for axis in new for part in ((g, q) if axis == heads else (axis,)))
    fewer = Linear(Signature(cell.site.own_inputs, Type((few,))), op.name, op.bias)
    copies = Map(Signature(Type((few,)), Type((many,))), Operand(1), "heads")
    return fewer >> copies >> Group(Signature(Type((Array((g, q)),)), Type((Array((heads,)),))))


def _mean_heads(parts: AttentionParts, groups: int, old: Weights) -> dict[str, Any]:
    """Returns the weights of shared heads: the means of those of their groups.

    Source: Ainslie et al. 2023, "GQA", section 2.1.
    """
    found = {}
    for cell in parts.maps:
        (new,) = cell.site.own_outputs
        at = new.names.index(parts.heads.name)
        before, after = Array(new[:at]).numel, Array(new[at + 1 :]).numel
        for kind in ("weight", "bias"):
            x = old.get(f"{cell.path}.{kind}")
            if x is not None:
                whole = x.reshape(before, groups, -1, after, *x.shape[1:])
                found[f"{cell.path}.{kind}"] = whole.mean(2).reshape(-1, *x.shape[1:])
    return found
