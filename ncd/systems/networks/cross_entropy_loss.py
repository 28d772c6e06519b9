"""The cross-entropy loss: scores of classes, their chances, and the surprise at the right one."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.ops import Copy, Einsum, Map, Named, Reduce, Softmax
from ncd.systems.catalogue_entry import Entry, Preset

TEMPERATURES = ("0.25", "0.5", "1", "2", "4", "20")
SMOOTHINGS = ("0", "0.1", "0.2", "0.5")
APART, AT_ONCE = 0, 1


def cross_entropy(b: int = 4, v: int = 6, t: int = 2, e: int = 0, form: int = APART) -> Term:
    """Returns the mean loss of b examples with v classes, ``b v, b#v -> ()``.

    ``t`` and ``e`` are places in ``TEMPERATURES`` and ``SMOOTHINGS``. With ``form`` the softmax and
    its logarithm are one formula, in which no number overflows.

    >>> cross_entropy().dom.spec, cross_entropy(form=AT_ONCE).cod.spec
    ('b:4 v:6, b:4#v:6', '()')
    """
    return Axes(b=b, v=v)(_loss(TEMPERATURES[t], SMOOTHINGS[e], form))


@lru_cache
def _loss(temperature: str, smoothing: str, form: int) -> Term:
    scores: Term = Named("b v", "scores")
    if temperature != "1":
        scores = scores >> Map("b v -> b v", f"$1 / {temperature}", f"÷ {temperature}")
    log = (
        _log_softmax()
        if form == AT_ONCE
        else Softmax("v", "p") >> Map("() -> ()", "log($1)", "log")
    )
    right = f"where($1 == v, {1 - float(smoothing):g}, 0)"
    right += f" + {smoothing} / n_v" if float(smoothing) else ""
    target = Named("b#v", "class") >> Map("b#v -> b v", right, "q")
    surprise = Einsum("b v, b v -> b") >> Map("b -> b", "-$1", "−") >> Reduce("b ->", "mean")
    return (scores >> Block(log, "Log Softmax", "softmax")) @ target >> surprise


def _log_softmax() -> Term:
    largest = Copy("b v") >> Reduce("b v -> b", "max") @ Id("b v")
    total = Map("b v -> b v", "exp($1)", "exp") >> Reduce("b v -> b", "sum")
    return (
        largest
        >> Map("b, b v -> b v", "$2 - $1", "− max")
        >> Copy("b v")
        >> (total >> Map("b -> b", "log($1)", "log")) @ Id("b v")
        >> Map("b, b v -> b v", "$2 - $1", "− log Σ")
    )


CROSS_ENTROPY = Entry(
    name="cross-entropy",
    title="Cross-entropy",
    source="torch.nn.functional.cross_entropy",
    knobs=(
        Knob("b", 1, 16, 4, help="examples", reason="a few, so that every number can be seen"),
        Knob("v", 2, 16, 6, help="classes", reason="few, so that each has a row"),
        Knob(
            "t",
            0,
            len(TEMPERATURES) - 1,
            2,
            help="temperature",
            reason="what scores are divided by",
            names=TEMPERATURES,
        ),
        Knob(
            "e",
            0,
            len(SMOOTHINGS) - 1,
            0,
            help="label smoothing",
            reason="the share that all classes get alike",
            names=SMOOTHINGS,
        ),
        Knob(
            "form",
            0,
            1,
            APART,
            help="softmax and log",
            reason="in two ops, or in one formula",
            names=("apart", "at once"),
        ),
    ),
    system=cross_entropy,
    section="Training",
    type="b v, b#v -> ()",
    height=22,
    presets=(
        Preset(
            "gpt-2",
            {"v": 50_257, "t": 2, "e": 0},
            "Radford et al. 2019: a class for each of 50,257 tokens, plain cross-entropy",
            "GPT-2",
        ),
        Preset(
            "transformer",
            {"v": 37_000, "t": 2, "e": 1},
            "Vaswani et al. 2017, sections 5.1 and 5.4: about 37,000 tokens, smoothing of 0.1",
            "Transformer",
        ),
        Preset(
            "inception-v3",
            {"v": 1_000, "t": 2, "e": 1},
            "Szegedy et al. 2016, Rethinking the Inception Architecture, section 7: ε = 0.1",
            "Inception-v3",
        ),
        Preset(
            "distillation",
            {"v": 10, "t": 5, "e": 0},
            "Hinton et al. 2015, Distilling the Knowledge in a Neural Network, section 3: T = 20",
            "Distillation of MNIST",
        ),
    ),
)
