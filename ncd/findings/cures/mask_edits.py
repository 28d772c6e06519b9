"""Cures that give an attention a mask of the right shape, or under the right name."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from torch import nn

from ncd.findings.cures.candidate import Candidate, insertion_edit, method_edits, operands
from ncd.findings.failures.call_reasons import PAIRS
from ncd.findings.failures.failure import Failure
from ncd.findings.failures.masks import Shape, WrongMask, mask_of, meets, scores_shape, wrong_mask
from ncd.findings.reading.finding import Edit
from ncd.read.python_source.interpreter import SourceModule

COST, SECOND = 0.3, 0.45  # of what a mask of this shape is mostly meant to be, and of the rest
SPREADING = ("masked_fill", "masked_fill_")  # which take a mask of the scores


def mask_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the mask of an attention as a padding mask, or as one for each head, or cut."""
    wrong = wrong_mask(failure)
    if wrong is not None:
        yield from _of_layer(failure, wrong)
    yield from _spread(failure)


def _of_layer(failure: Failure, wrong: WrongMask) -> Iterator[Candidate]:
    """Yields what cures the mask of a layer, which its call names, or whose place it knows."""
    node, names = failure.node, _parameters(failure)
    if not isinstance(node, ast.Call) or not names:
        return
    given: dict[str, ast.expr | ast.keyword] = dict(zip(names, node.args, strict=False))
    given |= {word.arg: word for word in node.keywords if word.arg}
    for name, where in given.items():
        if "mask" not in name or ("key_padding" in name) is not wrong.is_padding:
            continue
        value = where.value if isinstance(where, ast.keyword) else where
        for move, cost in _moves(failure, wrong, node):
            yield Candidate(method_edits(failure.trace.text, value, move), cost, "mask")
        other = _other_name(name, names)
        last = isinstance(where, ast.keyword) or where is node.args[-1]
        inside = isinstance(given.get(other), ast.expr)  # before others that have no name either
        if other and last and not inside and not wrong.is_whole:
            for move, cost in _renamed_moves(wrong):
                edits = _rename_edits(failure, given, (name, other), move)
                yield Candidate(edits, cost, "mask")


def _parameters(failure: Failure) -> list[str]:
    """Returns the names of what the called layer takes: the outermost one of torch that runs."""
    found: list[str] = []
    for each in failure.trace.recorder.layers[::-1]:
        if isinstance(each.module, SourceModule | nn.Sequential):
            break
        found = list(inspect.signature(type(each.module).forward).parameters)[1:]
    return found


def _moves(failure: Failure, wrong: WrongMask, node: ast.Call) -> Iterator[tuple[str, float]]:
    """Yields what is put behind a mask so that it gets a shape or a kind that is taken."""
    shape, batch, heads = wrong.shape, wrong.batch, wrong.heads
    layer = failure.layer
    steps = 1 if batch and getattr(layer, "batch_first", False) else 0
    equal = wrong.queries == wrong.keys  # else the first array has another length than the keys
    count = _size(node, 1 - steps, batch)
    length = _size(node, steps, wrong.keys) if equal else str(wrong.keys)
    if wrong.is_whole:
        yield ".bool()", COST
        return
    if wrong.is_padding:
        if batch and shape == (wrong.keys,):
            yield f".expand({count}, -1)", SECOND
        if shape == (*wrong.padding, 1):
            yield ".squeeze(-1)", COST
        if shape == wrong.padding[::-1]:
            yield ".transpose(0, 1)", COST
        if len(shape) == len(wrong.padding) and shape[:-1] == wrong.padding[:-1]:
            yield f"[{':, ' * (len(shape) - 1)}:{length}]", SECOND
        return
    yield from _table_moves(wrong, count)
    if shape == wrong.shared_shape[::-1]:
        yield ".transpose(0, 1)", COST
    if len(shape) == 2 and shape[0] >= wrong.queries and shape[1] >= wrong.keys:
        rows = length if equal else str(wrong.queries)
        yield f"[:{rows}, :{length}]", SECOND
    if shape == (wrong.keys,):
        yield f".expand({wrong.queries}, -1)", SECOND
    if shape == (batch, *wrong.shared_shape) and batch:
        yield f".repeat_interleave({heads}, 0)", COST


def _table_moves(wrong: WrongMask, count: str) -> Iterator[tuple[str, float]]:
    """Yields what makes one table for each sequence and head of fewer, or of more axes."""
    batch, heads, table = wrong.batch, wrong.heads, wrong.shared_shape
    if wrong.shape == (heads, *table):
        yield f".repeat({count}, 1, 1)", COST
    if wrong.shape == (batch, heads, *table):
        yield ".flatten(0, 1)", COST
    if wrong.shape == (batch, 1, *table):
        yield f".expand(-1, {heads}, -1, -1).flatten(0, 1)", COST
    if len(wrong.shape) > 2 and wrong.shape == (1,) * (len(wrong.shape) - 2) + table:
        yield f"[{', '.join('0' * (len(wrong.shape) - 2))}]", COST


def _size(node: ast.Call, axis: int, value: int) -> str:
    """Returns a size of the first array of a call in its name, else the number."""
    first = node.args[0] if node.args else None
    return f"{first.id}.size({axis})" if isinstance(first, ast.Name) else str(value)


def _other_name(name: str, names: list[str]) -> str:
    """Returns the mask that a mask of the other kind is given as: ``src_key_padding_mask``."""
    if "key_padding" in name:
        plain = name.replace("key_padding_", "")
        tries = [plain, "mask", "attn_mask"]
    else:
        side = name.removesuffix("mask").removesuffix("attn_")
        tries = [f"{side}key_padding_mask", "src_key_padding_mask", "key_padding_mask"]
    return next((one for one in tries if one in names and one != name), "")


def _renamed_moves(wrong: WrongMask) -> Iterator[tuple[str, float]]:
    """Yields what is put behind a mask that is given under the other name."""
    shape = wrong.shape
    if wrong.is_padding:
        if shape in (wrong.shared_shape, wrong.per_head_shape):
            yield "", COST
        elif shape == (wrong.batch, *wrong.shared_shape):
            yield f".repeat_interleave({wrong.heads}, 0)", COST
        return
    if shape == wrong.padding:
        yield "", COST
    for ones in (1, 2):
        if wrong.batch and shape == (wrong.batch, *(1,) * ones, wrong.keys):
            yield f"[:, {', '.join('0' * ones)}]", COST


def _rename_edits(
    failure: Failure,
    given: dict[str, ast.expr | ast.keyword],
    names: tuple[str, str],
    move: str,
) -> tuple[Edit, ...]:
    """Returns the edits that give a mask as another argument, and that one's as this if it is."""
    text, (old, new) = failure.trace.text, names
    where = given[old]
    value = where.value if isinstance(where, ast.keyword) else where
    edits = [*method_edits(text, value, move)] if move else []
    for one, name in ((where, new), (given.get(new), old)):
        if isinstance(one, ast.keyword):
            line, start = one.lineno, insertion_edit(text, one.lineno, one.col_offset, "").start
            edits.append(Edit(line, start, start + len(one.arg or ""), name))
        elif one is not None:
            edits.append(insertion_edit(text, one.lineno, one.col_offset, f"{name}="))
    return tuple(edits)


def _spread(failure: Failure) -> Iterator[Candidate]:
    """Yields a mask with further axes, so that it meets the scores: ``[:, None, None]``."""
    call = failure.call
    arrays = [*operands(failure)]
    if call is None or not arrays:
        return
    pairs: list[tuple[ast.expr, Any, Shape]] = []
    if (mask := mask_of(call)) is not None and (wanted := scores_shape(failure)):
        shape = failure.trace.recorder.values(failure.trace.recorder.shape(mask))
        named = [w.value for w in getattr(failure.node, "keywords", ()) if w.arg == "attn_mask"]
        pairs = [(node, shape, wanted) for node in (named or arrays[3:4])]
    elif len(call.shapes) == 2 and (call.name in SPREADING or PAIRS.get(call.name) == "+"):
        scores, own = (tuple(map(failure.value, one)) for one in call.shapes)
        pairs = [(arrays[1], own, scores)] if len(arrays) > 1 else []
    for node, shape, wanted in pairs:
        if not meets(shape, wanted):
            for words in _indices(shape, wanted):
                edits = method_edits(failure.trace.text, node, words)
                yield Candidate(edits, COST, "mask")


def _indices(shape: Shape, wanted: Shape) -> Iterator[str]:
    """Yields the indices that put axes of size 1 between those of a mask, the first one first.

    >>> [*_indices((2, 5), (2, 4, 5, 5))], [*_indices((2, 5, 5), (2, 4, 5, 5))]
    (['[:, None, None]'], ['[:, None]'])
    """
    middle = range(1, len(wanted) - 1)
    if not 1 < len(shape) < len(wanted) or len(wanted) not in (3, 4):
        return
    for chosen in combinations(middle, len(shape) - 2):
        places = (0, *chosen, len(wanted) - 1)
        if all(n in (1, wanted[place]) for n, place in zip(shape, places, strict=True)):
            words = [":" if i in places else "None" for i in range(len(wanted))]
            while words[-1] == ":":
                words.pop()
            yield f"[{', '.join(words)}]"
            return
