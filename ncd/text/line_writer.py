"""Writes a term as a definition: a line for each op, a name for each array."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from keyword import iskeyword

from ncd.lang.errors import NCDError
from ncd.lang.terms.rewrite import rewrite
from ncd.lang.terms.terms import Beside, Id, Term, Then
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axes import Axis
from ncd.serial import KINDS
from ncd.text.reader import parse
from ncd.text.term_fields import arguments

INPUTS = ("x", "y", "z", "u", "v", "w")
PAD = "    "


def definition(term: Term, sizes: Mapping[str, str] | None) -> str:
    """Returns a term as a definition, preceded by definitions for the inside of its blocks.

    Args:
        term: The term.
        sizes: The size of each axis as text, for the decorator; None if they stand in the lines.
    """
    if sizes is not None:
        inner: Term = rewrite(term, lambda axis: bare(axis, sizes))
        words = ", ".join(f"{name}={size}" for name, size in sizes.items())
        for writer in (_Writer(), _Writer(inline=True)):
            text = writer.written(inner, f"@define({words})\n")
            if _reads(text, term):
                return text
    text = _Writer().written(term)
    return text if _reads(text, term) else _Writer(inline=True).written(term)


def bare(axis: Axis, sizes: Mapping[str, str]) -> Axis:
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


class _Writer:
    """Writes definitions; equal parts share one.

    With ``inline``, what is inside a block is written by ``>>`` and ``@``.
    """

    def __init__(self, inline: bool = False) -> None:
        self.inline = inline
        self.texts: list[str] = []
        self.names: dict[Term, str] = {}
        self.taken = dict.fromkeys(KINDS, 1)  # names, and the last number behind each

    def written(self, term: Term, mark: str = "") -> str:
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
            text = self._function(name := _free(hint, self.taken), term)
            self.names[term] = name
            self.texts.append(text)
        return self.names[term]

    def _callee(self, term: Term) -> str:
        """Returns an op, or a structure around parts, as text."""
        if not term.children:
            return repr(term)
        hint = _word(term)
        one, several = partial(self.part, hint=hint), partial(self._several, hint=hint)
        words = arguments(term, one, several)
        return f"{type(term).__name__}({', '.join(words)})"

    def _several(self, terms: tuple[Term, ...], hint: str) -> str:
        """Returns several terms as a tuple; equal ones are written once."""
        if len(terms) > 1 and len({*terms}) == 1:
            return f"({self.part(terms[0], hint)},) * {len(terms)}"
        return f"({''.join(f'{self.part(term, hint)}, ' for term in terms).rstrip()})"

    def _function(self, name: str, term: Term) -> str:
        """Returns the definition of one term."""
        self.taken.setdefault(name, 1)
        own = {**self.taken}
        inputs = [_free(INPUTS[i % len(INPUTS)], own) for i in range(len(term.dom))]
        heads = (f"{x}: {_quoted(axes.spec)}" for x, axes in zip(inputs, term.dom, strict=True))
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
            made = [_free(word, own) for _ in term.cod]
            lines.append(f"{PAD}{', '.join(made)} = {self._callee(term)}({', '.join(taken)})")
        return made + rest


def _quoted(text: str) -> str:
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


def _free(word: str, own: dict[str, int]) -> str:
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
