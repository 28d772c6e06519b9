"""Ops that put axes into the order that another op needs, and names for layers."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence

from ncd.importing.base.import_values import Path
from ncd.lang.errors import NCDError
from ncd.lang.formulas.formula import parse
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Einsum, Map

SAME = parse("$1")  # of a Map that gives its numbers as they are


def reordered(array: Array, wanted: Array) -> Term:
    """Returns the op that puts the axes of an array into another order."""
    pair = Signature(Type((array,)), Type((wanted.with_axes(wanted),)))
    if array.below is None:
        return Einsum(pair)
    return Map(Signature(Type((array,)), Type((Array(wanted, array.below),))), SAME)


def in_order(array: Array, own: Array, term: Term) -> Term:
    """Returns a term behind an op that puts some axes behind all others, in this order.

    Returns the term itself where the array has these axes side by side in this order.
    """
    at = [array.names.index(name) for name in own.names]
    if at == list(range(at[0], at[0] + len(at))) if at else True:
        return term
    rest = tuple(axis for axis in array if axis.name not in own.names)
    return Then(reordered(array, Array((*rest, *own), array.below)), term)


def first_that_fits(arrays: Sequence[Array], wanted: Array, *terms: Callable[[], Term]) -> Term:
    """Returns the first term that takes these arrays and gives just the wanted axes."""
    for make in terms[:-1]:
        try:
            term = make()
            out = (Id(Type(arrays)) >> term).cod
        except NCDError:
            continue
        if len(out) == 1 and out[0].names == wanted.names:
            return term
    return terms[-1]()


def parameter_name(name: str, path: Path) -> str:
    """Returns the name of a parameter in its block.

    >>> parameter_name("h.0.attn.Q.weight", (("h.0.attn", "Attention"),))
    'Q'
    """
    around = path[-1][0] if path else ""
    own = name.removeprefix(f"{around}.") if around else name
    return identifier(own.removesuffix(".weight").removesuffix("_weight"))


def norm_name(name: str, path: Path) -> str:
    """Returns the name of a norm in its block: that of its module, whatever its factor is called.

    >>> norm_name("h.0.ln.gamma", (("h.0", "Block"),)), norm_name("gain", ())
    ('ln', 'gain')
    """
    module = name.rpartition(".")[0]
    inside = module and module != (path[-1][0] if path else "")
    return parameter_name(module if inside else name, path)


def identifier(text: str) -> str:
    """Returns a text as a name for a layer."""
    name = re.sub(r"\W+", "_", text).strip("_") or "layer"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name
