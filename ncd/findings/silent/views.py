"""Views that deal numbers out in another order, where a transposition is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations
from math import prod

from ncd.findings.reading.call_recorder import Call
from ncd.findings.silent.model_runs import Run, Shape, line_of
from ncd.findings.silent.silent_source import Attempt, Fault, Source

VIEWS = ("view", "reshape", "view_as", "reshape_as")
SHIFTED = ("pad", "cat", "concat", "constant_pad_nd")  # a view after them shifts rows on purpose
MOST = 6  # axes whose orders are tried
Pair = tuple[Shape, Shape]


def mixing_views(source: Source) -> Iterator[Fault]:
    """Yields the views after which an axis stands in another place, without having been moved."""
    run = source.run
    if run is None:
        return
    for number, call in enumerate(run.calls):
        if call.name not in VIEWS or not call.gives or not call.takes:
            continue
        pair = _pair(call)
        if not crosses(*pair) or _shifted(run, call):
            continue
        pairs = [pair, *_other_sizes(source, number)]
        if found := moved(pairs):
            yield _fault(source, call, pairs, found)


def _other_sizes(source: Source, number: int) -> list[Pair]:
    """Returns the shapes before and after a view where an axis of the input is one longer."""
    found = []
    first = source.run.inputs[0] if source.run and source.run.inputs else ()
    for axis in range(min(len(first), 4)):
        other = source.changed(axis)
        if other is not None:
            call = other.calls[number]
            found.append(_pair(call))
    return found


def _pair(call: Call) -> Pair:
    """Returns the shapes before and after a view."""
    return tuple(call.takes[0].shape), tuple(call.gives[0].shape)


def _shifted(run: Run, call: Call) -> bool:
    """Returns whether a view skews rows on purpose, as relative positions do after a column."""
    maker = run.maker(call.takes[0])
    while maker is not None and maker.name in ("view", "reshape", "flatten", "contiguous"):
        maker = run.maker(maker.takes[0]) if maker.takes else None
    return maker is not None and maker.name in SHIFTED


def strides(shape: Shape) -> list[int]:
    """Returns how many numbers lie between neighbours along each axis.

    >>> strides((2, 3, 4))
    [12, 4, 1]
    """
    return [prod(shape[i + 1 :]) for i in range(len(shape))]


def crosses(before: Shape, after: Shape) -> bool:
    """Returns whether a view neither only splits nor only merges axes.

    >>> crosses((2, 12, 64), (2, 12, 4, 16)), crosses((2, 12, 64), (2, 4, 12, 16))
    (False, True)
    """
    one, other = ({n for n in strides(s) if n > 1} for s in (before, after))
    return bool(one - other) and bool(other - one)


def moved(pairs: list[Pair]) -> tuple[int, int] | None:
    """Returns an axis before views and the axis after them that is as long in another place.

    The pairs are the shapes of one view at several sizes of the input: an axis that is as long by
    chance is not as long in all of them.

    >>> moved([((2, 12, 64), (2, 4, 12, 16)), ((2, 13, 64), (2, 4, 13, 16))])
    (1, 2)
    >>> moved([((2, 64, 16), (2, 16, 64)), ((2, 68, 16), (2, 17, 64))]) is None
    True
    """
    before = pairs[0][0]
    left, right = _unmatched(pairs)
    for i in left:
        for j in right:
            if any(a[i] != b[j] for a, b in pairs):
                continue
            varies = any(a[i] != before[i] for a, _ in pairs)
            if varies or _exchanged(pairs, left, right) or _kept(pairs, left, right, j):
                return i, j
    return None


def _unmatched(pairs: list[Pair]) -> tuple[list[int], list[int]]:
    """Returns the axes before and after that do not lie where one of their length lies."""
    before, after = pairs[0]
    left = []
    right = [j for j, n in enumerate(after) if n > 1]
    for i in (i for i, n in enumerate(before) if n > 1):
        same = (
            j
            for j in right
            if all(a[i] == b[j] and strides(a)[i] == strides(b)[j] for a, b in pairs)
        )
        found = next(same, None)
        if found is None:
            left.append(i)
        else:
            right.remove(found)
    return left, right


def _exchanged(pairs: list[Pair], left: list[int], right: list[int]) -> bool:
    """Returns whether the axes after a view are those before it in another order."""
    return all(
        sorted(a[i] for i in left) == sorted(b[j] for j in right) and len({a[i] for i in left}) > 1
        for a, b in pairs
    )


def _kept(pairs: list[Pair], left: list[int], right: list[int], j: int) -> bool:
    """Returns whether all axes but one become one: (c, h, w) becomes (h·w, c).

    The merged axis is of several lengths, so that the other one is not as long by chance.
    """
    merged = [k for k in right if k != j]
    if len(merged) != 1 or len(left) < 2 or pairs[0][1][j] < 3:
        return False
    return len({b[merged[0]] for _, b in pairs}) > 1


# cures --------------------------------------------------------------------------------------------


def _fault(source: Source, call: Call, pairs: list[Pair], axes: tuple[int, int]) -> Fault:
    (before, after), (i, j) = pairs[0], axes
    one, other = (" × ".join(map(str, shape)) for shape in (before, after))
    says = (
        f"{call.name} makes {one} into {other}, but moves no number: axis {j} of the result is "
        f"{after[j]} long as axis {i} was, yet each of its rows mixes several places; a "
        "transposition is meant."
    )
    return Fault(line_of(call.node), call.path, says, _cures(source, call, pairs))


def _cures(source: Source, call: Call, pairs: list[Pair]) -> tuple[Attempt, ...]:
    node, text = call.node, source.source
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ()
    subject = node.func.value
    if text.letters(subject) == "torch" or any(isinstance(x, ast.Starred) for x in node.args):
        return ()
    items = node.args
    if len(items) == 1 and isinstance(items[0], ast.Tuple | ast.List):
        items = items[0].elts
    before, after = pairs[0]
    found = []
    if len(items) == len(after) or sorted(before) == sorted(after):
        written = [text.letters(one) for one in items]
        for new in _rewritten(call.name, written, pairs):
            found.append(Attempt(text.between(text.end(subject), text.end(node), new)))
    return tuple(found[:3])


def _rewritten(name: str, items: list[str], pairs: list[Pair]) -> Iterator[str]:
    """Yields what may stand after the array in place of a view, the simplest first."""
    before, after = pairs[0]
    if len(before) > MOST or len(after) > MOST:
        return
    for order in _orders(len(before)):
        shapes = [(tuple(a[k] for k in order), b) for a, b in pairs]
        if all(a == b for a, b in shapes):
            yield _moving(order)
            return
    if len(items) != len(after):
        return
    for order in _orders(len(after)):
        shapes = [(a, tuple(b[k] for k in order)) for a, b in pairs]
        if not any(crosses(*one) for one in shapes):
            back = tuple(order.index(k) for k in range(len(order)))
            yield f".{name}({', '.join(items[k] for k in order)}){_moving(back)}"
            break
    for order in _orders(len(before)):
        shapes = [(tuple(a[k] for k in order), b) for a, b in pairs]
        if not any(crosses(*one) for one in shapes):
            yield f"{_moving(order)}.reshape({', '.join(items)})"
            break


def _orders(count: int) -> list[tuple[int, ...]]:
    """Returns all orders of axes, those that move few of them first."""
    plain = tuple(range(count))
    every = (one for one in permutations(plain) if one != plain)
    return sorted(every, key=lambda one: sum(a != b for a, b in zip(one, plain, strict=True)))


def _moving(order: tuple[int, ...]) -> str:
    """Returns the call that brings axes into an order.

    >>> _moving((0, 2, 1)), _moving((2, 0, 1))
    ('.transpose(1, 2)', '.permute(2, 0, 1)')
    """
    apart = [i for i, k in enumerate(order) if i != k]
    if len(apart) == 2:
        return f".transpose({apart[0]}, {apart[1]})"
    return f".permute({', '.join(map(str, order))})"
