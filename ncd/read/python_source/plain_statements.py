"""Statements on tensors without a class, as a class: what is drawn at random is its input."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from string import ascii_lowercase

NAME = "Statements"  # of the class
RANDOM_MAKERS = ("empty", "normal", "rand", "randint", "randn", "randperm")
CONSTANT_MAKERS = ("arange", "eye", "full", "linspace", "ones", "tensor", "zeros")
ENDS = ("backward", "step", "zero_grad", "print")  # calls that give no tensor
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Import, ast.ImportFrom)


@dataclass
class _StatementGroups:
    """The statements of a text: those before the class, and those of its two methods."""

    preamble: list[ast.stmt] = field(default_factory=list)
    inputs: dict[str, ast.expr] = field(default_factory=dict)
    parameters: dict[str, ast.expr] = field(default_factory=dict)
    body: list[ast.stmt] = field(default_factory=list)
    assigned_names: set[str] = field(default_factory=set)  # the names that the body sets
    results: list[str] = field(default_factory=list)  # the names that the last line gives

    def holds(self, name: str) -> bool:
        """Returns whether a name is set in the class."""
        return name in self.inputs or name in self.parameters or name in self.assigned_names


def as_class(tree: ast.Module) -> ast.Module:
    """Returns a text of plain statements on tensors as one with a class; others as they are.

    The class takes the arrays that are drawn at random, or without any those of ones and the like,
    learns those that are parameters, and gives what the last line makes. Nodes keep their places.

    >>> text = "x = torch.randn(2, 3); y = torch.softmax(x, -1)"
    >>> print(ast.unparse(as_class(ast.parse(text))))
    class Statements(nn.Module):
    <BLANKLINE>
        def __init__(self):
            super().__init__()
    <BLANKLINE>
        def forward(self, x):
            y = torch.softmax(x, -1)
            return y
    Statements()(torch.randn(2, 3))
    """
    if not all(isinstance(node, SIMPLE) for node in tree.body):
        return tree
    if any(_is_layer(node) for node in ast.walk(tree)):
        return tree
    named = _with_named_arrays(tree)
    parts = _sort_statements(named.body, RANDOM_MAKERS)
    if not parts.inputs:
        parts = _sort_statements(named.body, (*RANDOM_MAKERS, *CONSTANT_MAKERS))
    if not parts.inputs or not parts.body or not parts.results:
        return tree
    return _class_and_call(parts, named.body[-1])


def _with_named_arrays(tree: ast.Module) -> ast.Module:
    """Returns a text in which what is drawn at random within a statement has a name before it.

    >>> print(ast.unparse(_with_named_arrays(ast.parse("torch.rand(2) * torch.rand(3, 1)"))))
    a = torch.rand(2)
    b = torch.rand(3, 1)
    a * b
    """
    used = {*_names(tree)}
    free = (name for name in ascii_lowercase if name not in used)
    body: list[ast.stmt] = []
    for node in tree.body:
        _, value = _assignment(node)
        if value is None or not _is_made(value, RANDOM_MAKERS):
            namer = _ArrayNamer(free)
            node = namer.visit(deepcopy(node))
            body += namer.made
        body.append(node)
    return ast.Module(body, tree.type_ignores)


class _ArrayNamer(ast.NodeTransformer):
    """Puts names in the place of calls that draw an array; ``made`` sets them."""

    def __init__(self, free: Iterator[str]) -> None:
        self.free, self.made = free, list[ast.stmt]()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = next(self.free, None) if _is_made(node, RANDOM_MAKERS) else None
        if name is None:
            self.generic_visit(node)
            return node
        stored = ast.copy_location(ast.Name(name, ast.Store()), node)
        self.made.append(ast.copy_location(ast.Assign([stored], node), node))
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def _sort_statements(body: Iterable[ast.stmt], makers: tuple[str, ...]) -> _StatementGroups:
    """Returns the statements in their places; ``makers`` are the functions that make inputs."""
    parts = _StatementGroups()
    for node in (one for each in body for one in _split_assignment(each)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            parts.preamble.append(node)
            continue
        name, value = _assignment(node)
        free = not any(map(parts.holds, _loaded_names(node)))
        new = free and not parts.holds(name)
        if name and value is not None and new and _is_made(value, makers):
            kept = parts.parameters if _is_learned(value) else parts.inputs
            kept[name] = value
        elif name and value is not None and free and not _calls_torch(value):
            parts.preamble.append(node)
        elif not _ends(node):
            parts.body.append(node)
            parts.assigned_names |= _stored_names(node)
            parts.results = [name for name in _result_names(node) if name]
        elif shown := [name for name in _names(node) if name in parts.assigned_names]:
            parts.results = [*dict.fromkeys(shown)]
    return parts


def _split_assignment(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yields ``q, k = a, b`` as two assignments."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(
            names
        ) == len(values):
            stored = {name.id for name in names if isinstance(name, ast.Name)}
            if not stored & _loaded_names(node.value):
                for name, value in zip(names, values, strict=True):
                    yield ast.copy_location(ast.Assign([name], value), node)
                return
    yield node


def _class_and_call(parts: _StatementGroups, last: ast.stmt) -> ast.Module:
    """Returns the text with its class, and the call of it on the inputs."""
    text = f"class {NAME}(nn.Module):\n def __init__(self):\n  super().__init__()\n"
    text += "".join(f"  self.{name} = 0\n" for name in parts.parameters)
    text += f" def forward(self, {', '.join(parts.inputs)}):\n"
    text += "".join(f"  {name} = self.{name}\n" for name in parts.parameters)
    text += f"  return {', '.join(parts.results)}\n{NAME}()()\n"
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            ast.copy_location(node, last)
    made, call = tree.body
    assert isinstance(made, ast.ClassDef) and isinstance(call, ast.Expr)
    init, forward = made.body
    assert isinstance(init, ast.FunctionDef) and isinstance(forward, ast.FunctionDef)
    for node, value in zip(init.body[1:], parts.parameters.values(), strict=True):
        assert isinstance(node, ast.Assign)
        parameter = ast.parse("nn.Parameter", mode="eval").body
        node.value = value if _is_parameter(value) else ast.Call(parameter, [value], [])
        ast.fix_missing_locations(node)
    forward.body[-1:-1] = parts.body
    assert isinstance(call.value, ast.Call)
    call.value.args = [*parts.inputs.values()]
    tree.body[:0] = parts.preamble
    return tree


def _assignment(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """Returns the name that a statement sets, and its value."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            return name, value
    return "", None


def _result_names(node: ast.stmt) -> list[str]:
    """Returns the names that a statement sets; an expression is given one."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=several):
            targets = several
        case ast.AugAssign(target=one) | ast.AnnAssign(target=one):
            targets = [one]
        case ast.Expr():
            return [ast.unparse(node.value)]
    stored = (part for one in targets for part in ast.walk(one))
    return [part.id for part in stored if isinstance(part, ast.Name) and part.id != "_"]


def _is_made(value: ast.expr, makers: tuple[str, ...]) -> bool:
    """Returns whether an expression makes an array that depends on no other."""
    match value:
        case ast.Call(func=ast.Attribute(value=made, attr="requires_grad_" | "float" | "long")):
            return _is_made(made, makers)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="nn"), attr="Parameter"), args=[made]):
            return _is_made(made, (*makers, *RANDOM_MAKERS, *CONSTANT_MAKERS))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name)):
            return name in makers
    return False


def _is_parameter(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).endswith("nn.Parameter")


def _is_learned(value: ast.expr) -> bool:
    return _is_parameter(value) or "requires_grad" in ast.unparse(value)


def _is_layer(node: ast.AST) -> bool:
    """Returns whether a node is a class of ``torch.nn``, or makes a published model."""
    if isinstance(node, ast.Attribute) and node.attr in ("from_pretrained", "from_config"):
        return True
    is_class = isinstance(node, ast.Attribute) and node.attr[:1].isupper()
    base = node.value if isinstance(node, ast.Attribute) else None
    last = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
    return is_class and last == "nn" and getattr(node, "attr", "") != "Parameter"


def _calls_torch(value: ast.expr) -> bool:
    """Returns whether an expression may give a tensor."""
    return any(isinstance(part, ast.Call | ast.Lambda) for part in ast.walk(value))


def _ends(node: ast.stmt) -> bool:
    """Returns whether a line only prints, or ends a step of training."""
    call = node.value if isinstance(node, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    name = getattr(function, "id", "") or getattr(function, "attr", "")
    shown = isinstance(node, ast.Expr) and getattr(node.value, "attr", "") == "shape"
    return name in ENDS or shown or isinstance(call, ast.Constant)


def _names(node: ast.AST) -> list[str]:
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]


def _loaded_names(node: ast.AST) -> set[str]:
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {part.id for part in parts if isinstance(part.ctx, ast.Load)}


def _stored_names(node: ast.stmt) -> set[str]:
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {part.id for part in parts if isinstance(part.ctx, ast.Store)}
