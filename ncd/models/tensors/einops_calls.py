"""Calls of einops in Python syntax, parsed but not executed."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from ncd.lang.errors import ParseError
from ncd.lang.near_names import nearest_name
from ncd.models.tensors.pattern_terms import REDUCTIONS, Call

FUNCTIONS = ("rearrange", "reduce", "repeat")
LONGEST = 300  # letters
MOST = 4  # calls in each other
LENGTH = 100_000  # of an axis
EXAMPLE = 'rearrange(ims, "b h w c -> h (b w) c")'
Span = tuple[int, int]


class CallError(ParseError):
    """An error in a call; ``spans`` are its start and end positions in the text.

    ``message`` is what einops says of it, if it does.
    """

    def __init__(self, fact: str, *spans: Span, cure: str = "", message: str = "") -> None:
        super().__init__(fact, cure=cure)
        self.spans, self.message = spans, message


@dataclass(frozen=True)
class Written:
    """Calls in running order, on the whole input or on its first image, ``ims[0]``.

    ``spans`` and ``patterns`` are the places of each call and of its pattern in the text.
    """

    given: str
    first: bool
    calls: tuple[Call, ...]
    spans: tuple[Span, ...]
    patterns: tuple[Span, ...]


def read(text: str, inputs: Collection[str]) -> Written:
    """Parses a line such as ``y = reduce(ims, "b h w c -> h w c", "mean")``.

    >>> found = read('rearrange(ims[0], "h w c -> w h c").shape', ["ims"])
    >>> found.given, found.first, found.calls[0].pattern
    ('ims', True, 'h w c -> w h c')
    >>> found.patterns
    ((19, 33),)

    Raises CallError for all but calls of einops' three functions on one of the inputs.
    """
    text = text.replace("\n", " ").strip()
    if len(text) > LONGEST:
        raise CallError(
            f"it has {len(text):,} letters, and {LONGEST} are read", (LONGEST, len(text))
        )
    return _Reader(text, tuple(inputs)).read()


@dataclass
class _Reader:
    text: str
    inputs: tuple[str, ...]

    def read(self) -> Written:
        node = self._parsed()
        found: list[tuple[Call, Span, Span]] = []
        while isinstance(node, ast.Call):
            call, pattern = self._call(node)
            found.insert(0, (call, self._span(node.func), pattern))
            if len(found) > MOST:
                raise self._wrong(node, f"more than {MOST} calls stand in each other")
            node = node.args[0]
        given, first = self._input(node)
        if not found:
            cure = f'rearrange({self.text}, "b h w c -> b c h w")'
            raise self._wrong(node, "nothing is done with it", cure)
        calls, spans, patterns = zip(*found, strict=True)
        return Written(given, first, calls, spans, patterns)

    def _parsed(self) -> ast.expr:
        """Returns the syntax tree of the line, without an assignment and ``.shape``."""
        try:
            lines = ast.parse(self.text).body
        except SyntaxError as error:
            at = min(max(0, (error.offset or 1) - 1), len(self.text) - 1)
            raise CallError(
                f"Python cannot read it: {error.msg}", (at, at + 1), cure=EXAMPLE
            ) from None
        except (ValueError, MemoryError, RecursionError):
            raise CallError("Python cannot read it", self._whole, cure=EXAMPLE) from None
        line = lines[0] if len(lines) == 1 else None
        if not isinstance(line, ast.Expr | ast.Assign):
            raise CallError("it is not one line with one value", self._whole, cure=EXAMPLE)
        value = line.value
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            value = value.value
        return value

    @property
    def _whole(self) -> Span:
        return 0, len(self.text)

    def _span(self, node: ast.expr) -> Span:
        """Returns the position of a part in characters; Python counts bytes."""
        data = self.text.encode()
        start, end = (len(data[:n].decode()) for n in (node.col_offset, node.end_col_offset or 0))
        return start, end

    def _wrong(self, node: ast.expr, fact: str, cure: str = "") -> CallError:
        return CallError(fact, self._span(node), cure=cure)

    def _input(self, node: ast.expr) -> tuple[str, bool]:
        first = isinstance(node, ast.Subscript)
        name = node.value if isinstance(node, ast.Subscript) else node
        known = ", ".join((*self.inputs, f"{self.inputs[0]}[0]"))
        if not isinstance(name, ast.Name) or name.id not in self.inputs:
            raise self._wrong(node, "there is no such array here", f"one of {known}")
        if isinstance(node, ast.Subscript):
            place = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if name.id != self.inputs[0] or place != 0 or isinstance(place, bool):
                raise self._wrong(node, f"of all parts there is only {self.inputs[0]}[0]", known)
        return name.id, first

    def _call(self, node: ast.Call) -> tuple[Call, Span]:
        """Parses a call; returns it with the position of its pattern."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if isinstance(node.func, ast.Attribute):
            fact = "an array is only named here, and its shape is not read"
            raise self._wrong(node, fact, "a name, and its shape on a line below, such as 2x3")
        if name not in FUNCTIONS:
            cure = nearest_name(name, FUNCTIONS)
            raise self._wrong(node.func, "there is no such function here", cure)
        wanted = 3 if name == "reduce" else 2
        if len(node.args) != wanted:
            what = 'an array, a pattern and a reduction such as "max"'
            raise self._wrong(
                node,
                f"{name} takes {what if wanted == 3 else 'an array and a pattern'}",
                'reduce(ims, "b h w c -> h w c", "mean")' if wanted == 3 else EXAMPLE,
            )
        pattern, how = node.args[1], name
        if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
            raise self._wrong(pattern, "the pattern is a text in quotes", '"b h w c -> b c h w"')
        if wanted == 3:
            how = self._reduction(node.args[2])
        lengths = tuple(self._length(keyword) for keyword in node.keywords)
        return Call(how, pattern.value, lengths), self._inside(pattern, pattern.value)

    def _reduction(self, node: ast.expr) -> str:
        known = ", ".join(f'"{name}"' for name in REDUCTIONS)
        if not isinstance(node, ast.Constant) or node.value not in REDUCTIONS:
            raise self._wrong(node, "it is none of the reductions here", f"one of {known}")
        return str(node.value)

    def _length(self, keyword: ast.keyword) -> tuple[str, int]:
        node = keyword.value
        if keyword.arg is None:
            raise self._wrong(node, "lengths are given one by one", "h1=2")
        size = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= LENGTH:
            fact = f"the length of {keyword.arg} is a whole number from 1 to {LENGTH:,}"
            raise self._wrong(node, fact, f"{keyword.arg}=2")
        return keyword.arg, size

    def _inside(self, node: ast.expr, value: str) -> Span:
        """Returns the position of the pattern between its quotes."""
        start, end = self._span(node)
        at = self.text[start:end].find(value)
        return (start + at, start + at + len(value)) if at > 0 else (start, end)
