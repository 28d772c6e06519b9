"""Drawings, texts and source without sizes, for the quiz."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ncd.circuit.circuit import Cell, Circuit, Unit, array_names
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.labels import Label, math
from ncd.drawing.elements.primitives import (
    Annotation,
    Dot,
    DrawnFence,
    DrawnGlyph,
    DrawnWire,
    Outline,
    Text,
)
from ncd.errors import NCDError
from ncd.language.axes import Axis
from ncd.language.op import Op
from ncd.language.terms import rewrite_axes
from ncd.site import markup
from ncd.site.op_cards import title
from ncd.site.quiz_facts import without_size_labels

QUESTION_MARK = "?"
SIZE = re.compile(r", size [^,]+")
END = re.compile(r"=\d.*")  # the last position, at the bracket of a scan
LITERAL = re.compile(r'(<span class="number-literal">)[^<]*(</span>)')
T = TypeVar("T", DrawnGlyph, Annotation)


@dataclass(frozen=True)
class HiddenSizes:
    """The id of the array that the quiz asks for, and the ids of those already answered."""

    asked_array: str
    answered_arrays: frozenset[str] = frozenset()

    @property
    def hidden(self) -> str:
        """The id of the array whose axis names are hidden too; empty once it is answered."""
        return "" if self.asked_array in self.answered_arrays else self.asked_array

    def neighbour_ops(self, circuit: Circuit) -> frozenset[str]:
        """Returns the ids of the ops and loops that make or take the hidden array."""
        units: tuple[Unit, ...] = (*circuit.cells, *circuit.loops)
        ends = {unit.id: {v.id for v in (*unit.inputs, *unit.outputs)} for unit in units}
        return frozenset(id for id, own in ends.items() if self.hidden in own)


def sizeless_options(usual: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the drawing options with names only, without callouts and cell grids."""
    return {**usual, "labels": "names", "notes": {}, "cells": False, "thumbnails": {}}


def hide_in_drawing(whole: Drawing, circuit: Circuit, veil: HiddenSizes) -> Drawing:
    """Returns the drawing without sizes, except those of answered arrays."""
    around, cells = veil.neighbour_ops(circuit), {cell.id: cell for cell in circuit.cells}
    scans = {scan.id for scan in circuit.scans}
    return replace(
        whole,
        description="The sizes are hidden, and one shape is asked for.",
        fences=tuple(_endless(f) if f.id in scans else f for f in whole.fences),
        wires=tuple(_wire(wire, veil) for wire in whole.wires),
        glyphs=tuple(_glyph(glyph, veil, around, cells) for glyph in whole.glyphs),
        labels=tuple(_without_size(text, veil) for text in whole.labels),
        extras=tuple(_extra(extra, veil) for extra in whole.extras),
    )


def _wire(wire: DrawnWire, veil: HiddenSizes) -> DrawnWire:
    if wire.array == veil.hidden:
        return replace(wire, axis="", description="an axis of the array that is asked for")
    if wire.array in veil.answered_arrays:
        return wire
    return replace(wire, description=SIZE.sub("", wire.description))


def _without_size(text: Text, veil: HiddenSizes) -> Text:
    """Returns a label without its size, centred where the full label stood."""
    hidden = bool(veil.hidden) and text.array == veil.hidden
    told = any(map(str.isalpha, text.label.source.text)) or text.array in veil.answered_arrays
    if not text.axis or (told and not hidden):
        return text
    label = math(QUESTION_MARK, text.label.source.size) if hidden else _axis_name_label(text)
    return replace(_with_label(text, label), axis="" if hidden else text.axis)


def _with_label(text: Text, label: Label) -> Text:
    at = text.position._replace(x=text.position.x + (text.label.width - label.width) / 2)
    return replace(text, label=label, position=at)


def _axis_name_label(text: Text) -> Label:
    """Returns the name of an axis as a label, or a question mark if it has only a size."""
    typed = text.label.source
    name = QUESTION_MARK if text.axis.isdecimal() else text.axis
    return math(name, typed.size, bold=typed.bold, bar=typed.bar)


def _glyph(
    glyph: DrawnGlyph, veil: HiddenSizes, around: frozenset[str], cells: Mapping[str, Cell]
) -> DrawnGlyph:
    words = glyph.description
    if glyph.cells or glyph.node not in cells:
        words = words.partition(":")[0].partition("(")[0].strip() or "folded"
    else:
        cell = cells[glyph.node]
        words = cell.op.display_name if glyph.node in around else _unsized_description(cell)
    return replace(_with_hidden_texts(glyph, veil), description=words)


def _endless(scan: DrawnFence) -> DrawnFence:
    """Returns the brackets of a scan without the number of its positions."""

    def unsized(text: Text) -> Text:
        typed = text.label.source
        return _with_label(text, math(END.sub(f"={QUESTION_MARK}", typed.text), typed.size))

    begin, *ends = scan.title
    return replace(scan, title=(begin, *map(unsized, ends)))


def _unsized_description(cell: Cell) -> str:
    """Returns the description of an op without sizes, or its label if that needs sizes."""
    try:
        op: Op = rewrite_axes(cell.op, _unsized_axis)
        return op.description(op.apply_to(rewrite_axes(cell.site.inputs, _unsized_axis)))
    except NCDError:
        return cell.op.display_name


def _unsized_axis(axis: Axis) -> Axis:
    return replace(axis, size=None)


def _extra(extra: Annotation, veil: HiddenSizes) -> Annotation:
    if veil.hidden and extra.target_id == veil.hidden:
        extra = replace(extra, words="")
    return _with_hidden_texts(extra, veil)


def _with_hidden_texts(part: T, veil: HiddenSizes) -> T:
    def item(own: Outline | Dot | Text) -> Outline | Dot | Text:
        return _without_size(own, veil) if isinstance(own, Text) else own

    return replace(part, items=tuple(map(item, part.items)))


def hide_in_tooltips(
    circuit: Circuit, veil: HiddenSizes, told: Mapping[str, str]
) -> dict[str, str]:
    """Returns hover texts without sizes; ``told`` are the full texts."""
    names = array_names(circuit)
    found = {id: told[id] for id in veil.answered_arrays if id in told}
    for id, value in circuit.values.items():
        if id not in found:
            shape = (
                QUESTION_MARK
                if id == veil.hidden
                else markup.array(without_size_labels(value.array))
            )
            found[id] = f"{markup.text(names.get(id, ''))} {shape}".strip()
    return found | {fence.id: markup.text(title(fence)) for fence in circuit.fences}


def hide_in_code(line: str, html: str) -> str:
    """Returns a line of source with its numbers hidden; a docstring line becomes empty.

    >>> hide_in_code("x = 12", 'x = <span class="number-literal">12</span>')
    'x = <span class="number-literal">?</span>'
    """
    if '"""' in line:
        return ""
    return LITERAL.sub(rf"\g<1>{QUESTION_MARK}\g<2>", html)
