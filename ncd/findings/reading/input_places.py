"""Places in a text of the sizes of its input."""

from __future__ import annotations

import ast
import re

from ncd.findings.reading.traced_numbers import Place

MAKERS = ("randn", "rand", "zeros", "ones", "empty", "full", "randint")
AXES = {
    1: ("features",),
    2: ("batch", "features"),
    3: ("batch", "length", "features"),
    4: ("batch", "channels", "height", "width"),
    5: ("batch", "channels", "depth", "height", "width"),
}
TOKENS = ("batch", "length")


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
                names = TOKENS if tokens else AXES.get(len(sides), ())
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


def shape_places(text: str, tree: ast.Module, is_line: bool) -> list[list[Place]]:
    """Returns the places of the sizes of a last line of shapes, or of ``nn.Linear(8, 3)(5, 8)``.

    >>> [[p.start for p in shape] for shape in shape_places("a\\n2x10", ast.parse("a"), True)]
    [[0, 2]]
    """
    if not is_line:
        return [_called(tree)]
    rows = text.rstrip().split("\n")
    line, row = len(rows), rows[-1]
    found = []
    for part in re.finditer(r"\d+(?:(?: *[x×] *|, ?| )\d+)*(?:#\d+)?|\d+#\d+", _plain(row)):
        shape = part[0].partition("#")[0]
        spots = [*re.finditer(r"\d+", shape)]
        names = TOKENS if "#" in part[0] else AXES.get(len(spots), ())
        found.append(
            [
                Place(
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


def _plain(row: str) -> str:
    """Returns a line of shapes whose commas between shapes are no part of one."""
    if "x" in row or "×" in row or "#" in row:
        return row.replace(",", ";")
    return row


def _called(tree: ast.Module) -> list[Place]:
    line = tree.body[-1] if tree.body else None
    if not isinstance(line, ast.Expr | ast.Assign) or not isinstance(line.value, ast.Call):
        return []
    numbers = [n for arg in line.value.args for n in ast.walk(arg) if isinstance(n, ast.Constant)]
    names = AXES.get(len(numbers), ())
    return [
        Place(n.lineno, n.col_offset, n.end_col_offset or 0, n.value, names[i], True)
        for i, n in enumerate(numbers)
        if type(n.value) is int and i < len(names)
    ]


def assumed_places(shapes: str) -> list[list[Place]]:
    """Returns the places of the sizes of inputs that no text gives: on line 0.

    >>> [place.value for place in assumed_places("2x10#50")[0]]
    [2, 10]
    """
    found, start = [], 0
    for shape in shapes.split(","):
        sizes = [int(n) for n in shape.partition("#")[0].strip().split("x")]
        names = TOKENS if "#" in shape else AXES.get(len(sizes), ())
        named = [*names, *[""] * len(sizes)]
        found.append([Place(0, start + i, 0, n, named[i], True) for i, n in enumerate(sizes)])
        start += len(sizes)
    return found
