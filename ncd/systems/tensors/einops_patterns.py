"""Calls of einops parsed, their patterns as terms, and the system that shows them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod
from typing import NamedTuple

from ncd.circuit.knob import Knob
from ncd.errors import ParseError
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.terms import Id, Term
from ncd.ops import Einsum, Group, Index, Map, Reduce, Rename, Split
from ncd.systems.catalogue_entry import Entry
from ncd.words import nearest_name

# --- einops patterns as terms that split, permute, merge, reduce and repeat axes

REDUCTIONS = ("max", "mean", "min", "sum")
ELLIPSIS = "..."
_GROUP = re.compile(r"\((?P<several>[^()]*)\)|(?P<one>[^\s()]+)")


class PatternWord(NamedTuple):
    """A word of a pattern; ``occurrence`` distinguishes numbers, and the axes of an ellipsis."""

    text: str
    occurrence: int = 0


Parts = tuple[PatternWord, ...]  # of one axis; none for an axis of length 1


@dataclass(frozen=True)
class EinopsCall:
    """One call: "rearrange", "repeat" or a reduction, its pattern, and lengths by name."""

    operation: str
    pattern: str
    lengths: tuple[tuple[str, int], ...] = ()

    def sides(self, axes: int) -> tuple[tuple[Parts, ...], tuple[Parts, ...]]:
        """Returns the parts of each axis on both sides, for an array with this many axes.

        >>> left, right = EinopsCall("rearrange", "(h h1) ... -> h ... 1").sides(2)
        >>> [[part.text for part in axis] for axis in (*left, *right)]
        [['h', 'h1'], ['...'], ['h'], ['...'], []]
        """
        left, right = self.pattern.split("->")
        numbers = count(1)
        rest = axes - len(_read(left, 1, numbers)) + 1
        return _read(left, rest, numbers), _read(right, rest, numbers)

    def places(self, axes: int) -> tuple[tuple[int, int], ...]:
        """Returns the start and end of each left axis in the pattern.

        >>> EinopsCall("rearrange", "(h h1) ... -> h ... 1").places(3)
        ((0, 6), (7, 10), (7, 10))
        """
        found = list(_GROUP.finditer(self.pattern.split("->")[0]))
        rest = axes - len(found) + 1
        return tuple(at.span() for at in found for _ in range(rest if at[0] == ELLIPSIS else 1))

    def sizes(self, shape: Sequence[int]) -> dict[PatternWord, int]:
        """Returns the length of every part, for an array of this shape.

        >>> call = EinopsCall("max", "(h h1) c -> h c", (("h1", 2),))
        >>> {part.text: size for part, size in call.sizes((6, 3)).items()}
        {'h': 3, 'h1': 2, 'c': 3}
        """
        left, right = self.sides(len(shape))
        given = dict(self.lengths)
        found: dict[PatternWord, int] = {}
        for parts, size in zip(left, shape, strict=True):
            known = [_part_length(part, given) for part in parts]
            rest = size // prod(n or 1 for n in known)
            found |= {part: n or rest for part, n in zip(parts, known, strict=True)}
        return found | {
            part: _part_length(part, given) or 1
            for parts in right
            for part in parts
            if part not in found
        }


def _part_length(part: PatternWord, lengths: dict[str, int]) -> int | None:
    """Returns the length of a part: its number as written, or that of its name; else None."""
    return int(part.text) if part.text.isdecimal() else lengths.get(part.text)


def _read(side: str, rest: int, numbers: count[int]) -> tuple[Parts, ...]:
    """Returns the axes of one side; an ellipsis stands for ``rest`` axes."""
    dots = tuple(PatternWord(ELLIPSIS, i) for i in range(rest))
    axes: list[Parts] = []
    for found in _GROUP.finditer(side):
        if found["one"] == ELLIPSIS:
            axes += [(dot,) for dot in dots]
            continue
        parts: list[PatternWord] = []
        for word in (found["one"] or found["several"]).split():
            number = word.isdecimal()
            if word == ELLIPSIS:
                parts += dots
            elif not number or int(word) != 1:
                parts.append(PatternWord(word, next(numbers) if number else 0))
        axes.append(tuple(parts))
    return tuple(axes)


def einops_term(shape: Sequence[int], calls: Sequence[EinopsCall], names: str = "") -> Term:
    """Returns a term that applies the calls in order to an array of these sizes.

    The array has the names that the first pattern gives it, or ``names`` if it begins with the
    first of several: of ``"b h w c"`` the place 0 of b is taken. The patterns are valid ones:
    einops takes them.

    >>> call = EinopsCall("max", "(h h1) (w w1) c -> c h w", (("h1", 2), ("w1", 2)))
    >>> einops_term((4, 6, 3), [call]).cod.spec
    'c:3 h:2 w:3'
    """
    made = _Names()
    if names:
        axes = [made.fresh(name, n) for name, n in zip(names.split(), shape, strict=True)]
        first = axes[0]
        term: Term = Id(Type((Array(axes),))) >> Index(
            _pattern([Array((first,))], [Array()]), {first.name: 0}
        )
    else:
        left, _ = calls[0].sides(len(shape))
        sizes = calls[0].sizes(shape)
        named = Array(
            made.input_axis(parts, n, sizes) for parts, n in zip(left, shape, strict=True)
        )
        term = Id(Type((named,)))
    for call in calls:
        term = _Stage(call, made).apply_to(term)
    return term


@dataclass
class _Names:
    """Names of a term's axes: each is unique, and its label is the written name."""

    used_names: set[str] = field(default_factory=set)

    def fresh(self, said: str, size: int, shown: str = "") -> Axis:
        names = (said, *(f"{said}_{n}" for n in range(2, len(self.used_names) + 3)))
        name = next(name for name in names if name not in self.used_names)
        self.used_names.add(name)
        return Axis(name, size, label="" if name == (shown or said) else shown or said)

    def product_axis(self, several: Sequence[Axis]) -> Axis:
        """Returns the product of some axes: h·w."""
        size = prod(axis.numel for axis in several)
        said = "".join(axis.identifier for axis in several)
        shown = "·".join(axis.label or axis.name for axis in several)
        return self.fresh(said[:40], size, shown[:40])

    def input_axis(self, parts: Parts, size: int, sizes: dict[PatternWord, int]) -> Axis:
        """Returns an axis of the input array, as the first pattern describes it."""
        if not parts:
            return self.fresh("one", size, "1")
        words = [part.text.replace(ELLIPSIS, "rest") for part in parts]
        return self.product_axis(
            [Axis(word, sizes[p]) for word, p in zip(words, parts, strict=True)]
        )


@dataclass
class _Stage:
    """One call on the array that a term returns; ``part_axes`` are the axes of its parts."""

    call: EinopsCall
    names: _Names
    part_axes: dict[PatternWord, Axis] = field(default_factory=dict)

    def apply_to(self, term: Term) -> Term:
        array = term.cod[0]
        left, right = self.call.sides(len(array))
        sizes = self.call.sizes(array.shape)
        steps = [
            step
            for parts, axis in zip(left, array, strict=True)
            for step in self._axis_steps(parts, axis, sizes)
        ]
        kept = {part for parts in right for part in parts}
        ended = [self.part_axes[part] for parts in left for part in parts if part not in kept]
        if ended:
            steps.append(Reduce(_pattern([Array(ended)], [Array()]), self.call.operation))
        for step in steps:
            term = term >> step
        return self._build_output(term, right, sizes)

    def _axis_steps(self, parts: Parts, axis: Axis, sizes: dict[PatternWord, int]) -> list[Term]:
        """Returns the steps that rename, split or reduce an axis."""
        if not parts:
            return [Index(_pattern([Array((axis,))], [Array()]), {axis.name: 0})]
        if len(parts) == 1 and parts[0].text in (ELLIPSIS, axis.display_name):
            self.part_axes[parts[0]] = axis
            return []
        for part in parts:
            self.part_axes[part] = self._part(part, sizes[part])
        pattern = _pattern([Array((axis,))], [Array(self.part_axes[part] for part in parts)])
        return [Rename(pattern) if len(parts) == 1 else Split(pattern)]

    def _part(self, part: PatternWord, size: int) -> Axis:
        name = f"n{part.text}" if part.text.isdecimal() else part.text
        return self.names.fresh(name, size, part.text)

    def _build_output(
        self, term: Term, right: tuple[Parts, ...], sizes: dict[PatternWord, int]
    ) -> Term:
        """Returns the steps that add axes, order all axes as on the right, and merge them."""
        new: list[Axis] = []
        order: list[Axis] = []
        for parts in right:
            if not parts:
                new.append(self.names.fresh("one", 1, "1"))
                order.append(new[-1])
            for part in parts:
                if part not in self.part_axes:
                    self.part_axes[part] = self._part(part, sizes[part])
                    new.append(self.part_axes[part])
                order.append(self.part_axes[part])
        term = _repeat_and_order(term, new, order)
        for several in (
            [self.part_axes[part] for part in parts] for parts in right if len(parts) > 1
        ):
            whole = self.names.product_axis(several)
            term = term >> Group(_pattern([Array(several)], [Array((whole,))]))
        return term


def _repeat_and_order(term: Term, new: Sequence[Axis], order: Sequence[Axis]) -> Term:
    """Returns the steps that repeat the array along new axes and order all axes."""
    array = term.cod[0]
    if not new and array.names == tuple(axis.name for axis in order):
        return term
    for axis in new:  # ones, whose product with the array is its repetition
        term = term >> Id(term.cod) @ Map(_pattern([], [Array((axis,))]), "1", "1")
    return term >> Einsum(_pattern(term.cod, [Array(order)]))


def _pattern(takes: Iterable[Array], gives: Iterable[Array]) -> Signature:
    return Signature(Type(takes), Type(gives))


# --- Calls of einops in Python syntax, parsed but not executed

FUNCTIONS = ("rearrange", "reduce", "repeat")
LONGEST = 300  # letters
MAX_NESTED_CALLS = 4  # calls in each other
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
class EinopsLine:
    """Calls in running order, on the whole input or on its first image, ``ims[0]``.

    ``spans`` and ``patterns`` are the places of each call and of its pattern in the text.
    """

    input_name: str
    uses_first_image: bool
    calls: tuple[EinopsCall, ...]
    spans: tuple[Span, ...]
    patterns: tuple[Span, ...]


def read(text: str, inputs: Collection[str]) -> EinopsLine:
    """Parses a line such as ``y = reduce(ims, "b h w c -> h w c", "mean")``.

    >>> found = read('rearrange(ims[0], "h w c -> w h c").shape', ["ims"])
    >>> found.input_name, found.uses_first_image, found.calls[0].pattern
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
    return _PatternReader(text, tuple(inputs)).read()


@dataclass
class _PatternReader:
    text: str
    inputs: tuple[str, ...]

    def read(self) -> EinopsLine:
        node = self._parse_line()
        found: list[tuple[EinopsCall, Span, Span]] = []
        while isinstance(node, ast.Call):
            call, pattern = self._call(node)
            found.insert(0, (call, self._span(node.func), pattern))
            if len(found) > MAX_NESTED_CALLS:
                raise self._call_error(
                    node, f"more than {MAX_NESTED_CALLS} calls stand in each other"
                )
            node = node.args[0]
        given, first = self._input(node)
        if not found:
            cure = f'rearrange({self.text}, "b h w c -> b c h w")'
            raise self._call_error(node, "nothing is done with it", cure)
        calls, spans, patterns = zip(*found, strict=True)
        return EinopsLine(given, first, calls, spans, patterns)

    def _parse_line(self) -> ast.expr:
        """Returns the syntax tree of the line, without an assignment and ``.shape``."""
        try:
            lines = ast.parse(self.text).body
        except SyntaxError as error:
            at = min(max(0, (error.offset or 1) - 1), len(self.text) - 1)
            raise CallError(
                f"Python cannot read it: {error.msg}", (at, at + 1), cure=EXAMPLE
            ) from None
        except (ValueError, MemoryError, RecursionError):
            raise CallError("Python cannot read it", self._full_span, cure=EXAMPLE) from None
        line = lines[0] if len(lines) == 1 else None
        if not isinstance(line, ast.Expr | ast.Assign):
            raise CallError("it is not one line with one value", self._full_span, cure=EXAMPLE)
        value = line.value
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            value = value.value
        return value

    @property
    def _full_span(self) -> Span:
        return 0, len(self.text)

    def _span(self, node: ast.expr) -> Span:
        """Returns the position of a part in characters; Python counts bytes."""
        data = self.text.encode()
        start, end = (len(data[:n].decode()) for n in (node.col_offset, node.end_col_offset or 0))
        return start, end

    def _call_error(self, node: ast.expr, fact: str, cure: str = "") -> CallError:
        return CallError(fact, self._span(node), cure=cure)

    def _input(self, node: ast.expr) -> tuple[str, bool]:
        first = isinstance(node, ast.Subscript)
        name = node.value if isinstance(node, ast.Subscript) else node
        known = ", ".join((*self.inputs, f"{self.inputs[0]}[0]"))
        if not isinstance(name, ast.Name) or name.id not in self.inputs:
            raise self._call_error(node, "there is no such array here", f"one of {known}")
        if isinstance(node, ast.Subscript):
            place = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if name.id != self.inputs[0] or place != 0 or isinstance(place, bool):
                raise self._call_error(
                    node, f"of all parts there is only {self.inputs[0]}[0]", known
                )
        return name.id, first

    def _call(self, node: ast.Call) -> tuple[EinopsCall, Span]:
        """Parses a call; returns it with the position of its pattern."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if isinstance(node.func, ast.Attribute):
            fact = "an array is only named here, and its shape is not read"
            raise self._call_error(node, fact, "a name, and its shape on a line below, such as 2x3")
        if name not in FUNCTIONS:
            cure = nearest_name(name, FUNCTIONS)
            raise self._call_error(node.func, "there is no such function here", cure)
        wanted = 3 if name == "reduce" else 2
        if len(node.args) != wanted:
            what = 'an array, a pattern and a reduction such as "max"'
            raise self._call_error(
                node,
                f"{name} takes {what if wanted == 3 else 'an array and a pattern'}",
                'reduce(ims, "b h w c -> h w c", "mean")' if wanted == 3 else EXAMPLE,
            )
        pattern, how = node.args[1], name
        if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
            raise self._call_error(
                pattern, "the pattern is a text in quotes", '"b h w c -> b c h w"'
            )
        if wanted == 3:
            how = self._reduction(node.args[2])
        lengths = tuple(self._length(keyword) for keyword in node.keywords)
        return EinopsCall(how, pattern.value, lengths), self._pattern_span(pattern, pattern.value)

    def _reduction(self, node: ast.expr) -> str:
        known = ", ".join(f'"{name}"' for name in REDUCTIONS)
        if not isinstance(node, ast.Constant) or node.value not in REDUCTIONS:
            raise self._call_error(node, "it is none of the reductions here", f"one of {known}")
        return str(node.value)

    def _length(self, keyword: ast.keyword) -> tuple[str, int]:
        node = keyword.value
        if keyword.arg is None:
            raise self._call_error(node, "lengths are given one by one", "h1=2")
        size = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= LENGTH:
            fact = f"the length of {keyword.arg} is a whole number from 1 to {LENGTH:,}"
            raise self._call_error(node, fact, f"{keyword.arg}=2")
        return keyword.arg, size

    def _pattern_span(self, node: ast.expr, value: str) -> Span:
        """Returns the position of the pattern between its quotes."""
        start, end = self._span(node)
        at = self.text[start:end].find(value)
        return (start + at, start + at + len(value)) if at > 0 else (start, end)


# --- einops: rearrange, reduce and repeat on a batch of pictures

NAMES = {"ims": "b h w c", "x": "b c h w", "y": "b c h w"}
CALLS = {  # as the document has them, in its order
    "channels last": 'rearrange(x, "b c h w -> b h w c")',
    "transpose": 'rearrange(ims[0], "h w c -> w h c")',
    "below each other": 'rearrange(ims, "b h w c -> (b h) w c")',
    "side by side": 'rearrange(ims, "b h w c -> h (b w) c")',
    "two batches": 'rearrange(ims, "(b1 b2) h w c -> b1 b2 h w c", b1=2)',
    "mean": 'reduce(ims, "b h w c -> h w c", "mean")',
    "max-pooling": 'reduce(ims, "b (h h1) (w w1) c -> b h w c", "max", h1=2, w1=2)',
    "repeat": 'repeat(ims[0], "h w c -> h new_axis w c", new_axis=5)',
    "largest": 'reduce(rearrange(reduce(x, "b c h w -> b c", "max"), "b c -> c b"), '
    '"c b ->", "sum")',
    "flatten": 'rearrange(x, "b c h w -> b (c h w)")',
    "space-to-depth": 'rearrange(x, "b c (h h1) (w w1) -> b (h1 w1 c) h w", h1=2, w1=2)',
    "depth-to-space": 'rearrange(y, "b (h1 w1 c) h w -> b c (h h1) (w w1)", h1=2, w1=2)',
}
TEXTS = tuple(CALLS.values())


def einops(pattern: int = 3, b: int = 6, h: int = 96, w: int = 96, c: int = 3) -> Term:
    """Returns one of the document's calls, by its number in CALLS, on b pictures of h × w × c."""
    return term(TEXTS[pattern], {"b": b, "h": h, "w": w, "c": c})


def shapes(b: int, h: int, w: int, c: int) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the inputs: ``ims``, ``x`` (channels first) and ``y`` (its depth)."""
    return {"ims": (b, h, w, c), "x": (b, c, h, w), "y": (b, 4 * c, h // 2, w // 2)}


def term(text: str, sizes: dict[str, int]) -> Term:
    """Returns a line of calls on pictures of these sizes as a term.

    >>> term('reduce(ims[0], "h w c -> c", "max")', {"b": 6, "h": 8, "w": 9, "c": 3}).cod.spec
    'c:3'

    Raises CallError for a text that says no such calls.
    """
    given = shapes(**sizes)
    written = read(text, tuple(given))
    names = NAMES[written.input_name] if written.uses_first_image else ""
    return einops_term(given[written.input_name], written.calls, names)


EINOPS = Entry(
    name="einops",
    title="einops",
    source="Autograd to transformers, einops tutorial",
    knobs=(
        Knob(
            "pattern",
            0,
            len(CALLS) - 1,
            3,
            help="what is done",
            reason="the examples of the document, in its order",
            names=tuple(CALLS),
        ),
        Knob(
            "b",
            2,
            12,
            6,
            2,
            "pictures",
            "even, as one of the patterns makes two batches of them",
            multiple=2,
        ),
        Knob("h", 2, 128, 96, 2, "height", "even, as some of the patterns halve it", multiple=2),
        Knob("w", 2, 128, 96, 2, "width", "even, as some of the patterns halve it", multiple=2),
        Knob("c", 1, 4, 3, help="channels", reason="red, green and blue; 1 is grey"),
    ),
    system=einops,
    section="Tensors",
)


def line_entry(text: str) -> Entry:
    """The page's entry with a line of one's own in the place of the document's.

    >>> line_entry('reduce(ims[0], "h w c -> c", "max")').build(c=4).cod.spec
    'c:4'

    Its ``build`` raises CallError for a text that says no such calls.
    """

    def system(pattern: int = 0, **sizes: int) -> Term:
        return term(text, sizes)

    return replace(EINOPS, system=system, text=text)
