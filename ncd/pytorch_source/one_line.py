"""A line of PyTorch: one layer, or layers in a row, and perhaps the input that it is called on."""

from __future__ import annotations

import ast

from ncd.pytorch_source.base.source_errors import error_at

SETTINGS = ("cpu", "cuda", "eval", "float", "to")  # methods that leave the shapes as they are
EXAMPLE = "nn.Conv2d(3, 64, 7)(torch.randn(1, 3, 224, 224))"
ROW = "nn.Sequential(…), or a class with a forward"


def check_line(tree: ast.Module) -> str:
    """Returns the shape in ``nn.Linear(8, 3)(5, 8)``, and leaves the call of the layer out.

    A line with more in it than a layer and its input is refused: no part of it is left out.

    Raises:
        TextError: For such a line, and for a shape that is none.

    >>> tree = ast.parse("nn.Linear(8, 3)(5, 8)")
    >>> check_line(tree), ast.unparse(tree)
    ('5x8', 'nn.Linear(8, 3)')
    """
    line = tree.body[0]
    if len(tree.body) > 1:
        raise error_at(tree.body[1], "a line of PyTorch is one line, and this is another", ROW)
    if not isinstance(line, ast.Expr) or not isinstance(line.value, ast.Call):
        raise error_at(line, "a line of PyTorch is a layer, or its call", EXAMPLE)
    call = line.value
    made = _layer(call.func)
    if not _is_layer(made):
        if not _is_layer(_layer(call)):
            raise error_at(call, "more is done here than to call a layer on its input", ROW)
        return ""
    for part in (*call.args, *(word.value for word in call.keywords)):
        if inner := next((one for one in ast.walk(part) if _is_layer(one)), None):
            raise error_at(inner, "a layer is called on the result of another one", ROW)
    sides = call.args
    sizes = [side.value for side in sides if isinstance(side, ast.Constant)]
    if not sizes or call.keywords or any(type(size) is not int for size in sizes):
        return ""
    if len(sizes) < len(sides) or 0 in sizes:
        raise error_at(sides[0], "a shape is several whole numbers, 1 or more", EXAMPLE)
    line.value = call.func
    return "x".join(map(str, sizes))


def _layer(node: ast.expr) -> ast.expr:
    """Returns the call that makes a layer, of ``nn.Linear(8, 3).eval()`` too."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in SETTINGS
        and isinstance(node.func.value, ast.Call)
    ):
        node = node.func.value
    return node


def _is_layer(node: ast.AST) -> bool:
    """Returns whether a node is a call of a class of ``torch.nn``."""
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    last = name.rpartition(".")[2]
    return name.removeprefix("torch.").startswith("nn.") and last[:1].isupper()
