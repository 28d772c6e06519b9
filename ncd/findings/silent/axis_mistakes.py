"""Views that mix axes, a column against a row, and mistyped letters of an einsum."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import permutations
from math import prod

from ncd.findings.failures.call_reasons import DISTANCES
from ncd.findings.reading.source_trace import TracedCall
from ncd.findings.silent.model_runs import (
    Attempt,
    Shape,
    SilentFault,
    Source,
    SourceRun,
    line_of,
    shapes,
)

# --- A column against a row: (N, 1) and (N) that become N × N

DIFFERENCES = ("sub", "rsub", "__sub__", "__rsub__", "sub_", "subtract")
DELIBERATE_CALLS = ("unsqueeze", "arange", "view", "reshape", "expand", "transpose", "t")


def grown_pairs(source: Source) -> Iterator[SilentFault]:
    """Yields the calls on a column and a row of as many numbers, whose result is a square."""
    for run in source.all_runs:
        for call in run.calls:
            loss = call.name in DISTANCES
            if (not loss and call.name not in DIFFERENCES) or len(call.takes) < 2:
                continue
            pair = shapes(call.takes[:2])
            column = int(len(pair[1]) > len(pair[0]))
            if not _meets(pair[column], pair[1 - column]):
                continue
            made, other = (_maker(run, call.takes[i]) for i in (column, 1 - column))
            counts = other is not None and other.name == "arange"
            real = all(one.is_floating_point() for one in call.takes[:2])
            if not loss and (_spread(made) or counts or not real):
                continue
            yield _broadcast_fault(source, call, pair, column)


def _meets(wide: Shape, flat: Shape) -> bool:
    """Returns whether shapes are (N, 1) and (N)."""
    return len(wide) == 2 and len(flat) == 1 and wide == (flat[0], 1) and flat[0] > 1


def _maker(run: SourceRun, value: object) -> TracedCall | None:
    """Returns the call that made an array, before those of one array that keep its shape."""
    maker = run.maker(value)
    while (
        maker is not None and len(maker.takes) == 1 and shapes(maker.gives) == shapes(maker.takes)
    ):
        maker = run.maker(maker.takes[0])
    return maker


def _spread(maker: TracedCall | None) -> bool:
    """Returns whether an axis of an array was added or kept on purpose."""
    if maker is None:
        return False
    if maker.name == "__getitem__":
        index = maker.words.get(1)
        return index is None or (isinstance(index, tuple) and None in index)
    return maker.name in DELIBERATE_CALLS or maker.words.get("keepdim") is True


def _broadcast_fault(
    source: Source, call: TracedCall, pair: tuple[Shape, ...], column: int
) -> SilentFault:
    a, b = ("(" + ", ".join(map(str, one)) + ")" for one in pair)
    n = pair[column][0]
    each = "each number of one against all of the other"
    says = f"{a} and {b} give {n} × {n}: {each}, where {n} pairs are meant."
    node = call.node
    line = line_of(node)
    operands = _operands(node)
    if operands is None:
        return SilentFault(line, call.path, says)
    text = source.source
    place = operands[column]
    plain = isinstance(place, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    edits = text.wrapping_edits(
        place, "" if plain else "(", ".squeeze(-1)" if plain else ").squeeze(-1)"
    )
    edits = edits if not plain else edits[1:]
    return SilentFault(line, call.path, says, (Attempt(edits),))


def _operands(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Returns the two arrays that a node combines, as they stand in the source."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        return node.args[0], node.args[1]
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0]
    return None


# --- Letters of an einsum that were mistyped: two axes are summed where one is meant

ARROW = re.compile(r"\s*->\s*")


def einsum_letters(source: Source) -> Iterator[SilentFault]:
    """Yields the einsums in which two axes of one length are summed, each by itself."""
    run = source.run
    for call in run.calls if run else ():
        pattern = next((one for one in call.words.values() if isinstance(one, str)), "")
        if call.name != "einsum" or "->" not in pattern or "." in pattern:
            continue
        left, right = ARROW.split(pattern, maxsplit=1)
        operands = [_axes(one) for one in left.split(",")]
        if len(operands) != 2 or [len(one) for one in operands] != [x.dim() for x in call.takes]:
            continue
        result = _axes(right)
        lone = [
            [
                (i, name)
                for i, name in enumerate(mine)
                if mine.count(name) == 1 and name not in other and name not in result
            ]
            for mine, other in (operands, operands[::-1])
        ]
        for i, a in lone[0]:
            for j, b in lone[1]:
                size = call.takes[0].shape[i]
                if size == call.takes[1].shape[j] and size > 1:
                    says = (
                        f"{a} and {b} of the einsum stand once each and not in its result, so "
                        f"that both axes, {size} long, are summed by themselves; one letter is "
                        "meant for both, which multiplies them with each other."
                    )
                    attempts = _letter_cures(source, call.node, pattern, operands, (a, b))
                    yield SilentFault(line_of(call.node), call.path, says, attempts)


def _axes(words: str) -> list[str]:
    """Returns the axes of an operand: letters, or words with blanks between them."""
    return words.split() if " " in words.strip() else list(words.strip())


def _letter_cures(
    source: Source, node: ast.AST, pattern: str, operands: list[list[str]], names: tuple[str, str]
) -> tuple[Attempt, ...]:
    """Returns the edit that gives the axis of the second operand the letter of the first."""
    place = next(
        (one for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value == pattern),
        None,
    )
    if place is None or pattern not in source.source.letters(place):
        return ()
    a, b = names
    left, arrow, right = pattern.partition("->")
    first, _, second = left.partition(",")
    spaced = " " in second.strip()
    changed = re.sub(rf"\b{re.escape(b)}\b", a, second) if spaced else second.replace(b, a)
    new = f"{first},{changed}{arrow}{right}"
    written = source.source.letters(place).replace(pattern, new)
    return (Attempt(source.source.node_edits(place, written)),)


# --- Views that deal numbers out in another order, where a transposition is meant

VIEWS = ("view", "reshape", "view_as", "reshape_as")
SHIFTING_CALLS = (
    "pad",
    "cat",
    "concat",
    "constant_pad_nd",
)  # a view after them shifts rows on purpose
MAX_AXES = 6  # axes whose orders are tried
Pair = tuple[Shape, Shape]


def mixing_views(source: Source) -> Iterator[SilentFault]:
    """Yields the views after which an axis stands in another place, without having been moved."""
    run = source.run
    if run is None:
        return
    for number, call in enumerate(run.calls):
        if call.name not in VIEWS or not call.gives or not call.takes:
            continue
        pair = _pair(call)
        if not crosses(*pair) or _is_relative_shift(run, call):
            continue
        pairs = [pair, *_other_sizes(source, number)]
        if found := moved_axis(pairs):
            yield _view_fault(source, call, pairs, found)


def _other_sizes(source: Source, number: int) -> list[Pair]:
    """Returns the shapes before and after a view where an axis of the input is one longer."""
    found = []
    first = source.run.inputs[0] if source.run and source.run.inputs else ()
    for axis in range(min(len(first), 4)):
        other = source.resized_run(axis)
        if other is not None:
            call = other.calls[number]
            found.append(_pair(call))
    return found


def _pair(call: TracedCall) -> Pair:
    """Returns the shapes before and after a view."""
    return tuple(call.takes[0].shape), tuple(call.gives[0].shape)


def _is_relative_shift(run: SourceRun, call: TracedCall) -> bool:
    """Returns whether a view skews rows on purpose, as relative positions do after a column."""
    maker = run.maker(call.takes[0])
    while maker is not None and maker.name in ("view", "reshape", "flatten", "contiguous"):
        maker = run.maker(maker.takes[0]) if maker.takes else None
    return maker is not None and maker.name in SHIFTING_CALLS


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


def moved_axis(pairs: list[Pair]) -> tuple[int, int] | None:
    """Returns an axis before views and the axis after them that is as long in another place.

    The pairs are the shapes of one view at several sizes of the input: an axis that is as long by
    chance is not as long in all of them.

    >>> moved_axis([((2, 12, 64), (2, 4, 12, 16)), ((2, 13, 64), (2, 4, 13, 16))])
    (1, 2)
    >>> moved_axis([((2, 64, 16), (2, 16, 64)), ((2, 68, 16), (2, 17, 64))]) is None
    True
    """
    before = pairs[0][0]
    left, right = _unmatched_axes(pairs)
    for i in left:
        for j in right:
            if any(a[i] != b[j] for a, b in pairs):
                continue
            varies = any(a[i] != before[i] for a, _ in pairs)
            if (
                varies
                or _is_reordering(pairs, left, right)
                or _merges_other_axes(pairs, left, right, j)
            ):
                return i, j
    return None


def _unmatched_axes(pairs: list[Pair]) -> tuple[list[int], list[int]]:
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


def _is_reordering(pairs: list[Pair], left: list[int], right: list[int]) -> bool:
    """Returns whether the axes after a view are those before it in another order."""
    return all(
        sorted(a[i] for i in left) == sorted(b[j] for j in right) and len({a[i] for i in left}) > 1
        for a, b in pairs
    )


def _merges_other_axes(pairs: list[Pair], left: list[int], right: list[int], j: int) -> bool:
    """Returns whether all axes but one become one: (c, h, w) becomes (h·w, c).

    The merged axis is of several lengths, so that the other one is not as long by chance.
    """
    merged = [k for k in right if k != j]
    if len(merged) != 1 or len(left) < 2 or pairs[0][1][j] < 3:
        return False
    return len({b[merged[0]] for _, b in pairs}) > 1


# cures --------------------------------------------------------------------------------------------


def _view_fault(
    source: Source, call: TracedCall, pairs: list[Pair], axes: tuple[int, int]
) -> SilentFault:
    (before, after), (i, j) = pairs[0], axes
    one, other = (" × ".join(map(str, shape)) for shape in (before, after))
    says = (
        f"{call.name} makes {one} into {other}, but moves no number: axis {j} of the result is "
        f"{after[j]} long as axis {i} was, yet each of its rows mixes several places; a "
        "transposition is meant."
    )
    return SilentFault(line_of(call.node), call.path, says, _view_cures(source, call, pairs))


def _view_cures(source: Source, call: TracedCall, pairs: list[Pair]) -> tuple[Attempt, ...]:
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
            found.append(Attempt(text.range_edits(text.end(subject), text.end(node), new)))
    return tuple(found[:3])


def _rewritten(name: str, items: list[str], pairs: list[Pair]) -> Iterator[str]:
    """Yields what may stand after the array in place of a view, the simplest first."""
    before, after = pairs[0]
    if len(before) > MAX_AXES or len(after) > MAX_AXES:
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
