"""The plain recurrent network: a state that goes through one map and a tanh at every position."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Scan
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Linear, Map
from ncd.systems.catalogue_entry import Entry, Preset

GAINS = ("0.5", "1", "1.5", "2", "3")


def rnn(t: int = 20, m: int = 16, h: int = 32, gain: int = 1) -> Term:
    """Returns a recurrent network over t positions, whose state begins at zero.

    Args:
        t: The positions.
        m: The features of a position.
        h: The features of the state.
        gain: How large the map of the state is at first, a place in ``GAINS``: by so much it
            lengthens a vector on average.

    Returns:
        A term from the inputs to the state at every position, ``t m -> t h``.

    Source: Elman 1990, "Finding Structure in Time"; ``torch.nn.RNN``.

    >>> str(rnn().cod)
    't h'
    """
    return Axes(t=seq(t), m=m, h=h)(_rnn(GAINS[gain]))


def unrolled_rnn(steps: int, m: int, h: int) -> Term:
    """Returns so many steps one after the other, from their inputs to the last state.

    It is for drawings: a run of it would have weights of their own at each step.

    >>> unrolled_rnn(3, 16, 8).dom.spec, unrolled_rnn(3, 16, 8).cod.spec
    ('m:16, m:16, m:16', 'h:8')
    """
    inputs = Id(", ".join(["m"] * steps))
    return Axes(m=m, h=h)(_steps(inputs, steps))


def _steps(inputs: Term, steps: int) -> Term:
    found: Term = Map("-> h", "0", "0") @ inputs
    for left in range(steps - 1, -1, -1):
        step = Block(_step(GAINS[0]), "Step", "folded")
        found = found >> (step @ Id(", ".join(["m"] * left)) if left else step)
    return found


def _step(gain: str) -> Term:
    """Returns the next state, ``h, m -> h``."""
    state = Linear("h -> h", "hh", True, init=f"{gain} * normal * n_h ** -0.5")
    return state @ Linear("m -> h", "ih", True) >> Map("h, h -> h", "tanh($1 + $2)", "tanh")


@lru_cache
def _rnn(gain: str) -> Term:
    scan = Scan(_step(gain) >> Wire("h -> h, h"), "t", "rnn")
    return Map("-> h", "0", "0") @ Id("t m") >> scan >> Wire("h, t h -> t h")


RNN = Entry(
    name="rnn",
    title="RNN",
    source="Elman 1990",
    knobs=(
        Knob("t", 1, 32, 20, help="positions", reason="up to 32, so that every map is readable"),
        Knob("m", 1, 128, 16, help="features of a position", reason="up to 128, as maps are drawn"),
        Knob("h", 1, 128, 32, help="features of the state", reason="up to 128, as maps are drawn"),
        Knob(
            "gain",
            0,
            len(GAINS) - 1,
            GAINS.index("1"),
            help="size of the state's map",
            reason="the first weights: by so much it lengthens a state",
            names=GAINS,
        ),
    ),
    system=rnn,
    section="Recurrent networks",
    type="t m -> t h",
    width=900.0,
    height=30,
    presets=(
        Preset(
            "elman-letters",
            {"m": 5, "h": 20},
            "Elman 1990, Finding Structure in Time: letters as 5 bits, and 20 hidden units",
            "Letters, 1990",
        ),
    ),
)
