"""The sentence about the results of a text: their shapes, with the names of their axes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from types import MappingProxyType

from ncd.lang.plain_text import listed
from ncd.lang.types.axes import Array, Type

Shape = tuple[int, ...]
NAME = re.compile(r"[^\W\d_]+(_[^\W\d_]+)*")  # a word or a letter, without a number behind it
SIDES = {2: ("height", "width"), 3: ("depth", "height", "width")}  # of a spatial group
LETTERS: Mapping[str, str] = {  # of sources: what the customary names of axes stand for
    "b": "batch",
    "c": "channels",
    "d": "features",
    "e": "features",
    "f": "features",
    "g": "features",
    "k": "features",
    "l": "features",
    "m": "features",
    "p": "positions",
    "s": "keys",
    "t": "tokens",
    "v": "vocabulary",
}
NUMBERED = re.compile(r"_\d+$")
MOST = 6  # results that a sentence lists


def result_sentence(
    arrays: Type, shapes: Sequence[Shape], letters: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Returns the sentence about results of these shapes, whose axes are those of the arrays.

    ``letters`` are the words for names of axes.

    >>> result_sentence(Type.parse("batch:8 classes:10"), [(8, 10)])
    'out: 8 × 10 (batch, classes)'
    >>> result_sentence(Type.parse("b:2 m:4"), [(2, 4, 1, 1)])  # axes of size 1 have no names
    'out: 2 × 4 × 1 × 1 (b, m, 1, 1)'
    """
    matched = len(arrays) == len(shapes)
    words = [
        shape_words(shape, dimension_names(arrays[i], shape, letters) if matched else ())
        for i, shape in enumerate(shapes[:MOST])
    ]
    if len(shapes) > MOST:
        words.append(f"{len(shapes) - MOST} more")
    return f"out: {listed(words)}"


def shape_words(shape: Shape, names: Iterable[str] = ()) -> str:
    """Returns a shape as people write it, with the names of its axes.

    >>> shape_words((8, 10), ("b", "m")), shape_words(())
    ('8 × 10 (b, m)', 'one number')
    """
    said = f" ({', '.join(names)})" if names else ""
    return f"{' × '.join(f'{n}' for n in shape)}{said}" if shape else "one number"


def dimension_names(
    array: Array, shape: Shape, letters: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """Returns a name for each dimension of a shape of torch; none if one has no plain name.

    A dimension may be several axes in one, and one of size 1 may be none.

    >>> dimension_names(Array.parse("b:2 h:4 k:8"), (2, 1, 32)), dimension_names(
    ...     Array.parse("b:2 x:6x7"), (2, 6, 7))
    (('b', '1', 'h·k'), ('b', 'height', 'width'))
    >>> dimension_names(Array.parse("t:2 h:4"), (2, 4), {"t": "tokens"})
    ('tokens', 'features')
    """
    image = {"h", "w"} <= {*array.names}
    alone = bool(array) and array[-1].name == "h"  # heads have features; a source calls a width so
    usual = {"h": "height", "w": "width"} if image else {"h": "features" if alone else "heads"}
    known = {**usual, **letters} if letters else {}
    left = [*_dimensions(array)]
    sides = len(shape) == 4 and shape[2:] == (1, 1)  # of an image that is one number
    spatial = sides or any(len(axis.shape) > 1 for axis in array)  # where features are channels
    names: list[str] = []
    for size in shape:
        own: list[tuple[str, int]] = []
        while left and (not own or prod(n for _, n in own) < size) and left[0][1] <= size:
            if size == 1 and left[0][1] != 1:
                break
            own.append(left.pop(0))
        if prod(n for _, n in own) != size:
            return ()
        alone = size == 1 and len(names) > 0  # but a batch of one is a batch
        named = () if alone else [name for name, n in own if n > 1 or len(own) == 1]
        bare = [NUMBERED.sub("", name) if letters else name for name in named]
        words = [known.get(name, name) for name in bare]
        named = ["channels" if spatial and word == "features" else word for word in words]
        names.append("·".join(named) or "1")
    plain = all(NAME.fullmatch(part) or part == "1" for name in names for part in name.split("·"))
    return tuple(names) if plain and not left else ()


def _dimensions(array: Array) -> Iterator[tuple[str, int]]:
    """Yields the name and the size of each dimension of an array."""
    for axis in array:
        sides = axis.shape
        yield from zip(SIDES.get(len(sides), (axis.name,) * len(sides)), sides, strict=True)
