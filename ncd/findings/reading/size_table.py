"""The symbols of one reading, the tests that torch made on them, the ranges of whole numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import Tensor
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
)
from torch.utils._pytree import tree_iter
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from ncd.findings.reading.traced_numbers import (
    SourceNumber,
    TracedInteger,
    expression,
    traced_integer,
)

# --- The symbols of one reading: what each stands for, and every test that torch made on them

MAX_TESTS = 20_000  # tests that are kept


class OutOfTime(BaseException):
    """A reading that takes too long; nothing in between may catch it."""


@dataclass(frozen=True)
class Test:
    """A question about sizes, its answer, and the number of the call in which it was asked."""

    expr: Any
    holds: bool
    call: int


class SizeTable(ShapeEnv):
    """Answers every question about sizes by their values, records it, and learns nothing from it.

    ``values`` are those of the symbols, ``places`` where they stand in the text, ``windows`` what
    the symbols stand for that were made for the results of windows.
    """

    def __init__(self, deadline: float) -> None:
        super().__init__(specialize_zero_one=False, duck_shape=False)
        self.values: dict[sympy.Symbol, sympy.Integer] = {}
        self.places: dict[sympy.Symbol, SourceNumber] = {}
        self.windows: dict[sympy.Symbol, sympy.Expr] = {}
        self.tests: list[Test] = []
        self.call = 0  # the number of the call that runs
        self.deadline = deadline
        self._at: dict[tuple[int, int], int] = {}

    # symbols --------------------------------------------------------------------------------------

    def number(self, place: SourceNumber) -> int:
        """Returns the number at a place of the text, with a symbol of its own."""
        key = (place.line, place.start)
        if key not in self._at:
            symbol = self._symbol(place.value, f"n{len(self.values)}")
            self.places[symbol] = place
            self._at[key] = traced_integer(place.value, symbol, self)
        return self._at[key]

    def window(self, expr: sympy.Expr) -> sympy.Symbol:
        """Returns a symbol that stands for a long expression; equal ones share it."""
        found = next((s for s, old in self.windows.items() if old == expr), None)
        if found is None:
            found = self._symbol(self.value(expr), f"w{len(self.values)}")
            self.windows[found] = expr
        return found

    def _symbol(self, value: int, name: str) -> sympy.Symbol:
        symbol = self.create_symbol(
            value,
            ConstantSource(name),
            dynamic_dim=DimDynamic.DYNAMIC,
            do_not_specialize_zero_one=True,
        )
        self.values[symbol] = sympy.Integer(value)
        return symbol

    def to_torch(self, value: Any) -> Any:
        """Returns a number of the source as torch takes it."""
        if not isinstance(value, TracedInteger):
            return value
        return self.size(value.expr) if value.table is self else int(value)

    def size(self, expr: sympy.Expr) -> torch.SymInt:
        """Returns a size of torch with this expression."""
        return torch.SymInt(SymNode(expr, self, int, self.value(expr)))

    def from_torch(self, size: Any) -> int:
        """Returns a size of torch as the source sees it."""
        expr = self.expr(size)
        return traced_integer(self.value(expr), expr, self)

    def expr(self, size: Any) -> sympy.Expr:
        """Returns the expression of a size of torch or of the source."""
        return size.node.expr if isinstance(size, torch.SymInt) else expression(size, self)

    # values ---------------------------------------------------------------------------------------

    def value(self, expr: Any) -> int:
        """Returns the value of an expression."""
        return int(_evaluate(sympy.sympify(expr).xreplace(self.values)))

    def value_after(self, expr: Any, changes: dict[sympy.Symbol, int]) -> Any:
        """Returns the value of an expression where some numbers of the text are others."""
        now = {**self.values, **{s: sympy.Integer(n) for s, n in changes.items()}}
        moved = set(changes)
        needed = self._windows(expr)
        for symbol, old in self.windows.items():
            if symbol in needed and old.free_symbols & moved:
                now[symbol] = _evaluate(old.xreplace(now))
                moved.add(symbol)
        return _evaluate(expr.xreplace(now))

    def _windows(self, expr: Any) -> set[sympy.Symbol]:
        """Returns the symbols of windows that an expression depends on."""
        found: set[sympy.Symbol] = set()
        waiting = [s for s in expr.free_symbols if s in self.windows]
        while waiting:
            symbol = waiting.pop()
            if symbol not in found:
                found.add(symbol)
                waiting += [s for s in self.windows[symbol].free_symbols if s in self.windows]
        return found

    def numbers(self, expr: Any) -> set[sympy.Symbol]:
        """Returns the numbers of the text that an expression depends on."""
        found: set[sympy.Symbol] = set()
        waiting = list(getattr(expr, "free_symbols", ()))
        while waiting:
            symbol = waiting.pop()
            if symbol in self.windows:
                waiting += self.windows[symbol].free_symbols
            else:
                found.add(symbol)
        return found

    # tests ----------------------------------------------------------------------------------------

    def test(self, expr: Any, holds: Any) -> None:
        """Records a test."""
        if time.process_time() > self.deadline:
            raise OutOfTime
        if len(self.tests) < MAX_TESTS and expr not in (sympy.true, sympy.false):
            self.tests.append(Test(expr, bool(holds), self.call))

    def evaluate_expr(self, expr: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        """Returns the answer to torch's question, by the values.

        Raises torch's own error where it depends on the numbers in an array, as ``x[x > 0]`` does.
        """
        if getattr(expr, "is_number", False) or expr in (sympy.true, sympy.false):
            return expr
        value = _evaluate(expr.xreplace(self.values))
        if value.free_symbols:
            raise GuardOnDataDependentSymNode(value)
        if value in (sympy.true, sympy.false):
            self.test(expr, bool(value))
        elif time.process_time() > self.deadline:
            raise OutOfTime
        return value

    def guard_or_defer_runtime_assert(  # type: ignore[override]
        self, expr: Any, *_: Any, **__: Any
    ) -> bool:
        """Answers an assertion of torch as any other question."""
        return bool(self.evaluate_expr(expr))

    def bound_sympy(self, expr: Any, *_: Any, **__: Any) -> Any:
        """Sizes are 0 or more; torch's own analysis takes long, and never ends for powers."""
        try:
            low = 0 if self.value(expr) >= 0 else -int_oo
        except (TypeError, ValueError):
            low = -int_oo
        return ValueRanges(low, int_oo)

    def _maybe_evaluate_static(  # type: ignore[override]
        self, expr: Any, **_: Any
    ) -> Any:
        return expr if expr.is_number else None


def _evaluate(value: Any) -> Any:
    return value.doit() if hasattr(value, "doit") else value


# --- Ranges of whole numbers in arrays, as far as the source says them: tokens, positions, classes

KEEPING = (  # whose numbers are among those that they are given
    *("unsqueeze", "squeeze", "expand", "expand_as", "repeat", "long", "to", "view", "reshape"),
    *("flatten", "__getitem__", "permute", "transpose", "contiguous", "clone", "t", "int"),
    *("detach", "flip", "roll"),
)
SUMS = ("add", "__add__", "__radd__", "__iadd__", "add_")
MAX_NUMBERS = 4096  # numbers that are looked through
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
        return _literal_bound(recorder, call)
    if call.name in SUMS:
        parts = [_upper_bound(recorder, call.words.get(i), deep) for i in (0, 1)]
        return None if None in parts else parts[0] + parts[1] - 1
    if call.name in ("arange", "randint"):
        end = _end_of_arange(call) if call.name == "arange" else _high(call)
        return recorder.table.expr(end) if _is_whole_number(end) else None
    if call.name in KEEPING and call.takes:
        return numbers_below(recorder, call.takes[0], deep - 1)
    return None


def _upper_bound(recorder: Any, value: Any, deep: int) -> Any:
    """Returns the size that a number, or the numbers of an array, are below."""
    if isinstance(value, Tensor):
        return numbers_below(recorder, value, deep - 1)
    if isinstance(value, list):
        most = len(value) <= MAX_NUMBERS and max(filter(_is_whole_number, value), default=None)
        return recorder.table.expr(most) + 1 if _is_whole_number(most) else None
    return recorder.table.expr(value) + 1 if _is_whole_number(value) else None


def _largest(array: Tensor) -> Any:
    """Returns the number above the largest of an array whose numbers are known."""
    whole = not array.is_floating_point() and not array.is_complex() and array.dtype != torch.bool
    if (
        not whole
        or array.is_meta
        or not 0 < array.numel() <= MAX_NUMBERS
        or min(array.stride()) == 0
    ):
        return None
    with torch._C.DisableTorchFunction():
        return sympy.Integer(int(array.max()) + 1)


def _literal_bound(recorder: Any, call: Any) -> Any:
    """Returns the number above the largest of those that a text writes out."""
    value = call.words.get(0 if "tensor" in call.name else 1, call.words.get("fill_value"))
    known = isinstance(value, int | torch.SymInt | list | tuple)
    numbers = [*tree_iter(value)] if known else []
    if not 0 < len(numbers) <= MAX_NUMBERS or not all(map(_is_whole_number, numbers)):
        return None
    return recorder.table.expr(max(numbers)) + 1


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int | torch.SymInt) and not isinstance(value, bool)


def _high(call: Any) -> Any:
    numbers = [call.words.get(i) for i in (1, 0)]
    return call.words.get("high", next((n for n in numbers if _is_whole_number(n)), None))


def _end_of_arange(call: Any) -> Any:
    numbers = [call.words.get(i) for i in range(3)]
    several = _is_whole_number(numbers[1])
    end = call.words.get("end", numbers[1] if several else numbers[0])
    step = call.words.get("step", numbers[2] if several else 1)
    return end if step in (1, None) else None


def check_range(recorder: Any, call: Any) -> None:
    """Raises OutOfRange for rows that a table lacks, and for classes that have no score."""
    for rows, wanted in _lookups(recorder, call):
        high = _upper_bound(recorder, wanted, DEEP)
        if high is None:
            continue
        count, largest = recorder.table.value(rows), recorder.table.value(high) - 1
        if largest >= count:
            recorder.table.test(sympy.Le(high, rows, evaluate=False), False)
            raise OutOfRange(largest, count)


INDEXED_WRITES = (
    "index_add",
    "index_copy",
    "index_fill",
    "scatter",
    "scatter_add",
    "scatter_reduce",
)


def _lookups(recorder: Any, call: Any) -> Iterator[tuple[Any, Any]]:
    """Yields how many rows a call chooses from, and the array, list or number that says which."""
    first, second = call.words.get(0), call.words.get(1)
    if call.name in ("embedding", "embedding_bag") and len(call.takes) > 1:
        yield call.shapes[1][0], call.takes[0]
    elif call.name in ("__getitem__", "__setitem__") and isinstance(first, Tensor):
        yield from _indexed_sizes(
            recorder.shape(first), second if isinstance(second, tuple) else (second,)
        )
    elif call.name.rstrip("_") in ("index_select", "gather", "select", *INDEXED_WRITES):
        axis, wanted = (call.words.get(n, call.words.get(i)) for i, n in ((1, "dim"), (2, "index")))
        if _is_whole_number(axis) and isinstance(first, Tensor) and first.dim():
            yield recorder.shape(first)[recorder.table.value(axis) % first.dim()], wanted
    elif call.name == "take" and isinstance(first, Tensor):
        yield sympy.Mul(*recorder.shape(first)), call.words.get("index", second)
    elif call.name == "take_along_dim" and len(call.takes) > 1:
        axis = call.words.get("dim", call.words.get(2))
        shape = recorder.shape(first)
        if _is_whole_number(axis) and shape:
            yield shape[recorder.table.value(axis) % len(shape)], call.takes[1]
    elif call.name == "one_hot":
        count = call.words.get("num_classes", call.words.get(1, -1))
        if _is_whole_number(count) and recorder.table.value(count) > 0:
            yield recorder.table.expr(count), first
    elif call.name in ("cross_entropy", "nll_loss") and len(call.takes) > 1:
        shape, wanted = call.shapes[0], call.takes[1]
        scores, target = recorder.values(shape), recorder.values(recorder.shape(wanted))
        fits = target == (*scores[:1], *scores[2:]) or len(shape) < 2
        if not wanted.is_floating_point() and shape and fits:
            yield (shape[1] if len(shape) > 1 else shape[0]), wanted


def _indexed_sizes(shape: tuple[Any, ...], index: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Yields the sizes of the axes that an index in brackets chooses from, and what it chooses."""
    masks = [x for x in index if isinstance(x, Tensor) and x.dtype == torch.bool]
    if masks or any(isinstance(x, bool) for x in index):
        return
    rest = len(shape) - sum(x is not None and x is not Ellipsis for x in index)
    axis = 0
    for one in index:
        if one is Ellipsis:
            axis += max(0, rest)
            continue
        if isinstance(one, Tensor | list | int | torch.SymInt) and axis < len(shape):
            yield shape[axis], one
        axis += one is not None
