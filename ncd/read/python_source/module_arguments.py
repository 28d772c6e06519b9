"""Arguments of a class that are modules, or of which only the code and the type hints tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from torch import nn

from ncd.notation.term_reader import TextError
from ncd.read.python_source.interpreter import (
    BuiltinFunction,
    ClassValue,
    Interpreter,
    Scope,
    SourceException,
    SourceFunction,
    UnknownValue,
)
from ncd.read.python_source.other_files import NOT_MADE_REASON, ExternalModule, is_class_name
from ncd.read.python_source.source_tree import syntax_tree
from ncd.read.python_source.usual_sizes import NO_USUAL_VALUE, ROUND_WIDTH, usual_value

# --- Modules that a class takes as arguments, and a source does not give: boxes

NAMES = re.compile(
    r"(.*_)?(net|network|model|module|encoder|decoder|backbone|transformer|layer|block|generator|"
    r"embed|embedding|trunk|body|head|neck|attention|attn|ff|feed_forward|fn|sublayer|vit|unet|"
    r"mod|conv|func|function|criterion)"
)
NUMBERS = {  # by the type hint
    "float": 0.1,
    "bool": False,
    "int": 4,
    "list[float]": (0.5, 0.5, 0.5),
    "tuple[int, int]": (4, 4),
}


def is_part(machine: Interpreter, first: SourceFunction, name: str, scope: Scope) -> bool:
    """Returns whether an argument of an ``__init__`` is a module, by its type hint or its name."""
    hint = _hint(machine, first, name, scope)
    if hint is not None:
        return _is_class(hint)
    named = NAMES.fullmatch(name.lower()) is not None or _is_called(first, name)
    return usual_value(name) is NO_USUAL_VALUE and named


def _is_called(first: SourceFunction, name: str) -> bool:
    """Returns whether an object keeps an argument and a method of it calls what is kept."""
    kept = {
        ast.unparse(target)
        for target, value in _assignments(first.node)
        if isinstance(value, ast.Name) and value.id == name
    }
    methods = first.owner.names.values() if first.owner else ()
    nodes = [one.node for one in methods if isinstance(one, SourceFunction) and one is not first]
    calls = (one.func for node in nodes for one in ast.walk(node) if isinstance(one, ast.Call))
    return any(isinstance(f, ast.Attribute) and ast.unparse(f) in kept for f in calls)


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields what a function sets, with the values; two pairs for ``self.a, self.b = a, b``."""
    for one in ast.walk(node):
        for target in one.targets if isinstance(one, ast.Assign) else ():
            value = one.value  # type: ignore[attr-defined]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                yield from zip(target.elts, value.elts, strict=False)
            else:
                yield target, value


def of_hint(first: SourceFunction, name: str) -> Any:
    """Returns a usual value for an argument of which only the type hint tells; else UNKNOWN."""
    found = map(_of_alternative, _alternatives(_annotation(first, name)))
    return next((one for one in found if one is not NO_USUAL_VALUE), NO_USUAL_VALUE)


def of_text(first: SourceFunction, name: str) -> Any:
    """Returns None for an argument that is a text or nothing; UNKNOWN for another."""
    hint = _annotation(first, name)
    optional = hint is not None and re.search(r"\bOptional\b|\bNone\b", ast.unparse(hint))
    return None if optional and is_text(first, name) else NO_USUAL_VALUE


def is_text(first: SourceFunction, name: str) -> bool:
    """Returns whether an argument is a text, by its type hint."""
    found = [ast.unparse(one) for one in _alternatives(_annotation(first, name))]
    return bool(found) and {*found} == {"str"}


def _of_alternative(hint: ast.expr) -> Any:
    """Returns the usual value for one of the types of an argument, or UNKNOWN.

    >>> [_of_alternative(ast.parse(text, mode="eval").body)
    ...  for text in ("float", "Tuple[int, int, int]", "Literal['add', 'cat']", "list[float]")]
    [0.1, (4, 4, 4), 'add', (0.5, 0.5, 0.5)]
    """
    parts = hint.slice if isinstance(hint, ast.Subscript) else None
    listed = parts.elts if isinstance(parts, ast.Tuple) else [parts] if parts else []
    kind = ast.unparse(hint.value if isinstance(hint, ast.Subscript) else hint)
    kind = kind.rpartition(".")[2].lower()
    if kind == "literal" and isinstance(listed[0], ast.Constant):
        return listed[0].value
    if kind == "tuple" and listed and ast.unparse(listed[-1]) != "...":
        values = tuple(map(_of_alternative, listed))
        return NO_USUAL_VALUE if NO_USUAL_VALUE in values else values
    words = f"{kind}[{ast.unparse(parts).lower()}]" if parts else kind
    return NUMBERS.get(words, NO_USUAL_VALUE)


def _alternatives(hint: ast.expr | None) -> list[ast.expr]:
    """Returns the types that an argument may have, without None.

    >>> hint = ast.parse("Optional[Union[int, 'list[int]']] | Tensor", mode="eval").body
    >>> [ast.unparse(one) for one in _alternatives(hint)]
    ['int', 'list[int]', 'Tensor']
    """
    if isinstance(hint, ast.BinOp):
        return _alternatives(hint.left) + _alternatives(hint.right)
    if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
        try:
            return _alternatives(ast.parse(hint.value, mode="eval").body)
        except SyntaxError:
            return []
    if hint is None or (isinstance(hint, ast.Constant) and hint.value is None):
        return []
    if isinstance(hint, ast.Subscript):
        kind = ast.unparse(hint.value).rpartition(".")[2]
        parts = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
        if kind in ("Optional", "Union"):
            return [one for part in parts for one in _alternatives(part)]
    return [hint]


def as_hinted(first: SourceFunction, name: str, value: Any) -> Any:
    """Returns an assumed value, several sizes as a list where the type hint says so."""
    nodes = _alternatives(_annotation(first, name))
    kinds = [ast.unparse(one.value).lower() for one in nodes if isinstance(one, ast.Subscript)]
    listed = bool(kinds) and kinds[0].endswith("list")
    return list(value) if listed and type(value) is tuple else value


def _annotation(first: SourceFunction, name: str) -> ast.expr | None:
    given = first.node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return next((one.annotation for one in every if one.arg == name), None)


def part(machine: Interpreter, first: SourceFunction, name: str, scope: Scope) -> nn.Module:
    """Returns a box for such an argument, with the name of its class where a hint says it."""
    hint = _hint(machine, first, name, scope)
    title = hint.name if isinstance(hint, ClassValue | UnknownValue) else name
    with machine.building_module():
        return ExternalModule(machine, UnknownValue(title, NOT_MADE_REASON))


def _is_class(hint: Any) -> bool:
    """Returns whether a type hint is a class of modules, or one of another file."""
    if isinstance(hint, ClassValue):
        return hint.is_module
    if isinstance(hint, BuiltinFunction):
        return hint.name == "Callable"
    layer = isinstance(hint, type) and issubclass(hint, nn.Module)
    return layer or (isinstance(hint, UnknownValue) and is_class_name(hint))


def _hint(machine: Interpreter, first: SourceFunction, name: str, scope: Scope) -> Any:
    """Returns the value of the type hint of an argument; None if it has none that is known."""
    for node in _alternatives(_annotation(first, name)):
        if isinstance(node, ast.Name | ast.Attribute):
            try:
                return machine.value(node, first.scope)
            except (SourceException, TextError):
                continue
    return None


# --- Modules in a list that a class takes, and a source does not give: some boxes

COUNT = 2  # items of such a list
Loops = list[tuple[ast.expr, ast.expr, list[ast.AST]]]  # targets, what is gone through, bodies


def parts_in_list(machine: Interpreter, first: SourceFunction, name: str) -> nn.ModuleList | None:
    """Returns boxes for an argument whose items an object calls, alone or in pairs; else None.

    An item is taken apart as in ``for f, g in blocks``, or called, as in ``x = layer(x)``.
    """
    names = next((x for x in _items(first, name) if x), ())
    if not names:
        return None
    with machine.building_module():
        box = [
            lambda one=one: ExternalModule(machine, UnknownValue(one, NOT_MADE_REASON))
            for one in names
        ]
        made = ([make() for make in box] for _ in range(COUNT))
        return nn.ModuleList(x[0] if len(x) == 1 else nn.ModuleList(x) for x in made)


def _items(first: SourceFunction, name: str) -> Iterator[tuple[str, ...]]:
    """Yields the names of the modules in each item of an argument, wherever it is gone through."""
    for node in _methods(first):
        kept = _attributes_with(first, name) | ({name} if node is first.node else set())
        made = {
            one.targets[0].id: one.value
            for one in ast.walk(node)
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        }
        for target, through, body in _loops(node):
            through = made.get(through.id, through) if isinstance(through, ast.Name) else through
            item = _place(through, kept, target)
            parts = item.elts if isinstance(item, ast.Tuple) else [item]
            names = tuple(one.id for one in parts if isinstance(one, ast.Name))
            if len(names) == len(parts) and _are_modules(names, body):
                yield names


def _methods(first: SourceFunction) -> list[ast.AST]:
    methods = first.owner.names.values() if first.owner else ()
    return [first.node, *(x.node for x in methods if isinstance(x, SourceFunction) and x != first)]


def _attributes_with(first: SourceFunction, name: str) -> set[str]:
    """Returns where an object keeps an argument, perhaps as a list of modules."""
    kept = set()
    for target, value in _assignments(first.node):
        if isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if isinstance(value, ast.Name) and value.id == name:
            kept.add(ast.unparse(target))
    return kept


def _loops(node: ast.AST) -> Loops:
    found: Loops = [(x.target, x.iter, [*x.body]) for x in ast.walk(node) if isinstance(x, ast.For)]
    for one in ast.walk(node):
        if isinstance(one, ast.ListComp | ast.GeneratorExp):
            found += [(x.target, x.iter, [one.elt]) for x in one.generators]
    return found


def _place(through: ast.expr, kept: set[str], target: ast.expr) -> ast.expr | None:
    """Returns the part of a loop's target that holds an item of what is kept; None for another."""
    if ast.unparse(through) in kept:
        return target
    if not isinstance(through, ast.Call) or not isinstance(through.func, ast.Name):
        return None
    if through.func.id in ("list", "reversed", "tuple") and through.args:
        return _place(through.args[0], kept, target)
    before = [ast.expr()] if through.func.id == "enumerate" else []
    parts = [*before, *through.args] if before or through.func.id == "zip" else []
    targets = target.elts if isinstance(target, ast.Tuple) else [target] * len(parts)
    pairs = zip(targets, parts, strict=False)
    return next((x for x, part in pairs if part not in before and ast.unparse(part) in kept), None)


def _are_modules(names: tuple[str, ...], body: list[ast.AST]) -> bool:
    """Returns whether names stand for modules: one of them is called, or all are handed on."""
    calls = [one for node in body for one in ast.walk(node) if isinstance(one, ast.Call)]
    if any(isinstance(one.func, ast.Name) and one.func.id in names for one in calls):
        return True
    told = any(usual_value(one) is not NO_USUAL_VALUE and len(one) > 1 for one in names)
    handed = {x.id for one in calls for x in ast.walk(one) if isinstance(x, ast.Name)}
    return len(names) > 1 and not told and {*names} <= handed


# --- Values of arguments of which only the code and the type hints tell

WIDTH = 16  # of a first stage
SEQUENCE_HINT = re.compile(
    r"(typing\.)?(Sequence|Iterable|[Ll]ist|[Tt]uple)\[(int|float)(, \.\.\.)?\]$"
)
WIDTH_NAME = re.compile(r"channel|dims?$|width|filters|features|planes|hidden|sizes|chs$")


def of_choice(first: SourceFunction, name: str) -> Any:
    """Returns the first text that a class compares an argument with, or reads a table by."""
    asked = {name} | _attributes_with(first, name)
    for node in _methods(first):
        for one in ast.walk(node):
            if isinstance(one, ast.Compare) and ast.unparse(one.left) in asked:
                with_this = _named_list(first, one.comparators[0])
                words = (
                    with_this.elts if isinstance(with_this, ast.Tuple | ast.List) else [with_this]
                )
                for word in words:
                    if isinstance(word, ast.Constant) and isinstance(word.value, str):
                        return word.value
            table = one.value if isinstance(one, ast.Subscript) else None
            if table is not None and ast.unparse(one.slice) in asked:  # type: ignore[attr-defined]
                key = _first_key(first, table)
                if key is not None:
                    return key
    return NO_USUAL_VALUE


def _named_list(first: SourceFunction, node: ast.expr) -> ast.expr:
    """Returns the texts of a list of the source that a name stands for; else what is given."""
    scope = first.scope.find(node.id) if isinstance(node, ast.Name) else None
    value = scope.names[node.id] if scope is not None else None  # type: ignore[attr-defined]
    if not isinstance(value, tuple | list) or not all(isinstance(one, str) for one in value):
        return node
    return ast.Tuple([ast.Constant(one) for one in value])


def _first_key(first: SourceFunction, table: ast.expr) -> str | None:
    """Returns the first text by which a table of the source is read; None for another table."""
    scope = first.scope.find(table.id) if isinstance(table, ast.Name) else None
    value = scope.names[table.id] if scope is not None else None  # type: ignore[attr-defined]
    keys = [*value] if isinstance(value, dict) else []
    return keys[0] if keys and isinstance(keys[0], str) else None


def of_arithmetic(first: SourceFunction, name: str) -> Any:
    """Returns a number for an argument that an ``__init__`` reckons with; else UNKNOWN."""
    for one in ast.walk(first.node):
        sides = [one.left, one.right] if isinstance(one, ast.BinOp) else []
        if any(isinstance(side, ast.Name) and side.id == name for side in sides):
            return ROUND_WIDTH
    return NO_USUAL_VALUE


def attributes_read(first: SourceFunction, name: str) -> list[str]:
    """Returns the attributes that an ``__init__`` reads of an argument."""
    return [
        one.attr
        for one in ast.walk(first.node)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        if one.value.id == name
    ]


def of_question(first: SourceFunction, name: str) -> Any:
    """Returns false for an argument of which a class asks only whether it is true."""
    asked = {name} | _attributes_with(first, name)
    for node in _methods(first):
        for one in ast.walk(node):
            tests = [one.test] if isinstance(one, ast.If | ast.IfExp) else []
            tests += [one.operand] if isinstance(one, ast.UnaryOp) else []
            tests += one.values if isinstance(one, ast.BoolOp) else []
            if any(ast.unparse(test) in asked for test in tests):
                return False
    return NO_USUAL_VALUE


# --- Values of arguments of which a docstring tells, or another function that has them too

DEFAULT_WORDS = re.compile(r"[Dd]efaults?(?: is| to| value)?:?\s*[`'\"]*([\w.+-]+)")
TYPE_WORDS = re.compile(r"\b(int|integer|float|bool|boolean)\b", re.I)
OF_TYPES = {"int": 4, "integer": 4, "float": 0.1, "bool": False, "boolean": False}


def of_docstring(text: str, first: SourceFunction, name: str) -> Any:
    """Returns the value of an argument that a docstring tells, or one of its type; else UNKNOWN.

    Args:
        text: The source.
        first: The ``__init__`` that has the argument.
        name: The argument.
    """
    told = _paragraph(_docstrings(text).get(first.owner.name if first.owner else "", ""), name)
    if (default := DEFAULT_WORDS.search(told)) is not None:
        try:
            value = ast.literal_eval(default[1].rstrip("."))
        except (ValueError, SyntaxError):
            value = None
        if type(value) in (int, float, bool):
            return value
    kind = TYPE_WORDS.search(told.partition("\n")[0])
    return OF_TYPES[kind[1].lower()] if kind else NO_USUAL_VALUE


@lru_cache(maxsize=1)
def _docstrings(text: str) -> dict[str, str]:
    """Returns what the docstrings of each class and its ``__init__`` say, by its name."""
    found = {}
    for node in ast.walk(syntax_tree(text)):
        if isinstance(node, ast.ClassDef):
            parts = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            steps = (ast.get_docstring(one) for one in parts if one.name == "__init__")
            words = (ast.get_docstring(node), *steps)
            found[node.name] = "\n".join(filter(None, words))
    return found


def _paragraph(text: str, name: str) -> str:
    """Returns the lines of a docstring about an argument: its own, and those further in below.

    >>> _paragraph("Args:\\n  a (int): one\\n     of two\\n  b: x", "a")
    'a (int): one\\nof two'
    """
    begin = re.search(
        rf"^([ \t]*)(?:[-*] +)?(:param (?:\w+ )?)?[`*]*{re.escape(name)}[`*]*\s*[:(].*", text, re.M
    )
    if begin is None:
        return ""
    found = [begin[0].strip()]
    for line in text[begin.end() + 1 :].split("\n"):
        if not line.strip() or len(line) - len(line.lstrip()) <= len(begin[1]):
            break
        found.append(line.strip())
    return "\n".join(found)


@lru_cache(maxsize=1)
def defaults_elsewhere(text: str) -> dict[str, Any]:
    """Returns the plain defaults of arguments in all functions of a source, by their names.

    >>> defaults_elsewhere("def f(a, kind='x', n=3): pass\\ndef g(*, n=4, t=(1, 2)): pass")
    {'kind': 'x', 'n': 3, 't': (1, 2)}
    """
    found: dict[str, Any] = {}
    for node in ast.walk(syntax_tree(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        given = node.args
        plain = [*given.posonlyargs, *given.args]
        names = [*plain[len(plain) - len(given.defaults) :], *given.kwonlyargs]
        for one, default in zip(names, (*given.defaults, *given.kw_defaults), strict=True):
            try:
                value = ast.literal_eval(default or ast.Constant(None))
            except (ValueError, SyntaxError, TypeError):
                continue
            if value is not None:
                found.setdefault(one.arg, value)
    return found


def is_several(first: SourceFunction, name: str) -> bool:
    """Returns whether an ``__init__`` takes an argument for several things, and never for one."""
    hints = [ast.unparse(one) for one in _alternatives(_annotation(first, name))]
    if any(map(SEQUENCE_HINT.match, hints)):
        return not any(one in ("int", "float") for one in hints)
    used = False
    for one in ast.walk(first.node):
        given = [ast.unparse(x) for x in one.args] if isinstance(one, ast.Call) else []
        called = ast.unparse(one.func) if isinstance(one, ast.Call) else ""
        if (name in given and "tuple" in called) or (called == "isinstance" and name in given[:1]):
            return False  # one thing is made several
        through = [one.iter] if isinstance(one, ast.For | ast.comprehension) else []
        through += [one.value] if isinstance(one, ast.Subscript | ast.Starred) else []
        used = used or any(ast.unparse(x) == name for x in through)
        used = used or (name in given and called in ("len", "zip", "enumerate"))
    return used


def in_stages(name: str, size: Any) -> Any:
    """Returns several sizes for one: widths grow from stage to stage.

    >>> in_stages("strides", 1), in_stages("channels", 16)
    ((1, 1, 1), (16, 32, 64))
    """
    if type(size) not in (int, float) and size is not NO_USUAL_VALUE:
        return size
    if WIDTH_NAME.search(name):
        first = WIDTH if size is NO_USUAL_VALUE else max(size, WIDTH)
        return first, 2 * first, 4 * first
    return (COUNT if size is NO_USUAL_VALUE else size,) * 3
