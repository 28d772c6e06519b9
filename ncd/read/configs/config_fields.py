"""The checked fields of a config.json, and the published model that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, log
from typing import Any

from ncd.circuit.knob import Knob
from ncd.errors import NCDError, ParseError, SizeError, short_repr, unknown_name_error
from ncd.language.terms import Term
from ncd.ops import Elementwise, Map
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.images.contrastive_model import QUICK_GELU
from ncd.systems.language_models.model_parts import Rotary, tanh_gelu

# --- The fields of a ``config.json``, each checked when it is read

MAX_FIELD_VALUE = 10**8  # the largest number of words, features or positions
LAYERS = 256  # at most: each is a part of the term


@dataclass(frozen=True)
class Fields:
    """The fields of a configuration.

    Args:
        values: The fields by their names.
        read_names: The names of those that were read.

    Source: ``PretrainedConfig`` of the library ``transformers``, which writes these files.

    >>> Fields({"n_head": 12}).integer("n_head")
    12
    """

    values: Mapping[str, Any]
    read_names: set[str] = field(default_factory=set, compare=False, repr=False)

    def get(self, *names: str) -> Any:
        """Returns the first of these fields that has a value; None if none has."""
        name = self.name_of(*names)
        self.read_names.add(name)
        return self.values.get(name)

    def name_of(self, *names: str) -> str:
        """Returns the first of these names whose field has a value, or the first of all."""
        return next((name for name in names if self.values.get(name) is not None), names[0])

    def integer(self, *names: str, default: int | None = None, most: int = MAX_FIELD_VALUE) -> int:
        """Returns a whole number from 1.

        Args:
            *names: The names that the field has in different configurations.
            default: Its value where it is missing.
            most: The largest value.

        Raises:
            SizeError: For another value, or for none without a default.
        """
        value = self.get(*names)
        value = default if value is None else value
        if value is None:
            raise _missing(names[0])
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            name = self.name_of(*names)
            raise SizeError(
                f"{name} is {short_repr(value)}, but it is a whole number from 1 to {most}",
                where="config.json",
                cure=f'"{name}": {default or 1}',
            )
        return value

    def check_consistent(self, name: str, value: int) -> None:
        """Raises SizeError if a field differs from an earlier value."""
        if self.integer(name, default=value) != value:
            fact = f"{name} is {self.get(name)}, but another field says {value}"
            raise SizeError(fact, where="config.json", cure=f'"{name}": {value}')

    def check_supported(self, name: str, value: object) -> None:
        """Raises SizeError if a field has another value than the one that is read here."""
        given = self.get(name)
        if given is not None and given != value:
            fact = f"{name} is {short_repr(given)}, but only {value} is read here"
            raise SizeError(fact, where="config.json", cure=f'"{name}": {value}')

    def integers(self, name: str, default: Sequence[int], most: int = MAX_FIELD_VALUE) -> list[int]:
        """Returns as many whole numbers as the default has.

        Raises:
            SizeError: For another value.
        """
        values = self.get(name)
        values = list(default) if values is None else values
        whole = isinstance(values, list) and all(type(n) is int and 1 <= n <= most for n in values)
        if not whole or len(values) != len(default):
            fact = f"{name} is {short_repr(values)}, but it is {len(default)} whole numbers from 1"
            raise SizeError(fact, where="config.json", cure=f'"{name}": {list(default)}')
        return list(values)

    def number(self, *names: str, default: float) -> float:
        """Returns a finite number above zero.

        Raises:
            SizeError: For another value.
        """
        value = self.get(*names)
        value = default if value is None else value
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not 0 < value <= 1e30 or not isfinite(value):
            raise SizeError(
                f"{names[0]} is {short_repr(value)}, but it is a number above 0",
                where="config.json",
                cure=f'"{names[0]}": {default:g}',
            )
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns whether a field is true.

        Raises:
            SizeError: For a value that is neither true nor false.
        """
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            cure = f'"{name}": {str(default).lower()}'
            raise SizeError(
                f"{name} is {short_repr(value)}, but it is true or false",
                where="config.json",
                cure=cure,
            )
        return value

    def choice(self, *names: str, default: str, known: Sequence[str]) -> str:
        """Returns one of the permitted words.

        Raises:
            UnknownNameError: For another word.
        """
        value = self.get(*names)
        value = default if value is None else value
        if value not in known:
            raise unknown_name_error(names[0], str(value)[:40], known, where="config.json")
        return str(value)

    def inner(self, *names: str) -> Fields:
        """Returns the fields of a field; none if it is missing."""
        value = self.get(*names)
        return Fields(value if isinstance(value, Mapping) else {})

    def heads(self, features: int, heads: int, *names: str) -> int:
        """Returns the features of a head, from a field or from those of all heads.

        Raises:
            SizeError: If the heads do not divide the features.
        """
        names = names or ("head_dim",)
        if self.get(*names) is None and features % heads:
            fact = f"{heads} heads do not divide {features} features"
            raise SizeError(fact, where="config.json", cure=f"{features // heads * heads} features")
        return self.integer(*names, default=features // heads)

    def groups(self, heads: int, *names: str) -> tuple[int, int]:
        """Returns the heads of keys and values, and the queries for each.

        Raises:
            SizeError: If the first do not divide the heads.
        """
        groups = self.integer(*names, default=heads)
        if heads % groups:
            raise SizeError(
                f"{groups} heads of keys do not divide {heads} heads of queries",
                where="config.json",
                cure=f'"num_key_value_heads": {heads}',
            )
        return groups, heads // groups


def _missing(name: str) -> NCDError:
    return ParseError(f"the configuration has no {name}", where="config.json", cure=f'"{name}": 1')


# --- A published model: its sizes, and the function from sizes to its term

OPENING_POSITIONS = 16  # positions of a text, to begin with
MEANINGS: Mapping[str, str] = {
    "a": "features of the compressed queries",
    "b": "features of a rotary key",
    "c": "experts that are chosen",
    "d": "hidden features",
    "e": "experts",
    "f": "hidden features of an expert",
    "g": "heads of keys and values",
    "h": "heads",
    "k": "features of a head",
    "m": "features of a position",
    "n": "layers",
    "o": "features of the compressed keys and values",
    "q": "queries for each of them",
    "s": "sentences",
    "t": "positions",
    "u": "positions that have a vector",
    "v": "words",
    "w": "features of a value",
    "x": "hidden features of the shared expert",
    "z": "groups of experts",
}
SMALL_SIZES: Mapping[str, int] = {
    **{"n": 2, "t": 12, "m": 64, "g": 2, "q": 2, "h": 4, "k": 16, "d": 128, "v": 256},
    **{"l": 2, "x": 4, "y": 10, "o": 16},
    **{"e": 4, "c": 2, "u": 64, "s": 2, "a": 24, "b": 8, "w": 16, "f": 32},
}
STACKS = ("n", "N", "l")  # layers of which there are many
EVEN = ("k", "b")  # rotary positions turn features in pairs


@dataclass(frozen=True)
class PublishedModel:
    """A model as its configuration describes it.

    Args:
        title: Its name.
        source: The paper.
        sizes: Its sizes by their letters.
        system: The function from these sizes to its term.
        rotary: Whether the features of a head turn in pairs.
        positions: The most positions that it has vectors for; 0 for no limit.
        meanings: What a letter means here, where it is something else than usual.
        cached: The names of the ops whose results a text that is written keeps.
        notes: What of the configuration is left out, a sentence each.
        small_sizes: Sizes that are small enough to run, where they are others than usual.
        multiples: The numbers of which sizes are multiples.
    """

    title: str
    source: str
    sizes: Mapping[str, int]
    system: Callable[..., Term]
    rotary: bool = True
    positions: int = 0
    meanings: Mapping[str, str] = field(default_factory=dict)
    cached: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    small_sizes: Mapping[str, int] = field(default_factory=dict)
    multiples: Mapping[str, int] = field(default_factory=dict)

    def entry(self, name: str, text: str = "") -> Entry:
        """Returns the entry of a page that opens at the published sizes."""
        usual = {**SMALL_SIZES, **self.small_sizes}
        small = {key: min(usual.get(key, n), n) for key, n in self.sizes.items()}
        presets = (
            Preset("published", dict(self.sizes), self.source, "Published"),
            Preset("small", small, self.source, "Small enough to run"),
        )
        return Entry(
            name=name,
            title=self.title,
            source=self.source,
            knobs=tuple(self._knob(key, n) for key, n in self.sizes.items()),
            system=self.system,
            section="Yours",
            presets=presets,
            text=text,
            width=900,
            cached=self.cached,
        )

    def _knob(self, key: str, size: int) -> Knob:
        """Returns the slider of a size."""
        meaning = {**MEANINGS, **self.meanings}[key]
        knob = Knob(key, 1, max(8, 4 * size), size, help=meaning, least=1)
        if key in STACKS:
            return replace(knob, max=min(max(8, 2 * size), LAYERS), most=LAYERS)
        if key == "t" and self.positions:
            return replace(knob, max=self.positions, most=self.positions)
        by = self.multiples.get(key, 2 if self.rotary and key in EVEN else 1)
        if by > 1:
            return replace(knob, min=by, step=by, multiple=by, least=by)
        return knob


# --- The functions of feed-forwards, by the names that configurations give them

TANH = ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")  # three names of one function
ACTIVATION_NAMES = ("gelu", "quick_gelu", "relu", "relu2", "silu", "swish", "tanh", *TANH)


def activation(fields: Fields, *names: str, default: str) -> Term:
    """Returns the function of the feed-forward.

    Raises:
        UnknownNameError: For one that is not known here.
    """
    return named_activation(fields.choice(*names, default=default, known=ACTIVATION_NAMES))


def named_activation(name: str) -> Term:
    """Returns the function of one of the ``ACTIVATION_NAMES`` names."""
    if name == "relu2":
        return Map("() -> ()", "max($1, 0) ** 2", "ReLU²")
    if name == "quick_gelu":
        return QUICK_GELU
    return tanh_gelu() if name in TANH else Elementwise("silu" if name == "swish" else name)


# --- The angles of rotary positions, from the fields of a configuration

UNSTRETCHED_KINDS = ("default", "mrope", "dynamic", "longrope", "su")  # all alike in a short text


def rotary(fields: Fields, base: float = 10000, of: str = "") -> Rotary:
    """Returns the rotation angles of the positions, for one kind of layer.

    Raises:
        UnknownNameError: For a scaling that is not known here.
    """
    inner = fields.inner("rope_parameters", "rope_scaling")
    inner = inner.inner(of) if of and inner.get(of) is not None else inner
    base = inner.number(
        "rope_theta", default=fields.number("rope_theta", "rotary_emb_base", default=base)
    )
    known = ("linear", "llama3", "yarn", *UNSTRETCHED_KINDS)
    kind = inner.choice("rope_type", "type", default="default", known=known)
    factor = inner.number("factor", default=1)
    positions = inner.integer("original_max_position_embeddings", default=8192)
    if kind == "linear":
        return Rotary.interpolated(base, factor)
    if kind == "llama3":
        low = inner.number("low_freq_factor", default=1)
        high = inner.number("high_freq_factor", default=4)
        return Rotary.llama3(base, factor, low, high, positions)
    if kind == "yarn":
        by = magnitude(inner, factor)
        fast, slow = inner.number("beta_fast", default=32), inner.number("beta_slow", default=1)
        return Rotary.yarn(base, factor, positions, fast, slow, by, inner.flag("truncate", True))
    return Rotary.from_base(base)


def magnitude(inner: Fields, factor: float) -> float:
    """Returns the number that YaRN multiplies rotated features by: its section 3.4."""
    if inner.get("attention_factor") is not None:
        return inner.number("attention_factor", default=1)
    whole, every = (inner.get(name) for name in ("mscale", "mscale_all_dim"))
    if whole and every:
        return growth(factor, inner, "mscale") / growth(factor, inner, "mscale_all_dim")
    return growth(factor, inner, "")


def growth(factor: float, inner: Fields, name: str) -> float:
    """Returns how much scores grow when positions are stretched by a factor."""
    by = inner.number(name, default=1) if name else 1
    return 0.1 * by * log(factor) + 1 if factor > 1 else 1
