"""Data of the commands that print JSON."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ncd.costs import Cost, cost
from ncd.lang.circuits.circuit import Circuit, State, Value
from ncd.lang.terms.terms import Term
from ncd.models import Entry


def entry_data(entry: Entry) -> dict[str, Any]:
    """Returns an entry with its knobs and presets."""
    names = ("name", "title", "source", "section", "type")
    own = {name: getattr(entry, name) for name in names}
    knobs = [{**vars(knob), "limits": knob.limits} for knob in entry.knobs]
    return {**own, "knobs": knobs, "presets": [vars(preset) for preset in entry.presets]}


def circuit_data(circuit: Circuit) -> dict[str, Any]:
    """Returns the states of a circuit, and of the first body of each of its loops."""
    loops = [
        {"id": loop.id, "kind": loop.kind, "states": _states_data(loop.bodies[0].states)}
        for loop in circuit.loops
    ]
    return {"states": _states_data(circuit.states), "loops": loops}


def _states_data(states: Sequence[State]) -> list[list[dict[str, Any]]]:
    return [[_value_data(value) for value in state] for state in states]


def _value_data(value: Value) -> dict[str, Any]:
    array = value.array
    axes = [{"name": a.name, "size": a.size, "sequence": a.sequence} for a in array]
    below = None if array.below is None else array.below.size
    return {"id": value.id, "axes": axes, "shape": array.shape, "below": below}


def cost_data(circuit: Circuit, cost: Cost) -> dict[str, Any]:
    """Returns the costs of each op, in total, and the memory of a run."""
    ops = []
    for op in cost.ops:
        cell = circuit.cell(op.node)
        ends = {"ins": [v.id for v in cell.inputs], "outs": [v.id for v in cell.outputs]}
        ops.append({**vars(op), "module": cell.path, **ends})
    names = ("parameters", "flops", "bytes", "weight_bytes", "cache_bytes")
    total = {name: getattr(cost, name) for name in names}
    return {"ops": ops, "total": {**total, "peak": peak_bytes(circuit)}}


def peak_bytes(circuit: Circuit) -> int | None:
    """Returns the memory of a run in bytes, which torch is asked for; None where it is missing."""
    if not find_spec("torch"):
        return None
    from ncd.run import peak

    return peak(circuit)


def term_data(term: Term) -> dict[str, Any]:
    """Returns the types and the costs of a term."""
    total = cost(term)
    types = {"dom": term.dom.spec, "cod": term.cod.spec}
    return {**types, "parameters": total.parameters, "flops": total.flops}
