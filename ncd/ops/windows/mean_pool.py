"""Average pooling, which is a ``Window`` and a ``Reduce``."""

from __future__ import annotations

from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops.along_axis.reduce import Reduce
from ncd.ops.linear_maps.weight_init import beside
from ncd.ops.windows.sliding_window import Window
from ncd.ops.windows.window_shapes import Sides, spread


def mean_of_windows(pattern: Signature, kernel: Sides, stride: Sides, padding: Sides = 0) -> Term:
    """Returns the mean in each window; the zeros of a padding count too.

    The positions of the pattern have sizes.

    Source: ``torch.nn.AvgPool2d``.
    """
    (old,), (new,) = pattern.dom, pattern.cod
    sizes = spread(kernel, len(new.dims))
    window = beside((*old.names, *new.names), "w", sizes if len(sizes) > 1 else sizes[0])
    slid = Signature(Type((old,)), Type((Array((*new, *window)),)))
    mean = Reduce(Signature(Type((window,)), Type((Array(),))), "mean")
    return Window(slid, kernel, stride, padding) >> mean
