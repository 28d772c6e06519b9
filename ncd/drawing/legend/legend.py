"""The legend of a drawing: its signs with their places, in the order of the legend page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ncd.drawing.elements.primitives import DrawingData, DrawnFence, DrawnWire
from ncd.drawing.legend import signs
from ncd.drawing.legend.sign_lookup import of_mark as of_mark
from ncd.drawing.legend.sign_lookup import of_unit
from ncd.drawing.legend.signs import ARRAYS, LEARNED_MAPS, OTHER_MAPS, PRODUCTS, WAYS, WEIGHTS
from ncd.drawing.legend.signs import LegendEntry as LegendEntry

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
