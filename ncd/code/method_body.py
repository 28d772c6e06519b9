"""The statements of one method, in order, under the titles of their blocks."""

from __future__ import annotations

from dataclasses import replace

from ncd.code.array_identifiers import Naming
from ncd.code.block_statements import Parts
from ncd.code.line_breaking import Code
from ncd.code.op_statements import Cells
from ncd.code.scopes import Body, Part, common
from ncd.code.statements import Owner, Statement
from ncd.lang.circuits.circuit import Cell


class Forward:
    """A method: its arguments, and its statements."""

    def __init__(self, owner: Owner, body: Body) -> None:
        self.owner, self.body = owner, body
        self.naming = Naming(owner, body)
        names = self.naming.names
        self.arguments = tuple(names[value.id] for value in body.inputs)
        self.statements: list[Statement] = []
        stated = [unit for unit in body.units if self.naming.stated(unit)]
        self.opened = set(common(unit.fences[body.skip :] for unit in stated))
        cells, parts = Cells(owner, self.naming, body.skip), Parts(owner, self.naming)
        for unit, time in zip(body.units, self.naming.times, strict=True):
            if isinstance(unit, Cell):
                found = cells.statements(unit, time)
            else:
                found = parts.statements(unit, time)
            if found:
                found[0] = replace(found[0], titles=self._titles(unit))
            self.statements += found
        self._return()

    def _titles(self, unit: Cell | Part) -> tuple[str, ...]:
        """Returns the titles of the blocks that begin here, except those around the whole body."""
        new = [id for id in unit.fences[self.body.skip :] if id not in self.opened]
        self.opened.update(new)
        titles = (self.owner.outline.fences[id].title for id in new)
        return tuple(title for title in titles if title.strip())

    def _return(self) -> None:
        result = ", ".join(self.naming.names[value.id] for value in self.body.outputs) or "()"
        last = self.statements[-1] if self.statements else None
        if last and last.target == result and not last.indent:
            self.statements[-1] = replace(last, target="return")
        else:
            self.statements.append(Statement("return", Code(result)))
