"""Ranges of whole numbers in arrays, as far as the source says them: tokens, positions, classes."""

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch import Tensor

KEEPING = (  # whose numbers are among those that they are given
    *("unsqueeze", "squeeze", "expand", "expand_as", "repeat", "long", "to", "view", "reshape"),
    *("flatten", "__getitem__", "permute", "transpose", "contiguous", "clone", "t", "int"),
    *("detach", "flip", "roll"),
)
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
    if call is None or deep == 0:
        return None
    if call.name in ("arange", "randint"):
        end = _end_of_arange(call) if call.name == "arange" else _high(call)
        return recorder.table.expr(end) if _whole(end) else None
    if call.name in KEEPING and call.takes:
        return numbers_below(recorder, call.takes[0], deep - 1)
    return None


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
    if call.name == "embedding" and len(call.takes) > 1:
        rows, wanted = call.shapes[1][0], call.takes[0]
    elif call.name in ("cross_entropy", "nll_loss") and len(call.takes) > 1:
        shape, wanted = call.shapes[0], call.takes[1]
        scores, target = recorder.values(shape), recorder.values(recorder.shape(wanted))
        fits = target == (*scores[:1], *scores[2:]) or len(shape) < 2
        if wanted.is_floating_point() or not shape or not fits:
            return
        rows = shape[1] if len(shape) > 1 else shape[0]
    else:
        return
    high = numbers_below(recorder, wanted)
    if high is None:
        return
    count, largest = recorder.table.value(rows), recorder.table.value(high) - 1
    if largest >= count:
        recorder.table.test(sympy.Le(high, rows, evaluate=False), False)
        raise OutOfRange(largest, count)
