"""Statements of a method, and what they require of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ncd.code.identifiers import Allotted
from ncd.code.line_breaking import Code
from ncd.code.scopes import Body, Outline, Scope
from ncd.code.simplify import Steps
from ncd.lang.circuits.circuit import Cell, Value
from ncd.lang.types.axes import Axis


@dataclass(frozen=True)
class Statement:
    """``target = code``, and the ids of its ops; without a target the code stands alone."""

    target: str
    code: Code
    nodes: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    indent: int = 0

    @property
    def whole(self) -> Code:
        if not self.target or self.target == "return":
            return self.code.before("return ") if self.target else self.code
        return self.code.before(f"{self.target} = ")


class Owner(Protocol):
    """The interface of the class that a method belongs to."""

    outline: Outline
    scope: Scope
    einops: bool
    dims: Allotted
    imports: set[str]

    def size(self, axis: Axis, fences: Sequence[str], *, stored: bool) -> Code: ...
    def steps(self, cell: Cell) -> Steps: ...
    def layer(self, cell: Cell) -> str: ...
    def method_of(self, body: Body) -> str: ...
    def weight(self) -> str: ...
    def like(self) -> str: ...
    def batched(self, value: Value) -> bool: ...
