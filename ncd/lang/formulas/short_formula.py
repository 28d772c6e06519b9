"""Formulas as signs show them: short, in the little mathematics of labels."""

from __future__ import annotations

import re

from ncd.lang.formulas.formula import Formula

LONGEST = 24  # letters of a formula in a sign; the words have all of it
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "inf": "∞", "pi": "π", "sqrt(": "√("}
_WORD = re.compile(r"<=|>=|!=|==|\binf\b|\bpi\b|\bsqrt\(")


def short(formula: Formula) -> str:
    """The formula as a text for a sign; operands are a, b, c.

    >>> from ncd.lang.formulas.formula import parse
    >>> short(parse("$1 / n_k ** 0.5")), short(parse("where($2 > 0, -inf, $1)"))
    ('a / n_k^{0.5}', 'where(b > 0, -∞, a)')
    >>> short(parse("where($2 > 0, sin(x / 100), cos(x / 100))"))
    'where(b > 0, sin(x / 100…'
    """
    text = re.sub(r"\$(\d+)", lambda n: "abcdfghl"[(int(n[1]) - 1) % 8], str(formula))
    text = _WORD.sub(lambda word: _SIGNS[word[0]], text)
    return re.sub(r" \*\* (-?[\w.]+)", r"^{\1}", cut(text)).replace(" ** ", "^")


def cut(text: str) -> str:
    """The beginning of a text that is too long for a sign.

    >>> cut("positions")
    'positions'
    """
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip(" *_-+/.,(") + "…"
