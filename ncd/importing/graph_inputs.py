"""The inputs of an imported module, with usual names of axes and kinds of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ncd.importing.base.atoms import Atom, Dims, every, leaves, size
from ncd.importing.base.import_values import (
    Axes,
    ImportFailed,
    Kind,
    Slot,
    Step,
    Value,
    are_places,
    kind_of,
)
from ncd.importing.base.recorder import Recorder
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Split

USUAL = {  # names of an input's dimensions, by their number
    "real": {1: "m", 2: "b m", 3: "b t m", 4: "b c h w", 5: "b c d h w"},
    "whole": {1: "t", 2: "b t"},
    "bool": {1: "t", 2: "b t"},
}


def input_value(name: str, val: Tensor, example: Any, axes: Sequence[str]) -> Value:
    """Returns an input with a new atom for each dimension.

    Args:
        name: Its name in ``forward``.
        val: A tensor of its shape and dtype.
        example: The input that was given.
        axes: The axes that the caller names; ``_`` is one without a name.

    Raises:
        ImportFailed: For an input without numbers, or with another number of dimensions.
    """
    kind, below = _kind(val, example)
    usual = USUAL[kind].get(val.dim(), "")
    if not val.numel():
        raise ImportFailed(f"the input {name} of shape {tuple(val.shape)} holds no numbers")
    if axes and len(axes) != val.dim():
        raise ImportFailed(
            f"the input {name} has {val.dim()} dimensions, but its axes are {' '.join(axes)}",
            cure=f'axes={{"{name}": "{usual or " ".join("abcdefgh"[: val.dim()])}"}}',
        )
    hints = usual.split() or [""] * val.dim()
    hints = [b if a == "_" else a for a, b in zip(axes or hints, hints, strict=True)]
    dims: Dims = tuple((Atom(n, hint),) for n, hint in zip(val.shape, hints, strict=True))
    return Value(dims, Slot(every(dims), kind, below))


def split_input(
    name: str, value: Value, called: Mapping[Atom, str]
) -> tuple[Step, dict[Atom, str]]:
    """Returns a step from an input with torch's dimensions to its parts, and their names.

    Args:
        name: Its name in ``forward``.
        value: The input, some of whose dimensions have been split by views.
        called: The names that the caller gave, by atom.
    """
    split = {dim: (Atom(size(dim), dim[0].hint),) for dim in value.dims if len(leaves(dim)) != 1}
    slot = value.slot.on(every(split.get(dim, dim) for dim in value.dims))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        pairs = ((axes(new), axes(dim)) for dim, new in split.items())
        terms = [Split(Signature(Type((one,)), Type((parts,)))) for one, parts in pairs]
        return Then(Id(Type(arrays)), *terms)

    names = {new[0]: called[dim[0]] for dim, new in split.items() if dim[0] in called}
    return Step(make, (slot,), (value.slot,), name, ()), names


def _kind(val: Tensor, example: Any) -> tuple[Kind, Atom | None]:
    """Returns the kind of numbers of an input, and a bound of whole ones.

    The whole numbers of a term are places along an axis, so that others are real ones.
    """
    kind = kind_of(val.dtype)
    below = Recorder.bound(kind)
    known = isinstance(example, Tensor) and example.numel() and not example.is_meta
    if kind == "whole" and below is not None and known:
        if not are_places(example):
            return "real", None
        below.size = _round(int(example.max()))
    return kind, below


def _round(most: int) -> int:
    """Returns a round number that is above another one, for a bound of which nothing is known.

    >>> _round(0), _round(7), _round(16), _round(734)
    (2, 10, 20, 1000)
    """
    ten = 10 ** (len(str(most)) - 1)
    return next(n * ten for n in (2, 5, 10) if n * ten > most)
