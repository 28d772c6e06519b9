"""Algorithms that one loop over tiles can do: products, attention, a feed-forward, a norm."""

from __future__ import annotations

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.ops import Copy, Einsum, Elementwise, Linear, Map, Named, Reduce, RMSNorm, Scale, Softmax
from ncd.systems.catalogue_entry import Entry


def matrix_product(a: int = 64, b: int = 64, c: int = 64) -> Term:
    """Returns the product of an a × b matrix and a b × c one."""
    product = Block(Einsum("a b, b c -> a c", "product"), "Product", "einsum")
    return Axes(a=a, b=b, c=c)(Named("a b", "A") @ Named("b c", "B") >> product)


def flash_attention(y: int = 64, x: int = 64, k: int = 16) -> Term:
    """Returns attention without a mask, whose scores need not leave the fast memory."""
    loop = Block(
        Block(Einsum("y k, x k -> y x", "scores"), "", "einsum")
        >> Block(Scale("k"), "", "scale")
        >> Block(Softmax("x"), "SoftMax", "softmax")
        >> Block(Einsum("y x, x k -> y k", "out"), "", "weighted"),
        "One loop over x",
        "neutral",
    )
    arrays = Named("y k", "Q") @ Named("x k", "K") @ Named("x k", "V")
    return Axes(y=seq(y), x=seq(x), k=k)(arrays >> loop)


def passes(step: int, y: int, x: int, k: int) -> Term:
    """Returns attention with its softmax written out: divided before the product, or after it.

    >>> str(passes(1, 3, 4, 2).cod)
    'y k'
    """
    top = Copy("y x") >> Id("y x") @ Reduce("y x -> y", "max")
    scores = Einsum("y k, x k -> y x", "scores") >> Scale("k") >> top
    powers = scores >> Map("y x, y -> y x", "exp($1 - $2)", "exp") >> Copy("y x")
    product = Einsum("y x, x k -> y k", "out")
    if step == 0:
        divided = Id("y x") @ Reduce("y x -> y", "sum") >> Map("y x, y -> y x", "$1 / $2")
        term: Term = powers >> divided >> product
    else:
        both = Reduce("y x -> y", "sum") @ Id("y x, x k") >> Id("y") @ product
        term = powers >> both >> Map("y, y k -> y k", "$2 / $1")
    return Axes(y=seq(y), x=seq(x), k=k)(term)


def fused_mlp(y: int = 64, m: int = 32, f: int = 128) -> Term:
    """Returns a feed-forward of two linear maps, whose f features need not leave fast memory."""
    layers = (
        Block(Linear("m -> f", "up"), "Linear", "linear")
        >> Block(Elementwise("relu"), "", "activate")
        >> Block(Linear("f -> m", "down"), "Linear", "linear")
    )
    return Axes(y=seq(y), m=m, f=f)(Id("y m") >> Block(layers, "One loop over f", "module"))


def streamed_norm(y: int = 64, m: int = 64, k: int = 32) -> Term:
    """Returns a norm before a linear map, in one pass over the m features."""
    layers = Block(RMSNorm("m", "norm"), "Norm", "activate") >> Block(
        Linear("m -> k", "L"), "Linear", "linear"
    )
    return Axes(y=seq(y), m=m, k=k)(Id("y m") >> Block(layers, "One loop over m", "module"))


_SIDE = "up to 512, so that the loop over its tiles runs here in a moment"
_WIDTH_REASON = "up to 512; the wider, the more is saved"
SECTION = "Memory levels"

MATRIX_PRODUCT = Entry(
    name="matrix-product",
    title="Matrix product in tiles",
    source="Abbott and Zardini 2024",
    knobs=(
        Knob("a", 1, 512, 64, help="rows", reason=_SIDE),
        Knob("b", 1, 512, 64, help="numbers that are summed over", reason=_SIDE),
        Knob("c", 1, 512, 64, help="columns", reason=_SIDE),
    ),
    system=matrix_product,
    section=SECTION,
    type="a b, b c -> a c",
)
FLASH_ATTENTION = Entry(
    name="flash-attention",
    title="Flash attention",
    source="Dao et al. 2022; Abbott and Zardini 2024",
    knobs=(
        Knob("y", 1, 512, 64, help="queries", reason=_SIDE),
        Knob("x", 1, 512, 64, help="keys and values", reason=_SIDE),
        Knob("k", 1, 128, 16, help="features", reason="of a head; up to 128, as in large models"),
    ),
    system=flash_attention,
    section=SECTION,
    type="y k, x k, x k -> y k",
)
FUSED_MLP = Entry(
    name="fused-mlp",
    title="Fused feed-forward",
    source="Abbott and Zardini 2024",
    knobs=(
        Knob("y", 1, 512, 64, help="positions", reason=_SIDE),
        Knob("m", 1, 128, 32, help="features in and out", reason="up to 128: it is kept whole"),
        Knob("f", 1, 512, 128, help="features between", reason=_WIDTH_REASON),
    ),
    system=fused_mlp,
    section=SECTION,
    type="y m -> y m",
)
STREAMED_NORM = Entry(
    name="streamed-norm",
    title="Streamed norm",
    source="Zhang and Sennrich 2019",
    knobs=(
        Knob("y", 1, 512, 64, help="positions", reason=_SIDE),
        Knob("m", 1, 512, 64, help="features that are normalised", reason=_WIDTH_REASON),
        Knob("k", 1, 128, 32, help="features that come out", reason="up to 128: they are kept"),
    ),
    system=streamed_norm,
    section=SECTION,
    type="y m -> y k",
)
