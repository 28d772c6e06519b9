"""Sizes are hidden: a drawing that tells none, and of one array, which is asked for, no names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ncd.drawing import Drawing
from ncd.drawing.base.label import Label, math
from ncd.drawing.base.primitives import Dot, DrawnGlyph, DrawnWire, Extra, Outline, Text
from ncd.export import markup, op_facts
from ncd.lang.circuits.array_names import called
from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Loop
from ncd.lang.types.axes import Array, Axis

ASKED = "?"
DECIMAL = re.compile(r"\d\.\d")
SIZE = re.compile(r", size [^,]+")
LITERAL = re.compile(r'(<span class="number-literal">)[^<]*(</span>)')
T = TypeVar("T", DrawnGlyph, Extra)


@dataclass(frozen=True)
class Veil:
    """``asked`` is the id of the array that is asked for, ``known`` those that have been told."""

    asked: str
    known: frozenset[str] = frozenset()

    @property
    def hidden(self) -> str:
        """The id of the array whose names are hidden as well, if that is one."""
        return "" if self.asked in self.known else self.asked

    def around(self, circuit: Circuit) -> frozenset[str]:
        """The ids of the ops that make or take what is hidden."""
        units: tuple[Cell | Loop, ...] = (*circuit.cells, *circuit.loops)
        ends = {unit.id: {v.id for v in (*unit.inputs, *unit.outputs)} for unit in units}
        return frozenset(id for id, own in ends.items() if self.hidden in own)


def look(usual: Mapping[str, Any]) -> dict[str, Any]:
    """How it is drawn: with names, and without callouts and cells, which tell sizes."""
    return {**usual, "labels": "names", "notes": {}, "cells": False}


def drawing(whole: Drawing, circuit: Circuit, veil: Veil) -> Drawing:
    """The drawing without sizes, but what is said of the arrays that are known."""
    around, cells = veil.around(circuit), {cell.id: cell for cell in circuit.cells}
    return replace(
        whole,
        description="The sizes are hidden, and one shape is asked for.",
        wires=tuple(_wire(wire, veil) for wire in whole.wires),
        glyphs=tuple(_glyph(glyph, veil, around, cells) for glyph in whole.glyphs),
        labels=tuple(_text(text, veil) for text in whole.labels),
        extras=tuple(_extra(extra, veil) for extra in whole.extras),
    )


def _wire(wire: DrawnWire, veil: Veil) -> DrawnWire:
    if wire.array == veil.hidden:
        return replace(wire, axis="", words="an axis of the array that is asked for")
    if wire.array in veil.known:
        return wire
    return replace(wire, words=SIZE.sub("", wire.words))


def _text(text: Text, veil: Veil) -> Text:
    """A label without a size, where the one before it stood."""
    hidden = bool(veil.hidden) and text.array == veil.hidden
    told = any(map(str.isalpha, text.label.typed.text)) or text.array in veil.known
    if not text.axis or (told and not hidden):
        return text
    label = math(ASKED, text.label.typed.size) if hidden else _named(text)
    at = text.at._replace(x=text.at.x + (text.label.width - label.width) / 2)
    return replace(text, label=label, at=at, axis="" if hidden else text.axis)


def _named(text: Text) -> Label:
    """The name of an axis on whose wire its size stands; of one that has no name, nothing."""
    typed = text.label.typed
    name = ASKED if text.axis.isdecimal() else text.axis
    return math(name, typed.size, bold=typed.bold, bar=typed.bar)


def _glyph(
    glyph: DrawnGlyph, veil: Veil, around: frozenset[str], cells: Mapping[str, Cell]
) -> DrawnGlyph:
    words = glyph.words
    if glyph.cells or glyph.node not in cells:
        words = words.partition(":")[0].partition("(")[0].strip() or "folded"
    elif glyph.node in around or _tells(cells[glyph.node]):
        words = cells[glyph.node].op.label
    return replace(_inside(glyph, veil), words=words)


def _tells(cell: Cell) -> bool:
    """Whether the words of an op have a number that is made from a size, as 0.25 of 16."""
    return bool(DECIMAL.search(cell.words))


def _extra(extra: Extra, veil: Veil) -> Extra:
    if veil.hidden and extra.of == veil.hidden:
        extra = replace(extra, words="")
    return _inside(extra, veil)


def _inside(part: T, veil: Veil) -> T:
    def item(own: Outline | Dot | Text) -> Outline | Dot | Text:
        return _text(own, veil) if isinstance(own, Text) else own

    return replace(part, items=tuple(map(item, part.items)))


def words(circuit: Circuit, veil: Veil, told: Mapping[str, str]) -> dict[str, str]:
    """What is told of arrays and blocks, without sizes; ``told`` is what is told with them."""
    names = called(circuit)
    found = {id: told[id] for id in veil.known if id in told}
    for id, value in circuit.values.items():
        if id not in found:
            shape = ASKED if id == veil.hidden else markup.array(plain(value.array))
            found[id] = f"{markup.text(names.get(id, ''))} {shape}".strip()
    return found | {fence.id: _title(fence) for fence in circuit.fences}


def plain(array: Array) -> Array:
    """The array, with the names of axes whose labels are sizes.

    >>> [axis.called for axis in plain(Array.parse('c"c_λ":4 w"8^2":8x8'))]
    ['c_λ', 'w']
    """
    return array.with_axes(
        axis if _tells_no_size(axis) else replace(axis, label="") for axis in array
    )


def _tells_no_size(axis: Axis) -> bool:
    return any(map(str.isalpha, axis.called))


def _title(fence: Fence) -> str:
    return markup.text(op_facts.title(fence))


def code(line: str, html: str) -> str:
    """A line of source without its numbers; one of prose, which names arrays, is left out.

    >>> code("x = 12", 'x = <span class="number-literal">12</span>')
    'x = <span class="number-literal">?</span>'
    """
    if '"""' in line:
        return ""
    return LITERAL.sub(rf"\g<1>{ASKED}\g<2>", html)
