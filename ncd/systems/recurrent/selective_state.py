"""Mamba: a recurrence whose steps depend on what is read."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat, Scan
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Conv, Einsum, Elementwise, Linear, Map, Pad, Param, RMSNorm
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import after_norm, tied_model

STEPS, INPUTS, WRITES, READS = "steps", "conv1d", "x_B", "x_C"  # names of the scan's inputs
RATES, SCAN = "A_log", "ssm"
# The step of a feature is 0.001 to 0.1 at first: Gu and Dao 2023, section 3.6.
_STEP = "log(exp(0.001 * 100 ** ((uniform + 1) / 2)) - 1)"


def mamba(
    n: int = 2,
    t: int = 12,
    m: int = 16,
    d: int = 32,
    s: int = 8,
    r: int = 2,
    w: int = 4,
    v: int = 256,
    *,
    eps: float = 1e-5,
    bias: bool = False,
) -> Term:
    """Returns a language model of selective state spaces (S6), without attention.

    Args:
        n: The layers.
        t: The positions.
        m: The features of a position.
        d: The features inside a layer.
        s: The numbers of the state for each of them.
        r: The features from which the steps are made.
        w: The positions that the convolution sees.
        v: The words.
        eps: The number that the norms add.
        bias: Whether the first and the last map of a layer have a bias.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Gu and Dao 2023, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces",
    algorithm 2 and section 3.4.

    >>> import ncd
    >>> sizes = dict(n=24, t=1, m=768, d=1536, s=16, r=48, w=4, v=50280)
    >>> ncd.cost(mamba(**sizes)).parameters  # Mamba 130M
    129135360
    """
    sizes = Axes(t=seq(t), m=m, d=d, s=s, r=r, v=v)
    return sizes(_mamba(n, d, w, eps, bias))


@lru_cache(64)
def _mamba(n: int, d: int, w: int, eps: float, bias: bool) -> Term:
    layer = after_norm(mamba_block(d, w, bias), RMSNorm("m", "norm", eps))
    layers = Repeat((layer,) * n, "layers") >> RMSNorm("m", "norm_f", eps)
    return tied_model(layers, "embeddings")


def mamba_block(size: int, w: int, bias: bool, d: str = "d", eps: float = 0) -> Term:
    """Returns a Mamba block, ``t m -> t m``: two maps, a convolution, the state, a gate.

    Args:
        size: The features inside it.
        w: The positions that the convolution sees.
        bias: Whether its first and last map have a bias.
        d: The axis of these features.
        eps: The number that norms add to what makes steps, writes and reads; 0 for no norms.
    """
    body = Then(
        Id("t m, t m"),
        Linear(f"m -> {d}", "in_x", bias) @ Linear(f"m -> {d}", "in_z", bias),
        short_convolution(size, w, d) @ Id(f"t {d}"),
        _selective_state(d, eps) @ Id(f"t {d}"),
        Map(f"t {d}, t {d} -> t {d}", "$1 * silu($2)", "gate"),
        Linear(f"{d} -> m", "out_proj", bias),
    )
    return Wire("t m -> t m, t m") >> Block(body, "Mamba Block", "module", "mixer")


def short_convolution(
    size: int, w: int, d: str, name: str = INPUTS, bias: bool = True, activated: bool = True
) -> Term:
    """Returns a map of each feature's last w positions, for features ``d`` of that size."""
    steps = (
        Einsum(f"t {d} -> {d} t"),
        *((Pad("t -> u", w - 1, 0),) if w > 1 else ()),
        Conv(f"{d} {'u' if w > 1 else 't'} -> {d} t", name, w, 1, 0, bias, groups=size),
        Einsum(f"{d} t -> t {d}"),
        *((Elementwise("silu"),) if activated else ()),
    )
    return Block(Then(*steps), "Short Convolution", "window")


def _selective_state(d: str, eps: float) -> Term:
    """Returns the state along t, whose steps, writing and reading depend on the position."""
    state = f"{d} s"
    rate = Linear("r -> " + d, "dt_proj") @ Param(d, "dt_bias", _STEP)
    step = Then(
        _linear_with_norm(f"{d} -> r", "x_dt", eps),
        rate,
        Map(f"{d}, {d} -> {d}", "log(1 + exp($1 + $2))", STEPS),
    )
    scan = (
        Map(f"-> {state}", "0", "0") @ Id(f"t {d}, t {d}, t s, t s")
        >> Scan(_step(d), "t", SCAN)
        >> Wire(f"{state}, t {d} -> t {d}")
    )
    x = f"t {d}"
    writes, reads = (_linear_with_norm(f"{d} -> s", name, eps) for name in (WRITES, READS))
    body = Then(
        Wire(f"{x} -> {x}, {x}, {x}, {x}, {x}"),
        step @ Id(x) @ writes @ reads @ Id(x),
        scan @ Id(x),
        Id(f"{x}, {x}") @ Param(d, "D", "1"),
        Map(f"{x}, {x}, {d} -> {x}", "$1 + $3 * $2", "skip"),
    )
    return Block(body, "Selective State Space", "einsum")


def _linear_with_norm(pattern: str, name: str, eps: float) -> Term:
    """Returns a map, with a norm behind it if there are any."""
    made = Linear(pattern, name)
    return made >> RMSNorm(pattern[-1], f"{name}_norm", eps) if eps else made


def _step(d: str) -> Term:
    """Returns one step of the state: it fades, takes in the input, and is read.

    It takes the state, the step, the input, and what writes and reads.
    """
    state = f"{d} s"
    return Then(
        Id(state) @ Wire(f"{d}, {d}, s, s -> {d}, {d}, {d}, s, s", "1 1 2 3 4"),
        Id(f"{state}, {d}") @ Param(state, RATES, "log(1 + s)") @ Id(f"{d}, {d}, s, s"),
        Map(f"{state}, {d}, {state} -> {state}", "exp(-$2 * exp($3)) * $1", "forget")
        @ Map(f"{d}, {d}, s -> {state}", "$1 * $2 * $3", "write")
        @ Id("s"),
        Map(f"{state}, {state} -> {state}", "$1 + $2", "+") @ Id("s"),
        Wire(f"{state}, s -> {state}, {state}, s"),
        Id(state) @ Einsum(f"{state}, s -> {d}", "read"),
    )


def _sizes(n: int, m: int) -> dict[str, int]:
    """Returns the sizes of a published model."""
    return {"n": n, "m": m, "d": 2 * m, "s": 16, "r": m // 16, "w": 4, "v": 50280}


_TABLE = 'Gu and Dao 2023, "Mamba", appendix E.2.1, table 12, and its published config.json'
_PUBLISHED_MODELS = (
    ("130m", 24, 768, "Mamba 130M"),
    ("370m", 48, 1024, "Mamba 370M"),
    ("790m", 48, 1536, "Mamba 790M"),
    ("1.4b", 48, 2048, "Mamba 1.4B"),
    ("2.8b", 64, 2560, "Mamba 2.8B"),
)

MAMBA = Entry(
    name="mamba",
    title="Mamba",
    source="Gu and Dao 2023, Mamba",
    knobs=(
        Knob("n", 1, 4, 2, help="layers", reason="24 to 64 in published models", most=64),
        Knob("t", 1, 32, 12, help="positions", reason="each is a step, one after the other"),
        Knob("m", 1, 64, 16, help="features of a position", reason="768 to 2,560 as published"),
        Knob("d", 1, 128, 32, help="features inside a layer", reason="2 · m as published"),
        Knob("s", 1, 32, 8, help="numbers of the state for each", reason="16 as published"),
        Knob("r", 1, 16, 2, help="features that make the steps", reason="m / 16 as published"),
        Knob("w", 1, 8, 4, help="positions of the convolution", reason="4 as published", most=48),
        Knob("v", 8, 1024, 256, 8, "words", "50,280 as published", least=1),
    ),
    system=mamba,
    section="Recurrent networks",
    type="t#v -> t v",
    width=900,
    presets=tuple(
        Preset(f"mamba-{name}", _sizes(n, m), _TABLE, title)
        for name, n, m, title in _PUBLISHED_MODELS
    ),
)
