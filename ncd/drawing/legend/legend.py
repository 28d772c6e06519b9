"""The legend of a drawing: the signs of its parts and their places, in the legend page's order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ncd.drawing.elements.plan_columns import PlanItem, Port
from ncd.drawing.elements.primitives import DrawingData, DrawnFence, DrawnWire
from ncd.drawing.legend import signs
from ncd.drawing.legend.signs import ARRAYS, LEARNED_MAPS, OTHER_MAPS, PRODUCTS, WAYS, WEIGHTS
from ncd.drawing.legend.signs import LegendEntry as LegendEntry
from ncd.drawing.marks.marks import in_marks
from ncd.language.op import Mark

# Signs by the shape of their mark; `of_mark` decides where a shape has several signs.
SHAPES = {
    "array": "parameter",
    "arrow": "scale",
    "barred": "layernorm",
    "circle": "batchnorm",
    "cup": "cup",
    "folded": "folded",
    "function": "function",
    "load": "load",
    "lookup": "lookup",
    "mask": "mask",
    "name": "name",
    "pentagon": "index",
    "plus": "add",
    "rms": "rmsnorm",
    "save": "save",
    "triangle": "softmax",
}
TOGETHER = {"batchnorm", "lookup", "concat", "cut"}  # ops whose passing wires are no broadcasting
WORDS = {"Max": "extreme", "Min": "extreme", "Σ": "sum", "Π": "product", "𝔼": "mean"}


def of_mark(mark: Mark, role: str = "") -> str:
    """Returns the sign of a mark in an op of this role.

    >>> of_mark(Mark("letter", "L_+^{O}")), of_mark(Mark("trapezoid", "3^2|2|Max"))
    ('affine', 'pool')
    """
    text = mark.text
    match mark.shape:
        case "bar" if role == "concat":
            return "concat" if len(mark.ins) > 1 else "cut"
        case "bar":
            return "group" if len(mark.ins) > 1 else "split"
        case "box" if text.startswith("★"):
            return "convolution"
        case "box" if role == "index" and text.startswith("Roll"):
            return "roll"
        case "box" if role == "concat":
            return "pad"
        case "box" if role == "einsum":
            return "cumulative"
        case "box":
            return "top" if role == "index" else "formula"
        case "elementwise":
            return "dropout" if text == "D" else "elementwise"
        case "italic":
            return "turned" if text.endswith("^T") else "letter"
        case "letter":
            return "affine" if text.startswith("L_+") else "linear"
        case "trapezoid":
            return _window(*text.split("|"))
        case "word":
            return WORDS[text]
    return SHAPES[mark.shape]


def _window(kernel: str, stride: str, end: str) -> str:
    if stride.endswith("T"):
        return "transposed"
    return {"": "window", "Max": "pool"}.get(end, "strided")


def of_unit(unit: PlanItem) -> set[str]:
    """Returns the signs of an op: its marks, and how its wires run."""
    glyph, role = unit.glyph, unit.cell.op.role if unit.cell else ""
    found = {of_mark(mark, role) for mark in glyph.marks}
    if _past(unit) and not found & TOGETHER:
        found.add("broadcast")
    if glyph.caps:
        found.add("cap")
    if glyph.joins and not found & {"add", "concat"}:
        found.add("diagonal")
    if glyph.splits and "cut" not in found:
        found.add("copy")
    return found if found - {"broadcast"} else found | set(_unmarked_op_signs(unit))


def _past(unit: PlanItem) -> bool:
    """Returns whether wires run past marks on other wires."""
    ins, outs = in_marks(unit.glyph)
    return bool(ins or outs) and any(i not in ins for i, _ in unit.glyph.through)


def _unmarked_op_signs(unit: PlanItem) -> Iterator[str]:
    """Yields the signs of an op without marks, in which no wires meet."""
    given = dict(unit.glyph.through)
    if len(given) < len(unit.ins):
        yield "drop"
    if _has_renamed_axis(unit):
        yield "rename"
    if len(unit.inputs) > len(unit.outputs) == 1 and len(given) == len(unit.ins):
        yield "outer"
    elif crossed := _crossed_pairs(unit):
        yield "transpose" if all(a[0] == b[0] for a, b in crossed) else "swap"


def _has_renamed_axis(unit: PlanItem) -> bool:
    arrays = {value.id: value.array for value in (*unit.inputs, *unit.outputs)}

    def name(port: Port) -> str:
        return arrays[port[0]][port[1]].name

    pairs = ((unit.ins[i], unit.outs[o]) for i, o in unit.glyph.through)
    return any(name(before) != name(after) for before, after in pairs)


def _crossed_pairs(unit: PlanItem) -> list[tuple[Port, Port]]:
    """Returns the pairs of inputs whose wires change places."""
    ways = sorted(unit.glyph.through)
    return [
        (unit.ins[i], unit.ins[j])
        for n, (i, o) in enumerate(ways)
        for j, p in ways[n + 1 :]
        if p < o
    ]


# --- The legend of a drawing: its signs with their places, in the order of the legend page


GROUPS: Mapping[str, tuple[LegendEntry, ...]] = {
    "Axes and arrays": ARRAYS,
    "Learned maps": LEARNED_MAPS,
    "Other maps": OTHER_MAPS,
    "Products and sums": PRODUCTS,
    "Norms and weights": WEIGHTS,
    "Ways of arrays": WAYS,
    "Blocks": signs.BLOCKS,
    "Beside the circuit": signs.ANNOTATIONS,
}
SIGNS: Mapping[str, LegendEntry] = {sign.name: sign for group in GROUPS.values() for sign in group}

Kind = Literal["array", "axis", "fence", "node", "part"]
COLOURS = signs.COLOURS
EXTRAS = {
    "arrow": "row",
    "band": "columns",
    "cells": "cells",
    "note": "note",
    "path": "note",
    "sign": "equation",
}


class SignPlace(NamedTuple):
    """The place of a sign: the id of an array, op or block, an axis, or a class of SVG elements.

    A class such as "dash" is for elements without ids.
    """

    kind: Kind
    id: str


@dataclass(frozen=True)
class PlacedSign:
    """A sign and all of its places in a drawing, from left to right."""

    sign: LegendEntry
    places: tuple[SignPlace, ...]

    def ids(self, kind: Kind) -> tuple[str, ...]:
        """Returns the places of one kind."""
        return tuple(place.id for place in self.places if place.kind == kind)


def legend_entries(drawing: DrawingData) -> tuple[PlacedSign, ...]:
    """Returns the signs of a drawing.

    >>> from ncd import draw
    >>> from ncd import Id
    >>> from ncd.ops import Softmax
    >>> [found.sign.name for found in legend_entries(draw(Id("y:2 m:3") >> Softmax("m")))]
    ['axis', 'array', 'broadcast', 'softmax']
    """
    found: dict[str, dict[SignPlace, None]] = defaultdict(dict)
    for name, place in _places(drawing):
        found[name][place] = None
    return tuple(
        PlacedSign(sign, tuple(found[name])) for name, sign in SIGNS.items() if name in found
    )


def _places(drawing: DrawingData) -> Iterator[tuple[str, SignPlace]]:
    yield from _wires(drawing.wires)
    if drawing.dashes:
        yield "tuple", SignPlace("part", "dash")
    for glyph in drawing.glyphs:
        kind: Kind = "fence" if glyph.cells else "node"
        for name in of_unit(glyph.unit) if glyph.unit else ():
            yield name, SignPlace(kind, glyph.node)
        values = (*glyph.unit.inputs, *glyph.unit.outputs) if glyph.unit else ()
        if any(not value.array for value in values):  # a number has no wire to highlight
            yield "number", SignPlace(kind, glyph.node)
        if glyph.node == drawing.highlighted_id:
            yield "misfit", SignPlace("node", glyph.node)
    for fence in drawing.fences:
        yield _fence_sign(fence), SignPlace("fence", fence.id)
    for extra in drawing.extras:
        yield EXTRAS[extra.kind], SignPlace("part", extra.kind)


def _wires(drawn: tuple[DrawnWire, ...]) -> Iterator[tuple[str, SignPlace]]:
    """Yields the signs of wires: axes by their kind, and arrays with several axes."""
    axes: dict[str, set[str]] = defaultdict(set)
    for wire in drawn:
        yield wire_sign(wire), SignPlace("axis", wire.axis)
        axes[wire.array].add(wire.axis)
    for id, names in axes.items():
        if len(names) > 1:
            yield "array", SignPlace("array", id)


def wire_sign(wire: DrawnWire) -> str:
    """Returns the sign of a wire, by its kind of axis."""
    if wire.double:
        return "spatial"
    return "sequence" if wire.description.startswith("sequence") else "axis"


def _fence_sign(fence: DrawnFence) -> str:
    if not fence.brackets:
        return "fence"
    return "repeat" if fence.words.startswith("repeated") else "scan"
