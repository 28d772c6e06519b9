"""Lets the interpreter keep the origins of numbers, and count einops' functions as calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import ceil, floor
from typing import Any

import einops

from ncd.findings.reading.call_recorder import Recorder
from ncd.findings.reading.input_places import input_places
from ncd.findings.reading.number_names import number_names
from ncd.findings.reading.size_table import SizeTable
from ncd.findings.reading.traced_numbers import Place, Real, Whole, as_whole, rounded
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Namespace, Native, Scope
from ncd.pytorch_source.expressions import EXPRESSIONS
from ncd.pytorch_source.python_names import NAMES

LARGEST = 2**40  # of the numbers that may be sizes


def keep_origins(machine: Machine, table: SizeTable, text: str, tree: ast.Module) -> None:
    """Makes the whole numbers of a text symbols, and ``int`` and the like keep them."""
    constant = _constants(table, text.split("\n"), tree)
    machine.expressions = {**machine.expressions, ast.Constant: constant}
    machine.first_layers = True
    math = machine.libraries["math"]
    names = {**math.names, **_rounding("floor", floor), **_rounding("ceil", ceil)}
    library = Namespace("math", names)
    machine.names = {**machine.names, "math": library, "int": Native("int", _int)}
    machine.libraries = {**machine.libraries, "math": library}


def _rounding(name: str, to: Callable[[float], int]) -> dict[str, Native]:
    return {name: Native(name, lambda machine, value: rounded(value, to))}


def _int(machine: Machine, *args: Any, **named: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], Whole | Real):
        return as_whole(args[0])
    return NAMES["int"].run(machine, *args, **named)


def _constants(table: SizeTable, rows: list[str], tree: ast.Module) -> Callable[..., Any]:
    """Returns the reader of constants: 2 and more, and all sizes of arrays outside of classes."""
    inputs = input_places(tree)
    names = {**number_names(tree), **inputs}

    def read(machine: Machine, node: ast.Constant, scope: Scope) -> Any:
        value, spot = node.value, (node.lineno, node.col_offset)
        least = 1 if spot in inputs else 2
        if type(value) is not int or not least <= value < LARGEST:
            return EXPRESSIONS[ast.Constant](machine, node, scope)
        row = rows[node.lineno - 1].encode()
        start, end = (len(row[:n].decode()) for n in (spot[1], node.end_col_offset or 0))
        name = names.get(spot, "")
        return table.number(Place(node.lineno, start, end, value, name, spot in inputs))

    return read


def record_einops(machine: Machine, recorder: Recorder) -> None:
    """Lets einops' functions count as one call each."""

    def one(name: str) -> Native:
        function = getattr(einops, name)
        return Native(name, lambda _, *args, **words: recorder.call_of(name, function, args, words))

    own = {name: one(name) for name in ("rearrange", "reduce", "repeat")}
    library = Namespace("einops", {**machine.libraries["einops"].names, **own})
    machine.names = {**machine.names, **own, "einops": library}
    machine.libraries = {**machine.libraries, "einops": library}
