"""The number format of every array of a circuit, and where it changes."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.formats import PLAIN, SHORT, Formats
from ncd.lang.formulas.expr import Arg


def array_formats(circuit: Circuit, formats: Formats) -> dict[str, str]:
    """Returns the format of every array of real numbers, by its id.

    What comes in is cast to the format of the activations. An op that makes no new array passes its
    format on; a weight has its own.
    """
    found = {v.id: formats.activations for v in circuit.inputs if v.array.below is None}
    for cell in circuit.cells:
        codes = cell.torch if isinstance(cell.torch, tuple) else (cell.torch,)
        for i, value in enumerate(cell.outputs):
            code = codes[i] if i < len(codes) else None
            if value.array.below is not None:
                continue
            passed = cell.inputs[code.index].id if isinstance(code, Arg) else ""
            found[value.id] = found.get(passed, "") or _made(cell, formats)
    return found


def _made(cell: Cell, formats: Formats) -> str:
    """Returns the format of the array that an op makes."""
    if cell.initial and not cell.inputs:
        return formats.weights if len(cell.outputs[0].array) > 1 else formats.vector
    return formats.made_by(cell.path)


def casts(circuit: Circuit, formats: Formats) -> Mapping[str, str]:
    """Returns the short names of the formats to which arrays are cast, by the ids of the arrays.

    A cast is where an array has another format than all that it was made from; what comes in is
    float32, and so is a weight before it is stored.

    >>> import ncd
    >>> term = ncd.Id("y:5 m:3") >> ncd.Linear("m -> k:2", "K") >> ncd.Softmax("k")
    >>> circuit = ncd.elaborate(term)
    >>> casts(circuit, ncd.Formats(activations="bfloat16", cache="int8", cached=("K",)))
    {'v0': 'bf16', 'v1': 'i8', 'v2': 'bf16'}
    """
    if formats.plain:
        return {}
    every = array_formats(circuit, formats)
    given = {v.id for v in circuit.inputs}
    before = {id: {PLAIN} for id in given}
    for cell in circuit.cells:
        came = {every[v.id] for v in cell.inputs if v.id in every}
        for value in cell.outputs:
            before[value.id] = came or {PLAIN}
    return {
        id: SHORT[name] for id, name in every.items() if id in before and name not in before[id]
    }
