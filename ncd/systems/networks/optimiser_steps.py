"""One step of an optimiser: a parameter, its gradient, and what is kept of earlier gradients."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Beside, Id, Term
from ncd.ops import Copy, Einsum, Map, Named, Reduce, Rename, Swap
from ncd.systems.catalogue_entry import Entry, Preset

KINDS = ("SGD", "momentum", "Adam", "AdamW", "Muon")
STATES = ((), ("v",), ("m", "v"), ("m", "v"), ("B",))  # that each of them keeps
SGD, MOMENTUM, ADAM, ADAMW, MUON = range(5)
RATES = ("0.0001", "0.001", "0.02", "0.1")
COUNTS = ("1", "2", "10", "100", "1000")  # steps, of which Adam corrects its means
ROUNDS = 5  # of Newton and Schulz, in Muon
W = "o i"
KEPT, COPIED, SWAPPED = Id(W), Copy(W), Swap(W, W)


def optimisers(o: int = 4, i: int = 6, kind: int = ADAM, rate: int = 1, n: int = 0) -> Term:
    """Returns a step on a matrix of o × i: the parameter, its gradient and states in, new ones out.

    ``kind``, ``rate`` and ``n`` are places in ``KINDS``, ``RATES`` and ``COUNTS``. The other
    settings are those of torch, with a momentum of 0.9 where it has none by itself.

    >>> [len(optimisers(kind=kind).cod) for kind in range(5)]
    [1, 2, 3, 3, 2]
    """
    return Axes(o=o, i=i)(_step(kind, RATES[rate], COUNTS[n]))


@lru_cache
def _step(kind: int, rate: str, n: str) -> Term:
    names = ("θ", "g", *STATES[kind])
    make = (_sgd, _momentum, _adam, _adamw, _muon)[kind]
    return Beside(*(Named(W, name) for name in names)) >> Block(
        make(rate, n), KINDS[kind], "residual"
    )


def _pair(formula: str, title: str) -> Term:
    return Map(f"{W}, {W} -> {W}", formula, title)


def _sgd(rate: str, n: str) -> Term:
    return _pair(f"$1 - {rate} * $2", "step")


def _momentum(rate: str, n: str) -> Term:
    return KEPT @ _pair("$1 + 0.9 * $2", "sum") >> KEPT @ COPIED >> _sgd(rate, n) @ KEPT


def _adam(rate: str, n: str, decay: str = "$1") -> Term:
    """Returns both means of the gradient, and the step that they make."""
    square = _pair("0.001 * $1 ** 2 + 0.999 * $2", "mean²")
    # a mean of squares is positive, but a page draws its states at random
    mean, root = f"$2 / (1 - 0.9 ** {n})", f"sqrt(abs($3) / (1 - 0.999 ** {n}))"
    step = Map(f"{W}, {W}, {W} -> {W}", f"{decay} - {rate} * {mean} / ({root} + 1e-8)", "step")
    return (
        KEPT @ COPIED @ KEPT @ KEPT
        >> KEPT @ KEPT @ SWAPPED @ KEPT
        >> KEPT @ _pair("0.1 * $1 + 0.9 * $2", "mean") @ square
        >> KEPT @ COPIED @ COPIED
        >> KEPT @ KEPT @ SWAPPED @ KEPT
        >> step @ KEPT @ KEPT
    )


def _adamw(rate: str, n: str) -> Term:
    return _adam(rate, n, f"$1 * (1 - {rate} * 0.01)")


def _muon(rate: str, n: str) -> Term:
    """Returns a mean of gradients, all of whose directions are made as long as each other."""
    ahead = _pair("0.05 * $1 + 0.95 * $2", "mean")
    length = COPIED >> KEPT @ (Map(f"{W} -> {W}", "$1 ** 2", "²") >> Reduce(f"{W} ->", "sum"))
    unit = length >> Map(f"{W}, -> {W}", "$1 / sqrt($2)", "unit")
    whole = Repeat((_newton_schulz(),) * ROUNDS, "rounds", shared=True)
    size = "where(n_o > n_i, sqrt(n_o / n_i), 1)"
    step = _pair(f"$1 * (1 - {rate} * 0.1) - {rate} * {size} * $2", "step")
    return (
        KEPT @ COPIED @ KEPT
        >> KEPT @ KEPT @ ahead
        >> KEPT @ KEPT @ COPIED
        >> KEPT @ ahead @ KEPT
        >> KEPT @ Block(unit >> whole, "Orthogonal", "linear") @ KEPT
        >> step @ KEPT
    )


def _newton_schulz() -> Term:
    """Returns a X + b A X + c A A X, with A = X Xᵀ."""
    renamed = KEPT @ Rename("o -> p")
    gram = renamed >> Einsum("o i, p i -> o p")
    product = Rename("o -> p") @ Id("o p") >> Einsum("p i, o p -> o i")
    total = Map(f"{W}, {W}, {W} -> {W}", "3.4445 * $1 - 4.7750 * $2 + 2.0315 * $3", "polynomial")
    return (
        COPIED
        >> KEPT @ COPIED
        >> COPIED @ gram
        >> KEPT @ KEPT @ Copy("o p")
        >> KEPT @ product @ Id("o p")
        >> KEPT @ COPIED @ Id("o p")
        >> KEPT @ KEPT @ product
        >> total
    )


OPTIMISERS = Entry(
    name="optimisers",
    title="Optimisers",
    source="torch.optim",
    knobs=(
        Knob("o", 1, 16, 4, help="rows of the parameter", reason="the outputs of a linear map"),
        Knob("i", 1, 16, 6, help="columns of the parameter", reason="the inputs of a linear map"),
        Knob("kind", 0, 4, ADAM, help="update rule", reason=", ".join(KINDS), names=KINDS),
        Knob("rate", 0, 3, 1, help="learning rate", reason="the size of a step", names=RATES),
        Knob(
            "n", 0, 4, 0, help="steps so far", reason="for the bias of Adam's means", names=COUNTS
        ),
    ),
    system=optimisers,
    section="Training",
    height=26,
    presets=(
        Preset(
            "adam-mnist",
            {"o": 10, "i": 784, "kind": ADAM, "rate": 1},
            "Kingma and Ba 2015, Adam, algorithm 1 and section 6.1: logistic regression on MNIST",
            "Adam, on MNIST",
        ),
        Preset(
            "adamw-bert",
            {"o": 3072, "i": 768, "kind": ADAMW, "rate": 0},
            "Devlin et al. 2019, appendix A.2: 1e-4, means of 0.9 and 0.999, a decay of 0.01",
            "AdamW, in BERT",
        ),
        Preset(
            "muon-gpt-2",
            {"o": 3072, "i": 768, "kind": MUON, "rate": 2},
            "Jordan et al. 2024, Muon: 0.02, a momentum of 0.95, five rounds; the decay is torch's",
            "Muon, in GPT-2",
        ),
    ),
)
