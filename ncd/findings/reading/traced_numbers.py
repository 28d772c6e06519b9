"""Numbers of a source that remember where in its text they come from, and their names there."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import sympy
from torch import nn
from torch.utils._sympy.functions import FloorDiv, Mod

# --- Numbers of a source that remember how they were computed from those in its text

OPS = 400  # parts of an expression; longer ones become plain numbers


@dataclass(frozen=True, order=True)
class SourceNumber:
    """A whole number in a text: where it stands, its value, and what it is called there.

    ``end`` is the letters before its end; ``name`` may be empty; ``is_input`` is whether it is a
    size of the input.
    """

    line: int
    start: int
    end: int
    value: int
    name: str = ""
    is_input: bool = False


class TracedInteger(int):
    """A whole number with the expression that it is the value of."""

    expr: sympy.Expr
    table: Any  # the SizeTable that its symbols belong to

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __eq__(self, other: object) -> bool:
        return _record_comparison(self, other, sympy.Eq, int.__eq__)

    def __ne__(self, other: object) -> bool:
        return _record_comparison(self, other, sympy.Ne, int.__ne__)

    def __lt__(self, other: int) -> bool:
        return _record_comparison(self, other, sympy.Lt, int.__lt__)

    def __le__(self, other: int) -> bool:
        return _record_comparison(self, other, sympy.Le, int.__le__)

    def __gt__(self, other: int) -> bool:
        return _record_comparison(self, other, sympy.Gt, int.__gt__)

    def __ge__(self, other: int) -> bool:
        return _record_comparison(self, other, sympy.Ge, int.__ge__)

    def __neg__(self) -> int:
        return traced_integer(-int(self), -self.expr, self.table)

    def __pos__(self) -> TracedInteger:
        return self

    def __deepcopy__(self, memo: Any) -> TracedInteger:
        return self

    def __copy__(self) -> TracedInteger:
        return self

    def __reduce__(self) -> Any:
        return int, (int(self),)


class Real(float):
    """A real number with the expression that it is the value of."""

    expr: sympy.Expr
    table: Any


def _record_comparison(
    a: TracedInteger, b: Any, kind: Any, plain: Callable[[int, int], Any]
) -> Any:
    """Returns a comparison, and records it as a test of the sizes."""
    found = plain(a, b)
    if found is not NotImplemented and isinstance(b, int) and not isinstance(b, bool):
        expr = expression(b, a.table)
        a.table.test(kind(a.expr, expr, evaluate=False), found)
    return found


def expression(value: Any, table: Any) -> sympy.Expr:
    """Returns the expression of a number; a plain one stands for itself."""
    if isinstance(value, TracedInteger | Real) and value.table is table:
        return value.expr
    if isinstance(value, float):
        return sympy.Rational(repr(float(value)))
    return sympy.Integer(int(value))


def traced_integer(value: int, expr: sympy.Expr, table: Any) -> int:
    """Returns a whole number with its expression; a plain one if that is a number."""
    if expr.is_number or len(expr.free_symbols) > 12 or expr.count_ops() > OPS:
        return value
    made = TracedInteger(value)
    made.expr, made.table = expr, table
    return made


def _real(value: float, expr: sympy.Expr, table: Any) -> float:
    if expr.is_number or expr.count_ops() > OPS:
        return value
    made = Real(value)
    made.expr, made.table = expr, table
    return made


def as_whole(value: Any) -> Any:
    """Returns ``int(value)`` of a number that remembers its expression."""
    if isinstance(value, TracedInteger) or not isinstance(value, Real):
        return value if isinstance(value, TracedInteger) else int(value)
    number = float(value)
    expr = value.expr if number == int(number) else sympy.floor(value.expr)
    return traced_integer(int(number), expr, value.table)


def floor_or_ceil(value: Any, to: Callable[[float], int]) -> int:
    """Returns ``math.floor`` or ``math.ceil`` of a number."""
    function = sympy.ceiling if to is ceil else sympy.floor
    if isinstance(value, Real):
        return traced_integer(to(float(value)), function(value.expr), value.table)
    return value if isinstance(value, TracedInteger) else to(value)


def _binary(name: str, combine: Callable[[Any, Any], Any]) -> None:
    """Gives whole and real numbers an operator, and its reflection."""
    for kind, plain in ((TracedInteger, int), (Real, float)):
        for reflected in (False, True):
            setattr(
                kind, f"__{'r' * reflected}{name}__", _operator(name, plain, combine, reflected)
            )


def _operator(name: str, plain: type, combine: Any, reflected: bool) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        if type(other) is bool or not isinstance(other, int | float):
            return getattr(plain, f"__{'r' * reflected}{name}__")(plain(self), other)
        numbers = (
            (_plain_number(other), plain(self))
            if reflected
            else (plain(self), _plain_number(other))
        )
        value = _VALUES[name](*numbers)
        sides = (self.expr, expression(other, self.table))
        left, right = sides[::-1] if reflected else sides
        try:  # an exponent is no size: its value counts, wherever it stands in the text
            expr = combine(left, expression(numbers[1], None) if name == "pow" else right)
        except (ArithmeticError, TypeError, ValueError, AssertionError):
            return value
        if isinstance(value, int):
            return traced_integer(value, expr, self.table)
        return _real(value, expr, self.table) if isinstance(value, float) else value

    return operate


def _plain_number(value: Any) -> Any:
    return int(value) if isinstance(value, int) else float(value)


def _power(a: Any, b: Any) -> Any:
    if not (b.is_number and b.is_Integer and 0 <= b <= 4):
        raise ValueError("a power that no size has")
    return a**b


def _floor_div(a: Any, b: Any) -> Any:
    return FloorDiv(a, b) if a.is_integer and b.is_integer else sympy.floor(a / b)


_VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
}
_binary("add", lambda a, b: a + b)
_binary("sub", lambda a, b: a - b)
_binary("mul", lambda a, b: a * b)
_binary("truediv", lambda a, b: a / b)
_binary("floordiv", _floor_div)
_binary("mod", lambda a, b: Mod(a, b))
_binary("pow", _power)


# --- Names of the whole numbers in a text: of a variable, a default, or an argument of a layer

Spot = tuple[int, int]  # line and letters before it


def number_names(tree: ast.AST) -> dict[Spot, str]:
    """Returns what each whole number of a text is called, where something calls it by a name.

    >>> number_names(ast.parse("nn.Linear(64)"))
    {(1, 10): 'in_features'}
    """
    names: dict[Spot, str] = {}
    classes = {one.name: one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}
    for node in ast.walk(tree):
        for value, name in (*defaults(node), *assigned_values(node)):
            _mark(names, value, name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for value, name in arguments(node, classes):
                _mark(names, value, name)
    return names


def _mark(names: dict[Spot, str], node: ast.AST, name: str) -> None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        names.setdefault((node.lineno, node.col_offset), name)


def defaults(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yields the defaults of a function's arguments."""
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return
    takes = node.args
    plain = [*takes.posonlyargs, *takes.args]
    for argument, value in zip(plain[::-1], takes.defaults[::-1], strict=False):
        yield value, argument.arg
    for argument, default in zip(takes.kwonlyargs, takes.kw_defaults, strict=True):
        if default is not None:
            yield default, argument.arg


def assigned_values(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yields the values of plain names and attributes."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=False)]
        for one, given in pairs:
            if isinstance(one, ast.Name | ast.Attribute):
                yield given, one.id if isinstance(one, ast.Name) else one.attr
    elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
        yield node.value, node.target.id


def arguments(node: ast.Call, classes: dict[str, ast.ClassDef]) -> Iterator[tuple[ast.AST, str]]:
    """Yields the arguments of a layer, or of a class of the text, with their names."""
    for word in node.keywords:
        if word.arg:
            yield word.value, word.arg
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for parameter, value in zip(_parameters(name, classes), node.args, strict=False):
        if isinstance(value, ast.Starred):
            return
        yield value, parameter


def _parameters(name: str, classes: dict[str, ast.ClassDef]) -> list[str]:
    if name in classes:
        body = classes[name].body
        first = next((f for f in body if getattr(f, "name", "") == "__init__"), None)
        return [a.arg for a in first.args.args][1:] if isinstance(first, ast.FunctionDef) else []
    kind = getattr(nn, name, None)
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        return []
    if issubclass(kind, nn.RNNBase):
        return ["input_size", "hidden_size", "num_layers"]
    return [*inspect.signature(kind).parameters]


# --- Places in a text of the sizes of its input

MAKERS = ("randn", "rand", "zeros", "ones", "empty", "full", "randint")
AXES = {
    1: ("features",),
    2: ("batch", "features"),
    3: ("batch", "length", "features"),
    4: ("batch", "channels", "height", "width"),
    5: ("batch", "channels", "depth", "height", "width"),
}
TOKENS = ("batch", "length")
CHANNELS_FIRST = re.compile(r"\w*1d|SyncBatchNorm|GroupNorm")  # what counts channels before length
REORDERS = {"permute", "transpose", "swapaxes", "movedim", "rearrange", "mT"}


def _axis_names(count: int, tree: ast.Module) -> tuple[str, ...]:
    """Returns what the axes of an input of a source are called, by what the source does with it.

    >>> [_axis_names(3, ast.parse(text)) for text in ("nn.Linear(4, 2)", "nn.Conv1d(4, 2, 3)")]
    [('batch', 'length', 'features'), ('batch', 'channels', 'length')]
    """
    used = {_name(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)}
    if count != 3 or not any(map(CHANNELS_FIRST.fullmatch, used)):
        return AXES.get(count, ())
    return (
        ("batch", "second axis", "last axis")
        if used & REORDERS
        else ("batch", "channels", "length")
    )


def input_places(tree: ast.Module) -> dict[tuple[int, int], str]:
    """Returns where the sizes of arrays stand that a text makes outside of classes.

    >>> input_places(ast.parse("net(torch.randn(1, 3))"))
    {(1, 16): 'batch', (1, 19): 'features'}
    """
    found: dict[tuple[int, int], str] = {}
    for line in tree.body:
        if isinstance(line, ast.ClassDef | ast.FunctionDef):
            continue
        for call in ast.walk(line):
            if isinstance(call, ast.Call) and _name(call.func) in MAKERS:
                shape = call.args[-1:] if _name(call.func) in ("randint",) else call.args
                sides = _sides(shape)
                tokens = _name(call.func) == "randint" and len(sides) == 2
                names = TOKENS if tokens else _axis_names(len(sides), tree)
                for i, side in enumerate(sides):
                    if isinstance(side, ast.Constant) and type(side.value) is int:
                        name = names[i] if i < len(names) else ""
                        found[side.lineno, side.col_offset] = name
    return found


def _sides(shape: list[ast.expr]) -> list[ast.expr]:
    """Returns the sizes of a shape that is one tuple, or several arguments."""
    if len(shape) == 1 and isinstance(shape[0], ast.Tuple | ast.List):
        return shape[0].elts
    return shape


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def shape_places(text: str, tree: ast.Module, is_line: bool) -> list[list[SourceNumber]]:
    """Returns the places of the sizes of a last line of shapes, or of ``nn.Linear(8, 3)(5, 8)``.

    >>> [[p.start for p in shape] for shape in shape_places("a\\n2x10", ast.parse("a"), True)]
    [[0, 2]]
    """
    if not is_line:
        return [_call_numbers(tree)]
    rows = text.rstrip().split("\n")
    line, row = len(rows), rows[-1]
    found = []
    for part in re.finditer(r"\d+(?:(?: *[x×] *|, ?| )\d+)*(?:#\d+)?|\d+#\d+", _plain_row(row)):
        shape = part[0].partition("#")[0]
        spots = [*re.finditer(r"\d+", shape)]
        names = TOKENS if "#" in part[0] else _axis_names(len(spots), tree)
        found.append(
            [
                SourceNumber(
                    line,
                    part.start() + spot.start(),
                    part.start() + spot.end(),
                    int(spot[0]),
                    names[i] if i < len(names) else "",
                    True,
                )
                for i, spot in enumerate(spots)
            ]
        )
    return found


def _plain_row(row: str) -> str:
    """Returns a line of shapes whose commas between shapes are no part of one."""
    if "x" in row or "×" in row or "#" in row:
        return row.replace(",", ";")
    return row


def _call_numbers(tree: ast.Module) -> list[SourceNumber]:
    line = tree.body[-1] if tree.body else None
    if not isinstance(line, ast.Expr | ast.Assign) or not isinstance(line.value, ast.Call):
        return []
    numbers = [n for arg in line.value.args for n in ast.walk(arg) if isinstance(n, ast.Constant)]
    names = _axis_names(len(numbers), tree)
    return [
        SourceNumber(n.lineno, n.col_offset, n.end_col_offset or 0, n.value, names[i], True)
        for i, n in enumerate(numbers)
        if type(n.value) is int and i < len(names)
    ]


def assumed_places(shapes: str) -> list[list[SourceNumber]]:
    """Returns the places of the sizes of inputs that no text gives: on line 0.

    >>> [place.value for place in assumed_places("2x10#50")[0]]
    [2, 10]
    """
    found, start = [], 0
    for shape in shapes.split(","):
        sizes = [int(n) for n in shape.partition("#")[0].strip().split("x")]
        names = TOKENS if "#" in shape else AXES.get(len(sizes), ())
        named = [*names, *[""] * len(sizes)]
        found.append(
            [SourceNumber(0, start + i, 0, n, named[i], True) for i, n in enumerate(sizes)]
        )
        start += len(sizes)
    return found
