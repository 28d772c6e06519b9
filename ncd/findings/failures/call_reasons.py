"""Why a call of a function of torch stops, in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor

from ncd.findings.failures.failure import (
    Failure,
    equation,
    equation_words,
    features_words,
    part_words,
    shape_words,
    size_words,
)
from ncd.findings.failures.masks import SCORES, mask_of, meets, scores_shape
from ncd.findings.reading.axis_range import ONE_MORE, NoAxis
from ncd.findings.reading.size_table import OutOfRange
from ncd.words import list_words

CLASSES = ("cross_entropy", "nll_loss")  # whose target is a whole number for each place
DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
LOSSES = (*CLASSES, *DISTANCES, "binary_cross_entropy", "binary_cross_entropy_with_logits")
PAIRS = {
    **dict.fromkeys(("add", "__add__", "__radd__", "add_", "__iadd__"), "+"),
    **dict.fromkeys(("sub", "__sub__", "__rsub__", "sub_", "rsub", "__isub__"), "-"),
    **dict.fromkeys(("mul", "__mul__", "__rmul__", "mul_", "__imul__"), "*"),
    **dict.fromkeys(("div", "true_divide", "__truediv__", "div_", "__itruediv__"), "/"),
    **dict.fromkeys(("where", "maximum", "minimum", "pow", "eq", "lt", "gt", "le", "ge"), ""),
    **dict.fromkeys(
        ("masked_fill", "masked_fill_", "logical_and", "logical_or", "__setitem__"), ""
    ),
}
PRODUCTS = ("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot")
TABLE_NOUNS = {  # what is asked for by its number, where it is no place on an axis
    **dict.fromkeys(("embedding", "embedding_bag"), ("the table has", "rows")),
    "one_hot": ("there are", "classes"),
    "take": ("there are", "numbers"),
}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def call_reason(failure: Failure) -> str:
    """Returns why a call stops; empty if none of the known reasons holds."""
    call = failure.call
    if call is None:
        return ""
    reason = REASONS.get(call.name)
    words = (reason(failure, call) if reason is not None else "") or _rows(failure, call)
    return f"`{failure.source}`: {words}." if words else ""


def _shape(failure: Failure, array: Tensor) -> tuple[int, ...]:
    return failure.trace.recorder.values(failure.trace.recorder.shape(array))


def axis_reason(failure: Failure) -> str:
    """Returns which axis is named that an array does not have; empty if it is none of that."""
    error = failure.trace.error
    if not isinstance(error, NoAxis) or failure.call is None:
        return ""
    has = shape_words(tuple(map(failure.value, failure.call.shapes[0]))) or "one number"
    last = error.rank - 1
    room = f"0 to {last}, or {-error.rank} to -1 from the last" if last else "0 or -1"
    of = "a new axis comes at" if failure.call.name in ONE_MORE else "its axes are"
    return f"`{failure.source}`: {has} has no axis {error.axis}; {of} {room}."


def _pair(failure: Failure, call: Any) -> str:
    """Returns which axes of two arrays do not meet."""
    if len(call.takes) < 2:
        return ""
    exprs = call.shapes[:2]
    a, b = (tuple(map(failure.value, one)) for one in exprs)
    rank = max(len(a), len(b))
    for axis in range(-1, -rank - 1, -1):
        if -axis > min(len(a), len(b)) or a[axis] == b[axis] or 1 in (a[axis], b[axis]):
            continue
        left, right = size_words(failure, exprs[0][axis]), size_words(failure, exprs[1][axis])
        return (
            f"{shape_words(a)} and {shape_words(b)} do not meet: in the {_ordinal(axis, rank)} "
            f"axis one has {left} and the other {right}, and neither is 1"
        )
    return ""


def _ordinal(axis: int, rank: int) -> str:
    place = axis + rank
    return "last" if axis == -1 else ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th"


def _product(failure: Failure, call: Any) -> str:
    """Returns why two matrices cannot be multiplied."""
    if len(call.takes) < 2:
        return ""
    a, b = call.shapes[0], call.shapes[1]
    left, right = (tuple(map(failure.value, one)) for one in (a, b))
    if not left or not right:
        return "one of the two is a single number, and has no axis to sum over"
    inner = b[-2] if len(b) > 1 else b[0]
    if failure.value(a[-1]) != failure.value(inner):
        return (
            f"{shape_words(left)} times {shape_words(right)}: the last axis of the first "
            f"({size_words(failure, a[-1])}) must equal the last but one of the second "
            f"({size_words(failure, inner)})"
        )
    return _batch_axes(failure, a, b)


def _batch_axes(failure: Failure, a: Any, b: Any) -> str:
    left, right = (tuple(map(failure.value, one)) for one in (a, b))
    for i in range(3, min(len(left), len(right)) + 1):
        if left[-i] != right[-i] and 1 not in (left[-i], right[-i]):
            one, other = size_words(failure, a[-i]), size_words(failure, b[-i])
            return f"{shape_words(left)} times {shape_words(right)}: {one} and {other} do not meet"
    return ""


def _concatenation(failure: Failure, call: Any) -> str:
    """Returns which sizes differ of arrays that are put together."""
    axis = call.words.get("dim", call.words.get("axis", call.words.get(1, 0)))
    shapes = call.shapes
    ranks = {len(one) for one in shapes}
    given = list_words(shape_words(tuple(map(failure.value, one))) for one in shapes[:3])
    if len(ranks) > 1:
        return f"the arrays have {list_words(map(str, sorted(ranks)))} axes: {given}"
    (rank,) = ranks or {0}
    joined = int(axis) % rank if rank and call.name != "stack" else -1
    for i in range(rank):
        sizes = [one[i] for one in shapes]
        if i != joined and len({failure.value(n) for n in sizes}) > 1:
            first = sizes[0]
            other = next(n for n in sizes if failure.value(n) != failure.value(first))
            words = f"{given} must be equal in all axes" + f" but axis {joined}" * (joined >= 0)
            one, two = size_words(failure, first), size_words(failure, other)
            return f"{words}; axis {i} has {one} and {two}"
    return ""


def _view(failure: Failure, call: Any) -> str:
    """Returns why an array does not take a shape."""
    sizes = [n for i, n in call.words.items() if i != 0 and not isinstance(n, Tensor)]
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = [*sizes[0]]
    if not all(isinstance(n, int | torch.SymInt) for n in sizes):
        return ""
    table = failure.trace.table
    exprs = [table.expr(n) for n in sizes]
    wanted = tuple(table.value(n) for n in exprs)
    before = tuple(map(failure.value, call.shapes[0]))
    count, known = prod(before), prod(n for n in wanted if n != -1)
    if -1 in wanted and (known == 0 or count % known):
        return (
            f"{shape_words(before)} has {count:,} numbers, which is no multiple of {known:,}, the "
            f"product of the sizes asked for"
        )
    if -1 not in wanted and count != known:
        parts = " · ".join(part_words(failure, n) for n in exprs)
        return f"{shape_words(before)} has {count:,} numbers, but {parts} = {known:,} are asked for"
    if count == prod(abs(n) for n in wanted) or -1 in wanted:
        return (
            f"{shape_words(before)} does not lie in memory as a view needs it, as its axes were "
            f"moved; reshape copies where it has to"
        )
    return ""


def _einsum(failure: Failure, call: Any) -> str:
    """Returns which letter has two sizes, and in which operand."""
    pattern = call.words.get(0)
    if not isinstance(pattern, str):
        return ""
    operands = [re.sub(r"\s", "", one) for one in pattern.partition("->")[0].split(",")]
    seen: dict[str, tuple[Any, int]] = {}
    for i, (letters, shape) in enumerate(zip(operands, call.shapes, strict=False)):
        sizes = tuple(map(failure.value, shape))
        if "." in letters:
            continue
        if len(letters) != len(shape):
            given = shape_words(sizes)
            return f"`{letters}` names {len(letters)} axes, but operand {i + 1} has {given}"
        for letter, size in zip(letters, shape, strict=True):
            old, place = seen.setdefault(letter, (size, i))
            if failure.value(old) != failure.value(size):
                first = f" in operand {place + 1} (`{operands[place]}`)" if place != i else ""
                return (
                    f"{letter} is {size_words(failure, old)}{first} and "
                    f"{size_words(failure, size)} in operand {i + 1} (`{letters}`)"
                )
    return ""


def _einops_pattern(failure: Failure, call: Any) -> str:
    """Returns which axis of an einops pattern does not split as it says."""
    pattern = next((x for x in call.words.values() if isinstance(x, str)), "")
    shape = call.shapes[0] if call.shapes else ()
    left = re.findall(r"\([^)]*\)|\S+", pattern.partition("->")[0])
    sizes = tuple(map(failure.value, shape))
    if "..." in pattern:
        return ""
    if len(left) != len(shape):
        return f"the pattern names {len(left)} axes, but the array has {shape_words(sizes)}"
    for part, expr in zip(left, shape, strict=True):
        names = part.strip("()").split()
        known = [(n, call.words[n]) for n in names if n in call.words]
        product = prod(int(n) for _, n in known)
        unknown = len(known) < len(names)
        value = failure.value(expr)
        if known and (value % product if unknown else value != product):
            told = " · ".join(f"{name} = {int(n)}" for name, n in known)
            got = size_words(failure, expr)
            return f"{part} is {got}, which {'is not divisible by' if unknown else 'is not'} {told}"
    return ""


def _targets(failure: Failure, call: Any) -> str:
    """Returns why a loss does not take its target."""
    if len(call.takes) < 2:
        return ""
    scores, target = (tuple(map(failure.value, one)) for one in call.shapes[:2])
    error = failure.trace.error
    if isinstance(error, OutOfRange):
        if error.rows == 1:
            return "there is one score for each, so one class, but a target may be 1"
        classes = f"classes, 0 to {error.rows - 1}"
        room = size_words(failure, call.shapes[0][1 if len(scores) > 1 else 0], classes)
        return f"there are {room}, but a target may be {error.largest}"
    if call.name in CLASSES:
        wanted = (scores[0], *scores[2:]) if len(scores) > 1 else ()
        whole = not call.takes[1].is_floating_point()
        if target != wanted and (whole or target != scores):
            numbers = f"{shape_words(wanted)} whole numbers" if wanted else "one whole number"
            return (
                f"scores of {shape_words(scores)} ({'batch, ' * bool(wanted)}classes …) take a "
                f"target of {numbers}, or probabilities of {shape_words(scores)}; "
                f"it is {shape_words(target)}"
            )
        if (not whole and target != scores) or call.takes[1].dtype not in (
            torch.int64,
            torch.uint8,
        ):
            return "the target of classes has to be whole numbers: .long()"
    if scores != target:
        return f"the prediction is {shape_words(scores)} and the target {shape_words(target)}"
    return ""


def _connections(failure: Failure, call: Any) -> str:
    """Returns which batches of a connectionist loss differ."""
    if len(call.takes) < 4 or call.takes[0].dim() != 3:
        return ""
    scores, *rest = (tuple(map(failure.value, one)) for one in call.shapes[:4])
    nouns = ("targets", "input lengths", "target lengths")
    counts = [f"{each[0]} {noun}" for each, noun in zip(rest, nouns, strict=True) if each]
    words = f"the scores ({shape_words(scores)}: steps, batch, classes) have a batch of {scores[1]}"
    words += f", but there are {list_words(counts)}"
    turned = bool(rest[1]) and rest[1][0] == scores[0]
    return words + "; their batch stands first" * turned


def _rows(failure: Failure, call: Any) -> str:
    """Returns which row a table is asked for that it does not have."""
    error, found = failure.trace.error, equation(failure)
    if not isinstance(error, OutOfRange):
        return ""
    has, noun = TABLE_NOUNS.get(call.name, ("this axis has", "places"))
    noun = f"{noun}, 0 to {error.rows - 1}"
    room = size_words(failure, found[2], noun) if found is not None else f"{error.rows} {noun}"
    return f"{has} {room}, but {error.largest} is asked for"


def _classes(failure: Failure, call: Any) -> str:
    """Returns why a number names none of the classes of ``one_hot``."""
    if "non-negative" in failure.message:
        return "a number below 0 names no class"
    return ""


def _linear(failure: Failure, call: Any) -> str:
    if len(call.takes) < 2 or not call.shapes[0]:
        return ""
    got, takes = call.shapes[0][-1], call.shapes[1][-1]
    if failure.value(got) == failure.value(takes):
        return ""
    words = features_words(failure, call.takes[0])
    return f"the array has {words}; the weights take {size_words(failure, takes)}"


def _expansion(failure: Failure, call: Any) -> str:
    before = shape_words(tuple(map(failure.value, call.shapes[0])))
    return f"{before} cannot be expanded so: {equation_words(failure)}" if failure.test else ""


def _attention(failure: Failure, call: Any) -> str:
    shapes = [shape_words(tuple(map(failure.value, one))) for one in call.shapes[:3]]
    words, mask, scores = equation_words(failure), mask_of(call), scores_shape(failure)
    if mask is not None and not meets(shape := _shape(failure, mask), scores):
        words = f"the mask is {shape_words(shape)}, and does not meet the scores of "
        words += f"{shape_words(scores)} ({SCORES.get(len(scores), 'queries, keys last')})"
    return f"query, key and value are {', '.join(shapes)}" + (f"; {words}" if words else "")


def _split(failure: Failure, call: Any) -> str:
    words = equation_words(failure)
    before = shape_words(tuple(map(failure.value, call.shapes[0])))
    return f"{before} cannot be split so" + (f": {words}" if words else "")


REASONS: dict[str, Callable[[Failure, Any], str]] = {
    **dict.fromkeys(PAIRS, _pair),
    **dict.fromkeys(PRODUCTS, _product),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack", "hstack", "vstack"), _concatenation),
    **dict.fromkeys(("view", "reshape"), _view),
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), _expansion),
    **dict.fromkeys(LOSSES, _targets),
    **dict.fromkeys(("rearrange", "reduce", "repeat"), _einops_pattern),
    **dict.fromkeys(("split", "chunk", "unflatten", "split_with_sizes"), _split),
    "einsum": _einsum,
    "ctc_loss": _connections,
    "one_hot": lambda failure, call: _classes(failure, call) or _rows(failure, call),
    "linear": _linear,
    "scaled_dot_product_attention": _attention,
}


def is_view(node: ast.AST) -> bool:
    """Returns whether a node is a call of ``view``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "view"
    )
