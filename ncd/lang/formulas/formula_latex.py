"""Formulas in LaTeX."""

from __future__ import annotations

from ncd.lang.formulas.elementwise_functions import ELEMENTWISE
from ncd.lang.formulas.formula import FUNCTIONS, Apply, Formula, Operand

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

    >>> from ncd.lang.formulas.formula import parse
    >>> latex(parse("where($1 > 0, $1, 0)"))
    '\\\\begin{cases} a & a > 0 \\\\\\\\ 0 & \\\\text{else} \\\\end{cases}'
    """
    if isinstance(formula, Operand):
        return "abcdfghl"[(formula.number - 1) % 8]
    if not isinstance(formula, Apply):
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
