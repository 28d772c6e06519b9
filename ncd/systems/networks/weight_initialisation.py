"""A stack of equal layers, whose first weights decide how far numbers and gradients reach."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term
from ncd.ops import Add, Copy, Elementwise, LayerNorm, Linear, Named
from ncd.systems.catalogue_entry import Entry, Preset

INITS = ("0.02", "torch", "Xavier", "Kaiming", "1")
FORMULAS = (  # of weights from m features to m, in the order of ``INITS``
    "0.02 * normal",
    "uniform / sqrt(n_m)",
    "sqrt(6 / (n_m + n_m)) * uniform",
    "sqrt(2 / n_m) * normal",
    "normal",
)
ACTIVATIONS = ("none", "relu", "tanh", "gelu")
FIXED, TORCH, XAVIER, KAIMING, ONE = range(5)
RELU, TANH, GELU = 1, 2, 3


def initialisation(
    n: int = 20,
    m: int = 64,
    b: int = 16,
    init: int = TORCH,
    g: int = RELU,
    residual: int = 0,
    norm: int = 0,
) -> Term:
    """Returns n layers of m features: each a map and an activation, ``b m -> b m``.

    ``init`` and ``g`` are places in ``INITS`` and ``ACTIVATIONS``. With ``norm`` a layer norm
    stands before each map, and with ``residual`` a layer adds its input to its result.

    >>> initialisation(n=2, m=4, b=3).cod.spec
    'b:3 m:4'
    """
    return Axes(b=b, m=m)(_stack(n, FORMULAS[init], ACTIVATIONS[g], residual, norm))


@lru_cache
def _stack(n: int, init: str, activation: str, residual: int, norm: int) -> Term:
    layer: Term = Linear("m -> m", "W", init=init)
    if norm:
        layer = LayerNorm("m", "norm") >> layer
    if activation != "none":
        layer = layer >> Elementwise(activation)
    if residual:
        layer = Copy("b m") >> layer @ Id("b m") >> Add()
    return Named("b m", "x") >> Repeat((Block(layer, "Layer", "linear"),) * n, "layers")


_GLOROT = (
    "Glorot and Bengio 2010, sections 2.3 and 4.2: five hidden layers of 1,000 tanh units, with "
)
_HE = "He et al. 2015, Delving Deep into Rectifiers, figure 3: 30 layers; their width is ours, "

INITIALISATION = Entry(
    name="initialisation",
    title="Initialisation",
    source="torch.nn.init",
    knobs=(
        Knob("n", 1, 32, 20, help="layers", reason="enough to see where it leads", most=100),
        Knob("m", 1, 128, 64, help="features", reason="each map adds up so many products"),
        Knob("b", 1, 32, 16, help="examples", reason="more make the deviations steadier"),
        Knob(
            "init",
            0,
            len(INITS) - 1,
            TORCH,
            help="first weights",
            reason="a deviation of 0.02 or of 1, or one that follows from m",
            names=INITS,
        ),
        Knob("g", 0, 3, RELU, help="activation", reason=", ".join(ACTIVATIONS), names=ACTIVATIONS),
        switch("residual", 0, "adds the input of a layer to its result", "on or off"),
        switch("norm", 0, "a layer norm before each map", "on or off"),
    ),
    system=initialisation,
    section="Training",
    type="b m -> b m",
    height=26,
    presets=(
        Preset(
            "glorot-standard",
            {"n": 5, "m": 1000, "g": TANH, "init": TORCH},
            _GLOROT + "the standard start",
            "Glorot and Bengio, standard",
        ),
        Preset(
            "glorot-normalised",
            {"n": 5, "m": 1000, "g": TANH, "init": XAVIER},
            _GLOROT + "theirs (equation 16)",
            "Glorot and Bengio, normalised",
        ),
        Preset(
            "he-xavier",
            {"n": 30, "m": 256, "g": RELU, "init": XAVIER},
            _HE + "and with Xavier's start it stalls",
            "Thirty layers, Xavier",
        ),
        Preset(
            "he-kaiming",
            {"n": 30, "m": 256, "g": RELU, "init": KAIMING},
            _HE + "and with their start (equation 10) it learns",
            "Thirty layers, Kaiming",
        ),
        Preset(
            "gpt",
            {"n": 24, "m": 768, "g": GELU, "init": FIXED, "residual": 1, "norm": 1},
            "Radford et al. 2018, section 4.1: N(0, 0.02) is enough, as norms are everywhere; two "
            "residual steps in each of 12 layers, and their norms stand behind the sum",
            "GPT",
        ),
    ),
)
