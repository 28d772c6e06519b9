"""The LSTM and the GRU: recurrent cells whose gates control the state."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Scan
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, Cut, Elementwise, Linear, Map
from ncd.systems.catalogue_entry import Entry, Preset

WATCHED_ARRAYS = {
    "lstm": ("hidden state", "cell state", "input gate", "forget gate", "output gate"),
    "gru": ("hidden state", "reset gate", "update gate"),
}  # what with_gates gives of each system, in this order


def lstm(t: int = 12, m: int = 16, h: int = 8) -> Term:
    """Returns a long short-term memory over t positions, whose states begin at zero.

    Args:
        t: The positions.
        m: The features of a position.
        h: The features of each of the two states.

    Returns:
        A term from the inputs to the hidden state at every position, ``t m -> t h``.

    Source: Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; Gers et al. 2000, "Learning
    to Forget", for the forget gate; ``torch.nn.LSTM``.

    >>> str(lstm().cod)
    't h'
    """
    return _sizes(t, m, h)(_lstm())


def gru(t: int = 12, m: int = 16, h: int = 8) -> Term:
    """Returns a gated recurrent unit over t positions, whose state begins at zero.

    Args:
        t: The positions.
        m: The features of a position.
        h: The features of the state.

    Returns:
        A term from the inputs to the hidden state at every position, ``t m -> t h``.

    Source: Cho et al. 2014, "Learning Phrase Representations using RNN Encoder–Decoder", section
    2.3; ``torch.nn.GRU``, which applies the reset gate behind the map of the state.

    >>> str(gru().cod)
    't h'
    """
    return _sizes(t, m, h)(_gru())


def with_gates(name: str, t: int, m: int, h: int) -> Term:
    """Returns the LSTM or the GRU with the arrays in ``WATCHED_ARRAYS`` as additional outputs.

    >>> str(with_gates("gru", 5, 3, 4).cod)
    't h, t h, t h'
    """
    body = _lstm(watched=True) if name == "lstm" else _gru(watched=True)
    return _sizes(t, m, h)(body)


def _sizes(t: int, m: int, h: int) -> Axes:
    return Axes(t=seq(t), m=m, h=h)


@lru_cache
def _lstm(watched: bool = False) -> Term:
    """Returns the scan; the gates are input, forget, new and output, as in torch."""
    sigmoid, tanh = Elementwise("sigmoid"), Elementwise("tanh")
    gates = Block(
        Linear("h -> 4h", "hh", True) @ Linear("m -> 4h", "ih", True)
        >> Add()
        >> Cut("4h -> h, h, h, h")
        >> sigmoid @ sigmoid @ tanh @ sigmoid,
        "Gates",
        "linear",
    )
    kept = (Wire("h, h, h, h, h -> $1, $2, $3, $4, $5, $2, $3, $5"),) if watched else ()
    step = Then(
        Id("h, h, m"),
        Id("h") @ gates,
        *kept,
        Map("h, h, h, h -> h", "$1 * $3 + $2 * $4", "cell") @ Id("h"),
        Wire("h, h -> $1, $1, $2"),
        Id("h") @ Map("h, h -> h", "tanh($1) * $2", "hidden"),
        Wire("h, h -> $1, $2, $2, $1" if watched else "h, h -> $1, $2, $2"),
    )
    return _recurrence(step, 2, "lstm", watched)


@lru_cache
def _gru(watched: bool = False) -> Term:
    """Returns the scan; the gates are reset, update and new, as in torch."""
    kept = (Wire("h, h, h, h, h -> $1, $2, $3, $4, $5, $2, $1"),) if watched else ()
    return _recurrence(gru_step("m", *kept) >> Wire("h -> h, h"), 1, "gru", watched)


def gru_step(features: str, *kept: Term) -> Term:
    """Returns a step of a gated recurrent unit, from the state ``h`` and an input to the new state.

    Args:
        features: The axis of the input.
        kept: Steps after the gates, which may pass some of them on.

    >>> str(gru_step("m").dom), str(gru_step("m").cod)
    ('h, m', 'h')
    """
    maps = Linear("h -> 3h", "hh", True) @ Linear(f"{features} -> 3h", "ih", True)
    cut = Cut("3h -> h, h, h")
    return Then(
        Wire(f"h, {features} -> h, {features}, h"),
        maps @ Id("h"),
        cut @ cut @ Id("h"),
        Wire("h, h, h, h, h, h, h -> $2, $5, $1, $4, $3, $6, $7"),
        _sum("update") @ _sum("reset") @ Id("h, h, h"),
        *kept,
        Id("h") @ Map("h, h, h -> h", "tanh($3 + $1 * $2)", "new") @ Id("h"),
        Map("h, h, h -> h", "(1 - $1) * $2 + $1 * $3", "hidden"),
    )


def _sum(gate: str) -> Term:
    """Returns a gate computed from the state and the input."""
    return Map("h, h -> h", "sigmoid($1 + $2)", gate)


def _recurrence(step: Term, states: int, name: str, watched: bool) -> Term:
    """Returns a step along t with states that begin at zero; the last states are dropped."""
    gates = len(WATCHED_ARRAYS[name]) if watched else 1
    dropped, given = ", ".join(["h"] * states), ", ".join(["t h"] * gates)
    places = ", ".join(f"${i + 1 + states}" for i in range(gates)) if gates > 1 else given
    begin: Term = Map("-> h", "0", "0")
    for _ in range(states - 1):
        begin = begin @ Map("-> h", "0", "0")
    ends = Wire(f"{dropped}, {given} -> {places}")
    return begin @ Id("t m") >> Scan(step, "t", name, states=states) >> ends


_T = Knob("t", 1, 32, 12, help="positions", reason="up to 32, so that every map stays readable")
_M = Knob("m", 1, 128, 16, help="features of a position", reason="up to 128, as maps are drawn")
_H = Knob("h", 1, 128, 8, help="features of the state", reason="up to 128, as maps are drawn")

LSTM = Entry(
    name="lstm",
    title="LSTM",
    source="Hochreiter and Schmidhuber 1997",
    knobs=(_T, _M, _H),
    system=lstm,
    section="Recurrent networks",
    type="t m -> t h",
    width=900,
    presets=(
        Preset(
            "seq2seq",
            {"m": 1000, "h": 1000},
            'Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", section '
            "3.4: one of its layers",
            "Translation, 2014",
        ),
    ),
)
GRU = Entry(
    name="gru",
    title="GRU",
    source="Cho et al. 2014",
    knobs=(_T, _M, _H),
    system=gru,
    section="Recurrent networks",
    type="t m -> t h",
    width=900,
    presets=(
        Preset(
            "rnn-encoder-decoder",
            {"m": 100, "h": 1000},
            'Cho et al. 2014, "Learning Phrase Representations using RNN Encoder–Decoder", '
            "section 4.1: its encoder",
            "RNN encoder, 2014",
        ),
    ),
)
