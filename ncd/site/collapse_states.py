"""The drawings of a term with different blocks collapsed, as many as a file has room for."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ncd.circuit.circuit import Circuit
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.backends.svg import write
from ncd.drawing.elements.primitives import Thumbnail
from ncd.drawing.equation import sides
from ncd.drawing.pipeline import draw
from ncd.drawing.plan.repeated_layers import fold_repetitions
from ncd.language.arguments import Labels
from ncd.language.terms import Term

CollapsedIds = frozenset[str]  # ids of the collapsed blocks
Views = Mapping[float, Mapping[CollapsedIds, Drawing]]  # drawings by the width of the page
STATES = 64  # drawings in a file, for each width
WIDTH = 1280.0  # in pixels
LETTERS = 3_000_000  # characters of all drawings, before compression
GROUP = re.compile("(?=<g[ >])")


@dataclass(frozen=True)
class WireValues:
    """The values of one run: empty frames for the drawings, and the data of the page.

    :mod:`ncd.site.wire_values` makes them, and says what the data are.
    """

    frames: Mapping[str, Thumbnail] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)


NO_VALUES = WireValues()


def drawn_circuits(circuit: Circuit) -> tuple[Circuit, ...]:
    """Returns the circuits that are drawn: each side of an equation, equal layers stacked."""
    return tuple(map(fold_repetitions, sides(circuit)))


def states(
    term: Term,
    blocks: Mapping[str, str],
    labels: Labels,
    most: int = STATES,
    width: float = WIDTH,
    letters: int = LETTERS,
    title: str = "",
    frames: Mapping[str, Thumbnail] = MappingProxyType({}),
) -> dict[CollapsedIds, Drawing]:
    """Returns the drawings that can be reached by collapsing and expanding, the initial one first.

    ``blocks`` maps each collapsible block to the one around it. States one step away come first,
    then two, and so on, ``most`` in all, and no more than ``letters`` of SVG beside the first.
    ``frames`` are those of the values on the wires.
    """
    look: dict[str, Any] = {"width": width, "title": title, "thumbnails": frames}
    first = draw(term, labels, **look)
    found = {collapsed_ids(first): first}
    written, queue = 0, [collapsed_ids(first)]
    for shut in queue:
        for next_ in _adjacent_states(blocks, found[shut], shut):
            drawing = found.get(next_) or draw(term, labels, folded=next_, **look)
            if collapsed_ids(drawing) in found:  # another block stays collapsed, so nothing new
                continue
            written += len(svg(drawing))
            if written > letters or len(found) == most:
                return found
            found[collapsed_ids(drawing)] = drawing
            queue.append(collapsed_ids(drawing))
    return found


def collapsed_ids(drawing: Drawing) -> CollapsedIds:
    """Returns the blocks that a drawing shows as one box."""
    return frozenset(glyph.node for glyph in drawing.glyphs if glyph.cells)


def svg(drawing: Drawing) -> str:
    """Returns the SVG of a drawing in the colours of its page."""
    return write(drawing, fonts=False, paint=lambda name: f"var(--{name})")


def drawing_parts(views: Views, valued: Views = MappingProxyType({})) -> dict[str, Any]:
    """Returns the SVG of all drawings as the parts that they have, and a list of these for each.

    Parts are sorted, so that alike ones come within the 32 kB that gzip remembers. There is a list
    for each width and state: the ids of the collapsed blocks, sorted and separated by spaces.
    ``valued`` are the drawings with frames for values.
    """
    every = [each for own in (views, valued) for view in own.values() for each in view.values()]
    parts = sorted({part for drawing in every for part in GROUP.split(svg(drawing))})
    places = {part: i for i, part in enumerate(parts)}

    def listed(own: Views) -> list[dict[str, Any]]:
        return [
            {
                "width": width,
                "states": {
                    state_name(shut): [places[part] for part in GROUP.split(svg(drawing))]
                    for shut, drawing in view.items()
                },
            }
            for width, view in own.items()
        ]

    return {"parts": parts, "views": listed(views), "valued": listed(valued)}


def gzip_json(data: Mapping[str, Any]) -> str:
    """Returns data as gzipped JSON in base64.

    >>> gzip_json({"n0": "<p>relu</p>"})[:4]
    'H4sI'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def state_name(shut: CollapsedIds) -> str:
    return " ".join(sorted(shut))


def _adjacent_states(
    blocks: Mapping[str, str], drawing: Drawing, shut: CollapsedIds
) -> Iterator[CollapsedIds]:
    """Yields the states with one more or one fewer collapsed block."""
    for id in sorted(shut):
        yield shut - {id}
    for fence in drawing.fences:
        if fence.id in blocks:
            yield frozenset(id for id in shut if not _is_inside(id, fence.id, blocks)) | {fence.id}


def _is_inside(id: str, block: str, outer: Mapping[str, str]) -> bool:
    while id in outer and id != block:
        id = outer[id]
    return id == block
