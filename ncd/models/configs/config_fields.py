"""The fields of a ``config.json``, each checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from ncd.lang.errors import NCDError, ParseError, SizeError, shown, unknown

MOST = 10**8  # the largest number of words, features or positions
LAYERS = 256  # at most: each is a part of the term


@dataclass(frozen=True)
class Fields:
    """The fields of a configuration.

    Args:
        values: The fields by their names.
        seen: The names of those that were read.

    Source: ``PretrainedConfig`` of the library ``transformers``, which writes these files.

    >>> Fields({"n_head": 12}).whole("n_head")
    12
    """

    values: Mapping[str, Any]
    seen: set[str] = field(default_factory=set, compare=False, repr=False)

    def get(self, *names: str) -> Any:
        """Returns the first of these fields that has a value; None if none has."""
        name = self.name_of(*names)
        self.seen.add(name)
        return self.values.get(name)

    def name_of(self, *names: str) -> str:
        """Returns the first of these names whose field has a value, or the first of all."""
        return next((name for name in names if self.values.get(name) is not None), names[0])

    def whole(self, *names: str, default: int | None = None, most: int = MOST) -> int:
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
                f"{name} is {shown(value)}, but it is a whole number from 1 to {most}",
                where="config.json",
                cure=f'"{name}": {default or 1}',
            )
        return value

    def same(self, name: str, value: int) -> None:
        """Raises SizeError if a field differs from an earlier value."""
        if self.whole(name, default=value) != value:
            fact = f"{name} is {self.get(name)}, but another field says {value}"
            raise SizeError(fact, where="config.json", cure=f'"{name}": {value}')

    def fixed(self, name: str, value: object) -> None:
        """Raises SizeError if a field has another value than the one that is read here."""
        given = self.get(name)
        if given is not None and given != value:
            fact = f"{name} is {shown(given)}, but only {value} is read here"
            raise SizeError(fact, where="config.json", cure=f'"{name}": {value}')

    def wholes(self, name: str, default: Sequence[int], most: int = MOST) -> list[int]:
        """Returns as many whole numbers as the default has.

        Raises:
            SizeError: For another value.
        """
        values = self.get(name)
        values = list(default) if values is None else values
        whole = isinstance(values, list) and all(type(n) is int and 1 <= n <= most for n in values)
        if not whole or len(values) != len(default):
            fact = f"{name} is {shown(values)}, but it is {len(default)} whole numbers from 1"
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
                f"{names[0]} is {shown(value)}, but it is a number above 0",
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
                f"{name} is {shown(value)}, but it is true or false", where="config.json", cure=cure
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
            raise unknown(names[0], str(value)[:40], known, where="config.json")
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
        return self.whole(*names, default=features // heads)

    def groups(self, heads: int, *names: str) -> tuple[int, int]:
        """Returns the heads of keys and values, and the queries for each.

        Raises:
            SizeError: If the first do not divide the heads.
        """
        groups = self.whole(*names, default=heads)
        if heads % groups:
            raise SizeError(
                f"{groups} heads of keys do not divide {heads} heads of queries",
                where="config.json",
                cure=f'"num_key_value_heads": {heads}',
            )
        return groups, heads // groups


def _missing(name: str) -> NCDError:
    return ParseError(f"the configuration has no {name}", where="config.json", cure=f'"{name}": 1')
