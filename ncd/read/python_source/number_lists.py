"""Lists of numbers that a formula gives, such as a table of positions.

A comprehension over a range, whose item is arithmetic of numbers, is read once and then computed
for each number of the range.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from ncd.read.python_source.interpreter import BuiltinFunction, Interpreter, Scope
from ncd.read.python_source.source_operators import BINARY, binary_result

Formula = Callable[[int], Any]
PARTS = 8  # operations of a formula that take as long as a step
POWERS = ("pow", "power")
MIN_NUMBERS = 16  # numbers for which it is not worth while


def number_list(machine: Interpreter, node: ast.ListComp, scope: Scope) -> list[Any] | None:
    """Returns the list of a comprehension over a range; None if its items are no plain formula.

    Args:
        machine: The interpretation.
        node: The comprehension.
        scope: The names around it.
    """
    part = node.generators[0]
    plain = len(node.generators) == 1 and not part.ifs and isinstance(part.target, ast.Name)
    call = part.iter
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    if not (plain and named and call.func.id == "range"):  # type: ignore[attr-defined]
        return None
    formula = _formula(machine, node.elt, part.target.id, scope)  # type: ignore[attr-defined]
    numbers = machine.value(call, scope) if formula else None
    if formula is None or not isinstance(numbers, range) or len(numbers) < MIN_NUMBERS:
        return None
    parts = sum(isinstance(each, ast.BinOp | ast.Call) for each in ast.walk(node.elt))
    machine.step(node, len(numbers) * (1 + parts // PARTS))
    return machine.attempt(lambda: [machine.checked_size(formula(number)) for number in numbers])


def _formula(machine: Interpreter, node: ast.expr, name: str, scope: Scope) -> Formula | None:
    """Returns an expression as a function of one name; None if it is no arithmetic of numbers."""
    if isinstance(node, ast.Name) and node.id == name:
        return lambda x: x
    if isinstance(node, ast.Name):
        home = scope.find(node.id)
        return _constant(home.names[node.id]) if home else None
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    parts = [_formula(machine, each, name, scope) for each in _operands(node)]
    known = [part for part in parts if part is not None]
    if not parts or len(known) < len(parts):
        return None
    if isinstance(node, ast.BinOp):
        (left, right), kind = known, node.op
        if isinstance(kind, ast.Pow):  # which may be too large
            return lambda x: binary_result(machine, kind, left(x), right(x))
        both = BINARY.get(type(kind))
        return (lambda x: both(left(x), right(x))) if both else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return lambda x: -known[0](x)
    function = machine.value(node.func, scope) if isinstance(node, ast.Call) else None
    if not isinstance(function, BuiltinFunction) or "." not in ast.unparse(node).partition("(")[0]:
        return None
    if function.name in POWERS and len(known) == 2:
        base, power = known
        return lambda x: math.pow(base(x), power(x))
    run = function.run  # of math or numpy
    return lambda x: run(machine, *(part(x) for part in known))


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return node.args if isinstance(node, ast.Call) and not node.keywords else []


def _constant(value: Any) -> Formula | None:
    return (lambda _: value) if type(value) in (int, float) else None
