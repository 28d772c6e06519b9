"""Checks of the patterns of ops: their form, and the kinds of numbers in them."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.errors import MismatchError, ParseError
from ncd.lang.types.axes import Array, Signature, Type

MANY = 99  # axes or arrays
_Counts = tuple[tuple[int, int], ...]  # the minimum and maximum of axes of each array


def check_form(kind: str, given: Array | Signature, form: str) -> None:
    """Raises ParseError unless the pattern of an op has the form of its class.

    In a form ``m*`` is any number of axes, ``m+`` one or more, and a last array ``d…`` any number
    of arrays.
    """
    sides = (Type((given,)),) if isinstance(given, Array) else (given.dom, given.cod)
    if not all(_fits(*side) for side in zip(sides, _form(form), strict=True)):
        example = form.translate(str.maketrans("", "", "*+…"))
        cure = f'something like {kind}("{example}")'
        raise ParseError(f'"{given}" is not of the form "{example}"', where=kind, cure=cure)


@lru_cache
def _form(text: str) -> tuple[_Counts, ...]:
    """Returns the permitted numbers of axes of each array, on each side of a form."""
    return tuple(tuple(map(_counts, side.split(","))) for side in text.split("->"))


def _counts(array: str) -> tuple[int, int]:
    words = array.split()
    least = len(words) - ("*" in array)
    most = MANY if any(word[-1] in "*+" for word in words) else len(words)
    return (-least, most) if "…" in array else (least, most)


def _fits(arrays: Type, counts: _Counts) -> bool:
    """Returns whether the arrays have the numbers of axes that the form permits."""
    if counts and counts[-1][0] < 0:  # the last array stands for any number
        least, most = counts[-1]
        counts = (*counts[:-1], *((-least, most),) * (len(arrays) - len(counts) + 1))
    return len(arrays) == len(counts) and all(
        least <= len(a) <= most for a, (least, most) in zip(arrays, counts, strict=True)
    )


def check_kinds(signature: Signature, any_kind: bool) -> None:
    """Raises MismatchError for a pattern of whole numbers that the op cannot take or give.

    An op of any kind of numbers gives whole numbers only if it takes numbers below the same axis.
    """
    dom, cod = signature.dom, signature.cod
    given = {array.below.name for array in dom if array.below} if any_kind else set()
    for array in cod if any_kind else (*dom, *cod):
        if array.below and array.below.name not in given:
            raise MismatchError(
                f"({array}) holds {array.kind}, but nothing that it takes does"
                if any_kind
                else f"({array}) holds {array.kind}, which is not what it works on",
                cure=f'"{Array(array)}"' + ("" if any_kind else ", or Map to make real ones"),
            )
