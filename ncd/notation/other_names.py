"""Terms for operations by the names that they have elsewhere, such as ``MatMul`` or ``Mul``."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.formulas.elementwise_functions import function_called

# By a term of the language, what it is, and the names that ask for it.
TERMS: Mapping[str, tuple[str, str]] = {
    'Einsum("f, f -> f")': (
        "the products of two arrays, number by number",
        "mul multiply times product hadamard",
    ),
    'Einsum("y k, k x -> y x")': ("a product of matrices", "matmul mm bmm dot"),
    'Map("f, f -> f", "silu($1) * $2")': ("a gate", "gate glu swiglu"),
    'Map("f, f -> f", "gelu($1) * $2")': ("a gate", "geglu"),
    'Map("f, f -> f", "$1 - $2")': ("a difference", "sub subtract minus"),
    'Map("f, f -> f", "$1 / $2")': ("a quotient", "div divide"),
    'Copy("m") >> Id("m") @ Linear("m -> m", "F") >> Add()': (
        "a connection around a layer",
        "residual skip",
    ),
    'Reduce("x ->", "mean")': ("a mean along an axis", "mean average"),
    'Reduce("x ->", "sum")': ("a sum along an axis", "sum"),
    'Id("t#v") @ Param("v m", "E") >> Index("t#v, v m -> t m")': (
        "the rows of a table",
        "embedding lookup gather",
    ),
    'Linear("m -> k", "Q")': ("a learned map", "dense fc"),
    'Einsum("a b -> b a")': ("axes in another order", "transpose permute"),
}
_TERM_TEXTS: Mapping[str, str] = {
    name: f"{term} for {what}" for term, (what, names) in TERMS.items() for name in names.split()
}


def term_called(name: str) -> str:
    """Returns a term for what is called so elsewhere; empty if nothing is known of it.

    >>> term_called("SiLU"), term_called("Swish")
    ('Elementwise("silu")', 'Elementwise("silu")')
    >>> term_called("Mul")
    'Einsum("f, f -> f") for the products of two arrays, number by number'
    """
    function = function_called(name)
    return f'Elementwise("{function}")' if function else _TERM_TEXTS.get(name.lower(), "")
