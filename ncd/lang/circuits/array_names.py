"""Names for the arrays of a circuit, to distinguish arrays of the same axes."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.formulas.expr import Arg

CHANGED = {"scale": "scaled", "mask": "masked"}  # by the role of the op


def called(circuit: Circuit) -> Mapping[str, str]:
    """Returns names of arrays by their ids, as given by the ops that make them: "scores", "q".

    A copy has the name of the original. An op that changes one array adds a word to its name. Other
    arrays have the name of the layer that makes them.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.ops import Elementwise, Linear, Scale, Softmax
    >>> term = Linear("m:2 -> k:3", "Q") >> Scale("2") >> Elementwise("relu") >> Softmax("k")
    >>> called(elaborate(term))
    {'v1': 'q', 'v2': 'scaled q', 'v3': 'scaled q after relu', 'v4': 'weights'}
    """
    names: dict[str, str] = {}
    for cell in circuit.cells:
        words = cell.op.out(cell.site).split(",")
        for n, value in enumerate(cell.outputs):
            name = words[n].strip() if n < len(words) else ""
            name = name if name not in ("", "x") else _kept(cell, n, names) or cell.name
            if name:
                names[value.id] = name
    return names


def _kept(cell: Cell, output: int, names: Mapping[str, str]) -> str:
    """Returns a name made of that of the cell's only input, if the output has the same axes."""
    if len(cell.inputs) != 1 or cell.inputs[0].array.names != cell.outputs[output].array.names:
        return ""
    name = names.get(cell.inputs[0].id, "")
    if not name or cell.op.role == "copy":
        return name
    if cell.op.role in CHANGED:
        return f"{CHANGED[cell.op.role]} {name}"
    return f"{name.partition(' after ')[0]} after {cell.op.label.split()[-1]}"


def given(circuit: Circuit) -> Mapping[str, str]:
    """Returns the names of inputs by their ids, for inputs that a ``Named`` takes.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.ops import Named, Softmax
    >>> given(elaborate((Named("m:2", "x") >> Softmax("m")) @ Softmax("k:3")))
    {'v0': 'x'}
    """
    takers = {value.id: circuit.takers.get(value.id) for value in circuit.inputs}
    return {
        id: cell.op.out(cell.site)
        for id, cell in takers.items()
        if cell is not None and len(cell.outputs) == 1 and cell.torch == (Arg(0),)
    }
