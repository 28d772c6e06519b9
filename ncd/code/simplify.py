"""Analyses an op's expressions before they are written: new, shared or existing parts."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from ncd.lang.circuits.circuit import Cell, Value
from ncd.lang.formulas import expr as ex
from ncd.lang.once import once

SMALL = 5  # parts of an operation that may be written twice
HEAVY = (ex.Call, ex.Contract, ex.Layer, ex.Method, ex.Rearrange)


@dataclass(frozen=True)
class Steps:
    """The computation of a cell: an expression for each output, or one for all (``together``)."""

    exprs: tuple[ex.Expr, ...] = ()
    together: ex.Expr | None = None

    @staticmethod
    def of(cell: Cell) -> Steps:
        """Returns the op's expressions; those that unpack one tuple become that tuple."""
        found = cell.torch
        if isinstance(found, ex.Expr):
            count = len(cell.outputs)
            return Steps((found,)) if count == 1 else Steps(together=found)
        first = found[0] if found else None
        if isinstance(first, ex.Item) and len(found) > 1:
            whole = tuple(ex.Item(first.on, i) for i in range(len(found)))
            if found == whole:
                return Steps(together=first.on)
        return Steps(found)

    @property
    def every(self) -> tuple[ex.Expr, ...]:
        return self.exprs if self.together is None else (self.together,)

    @once
    def coded(self) -> bool:
        """Whether it needs code; a copy does not."""
        return any(not isinstance(expr, ex.Arg) for expr in self.every)

    @once
    def stated(self) -> bool:
        """Whether it needs a statement; a parameter is read where it is used."""
        return any(not isinstance(expr, ex.Arg | ex.Weight) for expr in self.every)

    @property
    def reshapes(self) -> bool:
        """Whether it only splits, merges or permutes dimensions."""
        return all(isinstance(e, ex.Rearrange) and isinstance(e.on, ex.Arg) for e in self.every)

    @once
    def new(self) -> bool:
        """Whether it creates a tensor that must be on the device of another."""
        return self.real or any(isinstance(part, ex.Position) for part in self._parts())

    @once
    def real(self) -> bool:
        """Whether it creates numbers that must have the dtype of others."""
        parts = (p for p in self._parts() if isinstance(p, ex.Filled | ex.Cast))
        return any(isinstance(part, ex.Filled) or part.to == "real" for part in parts)

    def _parts(self) -> Iterator[ex.Expr]:
        return (part for expr in self.every for part in expr.walk())

    @once
    def repeated(self) -> tuple[ex.Expr, ...]:
        """Parts that occur more than once, inner ones first."""
        seen: set[ex.Expr] = set()
        found: dict[ex.Expr, None] = {}
        waiting = list(reversed(self.exprs))
        while waiting:
            part = waiting.pop()
            if part in seen:
                found[part] = None
                continue
            large = isinstance(part, ex.Infix) and sum(1 for _ in part.walk()) > SMALL
            if (large or isinstance(part, (*HEAVY, ex.Position))) and not _cheap(part):
                seen.add(part)
            waiting += reversed([*part.parts()])
        return tuple(sorted(found, key=lambda part: sum(1 for _ in part.walk())))

    def aliases(self, cell: Cell) -> Iterator[tuple[Value, Value]]:
        """Yields outputs that equal an input, each with that input."""
        for value, expr in zip(cell.outputs, self.exprs, strict=False):
            if isinstance(expr, ex.Arg):
                yield value, cell.inputs[expr.index]


def _cheap(expr: ex.Expr) -> bool:
    """Returns whether an expression is a plain number."""
    return not any(isinstance(p, ex.Arg | ex.Layer | ex.Position | ex.Filled) for p in expr.walk())


def heavy_parts(expr: ex.Expr, bound: Container[ex.Expr] = ()) -> Iterator[list[ex.Expr]]:
    """Yields the parts of an expression that could get a line of their own, the best first.

    Those in ``bound`` have a variable already. Positions come first, then the outermost calls, then
    operations on tensors.
    """
    for kinds in ((ex.Position,), HEAVY, (ex.Infix, ex.Cast)):
        yield list(_outermost(expr, kinds, bound))


def _outermost(
    expr: ex.Expr, kinds: tuple[type[ex.Expr], ...], bound: Container[ex.Expr]
) -> Iterator[ex.Expr]:
    for part in expr.parts():
        if part in bound:
            continue
        if isinstance(part, kinds) and not _cheap(part):
            yield part
        else:
            yield from _outermost(part, kinds, bound)


def used(expr: ex.Expr, bound: Container[ex.Expr]) -> tuple[list[int], list[ex.Expr]]:
    """Returns the arguments that an expression reads, and its parts that have a variable."""
    args, parts = list[int](), list[ex.Expr]()
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if part in bound:
            parts.append(part)
        elif isinstance(part, ex.Arg):
            args.append(part.index)
        else:
            waiting += reversed([*part.parts()])
    return args, parts
