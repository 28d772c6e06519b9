"""The facts of an op with which a page writes out how one of its numbers came about."""

from __future__ import annotations

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.ops import Add, Conv, Einsum, Elementwise, Linear, Scale


def terms(cell: Cell) -> dict[str, str]:
    """Returns the kind of an op, and the axes and weights of its products; empty if it has none.

    >>> import ncd
    >>> term = ncd.Axes(m=8, k=4)(ncd.ops.Linear("m -> k", "Q", bias=True))
    >>> terms(ncd.elaborate(term).cells[0])
    {'kind': 'linear', 'from': 'm', 'to': 'k', 'weights': 'Q.weight Q.bias'}
    """
    op, site = cell.op, cell.site
    if isinstance(op, Einsum):
        return {"kind": "einsum"}
    if isinstance(op, Add | Scale | Elementwise):
        return {"kind": "same"}
    if op.role == "softmax":
        return {"kind": f"softmax {site.cod[0][0].name}"}
    if not isinstance(op, Linear | Conv):
        return {}
    learned = (f"{cell.path}.{name}" for name in ("weight", "bias")[: 1 + op.bias])
    old, new = site.dom[0].names, site.cod[0].names
    if isinstance(op, Linear):
        found = {"kind": "linear", "from": " ".join(old), "to": " ".join(new)}
        return {**found, "weights": " ".join(learned)}
    return {
        "kind": "conv",
        "from": " ".join(old[:-1]),
        "to": " ".join(new[:-1]),
        "weights": " ".join(learned),
        "places": f"{old[-1]} {new[-1]}",
        "slid": cell.id,
    }


def renamed(cell: Cell, circuit: Circuit) -> list[dict[str, str]]:
    """Returns the axes of each input that another block names otherwise, with the op's own names.

    >>> import ncd
    >>> circuit = ncd.elaborate(ncd.catalogue["encoder-block"].build())
    >>> renamed(next(cell for cell in circuit.cells if cell.name == "q"), circuit)
    [{'t': 'y'}]
    """
    return [
        {
            there.name: here.name
            for there, here in zip(circuit.values[value.id].array, value.array, strict=True)
            if there.name != here.name
        }
        for value in cell.inputs
    ]
