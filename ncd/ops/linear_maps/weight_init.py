"""Initial values of weights, which are those of torch by default."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ncd.lang.errors import ParseError
from ncd.lang.formulas.formula import (
    CONSTANTS,
    RANDOM,
    Apply,
    Formula,
    Name,
    Number,
    Operand,
    leaves,
)
from ncd.lang.terms.op import Initial
from ncd.lang.types.axes import Array, Axis, Size


def uniform(fan_in: int) -> Formula:
    """Returns the formula of torch's layers: uniform from -1/√n to 1/√n for n inputs.

    >>> str(uniform(16))
    'uniform / sqrt(16)'
    """
    return Apply("/", (Name("uniform"), Apply("sqrt", (Number(str(fan_in)),))))


def filled(array: Array, value: int, *, learned: bool = True) -> Initial:
    """Returns an initial value with the same number everywhere."""
    return Initial(array, Number(str(value)), learned)


def apart(array: Array, taken: tuple[str, ...]) -> Array:
    """Returns the axes with ``_in`` added to names that are taken, so that all names differ."""
    axes: list[Axis] = []
    for axis in array:
        name = axis.name
        while name in taken or name in (other.name for other in axes):
            name += "_in"
        axes.append(axis if name == axis.name else replace(axis, name=name, label=""))
    return Array(axes)


def beside(taken: tuple[str, ...], name: str, size: Size) -> Array:
    """Returns an array of one axis with a name that is not taken."""
    return apart(Array((Axis(name, size),)), taken)


def check_initial(formula: Formula | None, array: Array, where: str) -> None:
    """Raises ParseError for a formula with other axes than those of the weight."""
    names = Counter(axis.identifier for axis in array)
    known = {*names, *(f"n_{name}" for name in names), *CONSTANTS, *RANDOM}
    words = ", ".join((*names, *RANDOM))
    for leaf in leaves(formula) if formula is not None else ():
        if isinstance(leaf, Operand) or (isinstance(leaf, Name) and leaf.text not in known):
            raise ParseError(
                f"the initial value {formula} speaks of {leaf}", where=where, cure=f"one of {words}"
            )
        if isinstance(leaf, Name) and names[leaf.text] > 1:
            raise ParseError(
                f"the initial value {formula} speaks of {leaf}, and two axes are called so",
                where=where,
                cure="another name for one of them",
            )
