"""A network of two layers and its scaled loss, whose gradients are small: a test of formats."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.blocks import Block
from ncd.language.terms import Term
from ncd.ops import Elementwise, Linear, Map, Named, Reduce
from ncd.systems.catalogue_entry import Entry, Preset

BATCHES = (64, 1024, 65_536, 2**19, 2**20)  # examples of which the loss is the mean
SCALES = tuple(2**power for power in (0, 8, 16, 24, 32, 40))  # what the loss is multiplied by
SCALE_NAMES = ("1", "256", "65,536", "2²⁴", "2³²", "2⁴⁰")
MANY, UNSCALED = 4, 0  # places in them


def low_precision(
    b: int = 16, m: int = 16, d: int = 64, k: int = 8, n: int = MANY, s: int = UNSCALED
) -> Term:
    """Returns the scaled loss of a perceptron, ``b m, b k -> ()``.

    ``n`` is a place in ``BATCHES``: the loss is the mean over so many examples, of which these are
    b. ``s`` is one in ``SCALES``: the loss and all gradients are so many times as large.

    >>> low_precision().cod.spec
    '()'
    """
    return Axes(b=b, m=m, d=d, k=k)(_scaled_loss(BATCHES[n], SCALES[s]))


@lru_cache
def _scaled_loss(batch: int, scale: int) -> Term:
    hidden = Linear("m -> d", "W_1") >> Elementwise("relu")
    loss = (
        Map("b k, b k -> b k", "$1 - $2", "− y")
        >> Map("b k -> b k", "$1 ** 2", "square")
        >> Reduce("b k -> b", "mean")
        >> Reduce("b ->", "sum")
        >> Map("() -> ()", f"$1 / {batch}", "÷ N")
    )
    network = (
        Named("b m", "x") >> Block(hidden, "Hidden Layer", "linear") >> Linear("d -> k", "W_2")
    )
    return (
        network @ Named("b k", "y")
        >> Block(loss, "Loss", "residual")
        >> Block(Map("() -> ()", f"{scale} * $1", "S"), "Loss Scale", "softmax")
    )


LOW_PRECISION = Entry(
    name="low-precision",
    title="Low precision",
    source="torch.amp",
    knobs=(
        Knob(
            "b",
            1,
            BATCHES[0],
            16,
            help="examples",
            reason="those of the mean that are calculated with at once",
            most=BATCHES[0],
        ),
        Knob("m", 1, 64, 16, help="features", reason="a few, so that every number can be seen"),
        Knob("d", 1, 256, 64, help="hidden units", reason="each result adds up so many products"),
        Knob("k", 1, 16, 8, help="results", reason="each is compared with what is asked for"),
        Knob(
            "n",
            0,
            len(BATCHES) - 1,
            MANY,
            help="examples in the mean",
            reason="the loss of a step is their mean, and the gradient of each so much smaller",
            names=tuple(f"{batch:,}" for batch in BATCHES),
        ),
        Knob(
            "s",
            0,
            len(SCALES) - 1,
            UNSCALED,
            help="loss scale",
            reason="what the loss is multiplied by, and with it every gradient",
            names=SCALE_NAMES,
        ),
    ),
    system=low_precision,
    section="Training",
    type="b m, b k -> ()",
    height=26,
    presets=(
        Preset(
            "grad-scaler",
            {"s": 2},
            "PyTorch's documentation of torch.amp.GradScaler: a loss scale of 65,536 at first",
            "GradScaler at first",
        ),
    ),
)
