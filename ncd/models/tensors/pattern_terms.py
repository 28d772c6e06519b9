"""einops patterns as terms that split, permute, merge, reduce and repeat axes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import NamedTuple

from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.ops import Einsum, Group, Index, Map, Reduce, Rename, Split

REDUCTIONS = ("max", "mean", "min", "sum")
HOW = ("rearrange", "repeat", *REDUCTIONS)
REST = "..."
_GROUP = re.compile(r"\((?P<several>[^()]*)\)|(?P<one>[^\s()]+)")


class Part(NamedTuple):
    """A word of a pattern; ``at`` distinguishes numbers, and the axes of an ellipsis."""

    text: str
    at: int = 0


Parts = tuple[Part, ...]  # of one axis; none for an axis of length 1


@dataclass(frozen=True)
class Call:
    """One call: "rearrange", "repeat" or a reduction, its pattern, and lengths by name."""

    how: str
    pattern: str
    lengths: tuple[tuple[str, int], ...] = ()

    def sides(self, axes: int) -> tuple[tuple[Parts, ...], tuple[Parts, ...]]:
        """Returns the parts of each axis on both sides, for an array with this many axes.

        >>> left, right = Call("rearrange", "(h h1) ... -> h ... 1").sides(2)
        >>> [[part.text for part in axis] for axis in (*left, *right)]
        [['h', 'h1'], ['...'], ['h'], ['...'], []]
        """
        left, right = self.pattern.split("->")
        numbers = count(1)
        rest = axes - len(_read(left, 1, numbers)) + 1
        return _read(left, rest, numbers), _read(right, rest, numbers)

    def places(self, axes: int) -> tuple[tuple[int, int], ...]:
        """Returns the start and end of each left axis in the pattern.

        >>> Call("rearrange", "(h h1) ... -> h ... 1").places(3)
        ((0, 6), (7, 10), (7, 10))
        """
        found = list(_GROUP.finditer(self.pattern.split("->")[0]))
        rest = axes - len(found) + 1
        return tuple(at.span() for at in found for _ in range(rest if at[0] == REST else 1))

    def sizes(self, shape: Sequence[int]) -> dict[Part, int]:
        """Returns the length of every part, for an array of this shape.

        >>> call = Call("max", "(h h1) c -> h c", (("h1", 2),))
        >>> {part.text: size for part, size in call.sizes((6, 3)).items()}
        {'h': 3, 'h1': 2, 'c': 3}
        """
        left, right = self.sides(len(shape))
        given = dict(self.lengths)
        found: dict[Part, int] = {}
        for parts, size in zip(left, shape, strict=True):
            known = [_given(part, given) for part in parts]
            rest = size // prod(n or 1 for n in known)
            found |= {part: n or rest for part, n in zip(parts, known, strict=True)}
        return found | {
            part: _given(part, given) or 1 for parts in right for part in parts if part not in found
        }


def _given(part: Part, lengths: dict[str, int]) -> int | None:
    """Returns the length of a part: its number as written, or that of its name; else None."""
    return int(part.text) if part.text.isdecimal() else lengths.get(part.text)


def _read(side: str, rest: int, numbers: count[int]) -> tuple[Parts, ...]:
    """Returns the axes of one side; an ellipsis stands for ``rest`` axes."""
    dots = tuple(Part(REST, i) for i in range(rest))
    axes: list[Parts] = []
    for found in _GROUP.finditer(side):
        if found["one"] == REST:
            axes += [(dot,) for dot in dots]
            continue
        parts: list[Part] = []
        for word in (found["one"] or found["several"]).split():
            number = word.isdecimal()
            if word == REST:
                parts += dots
            elif not number or int(word) != 1:
                parts.append(Part(word, next(numbers) if number else 0))
        axes.append(tuple(parts))
    return tuple(axes)


def rearranged(shape: Sequence[int], calls: Sequence[Call], names: str = "") -> Term:
    """Returns a term that applies the calls in order to an array of these sizes.

    The array has the names that the first pattern gives it, or ``names`` if it begins with the
    first of several: of ``"b h w c"`` the place 0 of b is taken. The patterns are valid ones:
    einops takes them.

    >>> call = Call("max", "(h h1) (w w1) c -> c h w", (("h1", 2), ("w1", 2)))
    >>> rearranged((4, 6, 3), [call]).cod.spec
    'c:3 h:2 w:3'
    """
    made = _Names()
    if names:
        axes = [made.fresh(name, n) for name, n in zip(names.split(), shape, strict=True)]
        first = axes[0]
        term: Term = Id(Type((Array(axes),))) >> Index(
            _pattern([Array((first,))], [Array()]), {first.name: 0}
        )
    else:
        left, _ = calls[0].sides(len(shape))
        sizes = calls[0].sizes(shape)
        named = Array(made.first(parts, n, sizes) for parts, n in zip(left, shape, strict=True))
        term = Id(Type((named,)))
    for call in calls:
        term = _Stage(call, made).after(term)
    return term


@dataclass
class _Names:
    """Names of a term's axes: each is unique, and its label is the written name."""

    used: set[str] = field(default_factory=set)

    def fresh(self, said: str, size: int, shown: str = "") -> Axis:
        names = (said, *(f"{said}_{n}" for n in range(2, len(self.used) + 3)))
        name = next(name for name in names if name not in self.used)
        self.used.add(name)
        return Axis(name, size, label="" if name == (shown or said) else shown or said)

    def whole(self, several: Sequence[Axis]) -> Axis:
        """Returns the product of some axes: h·w."""
        size = prod(axis.numel for axis in several)
        said = "".join(axis.identifier for axis in several)
        shown = "·".join(axis.label or axis.name for axis in several)
        return self.fresh(said[:40], size, shown[:40])

    def first(self, parts: Parts, size: int, sizes: dict[Part, int]) -> Axis:
        """Returns an axis of the input array, as the first pattern describes it."""
        if not parts:
            return self.fresh("one", size, "1")
        words = [part.text.replace(REST, "rest") for part in parts]
        return self.whole([Axis(word, sizes[p]) for word, p in zip(words, parts, strict=True)])


@dataclass
class _Stage:
    """One call on the array that a term returns; ``own`` are the axes of its parts."""

    call: Call
    names: _Names
    own: dict[Part, Axis] = field(default_factory=dict)

    def after(self, term: Term) -> Term:
        array = term.cod[0]
        left, right = self.call.sides(len(array))
        sizes = self.call.sizes(array.shape)
        steps = [
            step
            for parts, axis in zip(left, array, strict=True)
            for step in self._taken(parts, axis, sizes)
        ]
        kept = {part for parts in right for part in parts}
        ended = [self.own[part] for parts in left for part in parts if part not in kept]
        if ended:
            steps.append(Reduce(_pattern([Array(ended)], [Array()]), self.call.how))
        for step in steps:
            term = term >> step
        return self._given(term, right, sizes)

    def _taken(self, parts: Parts, axis: Axis, sizes: dict[Part, int]) -> list[Term]:
        """Returns the steps that rename, split or reduce an axis."""
        if not parts:
            return [Index(_pattern([Array((axis,))], [Array()]), {axis.name: 0})]
        if len(parts) == 1 and parts[0].text in (REST, axis.called):
            self.own[parts[0]] = axis
            return []
        for part in parts:
            self.own[part] = self._part(part, sizes[part])
        pattern = _pattern([Array((axis,))], [Array(self.own[part] for part in parts)])
        return [Rename(pattern) if len(parts) == 1 else Split(pattern)]

    def _part(self, part: Part, size: int) -> Axis:
        name = f"n{part.text}" if part.text.isdecimal() else part.text
        return self.names.fresh(name, size, part.text)

    def _given(self, term: Term, right: tuple[Parts, ...], sizes: dict[Part, int]) -> Term:
        """Returns the steps that add axes, order all axes as on the right, and merge them."""
        new: list[Axis] = []
        order: list[Axis] = []
        for parts in right:
            if not parts:
                new.append(self.names.fresh("one", 1, "1"))
                order.append(new[-1])
            for part in parts:
                if part not in self.own:
                    self.own[part] = self._part(part, sizes[part])
                    new.append(self.own[part])
                order.append(self.own[part])
        term = _ordered(term, new, order)
        for several in ([self.own[part] for part in parts] for parts in right if len(parts) > 1):
            whole = self.names.whole(several)
            term = term >> Group(_pattern([Array(several)], [Array((whole,))]))
        return term


def _ordered(term: Term, new: Sequence[Axis], order: Sequence[Axis]) -> Term:
    """Returns the steps that repeat the array along new axes and order all axes."""
    array = term.cod[0]
    if not new and array.names == tuple(axis.name for axis in order):
        return term
    for axis in new:  # ones, whose product with the array is its repetition
        term = term >> Id(term.cod) @ Map(_pattern([], [Array((axis,))]), "1", "1")
    return term >> Einsum(_pattern(term.cod, [Array(order)]))


def _pattern(takes: Iterable[Array], gives: Iterable[Array]) -> Signature:
    return Signature(Type(takes), Type(gives))
