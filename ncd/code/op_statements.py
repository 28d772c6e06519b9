"""Writes the statements of single ops."""

from __future__ import annotations

from collections.abc import Sequence

from ncd.code.array_identifiers import Naming
from ncd.code.expression_writers import Writer
from ncd.code.line_breaking import LEVELS, SUM, WIDTH, Code
from ncd.code.simplify import Steps, heavy_parts, used
from ncd.code.statements import Owner, Statement
from ncd.lang.circuits.circuit import Cell
from ncd.lang.formulas.expr import Arg, Expr, Infix, Position, Weight


class Cells:
    """Writes the cells of one method, one at a time."""

    def __init__(self, owner: Owner, naming: Naming, skip: int) -> None:
        self.owner, self.naming, self.skip = owner, naming, skip

    def statements(self, cell: Cell, time: int) -> list[Statement]:
        """Returns a cell's statements; none if all its outputs exist already."""
        self.found: list[Statement] = []
        steps, names = self.owner.steps(cell), self.naming.names
        if steps.stated:
            writer = self._writer(cell)
            if steps.together is not None:
                self._together(cell, steps.together, writer, time)
            else:
                self._each(cell, steps, writer, time)
        for value, source in steps.aliases(cell):
            names[value.id] = names[source.id]
        for value, expr in zip(cell.outputs, steps.exprs, strict=False):
            if isinstance(expr, Weight):
                names[value.id] = self.owner.layer(cell)
        return self.found

    def _writer(self, cell: Cell) -> Writer:
        args = tuple(self.naming.names[value.id] for value in cell.inputs)
        reals = [n for n, v in zip(args, cell.inputs, strict=True) if v.array.below is None]
        like = near = ""
        if self.owner.steps(cell).new:
            reals += [name for name, real in self.naming.real.items() if real and not args]
            like = next(iter(reals), "") or self.owner.weight()
            like = like or next((name for name, real in self.naming.real.items() if real), "")
            if not like and self.owner.steps(cell).real:
                like = self.owner.like()
            near = like or next(iter((*args, *self.naming.real)), "")
        owner, fences = self.owner, cell.fences[self.skip :]
        return Writer(
            lambda axis: owner.size(axis, fences, stored=True),
            owner.dims,
            owner.imports,
            owner.einops,
            args,
            tuple(map(owner.batched, cell.inputs)),
            tuple(len(value.array.dims) for value in cell.inputs),
            owner.layer(cell),
            like,
            near,
        )

    def _together(self, cell: Cell, expr: Expr, writer: Writer, time: int) -> None:
        """Writes an assignment of all outputs at once, as a tuple."""
        names: list[str] = []
        code = self._short(expr, writer, cell, time, [])
        for place, value in enumerate(cell.outputs):
            names.append(self.naming.choose(self.naming.wanted(cell, place), time, names))
            self.naming.hold(value, names[-1])
        self.found.append(Statement(", ".join(names), code, (cell.id,)))

    def _each(self, cell: Cell, steps: Steps, writer: Writer, time: int) -> None:
        waiting = [(i, e) for i, e in enumerate(steps.exprs) if not isinstance(e, Arg | Weight)]
        every = [expr for _, expr in waiting]
        for expr in steps.repeated:
            self._hoist(expr, writer, cell, time, every)
        while waiting:
            (place, expr), *waiting = waiting
            later = [other for _, other in waiting]
            code = self._short(expr, writer, cell, time, later)
            block = self._needed(writer, later, steps)
            value, name = cell.outputs[place], "_"
            if self.naming.root(value) in self.naming.last:  # else nothing needs it
                name = self.naming.choose(self.naming.wanted(cell, place), time, block)
            self.naming.hold(value, name)
            self.found.append(Statement(name, code, (cell.id,)))

    def _needed(self, writer: Writer, later: Sequence[Expr], steps: Steps) -> set[str]:
        """Returns the names that later expressions and outputs still need."""
        names = {writer.args[e.index] for e in steps.exprs if isinstance(e, Arg)}
        bound = writer.bound
        for expr in later:
            args, parts = used(expr, bound)
            names |= {writer.args[i] for i in args} | {bound[part] for part in parts}
        if later and writer.near:
            names |= {writer.like, writer.near}
        return names

    def _hoist(
        self, expr: Expr, writer: Writer, cell: Cell, time: int, every: Sequence[Expr]
    ) -> None:
        """Gives a part of an expression a line and a variable of its own."""
        code = self._short(expr, writer, cell, time, every)
        args, _ = used(expr, {})
        wanted = [*(writer.args[i] for i in args[:1]), "part"]
        if isinstance(expr, Infix) and LEVELS[expr.sign] < SUM:
            wanted = ["mask"]
        elif isinstance(expr, Position):
            wanted = [f"{writer.dims.dim(expr.dim)}_pos"]
        after = {**writer.bound, expr: ""}
        needed = {name for name in (writer.like, writer.near) if name}
        for other in every:
            rest, parts = used(other, after)
            needed |= {writer.args[i] for i in rest} | {writer.bound.get(p, "") for p in parts}
        block = needed | self._needed(writer, (), self.owner.steps(cell))
        name = self.naming.choose(wanted, time, block)
        writer.bound[expr] = name
        self.naming.busy[name] = max(self.naming.busy.get(name, -1), time)
        self.found.append(Statement(name, code, (cell.id,)))

    def _short(
        self, expr: Expr, writer: Writer, cell: Cell, time: int, later: Sequence[Expr]
    ) -> Code:
        """Returns the code; if it is too long, parts of it get lines of their own."""
        while True:
            code = writer.write(expr)
            target = 12 if expr not in writer.bound else 0
            if len(code.text) + 8 + target <= WIDTH:
                return code
            long = _longest(expr, writer)
            if long is None:
                return code
            self._hoist(long, writer, cell, time, (expr, *later))


def _longest(expr: Expr, writer: Writer) -> Expr | None:
    """Returns the part of a long expression that should get a line of its own."""
    for parts in heavy_parts(expr, writer.bound):
        sizes = {p: len(writer.write(p).text) for p in parts}
        if sizes and max(sizes.values()) > 15:
            return max(sizes, key=lambda part: sizes[part])
    return None
