"""Reads one line of PyTorch as a term: a module with a shape, a chain, or an einsum.

Nothing is imported or run: the line is parsed by ``ast``, and each module has a handler here.
"""

from __future__ import annotations

import ast
import re
from math import prod
from typing import Any

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.errors import NCDError, nearest_name, shown
from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axis_kinds import Marked, seq, space
from ncd.ops import Einsum
from ncd.text.text_errors import TextError
from ncd.text.torch_modules import HANDLERS, NAMED, Arguments, Line

PATTERN = re.compile(r"[\w\s,.]+->[\w\s]*")
SHAPE = re.compile(r"\d{1,12}(?:\s*[x×,\s]\s*\d{1,12})*")
EINSUM = ("einsum", "torch.einsum")
EXAMPLE = "nn.Conv2d(3, 64, 7, stride=2, padding=3)(torch.randn(1, 3, 224, 224))"
DEEPEST = 20  # nested chains
MOST = 100  # modules of a line; the shapes are checked after each
PLACES = {  # dimensions of an image
    **{f"{kind}{n}d": n for kind in ("Conv", "MaxPool", "AvgPool") for n in (1, 2, 3)},
    "ConvTranspose2d": 2,
    "BatchNorm2d": 2,
    "GroupNorm": 2,
}


def read(text: str) -> Term | None:
    """Returns the term of a line of PyTorch, or None for any other text.

    >>> term = read("nn.Conv2d(3, 64, 7, stride=2, padding=3)(torch.randn(1, 3, 224, 224))")
    >>> [axis.size for axis in term.cod[0]]
    [1, 64, (112, 112)]

    Raises TextError for a module that is not known, or a shape that does not fit.
    """
    line = text.strip()
    if PATTERN.fullmatch(line):
        return _einsum(line)
    if not re.match(r"(torch\.)?(nn\.\w+|einsum)\(", line):
        return None
    lines = line.rsplit("\n", 1)
    last = lines[-1].strip("() ")
    shape = None
    if len(lines) == 2 and SHAPE.fullmatch(last):
        line, shape = lines[0], tuple(int(n) for n in re.findall(r"\d+", last))
    try:
        node = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        raise TextError(error.msg, error.lineno or 1, error.offset or 1, cure=EXAMPLE) from None
    except (ValueError, RecursionError, MemoryError):
        raise TextError("it is nested too deep", 1, 1, cure=EXAMPLE) from None
    return _term(node, shape)


def _term(node: ast.expr, shape: tuple[int, ...] | None) -> Term:
    """Returns the term of a call, which may be applied to an array."""
    if not isinstance(node, ast.Call):
        raise _error("it is no module", node)
    if _name(node.func) in EINSUM and node.args:
        return _einsum(str(_value(node.args[0])))
    if isinstance(node.func, ast.Call):  # nn.Linear(…)(x)
        shape = _shape(node.args[0]) if len(node.args) == 1 else _shape(ast.Tuple(node.args))
        node = node.func
    modules = list(_modules(node, 0))
    if len(modules) > MOST:
        raise _error(f"it has {len(modules):,} modules", node, f"{MOST} modules at most")
    line = Line()
    line.set(_axes(modules[0], shape))
    line.first = Id(" ".join(_written(name, mark) for name, mark in line.axes.items()))
    for name, arguments, place in modules:
        try:
            HANDLERS[name](line, arguments)
            line.term  # noqa: B018
        except NCDError as error:
            raise _error(f"nn.{name}: {error.fact}", place, error.cure) from None
        except (KeyError, TypeError, ValueError):
            raise _error(f"nn.{name} lacks an argument, or has a wrong one", place) from None
    return line.term


def _modules(node: ast.expr, depth: int) -> list[tuple[str, dict[str, Any], ast.expr]]:
    """Returns the modules of a chain in order, with their arguments by name."""
    name = _name(node.func) if isinstance(node, ast.Call) else ""
    name = name.removeprefix("torch.").removeprefix("nn.")
    if not isinstance(node, ast.Call) or depth > DEEPEST:
        raise _error("a module is expected here", node)
    if name == "Sequential":
        return [one for part in node.args for one in _modules(part, depth + 1)]
    if name not in HANDLERS:
        near = nearest_name(name, HANDLERS)
        raise _error(
            f"nn.{name[:40]} is not known here", node, f"nn.{near}" * (near in HANDLERS) or near
        )
    words = NAMED.get(name, ())
    if len(node.args) > len(words):
        raise _error(f"nn.{name} takes {len(words)} arguments in order", node)
    given = {word: _value(arg) for word, arg in zip(words, node.args, strict=False)}
    return [(name, given | {str(k.arg): _value(k.value) for k in node.keywords}, node)]


def _einsum(pattern: str) -> Term:
    """Returns an einsum; in a pattern without spaces each letter is an axis."""
    sides = pattern.replace("->", ",").split(",")
    spaced = any(" " in side.strip() for side in sides)
    text = pattern if spaced else re.sub(r"(?<=\w)(?=\w)", " ", pattern)
    try:
        term = Einsum(text)
    except NCDError as error:
        raise TextError(f"einsum: {error.fact}", 1, 1, cure=error.cure) from None
    return Axes(**{axis.name: 8 for axis in term.dom.axes if axis.name.isidentifier()})(term)


def _axes(
    first: tuple[str, Arguments, ast.expr], shape: tuple[int, ...] | None
) -> dict[str, Marked]:
    """Returns the axes of the input array, as the first module needs them."""
    name, arguments, place = first
    if name in PLACES:
        n = PLACES[name]
        given = (arguments.get(key) for key in ("in_channels", "num_features", "num_channels"))
        channels = next((size for size in given if size is not None), 16)
        shape = shape or (1, channels, *[32] * n)
        if len(shape) not in (n + 1, n + 2):
            raise _error(f"nn.{name} takes {n + 1} or {n + 2} dimensions, not {len(shape)}", place)
        lead = {"b": Marked(shape[0])} if len(shape) == n + 2 else {}
        return {**lead, "c": Marked(shape[-n - 1]), "x": space(*shape[-n:])}
    if name == "Embedding":
        shape = shape or (1, 16)
        return {"b": Marked(prod(shape[:-1])), "t": seq(shape[-1])}
    last = arguments.get("in_features", arguments.get("normalized_shape", 16))
    shape = shape or (8, last)
    names = ["b", *(f"t{i or ''}" for i in range(len(shape) - 2)), "m"][-len(shape) :]
    return {name: Marked(n) for name, n in zip(names, shape, strict=True)}


def _written(name: str, mark: Marked) -> str:
    return f"~{name}" if mark.sequence else name


def _name(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _value(node: ast.expr) -> Any:
    """Returns a number, a text, or a tuple of them."""
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_value, node.elts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand)
        if isinstance(value, int | float):
            return -value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | None):
        return node.value
    raise _error(f"{shown(ast.unparse(node))} is not a number", node)


def _shape(node: ast.expr) -> tuple[int, ...]:
    """Returns a shape from ``torch.randn(1, 3)``, ``(1, 3)`` or ``1, 3``."""
    if isinstance(node, ast.Call):
        node = node.args[0] if len(node.args) == 1 else ast.Tuple(node.args)
    found = _value(node)
    shape = found if isinstance(found, tuple) else (found,)
    if not shape or not all(type(n) is int and n > 0 for n in shape):
        raise TextError("a shape is several whole numbers", 1, 1, cure="(1, 3, 224, 224)")
    return shape


def _error(fact: str, node: ast.AST, cure: str = EXAMPLE) -> TextError:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end = getattr(node, "end_lineno", line) or line, (getattr(node, "end_col_offset", 0) or 0) + 1
    return TextError(fact, line, column + 1, end, cure)
