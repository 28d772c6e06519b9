"""A line of PyTorch: one layer, or layers in a row, and perhaps the input that it is called on."""

from __future__ import annotations

import ast

from ncd.read.python_source.interpreter import error_at

SETTINGS = ("cpu", "cuda", "eval", "float", "to")  # methods that leave the shapes as they are
EXAMPLE = "nn.Conv2d(3, 64, 7)(torch.randn(1, 3, 224, 224))"
ROW = "nn.Sequential(…), or a class with a forward"


def check_line(tree: ast.Module) -> None:
    """Checks that a line has nothing in it but a layer and its input: no part is left out.

    Raises:
        TextError: For a line with more.

    >>> check_line(ast.parse("nn.Linear(8, 3)(5, 8)"))
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
        return
    for part in (*call.args, *(word.value for word in call.keywords)):
        if inner := next((one for one in ast.walk(part) if _is_layer(one)), None):
            raise error_at(inner, "a layer is called on the result of another one", ROW)


def take_shape(tree: ast.Module) -> str:
    """Takes the shape out of a last ``nn.Linear(8, 3)(5, 8)``, and returns it; empty for none.

    Raises:
        TextError: For numbers or words that are no shape.

    >>> tree = ast.parse("nn.Linear(8, 3)((5, 8))")
    >>> take_shape(tree), ast.unparse(tree)
    ('5x8', 'nn.Linear(8, 3)')
    """
    line = tree.body[-1] if tree.body else None
    if not isinstance(line, ast.Expr | ast.Assign) or not isinstance(line.value, ast.Call):
        return ""
    call = line.value
    first = call.args[0] if call.args else None
    sides = first.elts if isinstance(first, ast.Tuple) and len(call.args) == 1 else call.args
    plain = all(isinstance(side, ast.Constant | ast.Starred) for side in sides)
    if not isinstance(call.func, ast.Call) or not sides or call.keywords or not plain:
        return ""
    sizes = [side.value for side in sides if isinstance(side, ast.Constant)]
    whole = [size for size in sizes if type(size) is int and size > 0]
    if len(whole) < len(sides):
        raise error_at(sides[0], "a shape is several whole numbers, 1 or more", EXAMPLE)
    line.value = call.func
    return "x".join(map(str, whole))


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
    """Returns whether a node calls a class of ``torch.nn``, or a function that changes a layer."""
    name = _dotted_name(node.func).removeprefix("torch.") if isinstance(node, ast.Call) else ""
    last = name.rpartition(".")[2]
    return name.startswith("nn.") and (last[:1].isupper() or name.startswith("nn.utils."))


def _dotted_name(node: ast.expr) -> str:
    """Returns a name such as ``nn.Linear``; empty for what is more than names and dots."""
    if isinstance(node, ast.Attribute):
        before = _dotted_name(node.value)
        return before and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
