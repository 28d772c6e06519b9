"""Layer norm by hand, and batch norm beside layer norm on one array."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq, space
from ncd.language.blocks import Block, Equation
from ncd.language.terms import Id, Term
from ncd.ops import BatchNorm, Copy, LayerNorm, Map, Param, Reduce
from ncd.systems.catalogue_entry import Entry
from ncd.systems.transformers.encoder_decoder import LONGEST_CACHE


def layer_norm(t: int = 4, m: int = 6) -> Term:
    """``nn.LayerNorm`` over m features, and the same by hand, with the biased variance."""
    return Axes(t=seq(t), m=m)(_layer_norm())


@lru_cache
def _layer_norm() -> Term:
    centred = Reduce("m ->", "mean") >> Map("t, t m -> t m", "$2 - $1", "x − μ")
    square = Block(Map("m -> m", "$1 ** 2", "x^2") >> Reduce("m ->", "mean"), "Variance", "neutral")
    hand = (
        Copy("t m")
        >> Block(centred, "Mean", "neutral")
        >> Copy("t m")
        >> square
        >> Map("t, t m -> t m", "$2 / sqrt($1 + 1e-5)", "÷ √(σ²+ε)")
        >> Param("m", "gamma", "1")
        >> Map("m, t m -> t m", "$1 * $2", "∗")
        >> Param("m", "beta", "0")
        >> Map("m, t m -> t m", "$1 + $2", "+")
    )
    return Equation(Id("t m") >> Block(LayerNorm("m", "norm"), "Layer Norm", "activate"), hand)


def batch_norm(b: int = 8, c: int = 3, x: int = 4) -> Term:
    """Batch norm and layer norm of the same b images with c channels."""
    return Axes(b=b, c=c, x=space(x, x))(_batch_norm())


@lru_cache
def _batch_norm() -> Term:
    return Copy("b c x") >> Block(BatchNorm("b c", "batch"), "Batch Norm", "activate") @ Block(
        LayerNorm("c", "layer"), "Layer Norm", "activate"
    )


LAYER_NORM = Entry(
    name="layer-norm",
    title="Layer norm",
    source="Unit tests, LayerNorm",
    knobs=(
        Knob("m", 1, 64, 6, help="features of a position", reason="six in the notebook"),
        Knob("t", 1, 64, 4, help="positions", reason=LONGEST_CACHE),
    ),
    system=layer_norm,
    section="Normalisation",
    type="t m -> t m, t m",
)
BATCH_NORM = Entry(
    name="batch-norm",
    title="Batch norm",
    source="Notes, normalisation",
    knobs=(
        Knob("b", 2, 64, 8, help="images", reason="two or more, for batch norm to normalise over"),
        Knob("c", 1, 32, 3, help="channels", reason="three, as red, green and blue"),
        Knob("x", 1, 32, 4, help="height and width", reason="up to 32, as small pictures have"),
    ),
    system=batch_norm,
    section="Normalisation",
    type="b c x -> b c x, b c x",
)
