"""A formula as LaTeX, and cut to the few characters that a mark on a diagram has room for."""

from __future__ import annotations

import re

from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.formulas.formula import FUNCTIONS, Application, Formula, Operand

# --- Formulas in LaTeX

_LATEX = {
    "*": r"{} \cdot {}",
    "/": r"\frac{{{}}}{{{}}}",
    "//": r"\left\lfloor {} / {} \right\rfloor",
    "%": r"{} \bmod {}",
    "**": "{}^{{{}}}",
    "<=": r"{} \le {}",
    ">=": r"{} \ge {}",
    "==": "{} = {}",
    "!=": r"{} \ne {}",
    "and": r"{} \wedge {}",
    "or": r"{} \vee {}",
    "not": r"\neg {}",
    "clamp": r"\min(\max({}, {}), {})",
    "where": r"\begin{{cases}} {1} & {0} \\ {2} & \text{{else}} \end{{cases}}",
    **{name: function.latex for name, function in ELEMENTWISE.items() if function.latex},
}
_LETTERS = {"inf": r"\infty", "pi": r"\pi", "e": "e"}


def latex(formula: Formula) -> str:
    """Returns the formula in LaTeX; operands are a, b, c.

    >>> from ncd.formulas.formula import parse
    >>> latex(parse("where($1 > 0, $1, 0)"))
    '\\\\begin{cases} a & a > 0 \\\\\\\\ 0 & \\\\text{else} \\\\end{cases}'
    """
    if isinstance(formula, Operand):
        return "abcdfghl"[(formula.number - 1) % 8]
    if not isinstance(formula, Application):
        head, _, tail = str(formula).partition("_")
        plain = f"{head}_{{{tail.replace('_', ',')}}}" if tail else head
        return _LETTERS.get(head, plain)
    parts = [latex(part) for part in formula.parts]
    for i in range(len(parts)):
        separate = formula.operation == "/" or (i == 1 and formula.operation == "**")
        if formula.brackets(i) and not separate:
            parts[i] = rf"\left({parts[i]}\right)"
    pattern = _LATEX.get(formula.operation)
    if formula.operation == "-" and len(parts) == 1:
        return f"-{parts[0]}"
    if pattern:
        return pattern.format(*parts)
    if formula.operation in FUNCTIONS:
        return rf"\operatorname{{{formula.operation}}}({', '.join(parts)})"
    return f" {formula.operation} ".join(parts)


# --- Formulas as marks show them: short, in the mathematics of labels

LONGEST = 24  # letters of a formula in a mark; the description has all of it
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "inf": "∞", "pi": "π", "sqrt(": "√("}
_WORD = re.compile(r"<=|>=|!=|==|\binf\b|\bpi\b|\bsqrt\(")


def mark_text(formula: Formula) -> str:
    """Returns the formula as the text of a mark; operands are a, b, c.

    >>> from ncd.formulas.formula import parse
    >>> mark_text(parse("$1 / n_k ** 0.5")), mark_text(parse("where($2 > 0, -inf, $1)"))
    ('a / n_k^{0.5}', 'where(b > 0, -∞, a)')
    >>> mark_text(parse("where($2 > 0, sin(x / 100), cos(x / 100))"))
    'where(b > 0, sin(x / 100…'
    """
    text = lettered_text(formula)
    text = _WORD.sub(lambda word: _SIGNS[word[0]], text)
    return re.sub(r" \*\* (-?[\w.]+)", r"^{\1}", ellipsize(text)).replace(" ** ", "^")


def lettered_text(formula: Formula) -> str:
    """Returns the formula as text whose operands are a, b, c.

    >>> from ncd.formulas.formula import parse
    >>> lettered_text(parse("where($2 > 0, -inf, $1)"))
    'where(b > 0, -inf, a)'
    """
    return re.sub(r"\$(\d+)", lambda n: "abcdfghl"[(int(n[1]) - 1) % 8], str(formula))


def ellipsize(text: str) -> str:
    """Returns the text, shortened with an ellipsis if it is too long for a mark.

    >>> ellipsize("positions")
    'positions'
    """
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip(" *_-+/.,(") + "…"
