"""Rotary positions, and ways to stretch them for longer texts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Term
from ncd.ops import Einsum, Group, Map, Split

_ROTATION = "where(p == i, cos($1), where(p < i, sin($1), -sin($1)))"


@dataclass(frozen=True)
class Rotary:
    """The angles by which pairs of features rotate from one position to the next.

    Args:
        turns: The angle of pair r of n_r pairs, as a formula.
        magnitude: The number by which the rotated features are multiplied.

    Source: Su et al. 2021, "RoFormer", section 3.2.

    >>> Rotary.plain(10000).turns
    '10000 ** (-r / n_r)'
    """

    turns: str
    magnitude: float = 1

    @classmethod
    def plain(cls, base: float) -> Rotary:
        """Returns the angles base ** (-r / n_r)."""
        return cls(f"{_text(base)} ** (-r / n_r)")

    @classmethod
    def interpolated(cls, base: float, factor: float) -> Rotary:
        """Returns angles that are all reduced by a factor.

        Source: Chen et al. 2023, "Extending Context Window of Large Language Models via Positional
        Interpolation", section 2.3.
        """
        return cls(f"{cls.plain(base).turns} / {_text(factor)}")

    @classmethod
    def llama3(cls, base: float, factor: float, low: float, high: float, positions: int) -> Rotary:
        """Returns angles of which those with long waves are reduced by a factor.

        Waves longer than ``positions / low`` are stretched, those shorter than ``positions / high``
        are kept, and those between partly.

        Source: Llama 3.1's published code.
        """
        turns = cls.plain(base).turns
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
        turns = cls.plain(base).turns
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
