"""The symbols of one reading: what each stands for, and every test that torch made on them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from ncd.findings.reading.traced_numbers import Place, Whole, expression, whole

LONG = 20_000  # tests that are kept


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
        self.places: dict[sympy.Symbol, Place] = {}
        self.windows: dict[sympy.Symbol, sympy.Expr] = {}
        self.tests: list[Test] = []
        self.call = 0  # the number of the call that runs
        self.deadline = deadline
        self._at: dict[tuple[int, int], int] = {}

    # symbols --------------------------------------------------------------------------------------

    def number(self, place: Place) -> int:
        """Returns the number at a place of the text, with a symbol of its own."""
        key = (place.line, place.start)
        if key not in self._at:
            symbol = self._symbol(place.value, f"n{len(self.values)}")
            self.places[symbol] = place
            self._at[key] = whole(place.value, symbol, self)
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
        if not isinstance(value, Whole):
            return value
        return self.size(value.expr) if value.table is self else int(value)

    def size(self, expr: sympy.Expr) -> torch.SymInt:
        """Returns a size of torch with this expression."""
        return torch.SymInt(SymNode(expr, self, int, self.value(expr)))

    def from_torch(self, size: Any) -> int:
        """Returns a size of torch as the source sees it."""
        expr = self.expr(size)
        return whole(self.value(expr), expr, self)

    def expr(self, size: Any) -> sympy.Expr:
        """Returns the expression of a size of torch or of the source."""
        return size.node.expr if isinstance(size, torch.SymInt) else expression(size, self)

    # values ---------------------------------------------------------------------------------------

    def value(self, expr: Any) -> int:
        """Returns the value of an expression."""
        return int(_done(sympy.sympify(expr).xreplace(self.values)))

    def at(self, expr: Any, changes: dict[sympy.Symbol, int]) -> Any:
        """Returns the value of an expression where some numbers of the text are others."""
        now = {**self.values, **{s: sympy.Integer(n) for s, n in changes.items()}}
        moved = set(changes)
        needed = self._windows(expr)
        for symbol, old in self.windows.items():
            if symbol in needed and old.free_symbols & moved:
                now[symbol] = _done(old.xreplace(now))
                moved.add(symbol)
        return _done(expr.xreplace(now))

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
        if len(self.tests) < LONG and expr not in (sympy.true, sympy.false):
            self.tests.append(Test(expr, bool(holds), self.call))

    def evaluate_expr(self, expr: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        """Returns the answer to torch's question, by the values."""
        if getattr(expr, "is_number", False) or expr in (sympy.true, sympy.false):
            return expr
        value = _done(expr.xreplace(self.values))
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


def _done(value: Any) -> Any:
    return value.doit() if hasattr(value, "doit") else value
