"""Attention as a recurrence whose state is a matrix: linear attention and the delta rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Scan
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Einsum, Elementwise, Linear, Map, Param
from ncd.systems.catalogue_entry import Entry, Preset

STATE = "h k v"


def linear_attention(
    h: int = 2, k: int = 8, v: int = 8, m: int = 16, t: int = 12, *, watched: bool = False
) -> Term:
    """Attention without softmax, one token after the other.

    With ``watched`` it also gives the state after each token, the keys and the values,
    ``t h k v, t h k, t h v, t m``.

    Source: Katharopoulos et al. 2020, "Transformers are RNNs", section 3.4.
    """
    return Axes(t=seq(t), m=m, h=h, k=k, v=v)(_linear(watched))


@lru_cache
def _linear(watched: bool) -> Term:
    feature = Map("k -> k", "where($1 > 0, $1 + 1, exp(min($1, 0)))", "elu + 1")
    maps = (
        (Linear("m -> h k", "K") >> feature)
        @ Linear("m -> h v", "V")
        @ (Linear("m -> h k", "Q") >> feature)
    )
    start = Map(f"-> {STATE}", "0", "0") @ Map("-> h k", "0", "0")
    given = "t h k, t h v, t h k"
    return _recurrence(maps, given, start, f"{STATE}, h k", _add(), watched, "Linear Attention")


def _add() -> Term:
    """Returns a step that adds a key and its value to the states, and reads at a query."""
    return (
        Wire(f"{STATE}, h k, h k, h v, h k -> {STATE}, h k, h v, h k, h k, h k", "1 3 4 2 3 5")
        >> Map(f"{STATE}, h k, h v -> {STATE}", "$1 + $2 * $3", "write")
        @ Map("h k, h k -> h k", "$1 + $2", "sum")
        @ Id("h k")
        >> Wire(f"{STATE}, h k, h k -> {STATE}, h k, {STATE}, h k, h k, h k", "1 2 1 3 2 3")
        >> Id(f"{STATE}, h k") @ Einsum(f"{STATE}, h k -> h v", "read") @ Einsum("h k, h k -> h")
        >> Id(f"{STATE}, h k") @ Map("h v, h -> h v", "$1 / $2", "share")
    )


def delta_rule(
    h: int = 2,
    k: int = 8,
    v: int = 8,
    m: int = 16,
    t: int = 12,
    gate: int = 0,
    *,
    watched: bool = False,
) -> Term:
    """A recurrence whose state is corrected by its error; with ``gate`` it also decays.

    With ``watched`` it also gives the state after each token, the keys and the values.

    Source: Yang et al. 2024, "Parallelizing Linear Transformers with the Delta Rule over Sequence
    Length", section 2.2; "Gated Delta Networks", section 3.1 and, for the gate, Dao and Gu 2024,
    "Transformers are SSMs", section 7.
    """
    return Axes(t=seq(t), m=m, h=h, k=k, v=v)(_delta(gate, watched))


@lru_cache
def _delta(gate: int, watched: bool) -> Term:
    unit = unit_length("h", "k")
    maps = (
        (Linear("m -> h k", "K") >> unit)
        @ Linear("m -> h v", "V")
        @ (Linear("m -> h k", "Q") >> unit)
        @ (Linear("m -> h", "beta") >> Elementwise("sigmoid"))
    )
    start, given, step = Map(f"-> {STATE}", "0", "0"), "t h k, t h v, t h k, t h", HEADS.correct()
    if gate:
        maps, given, step = (
            maps @ _factor(),
            f"{given}, t h",
            HEADS.forget(step, "h k, h v, h k, h"),
        )
    return _recurrence(maps, given, start, STATE, step, watched, "Delta Rule")


def _factor() -> Term:
    """Returns the map from a token to the factor of its state, between 0 and 1."""
    fade = Map("t h, h -> t h", "exp(-exp($2) * log(1 + exp($1)))", "gate")
    return Linear("m -> h", "alpha", True) @ Param("h", "A", "-2") >> fade


def unit_length(heads: str, k: str) -> Term:
    """Returns vectors scaled to length 1, ``t {heads} {k} -> t {heads} {k}``."""
    vectors = f"t {heads} {k}"
    return Block(
        Wire(f"{vectors} -> {vectors}, {vectors}, {vectors}")
        >> Einsum(f"{vectors}, {vectors} -> t {heads}") @ Id(vectors)
        >> Map(f"t {heads}, {vectors} -> {vectors}", "$2 / sqrt($1 + 1e-6)", "unit"),
        "Unit Length",
        "folded",
    )


@dataclass(frozen=True)
class MatrixState:
    """The axes of a state that is a matrix of keys and values for each head, and its steps.

    Args:
        heads: The axes of heads.
        key_heads: Those that keys and queries have: all, or fewer.
        k: The axis of features of a key.
        v: The axis of features of a value.

    >>> MatrixState("w h", "w", "s", "o").state
    'w h s o'
    """

    heads: str = "h"
    key_heads: str = "h"
    k: str = "k"
    v: str = "v"

    @property
    def state(self) -> str:
        """The axes of the state."""
        return f"{self.heads} {self.k} {self.v}"

    @property
    def key(self) -> str:
        """The axes of a key, or of a query."""
        return f"{self.key_heads} {self.k}"

    @property
    def value(self) -> str:
        """The axes of a value, or of what is read."""
        return f"{self.heads} {self.v}"

    def forget(self, step: Term, rest: str) -> Term:
        """Returns a step whose state first decays, by the factor in its last input."""
        count = rest.count(",") + 2
        order = f"1 {count + 1} {' '.join(str(i) for i in range(2, count + 1))}"
        return (
            Wire(f"{self.state}, {rest}, {self.heads} -> {self.state}, {self.heads}, {rest}", order)
            >> Map(f"{self.state}, {self.heads} -> {self.state}", "$1 * $2", "forget") @ Id(rest)
            >> step
        )

    def write(self) -> Term:
        """Returns a step that adds a key times its value, and reads at a query."""
        add = f"{self.state}, {self.key}, {self.value} -> {self.state}"
        return Map(add, "$1 + $2 * $3", "write") @ Id(self.key) >> self._read()

    def correct(self) -> Term:
        """Returns a step that writes the difference to the old value, and reads at a query."""
        state, key, value, heads = self.state, self.key, self.value, self.heads
        return (
            Wire(
                f"{state}, {key}, {value}, {key}, {heads} -> "
                f"{state}, {key}, {state}, {key}, {value}, {heads}, {key}",
                "1 2 1 2 3 5 4",
            )
            >> Id(f"{state}, {key}")
            @ Einsum(f"{state}, {key} -> {value}", "answer")
            @ Id(f"{value}, {heads}, {key}")
            >> Id(f"{state}, {key}")
            @ Map(f"{value}, {value}, {heads} -> {value}", "$3 * ($2 - $1)", "error")
            @ Id(key)
            >> self.write()
        )

    def _read(self) -> Term:
        read = Einsum(f"{self.state}, {self.key} -> {self.value}", "read")
        return (
            Wire(f"{self.state}, {self.key} -> {self.state}, {self.state}, {self.key}")
            >> Id(self.state) @ read
        )


HEADS = MatrixState()


def _recurrence(
    maps: Term, given: str, start: Term, states: str, step: Term, watched: bool, title: str
) -> Term:
    """Returns a scan of ``step`` over the outputs of the maps, from the states of ``start``."""
    tokens = ", ".join(["t m"] * (given.count(",") + 1))
    body = Id(tokens) >> maps
    count = states.count(",") + 1
    if watched:
        return Wire(f"t m -> {tokens}") >> body >> _observed_scan(given, start, states, step, count)
    scan = start @ Id(given) >> Scan(step, "t", states=count) >> Wire(f"{states}, t h v -> t h v")
    return Wire(f"t m -> {tokens}") >> Block(
        body >> scan >> Linear("h v -> m", "O"), title, "module"
    )


def _observed_scan(given: str, start: Term, states: str, step: Term, count: int) -> Term:
    """Returns the scan with every state, keys and values as additional outputs."""
    seen = step >> Wire(
        f"{states}, h v -> {states}, {STATE}, h v", f"{_numbers_to(count)} 1 {count + 1}"
    )
    kept = "t h k, t h v"
    return (
        Wire(f"{given} -> {kept}, {given}", f"1 2 {_numbers_to(given.count(',') + 1)}")
        >> Id(kept) @ (start @ Id(given) >> Scan(seen, "t", states=count))
        >> Wire(
            f"{kept}, {states}, t {STATE}, t h v -> t {STATE}, {kept}, t h v",
            f"{count + 3} 1 2 {count + 4}",
        )
        >> Id(f"t {STATE}, {kept}") @ Linear("h v -> m", "O")
    )


def _numbers_to(count: int) -> str:
    """Returns the numbers from 1 to a count."""
    return " ".join(map(str, range(1, count + 1)))


_SIZE = "features that a picture of the state can show"
_KNOBS = (
    Knob("h", 1, 8, 2, help="heads", reason="each with a state of its own"),
    Knob("k", 1, 64, 8, help="features of a key", reason=_SIZE),
    Knob("v", 1, 64, 8, help="features of a value", reason=_SIZE),
    Knob("m", 1, 256, 16, help="features", reason="of a position"),
    Knob("t", 1, 48, 12, help="positions", reason="each is a step, one after the other"),
)
GATE = switch("gate", 0, "forget", "the state fades at each step, by a factor made from the token")

LINEAR_ATTENTION = Entry(
    name="linear-attention",
    title="Linear attention",
    source="Katharopoulos et al. 2020, section 3.4",
    knobs=_KNOBS,
    system=linear_attention,
    section="Components",
    type="t m -> t m",
    presets=(
        Preset(
            "mnist",
            {"h": 8, "k": 32, "v": 32, "m": 256},
            'Katharopoulos et al. 2020, "Transformers are RNNs", section 4.2.1: a layer of the '
            "model of digits",
            "Model of digits (MNIST)",
        ),
    ),
    notes={"write": "The state grows by the outer product of a key and its value."},
)

DELTA_RULE = Entry(
    name="delta-rule",
    title="Delta rule",
    source="Yang et al. 2024, DeltaNet, section 2.2",
    knobs=(*_KNOBS, GATE),
    system=delta_rule,
    section="Components",
    type="t m -> t m",
    presets=(
        Preset(
            "delta-net-1.3b",
            {"h": 16, "k": 128, "v": 128, "m": 2048},
            "its published config.json, fla-hub/delta_net-1.3B-100B; short convolutions and the "
            "norm of the output are left out here",
            "DeltaNet 1.3B",
        ),
    ),
    notes={
        "write": "The state is asked the new key, and what its answer lacks is written.",
    },
)
