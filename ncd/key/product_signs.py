"""Signs of products and sums, of norms and of weights."""

from __future__ import annotations

from ncd.key.sign import Sign
from ncd.key.wire_signs import SIZES
from ncd.lang.terms.terms import Id
from ncd.ops import (
    BatchNorm,
    CausalMask,
    Cumulative,
    Einsum,
    LayerNorm,
    Reduce,
    RMSNorm,
    Softmax,
    Unit,
)

PRODUCTS = (
    Sign(
        "cap",
        "Inner product",
        "Two wires meet in a cap: their numbers are multiplied in pairs and added up. The axis is "
        "gone, and an arrow leads on, unless both wires were of one array.",
        'einsum(q, k, "y k, x k -> y x")',
        lambda: SIZES(Einsum("y k, x k -> y x")),
    ),
    Sign(
        "diagonal",
        "Shared axis",
        "A wire bends onto another one at a dot: both arrays go along this axis together, the "
        "first place with the first, the second with the second.",
        'einsum(a, b, "h y, h x -> h y x")',
        lambda: SIZES(Einsum("h, h -> h")),
    ),
    Sign(
        "outer",
        "Outer product",
        "No sign at all. The dashed line ends, and the arrays go on as one: each number of the "
        "first times each of the second.",
        'einsum(a, b, "m, k -> m k")',
        lambda: SIZES(Einsum("m, k -> m k")),
    ),
    Sign(
        "sum",
        "Sum",
        "A wire ends in Σ: all numbers along it are added up.",
        "x.sum(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->")),
    ),
    Sign(
        "mean",
        "Mean",
        "A wire ends in 𝔼: of all numbers along it the mean is taken.",
        "x.mean(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->", "mean")),
    ),
    Sign(
        "product",
        "Product",
        "A wire ends in Π: all numbers along it are multiplied.",
        "x.prod(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->", "product")),
    ),
    Sign(
        "extreme",
        "Largest or smallest",
        "A wire ends in Max or Min: of all numbers along it only that one is kept.",
        "x.amax(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->", "max")),
    ),
    Sign(
        "cumulative",
        "Sum so far",
        "A box with Σ ≤ or Π ≤ in a wire: each number becomes the sum, or the product, of all "
        "numbers up to its place.",
        "x.cumsum(dim)",
        lambda: SIZES(Id("y m") >> Cumulative("m")),
    ),
    Sign(
        "cup",
        "Unit",
        "The mirror image of the cap: two wires begin in one curve. It is the unit matrix, 1 where "
        "both places are the same and 0 elsewhere.",
        "torch.eye(n)",
        lambda: Unit("a:3 b"),
    ),
)

WEIGHTS = (
    Sign(
        "softmax",
        "Softmax",
        "A triangle in a wire: the numbers along it become weights between 0 and 1 that sum to 1.",
        "softmax(x, dim)",
        lambda: SIZES(Id("y x") >> Softmax("x")),
    ),
    Sign(
        "mask",
        "Causal mask",
        "A square, half filled: what comes later than the place that asks is hidden from it.",
        "x.masked_fill(later, -torch.inf)",
        lambda: SIZES(CausalMask("y x")),
    ),
    Sign(
        "batchnorm",
        "Batch norm",
        "A ring in the wire of the channels, which the wire of the batch touches: each channel is "
        "shifted and scaled to mean 0 and variance 1 over the whole batch.",
        "nn.BatchNorm2d(n)",
        lambda: SIZES(Id("b n p") >> BatchNorm("b n")),
    ),
    Sign(
        "layernorm",
        "Layer norm",
        "A ring with a bar: the numbers along its wires are shifted and scaled to mean 0 and "
        "variance 1, for each place by itself.",
        "nn.LayerNorm(m)",
        lambda: SIZES(Id("y m") >> LayerNorm("m")),
    ),
    Sign(
        "rmsnorm",
        "Root-mean-square norm",
        "A ring with rms in it: the numbers along its wires are divided by the root of the mean of "
        "their squares.",
        "nn.RMSNorm(m)",
        lambda: SIZES(Id("y m") >> RMSNorm("m")),
    ),
)
