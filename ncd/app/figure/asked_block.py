"""Opens the box in which the array or op of a question lies."""

from __future__ import annotations

from ncd.app.state import selection
from ncd.circuit.circuit import Circuit
from ncd.drawing.backends.drawing import Drawing


def opened(drawing: Drawing, circuit: Circuit, id: str) -> frozenset[str] | None:
    """Returns the blocks to collapse so that an array or an op is seen; None if it is seen already.

    Of the box around it only the way to it opens: its other blocks become boxes.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> drawing = ncd.draw(term, width=320)
    >>> opened(drawing, ncd.elaborate(term), "v7"), opened(drawing, ncd.elaborate(term), "v0")
    (frozenset(), None)
    """
    seen = {wire.array for wire in drawing.wires} | {glyph.node for glyph in drawing.glyphs}
    ends = {
        id,
        *(unit.id for found in (circuit.producers, circuit.consumers) if (unit := found.get(id))),
    }
    boxes = {g.node: g.cells for g in drawing.glyphs if selection.BLOCK.fullmatch(g.node)}
    box = next((box for box, cells in boxes.items() if not ends.isdisjoint(cells)), None)
    if id in seen or box is None:
        return None
    cells = [cell for cell in circuit.cells if cell.id in boxes[box]]
    way = {fence for cell in cells if cell.id in ends for fence in cell.fences}
    inside = (cell.fences[cell.fences.index(box) + 1 :] for cell in cells if box in cell.fences)
    beside = (next((fence for fence in fences if fence not in way), None) for fences in inside)
    return frozenset(boxes) - {box} | frozenset(filter(None, beside))
