"""Ranges of whole numbers in arrays, as far as the source says them: tokens, positions, classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_iter

KEEPING = (  # whose numbers are among those that they are given
    *("unsqueeze", "squeeze", "expand", "expand_as", "repeat", "long", "to", "view", "reshape"),
    *("flatten", "__getitem__", "permute", "transpose", "contiguous", "clone", "t", "int"),
    *("detach", "flip", "roll"),
)
SUMS = ("add", "__add__", "__radd__", "__iadd__", "add_")
MOST = 4096  # numbers that are looked through
DEEP = 12  # calls that are followed


class OutOfRange(IndexError):
    """A number that is no row of a table: the largest one, and the rows that there are."""

    def __init__(self, largest: int, rows: int) -> None:
        super().__init__(f"{largest} is no row of a table with {rows}")
        self.largest, self.rows = largest, rows


def numbers_below(recorder: Any, array: Tensor, deep: int = DEEP) -> Any:
    """Returns the size that an array's numbers are below; None if the source does not say it."""
    if (limit := recorder.limits.get(id(array))) is not None:
        return limit
    call = recorder.maker(array)
    if call is None and not isinstance(array, FakeTensor):
        return _largest(array)
    if call is None or deep == 0:
        return None
    if call.name in ("tensor", "as_tensor", "full", "full_like"):
        return _written(recorder, call)
    if call.name in SUMS:
        parts = [_below(recorder, call.words.get(i), deep) for i in (0, 1)]
        return None if None in parts else parts[0] + parts[1] - 1
    if call.name in ("arange", "randint"):
        end = _end_of_arange(call) if call.name == "arange" else _high(call)
        return recorder.table.expr(end) if _whole(end) else None
    if call.name in KEEPING and call.takes:
        return numbers_below(recorder, call.takes[0], deep - 1)
    return None


def _below(recorder: Any, value: Any, deep: int) -> Any:
    """Returns the size that a number, or the numbers of an array, are below."""
    if isinstance(value, Tensor):
        return numbers_below(recorder, value, deep - 1)
    return recorder.table.expr(value) + 1 if _whole(value) else None


def _largest(array: Tensor) -> Any:
    """Returns the number above the largest of an array whose numbers are known."""
    whole = not array.is_floating_point() and not array.is_complex() and array.dtype != torch.bool
    if not whole or array.is_meta or not 0 < array.numel() <= MOST or min(array.stride()) == 0:
        return None
    with torch._C.DisableTorchFunction():
        return sympy.Integer(int(array.max()) + 1)


def _written(recorder: Any, call: Any) -> Any:
    """Returns the number above the largest of those that a text writes out."""
    value = call.words.get(0 if "tensor" in call.name else 1, call.words.get("fill_value"))
    known = isinstance(value, int | torch.SymInt | list | tuple)
    numbers = [*tree_iter(value)] if known else []
    if not 0 < len(numbers) <= MOST or not all(map(_whole, numbers)):
        return None
    return recorder.table.expr(max(numbers)) + 1


def _whole(value: Any) -> bool:
    return isinstance(value, int | torch.SymInt) and not isinstance(value, bool)


def _high(call: Any) -> Any:
    numbers = [call.words.get(i) for i in (1, 0)]
    return call.words.get("high", next((n for n in numbers if _whole(n)), None))


def _end_of_arange(call: Any) -> Any:
    numbers = [call.words.get(i) for i in range(3)]
    several = _whole(numbers[1])
    end = call.words.get("end", numbers[1] if several else numbers[0])
    step = call.words.get("step", numbers[2] if several else 1)
    return end if step in (1, None) else None


def check_range(recorder: Any, call: Any) -> None:
    """Raises OutOfRange for rows that a table lacks, and for classes that have no score."""
    for rows, wanted in _lookups(recorder, call):
        high = numbers_below(recorder, wanted)
        if high is None:
            continue
        count, largest = recorder.table.value(rows), recorder.table.value(high) - 1
        if largest >= count:
            recorder.table.test(sympy.Le(high, rows, evaluate=False), False)
            raise OutOfRange(largest, count)


def _lookups(recorder: Any, call: Any) -> Iterator[tuple[Any, Tensor]]:
    """Yields how many rows a call chooses from, and the array that says which."""
    first, second = call.words.get(0), call.words.get(1)
    if call.name in ("embedding", "embedding_bag") and len(call.takes) > 1:
        yield call.shapes[1][0], call.takes[0]
    elif call.name == "__getitem__" and isinstance(first, Tensor):
        shape, axis = recorder.shape(first), 0
        for index in second if isinstance(second, tuple) else (second,):
            if index is Ellipsis or (isinstance(index, Tensor) and index.dtype == torch.bool):
                return
            if isinstance(index, Tensor) and axis < len(shape):
                yield shape[axis], index
            axis += index is not None
    elif call.name in ("index_select", "gather") and type(second) is int and first.dim():
        yield recorder.shape(first)[second % first.dim()], call.takes[-1]
    elif call.name in ("cross_entropy", "nll_loss") and len(call.takes) > 1:
        shape, wanted = call.shapes[0], call.takes[1]
        scores, target = recorder.values(shape), recorder.values(recorder.shape(wanted))
        fits = target == (*scores[:1], *scores[2:]) or len(shape) < 2
        if not wanted.is_floating_point() and shape and fits:
            yield (shape[1] if len(shape) > 1 else shape[0]), wanted
