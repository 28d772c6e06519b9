"""What an op gives, straight from its expressions."""

from __future__ import annotations

from torch import Tensor, device, float64

from ncd.language.axes import Type
from ncd.language.op import Op
from ncd.run.evaluate import TensorOptions, compile_expr


def values(op: Op, dom: str, *inputs: Tensor) -> tuple[Tensor, ...]:
    """The outputs of an op without parameters on arrays of this type, in 64 bits."""
    site = op.apply_to(Type.parse(dom))
    ranks, like = [len(array.shape) for array in site.inputs], TensorOptions(device("cpu"), float64)
    said = op.torch_code(site)
    if isinstance(said, tuple):
        return tuple(compile_expr(expr, ranks)(inputs, None, like) for expr in said)
    return tuple(compile_expr(said, ranks)(inputs, None, like))
