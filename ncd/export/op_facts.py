"""The facts of an op or a block as HTML: arrays, parameters, FLOPs, bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ncd.costs import Cost
from ncd.export import markup
from ncd.lang.circuits.circuit import Cell, Circuit, Fence
from ncd.lang.plain_text import plain_text
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.op import Op
from ncd.lang.types.axes import Array

Facts = dict[str, str]


def of_cell(cell: Cell, cost: Cost | None) -> Facts:
    """Returns the facts of one op; without a cost, only its arrays."""
    ins = [value.array for value in cell.inputs]
    outs = [value.array for value in cell.outputs]
    return _arrays(ins, outs, cost) | _costs(cost, {cell.id})


def of_block(circuit: Circuit, fence: Fence, cost: Cost | None) -> Facts:
    """Returns the facts of a block: those of all its ops together."""
    ins = [value.array for value in fence.states[0]]
    outs = [value.array for value in fence.states[-1]]
    return _arrays(ins, outs, cost) | _costs(cost, circuit.inside.get(fence.id, ()))


def inside(circuit: Circuit, fence: Fence) -> frozenset[str]:
    """Returns the ids of the ops in a block, including nested ones."""
    return frozenset(circuit.inside.get(fence.id, ()))


def title(fence: Fence) -> str:
    """Returns the name of a block: its title, its only op's name, or its role."""
    if fence.title.strip() or fence.repeats:
        return plain_text(fence.title.strip()) or f"Repeated {fence.repeats} times"
    body = fence.term.body if isinstance(fence.term, Block) else None
    return body.label if isinstance(body, Op) else fence.role.capitalize()


def listed(facts: Mapping[str, str]) -> str:
    """Returns facts as an HTML description list."""
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    return f'<dl class="stats">{rows}</dl>'


def _arrays(ins: Sequence[Array], outs: Sequence[Array], cost: Cost | None) -> Facts:
    def sized(arrays: Sequence[Array]) -> str:
        sizes = f" <span class='muted'>({markup.shapes(arrays)})</span>" if cost else ""
        return f"{markup.arrays(arrays)}{sizes}"

    return {"Takes": sized(ins), "Gives": sized(outs)}


def _costs(cost: Cost | None, nodes: Collection[str]) -> Facts:
    if cost is None:
        return {}
    costs = [cost.by_node[node] for node in nodes if node in cost.by_node]
    return {
        "Parameters": f"{sum(op.parameters for op in costs):,}",
        "Costs": markup.flops(sum(op.flops for op in costs)),
        "Makes": markup.amount(sum(op.bytes for op in costs), "B"),
    }
