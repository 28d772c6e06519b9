"""Dimensions of torch as products of atoms, which become the axes of a term.

A dimension is a tuple of atoms: none for size 1, several after a ``view`` that merges. Two
dimensions that meet in an operation have the same atoms, so that an atom may turn out to be
another one, or the product of smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

UNKNOWN_BOUND = 10**9  # a bound of whole numbers of which none is known
PARTS = {  # names of the two parts of an axis: patches and pixels, groups of heads, pairs
    "h": ("y", "i"),
    "heads": ("g", "q"),
    "w": ("x", "j"),
    "k": ("p", "r"),
    **{name: (name, name) for name in ("b", "c", "t", "s")},
}
VAGUE = ("", "one", "out", "c", "m", "bound", "whole")  # names that say little of an axis


class CannotSplit(ValueError):
    """A dimension that is not a product of the requested sizes."""


@dataclass(eq=False)
class AxisFactor:
    """A factor of a dimension, which may be split further later.

    ``hint`` is a name to prefer. ``step_numbers`` are the numbers of the steps in which it occurs;
    two atoms that occur in one step are two axes. ``group`` are the atoms of a spatial group that
    it belongs to. One that ``is_indivisible`` must stay one axis, as an op needs just one; one that
    is ``alone`` has been named by itself, and so cannot join a group.
    """

    size: int
    hint: str = ""
    step_numbers: set[int] = field(default_factory=set)
    merged_into: AxisFactor | None = None
    parts: tuple[AxisFactor, ...] = ()
    group: tuple[AxisFactor, ...] = ()
    is_indivisible: bool = False
    alone: bool = False


Dim = tuple[AxisFactor, ...]
Dims = tuple[Dim, ...]


def new_dim(size: int, hint: str = "") -> Dim:
    """Returns a new dimension; one of size 1 has no atom."""
    return (AxisFactor(size, hint),) if size != 1 else ()


def resolved_atoms(dim: Iterable[AxisFactor]) -> Dim:
    """Returns the atoms that a dimension currently consists of.

    >>> m = AxisFactor(6)
    >>> split(m, 3)
    >>> [atom.size for atom in resolved_atoms((m,))]
    [2, 3]
    """
    found: list[AxisFactor] = []
    for atom in dim:
        while atom.merged_into is not None:
            atom = atom.merged_into
        found += resolved_atoms(atom.parts) if atom.parts else (atom,)
    return tuple(found)


def all_atoms(dims: Iterable[Dim]) -> Dim:
    """Returns the atoms of all dimensions, in order."""
    return tuple(leaf for dim in dims for leaf in resolved_atoms(dim))


def size(dim: Iterable[AxisFactor]) -> int:
    """Returns the size of a dimension."""
    return prod(leaf.size for leaf in resolved_atoms(dim))


def split(atom: AxisFactor, last: int) -> None:
    """Makes an atom the product of two, of which the second has the size ``last``."""
    if atom.size % last or atom.group or atom.is_indivisible:
        raise CannotSplit(f"{atom.size} into {last}")
    usual = (atom.hint, atom.hint) if atom.hint in VAGUE else ("", "")
    one, two = PARTS.get(atom.hint, usual)
    atom.parts = (
        AxisFactor(atom.size // last, one, set(atom.step_numbers)),
        AxisFactor(last, two, set(atom.step_numbers)),
    )


def group_of(atom: AxisFactor) -> Dim:
    """Returns the atoms of the spatial group of an atom; none if it is a plain one."""
    return resolved_atoms(atom.group)


def make_group(atoms: Dim) -> None:
    """Makes plain atoms one spatial group."""
    for atom in atoms:
        atom.group = atoms


def refine(one: Dim, two: Dim) -> list[tuple[AxisFactor, AxisFactor]]:
    """Returns the parts of two dimensions in pairs, split until they have the same sizes.

    Parts of size 1 are left out. Raises CannotSplit for atoms that have no common parts.
    """
    if size(one) != size(two):
        raise CannotSplit(f"{size(one)} and {size(two)}")
    while True:
        sides = ([atom for atom in resolved_atoms(dim) if atom.size > 1] for dim in (one, two))
        pairs = [*zip(*(reversed(side) for side in sides), strict=False)]
        found = next(((a, b) for a, b in pairs if a.size != b.size), None)
        if found is None:
            return pairs[::-1]
        large, small = sorted(found, key=lambda atom: -atom.size)
        split(large, small.size)


def unify(one: Dim, two: Dim) -> bool:
    """Makes two dimensions of one size the same; returns False if they must stay apart.

    Raises CannotSplit for atoms that have no common parts.
    """
    if size(one) == size(two) == 1:
        pairs = [*zip(resolved_atoms(one), resolved_atoms(two), strict=False)]
    else:
        pairs = refine(one, two)
    return all(_root(a) is _root(b) or _merge_atoms(_root(a), _root(b)) for a, b in pairs)


def _root(atom: AxisFactor) -> AxisFactor:
    while atom.merged_into is not None:
        atom = atom.merged_into
    return atom


def _rank(hint: str) -> int:
    """Returns how informative the name of an axis is."""
    return 0 if hint in ("", "one") else 1 if hint in VAGUE else 2


def _merge_atoms(a: AxisFactor, b: AxisFactor) -> bool:
    """Makes two atoms the same, with their spatial groups; returns False if they occur together."""
    first, second = group_of(a), group_of(b)
    pairs = [(a, b)] if not (first and second) else [*zip(first, second, strict=False)]
    if first and second and ([x.size for x in first] != [x.size for x in second]):
        return False
    if bool(first) != bool(second) and (a.alone or b.alone):
        raise CannotSplit("an axis by itself, and one side of a spatial group")
    if (a, b) not in pairs or any(x.step_numbers & y.step_numbers for x, y in pairs):
        return False
    for kept, other in pairs:
        if other.group and not kept.group:
            kept, other = other, kept
        other.merged_into = kept
        kept.hint = max(kept.hint, other.hint, key=_rank)
        kept.step_numbers |= other.step_numbers
        kept.is_indivisible |= other.is_indivisible
        kept.alone |= other.alone
    return True


def view_dims(dims: Dims, shape: Sequence[int]) -> Dims:
    """Returns the dimensions of a tensor that is viewed in another shape.

    >>> b, m = AxisFactor(2), AxisFactor(12)
    >>> [len(resolved_atoms(dim)) for dim in view_dims(((b,), (m,)), (2, 3, 4))], m.parts[1].size
    ([1, 1, 1], 4)

    Raises CannotSplit for a shape that cuts across the dimensions.
    """
    waiting = list(all_atoms(dims))
    found: list[Dim] = []
    for wanted in reversed(shape):
        dim: list[AxisFactor] = []
        have = 1
        while have < wanted:
            if not waiting:
                raise CannotSplit(f"{tuple(shape)}")
            (*rest, atom) = resolved_atoms((waiting.pop(),))
            waiting += rest
            if atom.size == 1 and not dim and found:
                found[0] = (atom, *found[0])
                continue
            need, left = divmod(wanted, have)
            if left:
                raise CannotSplit(f"{tuple(shape)}")
            if atom.size > need:
                split(atom, need)
                waiting += resolved_atoms((atom,))
                continue
            dim.insert(0, atom)
            have *= atom.size
        if have != wanted:
            raise CannotSplit(f"{tuple(shape)}")
        found.insert(0, tuple(dim))
    return _with_ones(tuple(found), waiting)


def _with_ones(dims: Dims, left: list[AxisFactor]) -> Dims:
    """Returns the dimensions with the atoms of size 1 that are left, in the first ones."""
    if any(atom.size > 1 for atom in left):
        raise CannotSplit("numbers are left")
    found = list(dims)
    for atom in reversed(left):
        at = next((i for i, dim in enumerate(found) if not dim), 0)
        if found:
            found[at] = (atom, *found[at])
    return tuple(found)


def other_hint(hint: str) -> str:
    """Returns the name for the copy of an axis: keys have their own."""
    return {"t": "s", "y": "x"}.get(hint, hint)
