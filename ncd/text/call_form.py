"""The last line of a source as a form: the sizes in it, which a page lets its reader change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ncd.text.line_places import Kind, Offsets, Place, array_sizes, arrays_in
from ncd.text.shape_lines import shape_line

PART = re.compile(r"[.\[]")  # behind the name of an input that has parts
BLANK = "..."  # stands for a value that is not known


@dataclass(frozen=True)
class ModuleCall:
    """The way in which the module of a source is made and called.

    Args:
        line: The last line with all that is assumed; empty if nothing is. What is not known is
            written ``...``.
        assumed: The names of arguments and inputs that are assumed.
        inputs: The names of the inputs, in their order.
        drawn: The class of the module.
        classes: The classes that could be drawn, the most complete one first.
        training: The mode that the source leaves the module in.
        modes: What its mode means for this module, in a sentence; empty if nothing.
        refused: Whether it is in evaluation because it cannot be read in training.

    Source: this project's own, for the form beside the answer to a source.
    """

    line: str = ""
    assumed: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    drawn: str = ""
    classes: tuple[str, ...] = ()
    training: bool = True
    modes: str = ""
    refused: bool = False


def call_of(data: Mapping[str, Any]) -> ModuleCall:
    """Returns a call from its fields, as JSON has them."""
    fields: dict[str, Any] = {n: tuple(x) if type(x) is list else x for n, x in data.items()}
    return ModuleCall(**fields)


@dataclass(frozen=True)
class Field:
    """A part of a line that can be changed: its name, its kind, its text, and if it is assumed.

    ``options`` are the values between which one chooses, each with its name.
    """

    name: str
    kind: Kind
    value: str
    assumed: bool = False
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CallForm:
    """The last line of a source in parts, of which some are fields.

    Args:
        first: The first line of the source whose place it takes, from 1.
        last: The last such line; one less than ``first`` if it is added.
        parts: The line: texts, and fields between them.

    Source: this project's own.
    """

    first: int
    last: int
    parts: tuple[str | Field, ...] = field(default_factory=tuple)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields, in the order of the line."""
        return tuple(each for each in self.parts if isinstance(each, Field))


def call_form(text: str, call: ModuleCall) -> CallForm:
    """Returns the last line of a source as a form; it has no fields if it holds no sizes.

    >>> call = ModuleCall("Net(dim=64)(torch.randn(1, 8))", ("dim", "x"), ("x",))
    >>> form = call_form("class Net(nn.Module): ...", call)
    >>> form.first, form.last, form.parts[:2]
    (2, 1, ('Net(dim=', Field(name='dim', kind='value', value='64', assumed=True, options=())))
    >>> call_form("Net()(torch.randn(2, 8))", ModuleCall(inputs=("x",))).fields
    (Field(name='x', kind='shape', value='2, 8', assumed=False, options=()),)
    """
    source, shapes = shape_line(text)
    first, last, own = _last_line(source, call)
    if shapes:
        count = len(text.rstrip().split("\n"))
        first, last, own = count, count, text.rstrip().rpartition("\n")[2]
    line = call.line or own
    if shapes and not call.line:
        places = [Place(0, len(line), ", ".join(call.inputs), "line")]
    else:
        places = list(_places(line, call))
    if not places and own.strip() not in call.classes:
        return CallForm(*_behind(source))
    return CallForm(first, last, tuple(parts(line, places, call)))


def _behind(source: str) -> tuple[int, int]:
    """Returns the first and the last line behind a source."""
    count = len(source.rstrip().split("\n"))
    return count + 1, count


def _last_line(source: str, call: ModuleCall) -> tuple[int, int, str]:
    """Returns the lines of the last statement and its text, or those behind the source.

    What is assumed takes the place of a line that it continues, or of the name of a class.
    """
    behind = *_behind(source), ""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return behind
    node = body[-1] if body else None
    if not isinstance(node, ast.Expr | ast.Assign):
        return behind
    first, last = node.lineno, node.end_lineno or node.lineno
    alone = len(body) < 2 or (body[-2].end_lineno or 0) < first
    own = "\n".join(source.split("\n")[first - 1 : last])
    continued = not call.line or own.strip() in call.classes or call.line.startswith(own.strip())
    return (first, last, own) if alone and continued else behind


def _places(line: str, call: ModuleCall) -> Iterator[Place]:
    """Yields the places of the fields in a line, in their order."""
    try:
        tree = ast.parse(line.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    offset = Offsets(line, len(line) - len(line.lstrip()))
    calls = sorted(
        (node for node in ast.walk(tree) if isinstance(node, ast.Call)),
        key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0),
    )
    found = []
    names = _names(calls, call)
    inputs = iter((*call.inputs, *("input",) * len(calls)))
    for node, name in names.values():
        if isinstance(node, ast.Constant):
            found.append(Place(offset.start(node), offset.end(node), name, "value"))
    for node in calls:
        if call.modes and (own := _mode(node, call.classes)) is not None:
            found.append(Place(offset.end(own[0]), offset.end(own[1]), "mode", "mode"))
        if (sizes := array_sizes(node)) is not None:
            name = names[id(node)][1] if id(node) in names else next(inputs)
            if sizes:
                start, end = offset.start(sizes[0]), offset.end(sizes[-1])
                end += line[end : end + 1] == "," and len(sizes) == 1  # of a tuple
                found.append(Place(start, end, name, "shape"))
        elif isinstance(node.func, ast.Name):
            for word in node.keywords:
                if word.arg and _plain(word.value):
                    start, end = offset.start(word.value), offset.end(word.value)
                    found.append(Place(start, end, word.arg, "value"))
    yield from sorted(found)


def _names(calls: list[ast.Call], call: ModuleCall) -> dict[int, tuple[ast.expr, str]]:
    """Returns the arrays, and the ``None`` in the place of one, that a module is called on.

    Each has the name of its input, with the key or the place in it.
    """
    found: dict[int, tuple[ast.expr, str]] = {}
    for node in calls:
        of_class = isinstance(node.func, ast.Name) and node.func.id in (*call.classes, call.drawn)
        if of_class or array_sizes(node) is not None or isinstance(node.func, ast.Attribute):
            continue
        named = [(word.arg or "", word.value) for word in node.keywords]
        given = [
            each
            for name, value in (*zip(call.inputs, node.args, strict=False), *named)
            for each in arrays_in(value, name)
        ]
        if any(isinstance(one, ast.Call) for one, _ in given):
            found |= {id(one): (one, name) for one, name in given}
    return found


def _mode(node: ast.Call, classes: tuple[str, ...]) -> tuple[ast.expr, ast.expr] | None:
    """Returns the module that is called, alone and with ``.eval()``; None for another call."""
    module = node.func
    if not node.args or not isinstance(module, ast.Call | ast.Name):
        return None
    if isinstance(module, ast.Name):
        outside = module.id in (*classes, "print") or not module.id.islower()
        return None if outside else (module, module)
    inner = module.func
    if isinstance(inner, ast.Attribute) and inner.attr in ("eval", "train") and not module.args:
        return inner.value, module
    return module, module


def _plain(node: ast.expr) -> bool:
    """Returns whether an argument is a number, a text, a truth, or several of these."""
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(_plain, node.elts))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _plain(node.operand)
    return isinstance(node, ast.Constant)


def parts(line: str, places: list[Place], call: ModuleCall) -> Iterator[str | Field]:
    """Yields the parts of a line, its fields at their places."""
    done = 0
    for start, end, name, kind in places:
        yield line[done:start]
        value = line[start:end]
        assumed = PART.split(name)[0] in call.assumed
        options = _options(value, call) if kind == "mode" else ()
        yield Field(name, kind, "" if value == BLANK else value, assumed, options)
        done = end
    yield line[done:]


def _options(value: str, call: ModuleCall) -> tuple[tuple[str, str], ...]:
    """Returns the modes that a module can have, with what is written for each of them.

    What is written now stands for the mode in which it is.
    """
    if call.training:
        return ("training", value), ("evaluation", ".eval()")
    training = "" if value == ".eval()" else ".train()"
    return (("training", training),) * (not call.refused) + (("evaluation", value),)
