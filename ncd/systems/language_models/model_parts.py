"""Layers, rotary positions and knobs that language models share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ncd.circuit.knob import Knob
from ncd.formulas.formula import Application, Number
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, Einsum, Elementwise, Group, Index, Linear, Map, Param, Split

# --- Settings that the language models of the catalogue share: sizes small enough to run

SECTION = "Language models"
WIDTH = 900.0  # a layer in one row
MAPS = "up to 32, so that every map stays readable"

LAYERS = Knob("n", 1, 6, 2, help="layers", reason="12 to 80 in published models", most=48)
POSITIONS = Knob("t", 1, 32, 12, help="positions", reason=MAPS)
FEATURES = Knob(
    "m", 8, 256, 64, 8, "features of a position", "2,048 to 8,192 in published models", least=1
)
HEADS = Knob("h", 1, 16, 4, help="heads", reason="12 to 32 in published models")
GROUPS = Knob("g", 1, 8, 2, help="heads of keys and values", reason="8 in large models")
QUERIES = Knob("q", 1, 8, 2, help="queries for each of them", reason="with 1, plain multi-head")
HEAD = Knob("k", 1, 64, 16, help="features of a head", reason="64 to 256 in published models")
ROTARY_HEAD = Knob(
    "k",
    2,
    64,
    16,
    step=2,
    help="features of a head",
    reason="even, as they turn in pairs",
    multiple=2,
)
HIDDEN = Knob("d", 8, 512, 128, 8, "hidden features", "about 3 to 4 · m", least=1)
TABLE = Knob("u", 32, 256, 64, 8, "positions that have a vector", "512 or 1,024 as published")
WORDS = Knob("v", 8, 1024, 256, 8, "words", "30,000 to 256,000 in published models", least=1)
EXPERTS = Knob("e", 4, 16, 8, help="experts", reason="8 to 64 in published models")
CHOSEN_EXPERTS = Knob(
    "c", 1, 4, 2, help="experts for a position", reason="2 to 6 in published models"
)


# --- Layers that several language models share

WINDOW = "window"  # the title of its op


def sliding_window(size: int, causal: bool = True) -> Term:
    """Returns a mask of scores ``y x g q``: each position sees itself and ``size - 1`` before.

    Without ``causal`` it sees as many after it.
    """
    away = "y - x" if causal else "abs(y - x)"
    return Map("y x g q -> y x g q", f"where({away} < {size}, $1, -inf)", WINDOW)


def window_size(op: Term) -> int:
    """Returns the positions that a :func:`sliding_window` leaves; 0 for another op.

    >>> window_size(sliding_window(5)), window_size(cap(5))
    (5, 0)
    """
    if not isinstance(op, Map) or op.title != WINDOW or not isinstance(op.function, Application):
        return 0
    nearer = op.function.parts[0]
    size = nearer.parts[1] if isinstance(nearer, Application) else None
    return int(size.value) if isinstance(size, Number) else 0


def cap(most: float) -> Term:
    """Returns the soft cap of numbers at ± ``most``: Gemma 2, section 2.2 of its report."""
    return Map("() -> ()", f"{most:.17g} * tanh($1 / {most:.17g})", "cap")


def gated_mlp(
    activation: Term | None = None,
    bias: bool = False,
    hidden: str = "d",
    name: str = "mlp",
    at: str = "t",
) -> Term:
    """Returns a feed-forward with a gate: Shazeer 2020, "GLU Variants Improve Transformer".

    Args:
        activation: The function of the gate; by default SiLU.
        bias: Whether its maps have a bias.
        hidden: The axis of its hidden features.
        name: Its name.
        at: The axis of positions.
    """
    gate = Linear(f"m -> {hidden}", "gate_proj", bias) >> (activation or Elementwise("silu"))
    body = (
        Wire(f"{at} m -> {at} m, {at} m")
        >> gate @ Linear(f"m -> {hidden}", "up_proj", bias)
        >> Map(f"{hidden}, {hidden} -> {hidden}", "$1 * $2", "gate")
        >> Linear(f"{hidden} -> m", "down_proj", bias)
    )
    return Block(body, "Gated Feed-Forward", "folded", name)


def times(number: float) -> Term:
    """Returns numbers multiplied by one."""
    return Map("() -> ()", f"$1 * {number:.17g}", "scale")


def learned_positions(name: str, skipped: int = 0, m: str = "m", at: str = "t") -> Term:
    """Returns a step on ``t m`` that adds t rows of a table ``u m``, after those it skips.

    ``at`` is the axis of positions.
    """
    place = f"{at} + {skipped}" if skipped else at
    rows = Map(f"-> {at}#u", place, "positions") @ Param(f"u {m}", name)
    return Id(f"{at} {m}") @ (rows >> Index(f"{at}#u, u {m} -> {at} {m}")) >> Add()


def feed_forward(
    activation: Term,
    first: str = "intermediate",
    second: str = "output",
    name: str = "",
    bias: bool = True,
) -> Term:
    """Returns two maps with a function between them."""
    body = Linear("m -> d", first, bias) >> activation >> Linear("d -> m", second, bias)
    return Block(body, "Feed-Forward", "folded", name)


def tanh_gelu() -> Term:
    """Returns the GELU with a tanh: Hendrycks and Gimpel 2016, section 2."""
    return Map("() -> ()", "$1 / 2 * (1 + tanh(sqrt(2 / pi) * ($1 + 0.044715 * $1 ** 3)))", "GELU")


def after_norm(part: Term, norm: Term) -> Term:
    """Returns x + part(norm x)."""
    return Wire("t m -> t m, t m") >> norm >> part @ Id("t m") >> Add()


def tied_model(layers: Term, name: str, *after: Term) -> Term:
    """Returns a model whose table of embeddings also gives the scores.

    Args:
        layers: From ``t m`` to ``t m``.
        name: The name of the table.
        *after: Steps on the embeddings, before the layers.
    """
    return (
        Id("t#v") @ Param("v m", name)
        >> Wire("t#v, v m -> t#v, v m, v m")
        >> Index("t#v, v m -> t m") @ Id("v m")
        >> Then(Id("t m"), *after, layers) @ Id("v m")
        >> Einsum("t m, v m -> t v", "words")
    )


def two_texts(encoder: Term, decoder: Term) -> Term:
    """Returns a model of a text that is read and one that is written, with one table of words.

    Args:
        encoder: From ``s m`` to ``s m``.
        decoder: From ``t m, s m`` to ``t m``.

    Returns:
        A term from the words of both to the last features and the table,
        ``s#v, t#v -> t m, v m``.
    """
    return (
        Id("s#v, t#v") @ Param("v m", "shared", "normal")
        >> Wire("s#v, t#v, v m -> s#v, v m, t#v, v m, v m")
        >> Index("s#v, v m -> s m") @ Index("t#v, v m -> t m") @ Id("v m")
        >> encoder @ Id("t m, v m")
        >> Wire("s m, t m, v m -> t m, s m, v m")
        >> decoder @ Id("v m")
    )


def with_embeddings(layers: Term, name: str, *after: Term) -> Term:
    """Returns layers behind the embeddings of words, ``t#v -> t m``."""
    return (
        Id("t#v") @ Param("v m", name, "normal")
        >> Index("t#v, v m -> t m")
        >> Then(Id("t m"), *after, layers)
    )


def untied_model(
    layers: Term, name: str, head: str = "lm_head", *after: Term, bias: bool = False
) -> Term:
    """Returns a model whose scores come from a map of their own."""
    return with_embeddings(layers, name, *after) >> Linear("m -> v", head, bias)


# --- Rotary positions, and ways to stretch them for longer texts

_ROTATION = "where(p == i, cos($1), where(p < i, sin($1), -sin($1)))"


@dataclass(frozen=True)
class Rotary:
    """The angles by which pairs of features rotate from one position to the next.

    Args:
        turns: The angle of pair r of n_r pairs, as a formula.
        magnitude: The number by which the rotated features are multiplied.

    Source: Su et al. 2021, "RoFormer", section 3.2.

    >>> Rotary.from_base(10000).turns
    '10000 ** (-r / n_r)'
    """

    turns: str
    magnitude: float = 1

    @classmethod
    def from_base(cls, base: float) -> Rotary:
        """Returns the angles base ** (-r / n_r)."""
        return cls(f"{_text(base)} ** (-r / n_r)")

    @classmethod
    def interpolated(cls, base: float, factor: float) -> Rotary:
        """Returns angles that are all reduced by a factor.

        Source: Chen et al. 2023, "Extending Context Window of Large Language Models via Positional
        Interpolation", section 2.3.
        """
        return cls(f"{cls.from_base(base).turns} / {_text(factor)}")

    @classmethod
    def llama3(cls, base: float, factor: float, low: float, high: float, positions: int) -> Rotary:
        """Returns angles of which those with long waves are reduced by a factor.

        Waves longer than ``positions / low`` are stretched, those shorter than ``positions / high``
        are kept, and those between partly.

        Source: Llama 3.1's published code.
        """
        turns = cls.from_base(base).turns
        waves = f"{positions} * {turns} / (2 * pi)"
        kept = f"min(max(({waves} - {_text(low)}) / {_text(high - low)}, 0), 1)"
        return cls(f"{turns} * ({kept} + (1 - {kept}) / {_text(factor)})")

    @classmethod
    def yarn(
        cls,
        base: float,
        factor: float,
        positions: int,
        fast: float = 32,
        slow: float = 1,
        magnitude: float = 1,
        whole: bool = True,
    ) -> Rotary:
        """Returns angles of which those with few turns over ``positions`` are reduced by a factor.

        Pairs with over ``fast`` turns are kept, those with fewer than ``slow`` are stretched, and
        those between partly; with ``whole`` both ends are whole pairs.

        Source: Peng et al. 2023, "YaRN", section 3.2.
        """
        turns = cls.from_base(base).turns
        first, last = (
            _text(math.log(positions / (count * 2 * math.pi)) / math.log(base))
            for count in (fast, slow)
        )
        low, high = ("floor", "ceil") if whole else ("", "")
        begin = f"max({low}(n_r * {first}), 0)"
        end = f"min({high}(n_r * {last}), 2 * n_r - 1)"
        stretched = f"min(max((r - {begin}) / max({end} - {begin}, 0.001), 0), 1)"
        turns = f"{turns} * (1 - {stretched} + {stretched} / {_text(factor)})"
        return cls(turns, magnitude)

    def term(
        self, others: str = "", feature: str = "k", adjacent: bool = False, first: int = 0
    ) -> Term:
        """Returns the rotation of an array ``t {others} {feature}``.

        Args:
            others: The axes between positions and features, such as ``"g q"``.
            feature: The axis of features.
            adjacent: Whether a pair's features stand side by side; else half a head apart.
            first: The position at which the sequence begins.
        """
        at = f"(t + {first})" if first else "t"
        # p and i have their size everywhere: a size that must be found makes each build slow
        pairs, turned = ("r p:2", "r i:2") if adjacent else ("p:2 r", "i:2 r")
        turn = _ROTATION if self.magnitude == 1 else f"{_text(self.magnitude)} * {_ROTATION}"
        return Block(
            Split(f"{feature} -> {pairs}")
            >> Map("-> t r", f"{at} * {self.turns}", "angle")
            >> Map("t r -> t p:2 r i:2", turn, "turn")
            >> Einsum(f"t p:2 r i:2, t {others} {pairs} -> t {others} {turned}")
            >> Group(f"{turned} -> {feature}"),
            "Rotary",
            "neutral",
        )


def _text(number: float) -> str:
    """Returns a number as text for a formula."""
    return f"({number:.17g})" if number < 0 else f"{number:.17g}"
