"""Texts whose numbers follow from sizes: letters in place of numbers, with a formula for each.

A term is built once more at traced sizes (:mod:`ncd.lang.formulas.traced_sizes`), and texts are
made from it. In place of each number they hold a letter. A browser evaluates the formulas of the
letters while a size is moved (``polynomials.js``), wherever the recorded conditions hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from ncd.lang.circuits.circuit import Circuit
from ncd.lang.formulas.traced_sizes import FILL, FIRST, LAST, Fact, Sum, Trace, traced
from ncd.lang.types.axes import Array

Table = dict[str, Any]
NUMBER = re.compile(f"[0-9]+|[{chr(FIRST)}-{chr(LAST)}]{FILL}*")


def alike(circuit: Circuit, plain: Circuit) -> bool:
    """Returns whether both circuits have the same arrays at the current sizes."""
    ours, theirs = (list(c.values.items()) for c in (circuit, plain))
    return len(ours) == len(theirs) and all(
        id == other and _now(value.array) == _now(same.array)
        for (id, value), (other, same) in zip(ours, theirs, strict=True)
    )


def _now(array: Array) -> tuple[object, ...]:
    return *array.names, *(n.value if traced(n) else n for n in array.shape)


def changed_texts(plain: str, own: str) -> list[tuple[int, str]]:
    """Returns the positions of the texts in HTML that contain a letter, with the new texts."""
    return changes(texts(plain), "".join(texts(own)))


def changes(plain: list[str], own: str) -> list[tuple[int, str]]:
    """Returns the positions of the texts that contain a letter, with the new texts.

    >>> changes(["m ", "128"], "m \ue000\uf8ff\uf8ff")
    [(1, '\ue000')]
    """
    if len(own) != sum(map(len, plain)):
        return []
    found, at = [], 0
    for i, text in enumerate(plain):
        piece = own[at : at + len(text)]
        at += len(text)
        if has_letter(piece):
            found.append((i, piece.replace(FILL, "")))
    return found


def has_letter(text: str) -> bool:
    """Returns whether a text contains a letter that stands for a number."""
    return any(chr(FIRST) <= letter <= chr(LAST) for letter in text)


class _Reader(HTMLParser):
    """Collects the texts between the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.new = True

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.new = True

    def handle_endtag(self, tag: str) -> None:
        self.new = True

    def handle_data(self, data: str) -> None:
        if self.new:
            self.texts.append("")
            self.new = False
        self.texts[-1] += data


def wire_sizes(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields each axis of each array, as ``v3/m``, with the text of its size.

    An array comes under each name that its axes have: around a block with local names, others.
    """
    named = [(value, value.array) for value in circuit.values.values()]
    named += zip(circuit.outputs, circuit.term.cod, strict=True)
    for cell in circuit.cells:
        named += zip(cell.inputs, cell.site.ins, strict=True)
        named += zip(cell.outputs, cell.site.outs, strict=True)
    for value, array in named:
        for axis in array:
            if axis.size is not None and has_letter(axis.size_text):
                yield f"{value.id}/{axis.name}", axis.size_text.replace(FILL, "")


def drawn_numbers(circuit: Circuit, plain: Circuit) -> Iterator[tuple[str, list[list[str]]]]:
    """Yields what is drawn with a number, by its id: the title of a block, the marks of an op, and
    the label of an axis, as ``v3/m``; each with its numbers, and what then stands in their place.
    """
    for fence, same in zip(circuit.fences, plain.fences, strict=True):
        yield from _numbers(fence.id, fence.title, same.title)
    for cell, same_cell in zip(circuit.cells, plain.cells, strict=True):
        own, old = (" ".join(m.text for m in c.glyph.marks) for c in (cell, same_cell))
        yield from _numbers(cell.id, own, old)
    for id, value in circuit.values.items():
        for axis, same_axis in zip(value.array, plain.values[id].array, strict=True):
            yield from _numbers(f"{id}/{axis.name}", axis.label, same_axis.label)


def _numbers(id: str, own: str, plain: str) -> Iterator[tuple[str, list[list[str]]]]:
    if has_letter(own):
        pairs = zip(NUMBER.findall(plain), NUMBER.findall(own), strict=True)
        yield id, [[old, new.replace(FILL, "")] for old, new in pairs]


def loop_sizes(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields each loop along an axis with the text of the size of that."""
    for loop in circuit.loops:
        arrays = (value.array for value in loop.inputs[loop.states :])
        axes = (axis for array in arrays for axis in array if axis.name == loop.axis)
        axis = next(axes, None) if loop.kind == "scan" else None
        if axis is not None and has_letter(axis.size_text):
            yield loop.id, axis.size_text.replace(FILL, "")


def reworded(text: str, words: Iterable[tuple[str, str]]) -> str:
    """Returns a text with other words, each for the first that are alike and not replaced yet.

    >>> reworded("Scale by 2; sum; scale by 2.", [("scale by 2", "scale by n"), ("sum", "sum")])
    'Scale by n; sum; scale by 2.'
    """
    queues: dict[str, list[str]] = {}
    for old, new in words:
        if old:
            queues.setdefault(_lower(old), []).append(new)

    def replaced(found: re.Match[str]) -> str:
        waiting = queues[_lower(found[0])]
        if not waiting:
            return found[0]
        new = waiting.pop(0)
        return f"{new[:1].upper()}{new[1:]}" if found[0][:1].isupper() else new

    every = sorted({form for old in queues for form in (old, old[:1].upper() + old[1:])}, key=len)
    pattern = "|".join(map(re.escape, reversed(every)))
    return re.sub(rf"(?<![\w.])(?:{pattern})(?![\w.]*\w)", replaced, text) if every else text


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def texts(html: str) -> list[str]:
    """Returns the texts between the tags of some HTML."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.texts


class FormulaTable:
    """The sums and their parts, each stored once."""

    def __init__(self) -> None:
        self.atoms: dict[Any, int] = {}
        self.sums: dict[Sum, int] = {}
        self.rows: list[list[list[int]]] = []
        self.parts: list[Any] = []

    def written(self, trace: Trace, facts: Mapping[str, list[Fact]]) -> Table:
        letters = [(self.sum(number.total), how) for number, how in trace.written]
        told = {
            name: [(self.sum(total), sign, true) for total, sign, true in every]
            for name, every in facts.items()
        }
        return {"atoms": self.parts, "sums": self.rows, "letters": letters, **told}

    def sum(self, total: Sum) -> int:
        if total not in self.sums:
            row = [[n, *map(self.atom, product)] for product, n in total]
            self.sums[total] = len(self.rows)
            self.rows.append(row)
        return self.sums[total]

    def atom(self, atom: Any) -> int:
        if atom not in self.atoms:
            part = atom if isinstance(atom, str) else (atom[0], *map(self.sum, atom[1:]))
            self.atoms[atom] = len(self.parts)
            self.parts.append(part)
        return self.atoms[atom]
