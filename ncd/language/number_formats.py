"""Number formats: how many bits the numbers of weights, of arrays and of a cache have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncd.errors import ParseError, short_repr, unknown_name_error

BITS: Mapping[str, int] = {
    "float32": 32,
    "bfloat16": 16,
    "float16": 16,
    "float8": 8,
    "int8": 8,
    "int4": 4,
}
PLAIN_FORMATS = "float32"
SHORT_NAMES: Mapping[str, str] = {  # on a wire
    **{"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8": "f8"},
    **{"int8": "i8", "int4": "i4"},
}
KINDS = ("weights", "activations", "cache")
SCALE = 4  # bytes of the scale of a channel of whole numbers
MIN_VECTOR_BITS = 16  # fewer only for matrices: biases and norms stay in the activations' format


@dataclass(frozen=True)
class Formats:
    """The formats of a system's weights, of the arrays on its wires, and of what a cache keeps.

    Numbers are rounded to their format and calculated with in float32, as hardware adds up. float8
    is E4M3; int8 and int4 are symmetric, with a scale for each channel of a weight and for each
    position of an array. A weight with one axis, such as a bias, has no fewer than 16 bits.

    Args:
        weights: The format of learned numbers.
        activations: The format of the inputs, and of every array that an op makes.
        cache: The format of the arrays that a cache keeps.
        cached: The names of the ops that make these, such as ``("K", "V")`` or ``("decoder.k",)``.

    Raises:
        UnknownNameError: For a format that is none of ``BITS``.
        ParseError: For ``cached`` of another kind.

    Source: IEEE 754; Micikevicius et al. 2022, "FP8 Formats for Deep Learning", section 3; Jacob et
    al. 2018, "Quantization and Training of Neural Networks", section 2.1, with a zero point of 0.

    >>> Formats(weights="int8").vector_format, Formats("int8", "bfloat16").spec
    ('float32', 'weights=int8,activations=bfloat16')
    """

    weights: str = PLAIN_FORMATS
    activations: str = PLAIN_FORMATS
    cache: str = PLAIN_FORMATS
    cached: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for kind in KINDS:
            name = getattr(self, kind)
            if not isinstance(name, str) or name not in BITS:
                raise unknown_name_error("format", name, BITS, where=kind)
        names = self.cached
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            fact = f"cached is {short_repr(names)}, but it is the names of ops"
            raise ParseError(fact, where="Formats", cure='cached=("K", "V")')

    @property
    def is_float32(self) -> bool:
        """Returns whether all numbers are float32."""
        return not self.spec

    @property
    def spec(self) -> str:
        """The formats other than float32, as in a link: ``weights=int8``."""
        pairs = ((kind, getattr(self, kind)) for kind in KINDS)
        return ",".join(f"{kind}={name}" for kind, name in pairs if name != PLAIN_FORMATS)

    @property
    def vector_format(self) -> str:
        """The format of weights with one axis."""
        return self.weights if BITS[self.weights] >= MIN_VECTOR_BITS else self.activations

    def activation_format(self, path: str) -> str:
        """Returns the format of the array that the op at a path makes."""
        return self.cache if is_cached(path, self.cached) else self.activations


def is_cached(path: str, names: tuple[str, ...]) -> bool:
    """Returns whether one of the names is that of the op at this path.

    A name may say a block that the op is in: ``decoder.k`` is any ``k`` within ``decoder``.

    >>> is_cached("decoder.block.0.k", ("decoder.k",)), is_cached("encoder.k", ("decoder.k",))
    (True, False)
    """
    *within, own = path.split(".")
    blocks = {*within}
    for name in names:
        *wanted, last = name.split(".")
        if last == own and blocks.issuperset(wanted):
            return True
    return False


def read_formats(said: str, cached: tuple[str, ...] = ()) -> Formats:
    """Returns the formats that a text such as ``weights=int8,cache=float8`` states.

    Raises:
        ParseError: For text of another form.
        UnknownNameError: For a format that is not known.

    >>> read_formats("cache=int8", ("K", "V")).cache
    'int8'
    """
    given = {}
    for part in filter(None, said.split(",")):
        kind, _, name = part.partition("=")
        if kind not in KINDS:
            raise ParseError(f"{part[:30]!r} is no format", where="formats", cure="weights=int8")
        given[kind] = name
    return Formats(**given, cached=cached)
