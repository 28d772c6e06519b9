"""What an op gives, straight from its expressions."""

from __future__ import annotations

from torch import Tensor, device, float64

from ncd.language.axes import Type
from ncd.language.op import Op
from ncd.run.evaluate import Like, code


def values(op: Op, dom: str, *inputs: Tensor) -> tuple[Tensor, ...]:
    """The outputs of an op without parameters on arrays of this type, in 64 bits."""
    site = op.site(Type.parse(dom))
    ranks, like = [len(array.shape) for array in site.ins], Like(device("cpu"), float64)
    said = op.torch(site)
    if isinstance(said, tuple):
        return tuple(code(expr, ranks)(inputs, None, like) for expr in said)
    return tuple(code(said, ranks)(inputs, None, like))
