"""What the arrays of a circuit are called, so that two of the same axes can be told apart."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.lang.circuit import Cell, Circuit


def called(circuit: Circuit) -> Mapping[str, str]:
    """The names of arrays by their ids, as the ops that make them say: "scores", "weights", "q".

    What only scales, copies or changes an array each number by itself leaves it its name.

    >>> from ncd.lang.elaborate import elaborate
    >>> from ncd.ops import Elementwise, Linear, Softmax
    >>> called(elaborate(Linear("m:2 -> k:3", "Q") >> Elementwise("relu") >> Softmax("k")))
    {'v1': 'q', 'v2': 'q', 'v3': 'weights'}
    """
    names: dict[str, str] = {}
    for cell in circuit.cells:
        words = cell.op.out(cell.site).split(",")
        for n, value in enumerate(cell.outputs):
            name = words[n].strip() if n < len(words) else ""
            name = name if name not in ("", "x") else _kept(cell, n, names)
            if name:
                names[value.id] = name
    return names


def _kept(cell: Cell, output: int, names: Mapping[str, str]) -> str:
    """The name of the one array that it takes, if it gives one of the same axes."""
    if len(cell.inputs) != 1 or cell.inputs[0].array.names != cell.outputs[output].array.names:
        return ""
    return names.get(cell.inputs[0].id, "")
