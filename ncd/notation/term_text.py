"""A term as text, nested or as a definition line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from keyword import iskeyword

from ncd.errors import NCDError, unknown_name_error
from ncd.language.arguments import check_term
from ncd.language.axes import Axis
from ncd.language.terms import Beside, Id, Term, Then, arguments, axes_in, rewrite_axes
from ncd.language.wire import Wire
from ncd.notation.term_reader import parse
from ncd.write.term_json import KINDS

# --- Writes a term as a definition: a line for each op, a name for each array

INPUTS = ("x", "y", "z", "u", "v", "w")
PAD = "    "


def definition(term: Term, sizes: Mapping[str, str] | None) -> str:
    """Returns a term as a definition, preceded by definitions for the inside of its blocks.

    Args:
        term: The term.
        sizes: The size of each axis as text, for the decorator; None if they stand in the lines.
    """
    if sizes is not None:
        inner: Term = rewrite_axes(term, lambda axis: bare_axis(axis, sizes))
        words = ", ".join(f"{name}={size}" for name, size in sizes.items())
        for writer in (_DefinitionWriter(), _DefinitionWriter(inline=True)):
            text = writer.write_definitions(inner, f"@define({words})\n")
            if _reads(text, term):
                return text
    text = _DefinitionWriter().write_definitions(term)
    return text if _reads(text, term) else _DefinitionWriter(inline=True).write_definitions(term)


def bare_axis(axis: Axis, sizes: Mapping[str, str]) -> Axis:
    """Returns an axis without the properties that ``Axes`` sets."""
    if axis.name not in sizes:
        return axis
    return replace(axis, size=None, sequence=False, label="")


def _reads(text: str, term: Term) -> bool:
    """Returns whether a text is read as a term of the same type."""
    try:
        found = parse(text)
    except NCDError:
        return False
    return found.dom == term.dom and found.cod == term.cod


class _DefinitionWriter:
    """Writes definitions; equal parts share one.

    With ``inline``, what is inside a block is written by ``>>`` and ``@``.
    """

    def __init__(self, inline: bool = False) -> None:
        self.inline = inline
        self.texts: list[str] = []
        self.names: dict[Term, str] = {}
        self.taken = dict.fromkeys(KINDS, 1)  # names, and the last number behind each

    def write_definitions(self, term: Term, mark: str = "") -> str:
        """Returns all definitions; the last is the term's."""
        self.texts.append(mark + self._function("system", term))
        return "\n\n".join(self.texts)

    def part(self, term: Term, hint: str) -> str:
        """Returns the name of a part's definition, or the part itself if it is one op."""
        if self.inline:
            return repr(term)
        if not isinstance(term, Then | Beside):
            return self._callee(term)
        if term not in self.names:
            text = self._function(name := _reserve_name(hint, self.taken), term)
            self.names[term] = name
            self.texts.append(text)
        return self.names[term]

    def _callee(self, term: Term) -> str:
        """Returns an op, or a structure around parts, as text."""
        if not term.children:
            return repr(term)
        hint = _word(term)
        one, several = partial(self.part, hint=hint), partial(self._tuple_text, hint=hint)
        words = arguments(term, one, several)
        return f"{type(term).__name__}({', '.join(words)})"

    def _tuple_text(self, terms: tuple[Term, ...], hint: str) -> str:
        """Returns several terms as a tuple; equal ones are written once."""
        if len(terms) > 1 and len({*terms}) == 1:
            return f"({self.part(terms[0], hint)},) * {len(terms)}"
        return f"({''.join(f'{self.part(term, hint)}, ' for term in terms).rstrip()})"

    def _function(self, name: str, term: Term) -> str:
        """Returns the definition of one term."""
        self.taken.setdefault(name, 1)
        own = {**self.taken}
        inputs = [_reserve_name(INPUTS[i % len(INPUTS)], own) for i in range(len(term.dom))]
        heads = (f"{x}: {_quote(axes.spec)}" for x, axes in zip(inputs, term.dom, strict=True))
        lines = [f"def {name}({', '.join(heads)}):"]
        outputs = self._walk(term, inputs, own, lines)
        return "\n".join([*lines, f"{PAD}return {', '.join(outputs)}"])

    def _walk(
        self, term: Term, given: list[str], own: dict[str, int], lines: list[str]
    ) -> list[str]:
        """Adds the lines of a term on named arrays; returns the names of its outputs.

        Arrays beyond those that it takes pass on below its outputs.
        """
        taken, rest = given[: len(term.dom)], given[len(term.dom) :]
        if isinstance(term, Id):
            made = taken
        elif isinstance(term, Wire):
            made = [taken[origin[0]] for origin in term.origins]
        elif isinstance(term, Then):
            made = taken
            for step in term.steps:
                made = self._walk(step, made, own, lines)
        elif isinstance(term, Beside):
            made = []
            for part in term.parts:
                made += self._walk(part, taken[: len(part.dom)], own, lines)
                taken = taken[len(part.dom) :]
        else:
            word = _word(term) if not term.children else _word_inside(term)
            made = [_reserve_name(word, own) for _ in term.cod]
            lines.append(f"{PAD}{', '.join(made)} = {self._callee(term)}({', '.join(taken)})")
        return made + rest


def _quote(text: str) -> str:
    """Returns a text in double quotes, or in single ones where it has labels in double ones."""
    return repr(text) if '"' in text else f'"{text}"'


def _word(term: Term) -> str:
    """Returns a word for a term: its name, its title or its kind."""
    for field in ("title", "name", "function"):
        word = getattr(term, field, "")
        if isinstance(word, str) and re.search("[a-zA-Z]", word):
            break
    else:
        word = re.sub("(?<=[a-z])(?=[A-Z])", "_", type(term).__name__)
    word = re.sub("[^a-zA-Z0-9]+", "_", word).strip("_").lower()
    return word if word[:1].isalpha() else f"a_{word}"


def _word_inside(term: Term) -> str:
    """Returns a name for the result of a block around one op; ``out`` for larger ones."""
    parts = term.children
    return _word(parts[0]) if len(parts) == 1 and not parts[0].children else "out"


def _reserve_name(word: str, own: dict[str, int]) -> str:
    """Returns a name that is not taken yet, and takes it.

    The last number behind each word is kept, so that n names take n steps and not n * n.
    """
    found, count = word, own.get(word, 1)
    while found in own or iskeyword(found):
        count += 1
        found = f"{word}_{count}"
    own[word] = count
    own.setdefault(found, 1)
    return found


# --- Writes a term as text over several lines, which :func:`ncd.parse` reads back

WIDTH = 88  # letters of a line
STEP = "    "


NOTATIONS = ("pipes", "lines")


def spell(term: Term, notation: str = "pipes") -> str:
    """Returns a term as readable text, its sizes in front.

    ``ncd.parse(ncd.spell(term)) == term``. With ``"lines"`` each array has a name, as in
    :func:`ncd.define`; read back, the term has the same ops on the same arrays, and wires of its
    own.

    Args:
        term: The term.
        notation: ``"pipes"``, with ``>>`` and ``@``, or ``"lines"``.

    Raises:
        ParseError: For something that is no term.
        UnknownNameError: For another notation.

    Source: this project's own notation.

    >>> from ncd.ops import Linear
    >>> print(spell(Linear("~y:20 m:128 -> ~y:20 k:16", "Q")))
    Axes(y=seq(20), m=128, k=16)(
        Linear('y m -> y k', 'Q')
    )
    """
    check_term(term, "spell")
    if notation not in NOTATIONS:
        raise unknown_name_error("notation", notation, NOTATIONS)
    if notation == "lines":
        return definition(term, _sizes(term))
    sizes = _sizes(term)
    if sizes is not None:
        names = ", ".join(f"{name}={size}" for name, size in sizes.items())
        inner = rewrite_axes(term, lambda axis: bare_axis(axis, sizes))
        if _parses_to(f"Axes({names})({inner!r})", term):
            return f"Axes({names})(\n{STEP}{_text(inner, 1)}\n)"
    text = _text(term, 0)
    return (
        f"(\n{STEP}{_text(term, 1)}\n)"
        if isinstance(term, Then | Beside) and "\n" in text
        else text
    )


def _sizes(term: Term) -> dict[str, str] | None:
    """Returns the size of each axis as text; None if that is ambiguous or not a Python name."""
    found: dict[str, Axis] = {}
    for axis in axes_in(term):
        if axis.size is None or axis.name.isdecimal():
            continue
        if not axis.name.isidentifier() or found.setdefault(axis.name, axis) != axis:
            return None
    return {name: _size(axis) for name, axis in found.items()} or None


def _size(axis: Axis) -> str:
    """Returns a size as an argument of ``Axes``."""
    label = f", {axis.label!r}" if axis.label else ""
    if isinstance(axis.size, tuple):
        label = label.replace(", ", ", label=", 1)
        return f"space({', '.join(map(str, axis.size))}{label})"
    if axis.sequence:
        return f"seq({axis.size}{label})"
    return f"plain({axis.size}{label})" if label else str(axis.size)


def _parses_to(text: str, term: Term) -> bool:
    """Returns whether a text is read as this term."""
    try:
        return parse(text) == term
    except NCDError:
        return False


def _text(term: Term, depth: int) -> str:
    """Returns a term as text, over several lines if it is long; the first is not indented."""
    line = repr(term)
    if len(line) + len(STEP) * depth <= WIDTH:
        return line
    pad = "\n" + STEP * depth
    if isinstance(term, Then):
        return f"{pad}>> ".join(_part(step, depth, Beside) for step in term.steps)
    if isinstance(term, Beside):
        return f"{pad}@ ".join(_part(part, depth, Then) for part in term.parts)
    words = list(_words(term, depth + 1))
    if not any("\n" in word for word in words) and not term.children:
        return line
    return f"{type(term).__name__}({''.join(f'{pad}{STEP}{word},' for word in words)}{pad})"


def _part(term: Term, depth: int, loose: type[Term]) -> str:
    """Returns a part of a chain, in brackets where they are needed."""
    if not isinstance(term, loose) or loose is Beside:
        return _text(term, depth)
    inner = STEP * (depth + 1)
    return f"(\n{inner}{_text(term, depth + 1)}\n{STEP * depth})"


def _words(term: Term, depth: int) -> Iterator[str]:
    """Yields the arguments of a term as text."""
    return arguments(term, partial(_text, depth=depth), partial(_tuple_text, depth=depth))


def _tuple_text(terms: tuple[Term, ...], depth: int) -> str:
    """Returns several terms as a tuple; equal ones are written once."""
    times = f" * {len(terms)}" if len(terms) > 1 and len(set(terms)) == 1 else ""
    shown = terms[:1] if times else terms
    parts = "".join(f"\n{STEP * (depth + 1)}{_text(one, depth + 1)}," for one in shown)
    return f"({parts}\n{STEP * depth}){times}"
