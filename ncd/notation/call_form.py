"""The last line of a source as a form: the sizes in it, and the mode of its module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

# --- Places in a line of source: where its syntax nodes stand, and the arrays that it makes

MAKERS = ("randn", "rand", "zeros", "ones", "empty")  # of arrays, whose arguments are their sizes
Kind = Literal["value", "shape", "input", "line", "mode"]  # a line is a shape, as 1x16#50257


class CallPart(NamedTuple):
    """A part of a line: the letters before it and before its end, its name and its kind."""

    start: int
    end: int
    name: str
    kind: Kind


class Offsets:
    """The letters of a text before its syntax nodes, whose columns are counted in bytes."""

    def __init__(self, text: str, blanks: int, lines: int = 0, column: int = 0) -> None:
        self.lines = text.strip().split("\n")
        self.first, self.column = lines, column  # where it begins in the text of the nodes
        self.before = [blanks]
        for each in self.lines:
            self.before.append(self.before[-1] + len(each) + 1)

    def start(self, node: ast.expr) -> int:
        """Returns the letters before a node."""
        return self._letters(node.lineno - self.first, node.col_offset)

    def end(self, node: ast.expr) -> int:
        """Returns the letters before the end of a node."""
        return self._letters(
            (node.end_lineno or node.lineno) - self.first, node.end_col_offset or 0
        )

    def _letters(self, line: int, column: int) -> int:
        column -= self.column if line == 1 else 0
        own = self.lines[line - 1].encode()[:column].decode(errors="ignore")
        return self.before[line - 1] + len(own)


def array_sizes(node: ast.Call) -> list[ast.expr] | None:
    """Returns the sizes in a call that makes an array; none if they are no plain numbers.

    Returns None for another call.
    """
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    args: list[ast.expr] = node.args
    if name == "randint" and args and isinstance(args[-1], ast.Tuple | ast.List):
        args = args[-1:]
    elif name not in MAKERS:
        return None
    if len(args) == 1 and isinstance(args[0], ast.Tuple | ast.List):
        args = args[0].elts
    whole = all(isinstance(one, ast.Constant) and type(one.value) is int for one in args)
    return args if whole else []


def arrays_in(node: ast.expr, name: str) -> Iterator[tuple[ast.expr, str]]:
    """Yields the arrays in an argument, with their names: ``batch['mask']``, ``pair[0]``."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield from arrays_in(value, f"{name}[{key.value!r}]")
    elif isinstance(node, ast.List | ast.Tuple):
        for i, value in enumerate(node.elts):
            yield from arrays_in(value, f"{name}[{i}]")
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "SimpleNamespace":
        for word in node.keywords:
            yield from arrays_in(word.value, f"{name}.{word.arg}")
    elif isinstance(node, ast.Call):
        yield from [(node, name)] * (array_sizes(node) is not None)
    elif isinstance(node, ast.Constant) and node.value in (None, ...):
        yield node, name


# --- Lines that state what boxes give: ``Attention.result = torch.empty(1, 16, 64)``

RESULT = "result"  # the attribute of a box that they set


def result_of(node: ast.stmt) -> tuple[str, list[int]] | None:
    """Returns the name of a box and the shape that a line states for its result.

    Returns None for another line.

    >>> result_of(ast.parse("blocks.Gate.result = torch.empty(1, 8)").body[0])
    ('blocks.Gate', [1, 8])
    >>> result_of(ast.parse("self.result = torch.empty(n)").body[0])
    """
    match node:
        case ast.Assign(targets=[ast.Attribute(value=box, attr=name)], value=ast.Call() as made):
            sizes = array_sizes(made) if name == RESULT else None
            whole = [one.value for one in sizes or () if isinstance(one, ast.Constant)]
            if whole and all(type(n) is int and n > 0 for n in whole):
                return ast.unparse(box), [n for n in whole if type(n) is int]
    return None


def _without_results(line: str) -> str:
    """Returns a line without those before it that state results of boxes."""
    try:
        body = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return line.strip()
    rest = [node for node in body if result_of(node) is None]
    return "\n".join(line.strip().split("\n")[rest[0].lineno - 1 :]) if rest else line.strip()


# --- A last line with the shapes of the inputs of a source

SHAPE_LINE = re.compile(r"\s*#?\s*((?:inputs?|shapes?)\s*[:=]\s*)?(\(?[\dx×#, ()]+)\s*")
SHAPES = re.compile(r"\d{1,9}(x\d{1,9})*(#\d{1,9})?(, ?\d{1,9}(x\d{1,9})*(#\d{1,9})?)*")
TUPLE = re.compile(r"\((\d{1,9}(?:, ?\d{1,9})*),?\)")
SPACED_NUMBERS = re.compile(r"\d{1,9}( \d{1,9})+")


def shape_line(text: str) -> tuple[str, str]:
    """Returns a source without its last line if that is a shape, and the shape.

    >>> shape_line("class Net: ...\\n# 2x3x8x8"), shape_line("a = 1")
    (('class Net: ...\\n', '2x3x8x8'), ('a = 1', ''))
    """
    rest, _, last = text.rstrip().rpartition("\n")
    found = SHAPE_LINE.fullmatch(last)
    words = re.sub(r" *[x×] *", "x", found[2]).strip() if found else ""
    if SPACED_NUMBERS.fullmatch(words):
        words = words.replace(" ", "x")
    if whole := TUPLE.fullmatch(words):
        words = whole[1].replace(" ", "").replace(",", "x")
    if not rest or not SHAPES.fullmatch(words) or not re.search("[x#]", words):
        return text, ""
    return rest + "\n", words


# --- The last line of a source as a form: the sizes in it, which a page lets its reader change

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
        places = [CallPart(0, len(line), ", ".join(call.inputs), "line")]
    else:
        places = list(_places(line, call))
    if not places and _without_results(own) not in call.classes:
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
    stated = next(
        (i for i, one in enumerate(body[-2::-1]) if result_of(one) is None), len(body) - 1
    )
    first, last = body[-1 - stated].lineno, node.end_lineno or node.lineno
    before = body[-2 - stated] if len(body) > stated + 1 else None
    alone = before is None or (before.end_lineno or 0) < first
    own = "\n".join(source.split("\n")[first - 1 : last])
    plain = _without_results(own)
    continued = not call.line or plain in call.classes
    continued = continued or _without_results(call.line).startswith(plain)
    return (first, last, own) if alone and continued else behind


def _places(line: str, call: ModuleCall) -> Iterator[CallPart]:
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
    found, names = [], _names(calls, call) | _result_names(tree)
    inputs = iter((*call.inputs, *("input",) * len(calls)))
    for node, name in names.values():
        if isinstance(node, ast.Constant):
            kind: Kind = "value" if node.value is None else "input"
            found.append(CallPart(offset.start(node), offset.end(node), name, kind))
    for node in calls:
        if call.modes and (own := _mode(node, call.classes)) is not None:
            found.append(CallPart(offset.end(own[0]), offset.end(own[1]), "mode", "mode"))
        if (sizes := array_sizes(node)) is not None:
            name = names[id(node)][1] if id(node) in names else next(inputs)
            if sizes:
                start, end = offset.start(sizes[0]), offset.end(sizes[-1])
                end += line[end : end + 1] == "," and len(sizes) == 1  # of a tuple
                found.append(CallPart(start, end, name, "shape"))
        elif isinstance(node.func, ast.Name):
            for word in node.keywords:
                if word.arg and id(word.value) not in names and _is_literal(word.value):
                    start, end = offset.start(word.value), offset.end(word.value)
                    found.append(CallPart(start, end, word.arg, "value"))
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
        if any(isinstance(one, ast.Call) or one.value is ... for one, _ in given):  # type: ignore[attr-defined]
            found |= {id(one): (one, name) for one, name in given}
    return found


def _result_names(tree: ast.Module) -> dict[int, tuple[ast.expr, str]]:
    """Returns the arrays that state results of boxes, by their ids, with names for them."""
    stated = (node for node in tree.body if isinstance(node, ast.Assign) and result_of(node))
    return {
        id(node.value): (node.value, result_name(ast.unparse(node.targets[0]))) for node in stated
    }


def result_name(box: str) -> str:
    """Returns the name of a field for what a box gives.

    >>> result_name("blocks.Gate.result"), result_name("Gate")
    ('result of Gate', 'result of Gate')
    """
    return f"{RESULT} of {box.removesuffix(f'.{RESULT}').rpartition('.')[2]}"


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


def _is_literal(node: ast.expr) -> bool:
    """Returns whether an argument is a number, a text, a truth, or several of these."""
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(_is_literal, node.elts))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_literal(node.operand)
    return isinstance(node, ast.Constant)


def parts(line: str, places: list[CallPart], call: ModuleCall) -> Iterator[str | Field]:
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


# --- The line of a source that sets the mode of its module, as a form


def mode_form(text: str, call: ModuleCall) -> CallForm | None:
    """Returns the line that sets the mode of the module, where the last line does not call it.

    It is ``net.eval()``, or else the line that makes the module; None if there is neither, or the
    mode changes nothing.

    >>> call = ModuleCall(drawn="Net", modes="In training dropout sets 10% of the numbers to 0.")
    >>> form = mode_form("net = Net()\\ny = net(x)\\nprint(y)", call)
    >>> form.parts[0], form.fields[0].options
    ('net = Net()', (('training', ''), ('evaluation', '.eval()')))
    """
    if not call.modes:
        return None
    try:
        body = ast.parse(shape_line(text)[0]).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    statements = [*_statements(body)]
    sets = [each for each in statements if _sets_mode(each)]
    makes = [each for each in statements if isinstance(each, ast.Assign)]
    for each in (*reversed(sets), *reversed(makes)):
        first, last = each.lineno, each.end_lineno or each.lineno
        line = "\n".join(text.split("\n")[first - 1 : last])
        alone = line[: each.col_offset].isspace() or not each.col_offset
        places = [*_mode_places(each, line, call.drawn)] if alone else []
        if places:
            made = parts(line, places[:1], call)
            return CallForm(
                first,
                last,
                tuple(_with_explicit_mode(part) if each in sets else part for part in made),
            )
    return None


def _with_explicit_mode(part: str | Field) -> str | Field:
    """Returns a part of a line that does nothing but set the mode, so that it goes on to do so."""
    if isinstance(part, str):
        return part
    return replace(part, options=tuple((name, value or ".train()") for name, value in part.options))


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields the statements outside of classes and functions."""
    for each in body:
        if not isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield each
            yield from _statements(getattr(each, "body", []))


def _sets_mode(node: ast.stmt) -> bool:
    """Returns whether a statement is ``net.eval()`` or ``net.train()``."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Call) and _of_mode(value) and not value.args


def _of_mode(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("eval", "train")


def _mode_places(node: ast.stmt, line: str, drawn: str) -> Iterator[CallPart]:
    """Yields the place of the mode in a line: behind the call that makes the module, or a name."""
    offset = Offsets(line, len(line) - len(line.lstrip()), node.lineno - 1, node.col_offset)
    for each in ast.walk(node):
        if not isinstance(each, ast.Call):
            continue
        if _of_mode(each) and not each.args and isinstance(each.func, ast.Attribute):
            yield CallPart(offset.end(each.func.value), offset.end(each), "mode", "mode")
        elif isinstance(each.func, ast.Name) and each.func.id == drawn:
            yield CallPart(offset.end(each), offset.end(each), "mode", "mode")
