"""A hidden layer some of whose units are left out at random while it learns."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.blocks import Block
from ncd.language.terms import Term
from ncd.ops import Dropout, Elementwise, Linear, Named
from ncd.systems.catalogue_entry import Entry, Preset

RATES = ("0.1", "0.2", "0.5", "0.8")
TRAIN, EVAL = 0, 1


def dropout(b: int = 4, m: int = 8, d: int = 16, k: int = 3, p: int = 2, mode: int = TRAIN) -> Term:
    """Returns a perceptron with dropout behind its hidden layer, ``b m -> b k``.

    ``p`` is a place in ``RATES``. With ``mode`` it runs as after training, where no unit is left
    out.

    >>> dropout().cod.spec
    'b:4 k:3'
    """
    return Axes(b=b, m=m, d=d, k=k)(_perceptron(0.0 if mode == EVAL else float(RATES[p])))


@lru_cache
def _perceptron(rate: float) -> Term:
    hidden = Linear("m -> d", "W_1", True) >> Elementwise("relu")
    return (
        Named("b m", "x")
        >> Block(hidden, "Hidden Layer", "linear")
        >> Block(Dropout(rate, "drop"), "Dropout", "activate")
        >> Linear("d -> k", "W_2", True)
    )


DROPOUT = Entry(
    name="dropout",
    title="Dropout",
    source="torch.nn.Dropout",
    knobs=(
        Knob("b", 1, 16, 4, help="examples", reason="each gets a mask of its own"),
        Knob("m", 1, 64, 8, help="features in", reason="a few, so that every number can be seen"),
        Knob("d", 1, 64, 16, help="hidden units", reason="those that are left out"),
        Knob("k", 1, 16, 3, help="features out", reason="each adds up all hidden units"),
        Knob("p", 0, 3, 2, help="share left out", reason=", ".join(RATES), names=RATES),
        Knob(
            "mode",
            0,
            1,
            TRAIN,
            help="training or use",
            reason="while it learns, or afterwards",
            names=("train", "eval"),
        ),
    ),
    system=dropout,
    section="Training",
    type="b m -> b k",
    height=26,
    presets=(
        Preset(
            "srivastava-mnist",
            {"m": 784, "d": 1024, "k": 10, "p": 2},
            "Srivastava et al. 2014, Dropout, section 6.1.1 and table 2: 1,024 units, half of them "
            "kept; one of their hidden layers",
            "MNIST",
        ),
        Preset(
            "alexnet",
            {"m": 9216, "d": 4096, "k": 4096, "p": 2},
            "Krizhevsky et al. 2012, sections 3.5 and 4.2: the first two fully connected layers",
            "AlexNet",
        ),
        Preset(
            "transformer",
            {"m": 512, "d": 2048, "k": 512, "p": 0},
            "Vaswani et al. 2017, sections 3.3 and 5.4: the feed-forward of the base model; "
            "PyTorch's layer drops its hidden units as well",
            "Transformer",
        ),
    ),
)
