"""The drawings of a term with this or that block folded, as far as a file has room for them."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping

from ncd.drawing import Drawing, Labels, draw
from ncd.drawing.backends.svg import write
from ncd.drawing.collapse.repeated_layers import stacked
from ncd.drawing.equation import sides
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.terms.blocks import Equation
from ncd.lang.terms.terms import Term

Shut = frozenset[str]  # the ids of the blocks that are folded
STATES = 64  # drawings in a file
LETTERS = 3_000_000  # in all of them, before they are packed


def wholes(circuit: Circuit) -> tuple[Circuit, ...]:
    """The circuits that are drawn: each side of an equation, and layers that are alike once."""
    parts = sides(circuit) if isinstance(circuit.term, Equation) else (circuit,)
    return tuple(map(stacked, parts))


def states(term: Term, blocks: Mapping[str, str], labels: Labels) -> dict[Shut, Drawing]:
    """The drawings that folding and unfolding lead to, the one to begin with first.

    ``blocks`` are those that fold, each with the one around it. From each drawing the nearest come
    first: with one block folded or unfolded, then two, and so on.
    """
    first = draw(term, labels)
    found = {folded(first): first}
    letters, queue = len(svg(first)), [folded(first)]
    for shut in queue:
        for next_ in _beside(blocks, found[shut], shut):
            drawing = found.get(next_) or draw(term, labels, folded=next_)
            if folded(drawing) in found:  # where something else stays folded as well
                continue
            letters += len(svg(drawing))
            if letters > LETTERS or len(found) == STATES:
                return found
            found[folded(drawing)] = drawing
            queue.append(folded(drawing))
    return found


def folded(drawing: Drawing) -> Shut:
    """The blocks that a drawing shows as one box."""
    return frozenset(glyph.node for glyph in drawing.glyphs if glyph.cells)


def svg(drawing: Drawing) -> str:
    """The SVG of a drawing in the colours of the page that it stands on."""
    return write(drawing, fonts=False, paint=lambda name: f"var(--{name})")


def packed(drawings: Mapping[Shut, Drawing]) -> str:
    """All of them as gzipped JSON in letters; those of one term have nearly everything in common.

    The names are the ids of the folded blocks, in order, with spaces between them.
    """
    texts = {name(shut): svg(drawing) for shut, drawing in drawings.items()}
    return b64encode(gzip.compress(json.dumps(texts).encode(), mtime=0)).decode()


def name(shut: Shut) -> str:
    return " ".join(sorted(shut))


def _beside(blocks: Mapping[str, str], drawing: Drawing, shut: Shut) -> Iterator[Shut]:
    """The states with one block more that is folded, or one less."""
    for id in sorted(shut):
        yield shut - {id}
    for fence in drawing.fences:
        if fence.id in blocks:
            yield frozenset(id for id in shut if not _in(id, fence.id, blocks)) | {fence.id}


def _in(id: str, block: str, outer: Mapping[str, str]) -> bool:
    while id in outer and id != block:
        id = outer[id]
    return id == block
