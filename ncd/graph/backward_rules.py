"""The backward rule of each torch function, in one line.

G is the gradient that arrives, ``a`` and ``b`` are the function's inputs, ``z`` is its output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ORDER = "The same numbers with their axes in another order: G, its axes put back."
_SHAPE = "The same numbers read in another shape: G, read in the shape from before."
_PICK = "G at the places that were read, summed where one was read twice, and 0 at all others."
_NORM = (
    "With x̂ the normalised numbers and g = G · γ: ∇x = (g − mean(g) − x̂ · mean(g · x̂)) / σ, "
    "∇γ is the sum of G · x̂, and ∇β that of G."
)

RULES = {
    "Abs": "∇a = G · sign(a).",
    "Add": "z = a + b: both get G. What was repeated along an axis gets the sum over it.",
    "Addmm": "z = c + a b: ∇a = G bᵀ, ∇b = aᵀ G, and ∇c is G, summed over the rows.",
    "Alias": "The same numbers: G.",
    "Amax": "G goes to the largest number; where several are the largest, each has a share.",
    "Amin": "G goes to the least number; where several are the least, each has a share.",
    "AvgPool2D": "Each number of a window of n gets G / n.",
    "Baddbmm": "z = c + a b: ∇a = G bᵀ, ∇b = aᵀ G, and ∇c is G.",
    "Bmm": "z = a b, a product of matrices for each of a batch: ∇a = G bᵀ and ∇b = aᵀ G.",
    "Cat": "Each part gets its own share of G.",
    "Ceil": "⌈a⌉ goes up in steps, and is level between them: 0.",
    "Clone": "A copy in memory: G.",
    "Convolution": "The input gets G, convolved with the kernel turned round; the kernel gets the "
    "products of the input and G, summed over all places; the bias gets the sum of G.",
    "Cos": "∇a = −G · sin(a).",
    "Cumsum": "Each number counts in all sums behind it: the sum of G from there on.",
    "Diagonal": _PICK,
    "Div": "z = a / b: ∇a = G / b and ∇b = −G · a / b².",
    "DivBackward2": "z = ⌊a / b⌋ goes up in steps, and is level between them: 0.",
    "Embedding": _PICK,
    "Exp": "∇a = G · z.",
    "Expand": "One number stands at many places: the sum of G over them.",
    "Floor": "⌊a⌋ goes up in steps, and is level between them: 0.",
    "Gather": _PICK,
    "Gelu": "∇a = G times the slope of gelu at a.",
    "Index": _PICK,
    "IndexSelect": _PICK,
    "Log": "∇a = G / a.",
    "LogSoftmax": "∇a = G − softmax(a) · the sum of G along the axis.",
    "MaskedFill": "G, and 0 where the mask wrote over the number.",
    "MaxPool2DWithIndices": "In each window G goes to the largest number; all others get 0.",
    "Maximum": "G goes to the larger of the two.",
    "Mean": "z is the mean of n numbers: each of them gets G / n.",
    "Minimum": "G goes to the smaller of the two.",
    "Mm": "z = a b, a product of matrices: ∇a = G bᵀ and ∇b = aᵀ G.",
    "MseLoss": "z is the mean of (a − b)² over n numbers: ∇a = G · 2 (a − b) / n, ∇b = −∇a.",
    "Mul": "z = a · b, number by number: ∇a = G · b and ∇b = G · a.",
    "Mv": "z = a b, a matrix times a vector: ∇a = G bᵀ and ∇b = aᵀ G.",
    "NativeBatchNorm": _NORM,
    "NativeDropout": "G where the number was kept, scaled as it was, and 0 where it was dropped.",
    "NativeLayerNorm": _NORM,
    "Neg": "∇a = −G.",
    "Permute": _ORDER,
    "Pow": "z = aⁿ: ∇a = G · n · aⁿ⁻¹.",
    "Relu": "G where a is above 0, and 0 where it is not.",
    "Remainder": "z = a − b ⌊a / b⌋: ∇a = G and ∇b = −G · ⌊a / b⌋.",
    "Repeat": "One number stands at many places: the sum of G over them.",
    "ReshapeAlias": _SHAPE,
    "Rsqrt": "z = 1 / √a: ∇a = −G · z³ / 2.",
    "Select": _PICK,
    "Sigmoid": "∇a = G · z · (1 − z).",
    "Sign": "A sign does not change where a is moved a little: 0.",
    "Silu": "∇a = G times the slope of silu at a.",
    "Sin": "∇a = G · cos(a).",
    "Slice": _PICK,
    "Softmax": "∇a = z · (G − s), where s is the sum of G · z along the axis of the softmax.",
    "Softplus": "∇a = G · sigmoid(a).",
    "Split": "The gradients of the parts, one behind the other.",
    "SplitWithSizes": "The gradients of the parts, one behind the other.",
    "Sqrt": "z = √a: ∇a = G / (2 z).",
    "Squeeze": _SHAPE,
    "Stack": "Each part gets its own share of G.",
    "Sub": "z = a − b: a gets G and b gets −G. What was repeated gets the sum.",
    "Sum": "z is a sum: each of its numbers gets G.",
    "T": _ORDER,
    "Tanh": "∇a = G · (1 − z²).",
    "Transpose": _ORDER,
    "Unbind": "The gradients of the parts, put together again.",
    "Unfold": "A number that stands in several windows gets the sum of what they send.",
    "UnsafeView": _SHAPE,
    "Unsqueeze": _SHAPE,
    "View": _SHAPE,
    "Where": "G goes to the side that was taken; the other gets 0.",
}
_NUMBERED = re.compile(r"Backward\d+$")


def plain(label: str) -> str:
    """Returns a function's name without its variant: ``MeanBackward1`` becomes ``Mean``."""
    return _NUMBERED.sub("", label)


def rule(label: str, own: Mapping[str, str] = RULES) -> str:
    """Returns the rule of a function in torch's graph; the chain rule for an unknown one.

    Args:
        label: The name of the function, such as ``SqueezeBackward1``.
        own: The rules of the op that it belongs to, by name, which come before the common ones.

    >>> rule("Mm")
    'z = a b, a product of matrices: ∇a = G bᵀ and ∇b = aᵀ G.'
    >>> rule("SqueezeBackward1") == rule("Squeeze"), rule("Fft")
    (True, 'The chain rule: G times the slope of this function.')
    >>> rule("FftBackward0", {"Fft": "The inverse transform of G."})
    'The inverse transform of G.'
    """
    names = (label, plain(label))
    found = (every[name] for every in (own, RULES) for name in names if name in every)
    return next(found, "The chain rule: G times the slope of this function.")
