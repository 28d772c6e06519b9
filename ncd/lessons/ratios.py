"""Ratios in words, such as ``almost twice as many``."""

from __future__ import annotations

from fractions import Fraction

CLOSE = 0.03  # a ratio that is so near a plain one is named after that
PLAIN = {
    Fraction(1, 2): "half as",
    Fraction(1): "just as",
    Fraction(2): "twice as",
    Fraction(4): "4 times as",
}


def in_words(ratio: Fraction) -> str:
    """Returns a ratio of two numbers in words.

    >>> [in_words(Fraction(*pair)) for pair in ((1, 1), (1, 2), (199, 100), (157, 100), (101, 100))]
    ['just as many', 'half as many', 'almost twice as many', '1.57 times as many', 'slightly more']
    """
    for plain, word in PLAIN.items():
        if ratio == plain:
            return f"{word} many"
        if plain == 1 and abs(ratio - 1) < CLOSE:
            return "slightly fewer" if ratio < 1 else "slightly more"
        if abs(ratio / plain - 1) < CLOSE:
            return f"{'almost' if ratio < plain else 'a little over'} {word} many"
    return f"{float(ratio):.3g} times as many"
