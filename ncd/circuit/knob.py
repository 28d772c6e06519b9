"""A knob: a named setting of a term, with the values of its slider and the legal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ncd.errors import SizeError, short_repr


@dataclass(frozen=True)
class Knob:
    """A setting of a system: a whole number, a choice, or a switch (0 or 1).

    Args:
        name: Its name, as in links and formulas.
        min: The least value of its slider.
        max: The largest value of its slider.
        default: Its default.
        step: The step of its slider.
        help: Its meaning.
        reason: The reason for the range of its slider.
        multiple: A number that values must be a multiple of.
        least: The least legal value; ``min`` if left out.
        most: The largest legal value; unlimited if left out.
        below: The name of a knob that it must stay below, such as an index below a size.
        switch: Whether it is a switch.
        names: The names of the choices 0, 1, 2, ….

    Source: CONTRIBUTING, "A system".

    >>> Knob("n1", 4, 256, 64, multiple=4).legal(71)
    72

    >>> knob = Knob("h", 1, 16, 4, help="heads")
    >>> knob.check(96), knob.nearest(96)
    (96, 16)
    """

    name: str
    min: int
    max: int
    default: int
    step: int = 1
    help: str = ""
    reason: str = ""
    switch: bool = False
    least: int | None = None
    most: int | None = None
    multiple: int = 1
    below: str = ""
    names: tuple[str, ...] = ()

    def check(self, value: Any) -> int:
        """Returns the value as a legal whole number.

        Raises:
            SizeError: For another value; it names the nearest legal one.
        """
        if isinstance(value, bool) and self.switch:
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise SizeError(
                f"{self.name} is {short_repr(value)}, but it is a whole number",
                cure=f"{self.name} = {self.default}",
                axis=self.name,
                nearest=self.default,
            )
        nearest = self.legal(value)
        if nearest != value:
            verb = "goes" if self.limits.startswith("from") else "is"
            raise SizeError(
                f"{self.name} is {short_repr(value)}, but it {verb} {self.limits}",
                cure=f"{self.name} = {nearest}",
                axis=self.name,
                nearest=nearest,
            )
        return value

    @property
    def is_size(self) -> bool:
        """Whether it is a number that can grow, not a switch or a choice."""
        return not (self.switch or self.names)

    @property
    def is_fixed(self) -> bool:
        """Whether it has one legal value only."""
        least, most = self.bounds
        return least == most

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The least and the largest legal value; None for no limit."""
        least = self.min if self.least is None else self.least
        if self.names:
            return 0, len(self.names) - 1
        return least, 1 if self.switch else self.most

    @property
    def limits(self) -> str:
        """Its legal values, in words.

        >>> Knob("n", 4, 256, 64, multiple=4).limits
        'a multiple of 4, 4 or more'
        """
        least, most = self.bounds
        ends = f"{least} or more" if most is None else f"from {least} to {most}"
        return f"a multiple of {self.multiple}, {ends}" if self.multiple > 1 else ends

    def legal(self, value: int) -> int:
        """Returns the nearest legal value."""
        least, most = self.bounds
        step = self.multiple
        first, closest = -(-least // step), (2 * value + step) // (2 * step)
        return step * max(first, closest if most is None else min(closest, most // step))

    def nearest(self, value: int) -> int:
        """Returns the nearest value of its slider."""
        steps = round((min(max(value, self.min), self.max) - self.min) / self.step)
        return min(self.min + steps * self.step, self.max - (self.max - self.min) % self.step)


def switch(name: str, default: int, help: str, reason: str) -> Knob:
    """Returns a knob that is on (1) or off (0)."""
    return Knob(name, 0, 1, default, help=help, reason=reason, switch=True)
