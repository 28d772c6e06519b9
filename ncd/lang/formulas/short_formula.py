"""Formulas as marks show them: short, in the mathematics of labels."""

from __future__ import annotations

import re

from ncd.lang.formulas.formula import Formula

LONGEST = 24  # letters of a formula in a mark; the description has all of it
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "inf": "∞", "pi": "π", "sqrt(": "√("}
_WORD = re.compile(r"<=|>=|!=|==|\binf\b|\bpi\b|\bsqrt\(")


def short(formula: Formula) -> str:
    """Returns the formula as the text of a mark; operands are a, b, c.

    >>> from ncd.lang.formulas.formula import parse
    >>> short(parse("$1 / n_k ** 0.5")), short(parse("where($2 > 0, -inf, $1)"))
    ('a / n_k^{0.5}', 'where(b > 0, -∞, a)')
    >>> short(parse("where($2 > 0, sin(x / 100), cos(x / 100))"))
    'where(b > 0, sin(x / 100…'
    """
    text = lettered(formula)
    text = _WORD.sub(lambda word: _SIGNS[word[0]], text)
    return re.sub(r" \*\* (-?[\w.]+)", r"^{\1}", cut(text)).replace(" ** ", "^")


def lettered(formula: Formula) -> str:
    """Returns the formula as text whose operands are a, b, c.

    >>> from ncd.lang.formulas.formula import parse
    >>> lettered(parse("where($2 > 0, -inf, $1)"))
    'where(b > 0, -inf, a)'
    """
    return re.sub(r"\$(\d+)", lambda n: "abcdfghl"[(int(n[1]) - 1) % 8], str(formula))


def cut(text: str) -> str:
    """Returns the text, shortened with an ellipsis if it is too long for a mark.

    >>> cut("positions")
    'positions'
    """
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip(" *_-+/.,(") + "…"
