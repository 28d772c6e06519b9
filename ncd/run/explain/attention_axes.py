"""The axes of a softmax's output: which holds the queries, the keys, the heads."""

from __future__ import annotations

from ncd.lang.types.axes import Array, Axis


def attention_axes(array: Array, own: Axis) -> tuple[int | None, int, list[int]]:
    """Returns the positions of queries, keys and heads in an array of weights.

    The softmax's ``own`` axis holds the keys; the nearest other axis before it, of its kind if
    there is one, holds the queries.
    """
    at = array.names.index(own.name)
    others = [*range(at - 1, -1, -1), *range(at + 1, len(array))]
    alike = [i for i in others if _kind(array[i]) == _kind(own)]
    before = next(iter(alike or others), None)
    return before, at, [i for i in range(len(array)) if i not in (at, before)]


def _kind(axis: Axis) -> tuple[bool, bool]:
    return axis.sequence, axis.spatial
