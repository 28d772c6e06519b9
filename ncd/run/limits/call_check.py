"""Checks the calls of torch's functions by their names, before anything is allocated."""

from __future__ import annotations

from functools import lru_cache

import torch

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.errors import MismatchError, NCDError
from ncd.lang.types.axes import Array
from ncd.ops.torch_calls.opaque import CLOSED, ELSEWHERE, FOLDED
from ncd.run.execution.evaluate import Like
from ncd.run.execution.program import part

META = torch.device("meta")


class ValuesEnd(NCDError):
    """A box that is drawn with its shapes, of a function that not everyone may run."""


def check_calls(circuit: Circuit) -> None:
    """Raises MismatchError for a call that torch rejects, or whose result has another shape.

    Raises ValuesEnd for a box that is only drawn.
    """
    for cell in circuit.cells:
        if cell.op.calls.startswith(f"{CLOSED}."):
            fact = f"values end here: {cell.op.calls.split('.')[1]} of torch is drawn, and not run"
            raise ValuesEnd(fact, cure="ncd.from_torch on your own machine, which runs it").at(
                op=cell.op
            )
        if cell.op.calls.startswith(f"{ELSEWHERE}."):
            fact = "values end here: it comes from another file, and only its shapes are known"
            raise ValuesEnd(fact, cure="its class in the text").at(op=cell.op)
        if cell.op.calls.startswith(f"{FOLDED}."):
            fact = "values end here: it is folded, as the whole model is large"
            raise ValuesEnd(fact, cure="a last line with the name of its class").at(op=cell.op)
        fault = _fault(cell) if cell.op.calls else ""
        if fault:
            fact, cure = f"torch refuses it: {fault}", "a pattern of the shapes that it gives"
            where = cell.op.label
            raise MismatchError(fact, where=where, cure=cure).at(bound=cell.site.axes, op=cell.op)


@lru_cache(256)
def _fault(cell: Cell) -> str:
    """Returns torch's message for a call on tensors without data; empty if it is right."""
    given = [_empty(array) for array in cell.site.ins]
    try:
        _check_functional(cell.op.calls)
        made = part(cell).run(given, None, Like(META, torch.float32))
    except Exception as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    found = made if isinstance(made, tuple) else (made,)
    shapes = [tuple(x.shape) for x in found]
    wanted = [array.shape for array in cell.site.outs]
    return "" if shapes == wanted else f"it gives {shapes}, not {wanted}"


def _check_functional(function: str) -> None:
    """Raises ValueError for a name that is not a function, or that changes its inputs."""
    space, name = function.split(".")[:2]
    schemas = torch._C._jit_get_schemas_for_operator(f"{space}::{name}")
    if not schemas:
        raise ValueError(f"there is no function {function}")
    if all(schema.is_mutable for schema in schemas) or name.endswith("_"):
        raise ValueError(f"{function} changes its inputs")


def _empty(array: Array) -> torch.Tensor:
    kind = torch.float32 if array.below is None else torch.int64
    return torch.empty(array.shape, dtype=kind, device=META)
