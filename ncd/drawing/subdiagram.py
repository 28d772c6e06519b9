"""Drawings of one block, with the ids that its arrays and ops have in the whole term."""

from __future__ import annotations

from dataclasses import replace

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.collapse.repeated_layers import stacked
from ncd.drawing.equation import sides
from ncd.drawing.layout_cache import cached
from ncd.drawing.pipeline import Options, drawn
from ncd.drawing.placement.axis_labels import Labels
from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Loop
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import UnknownNameError
from ncd.lang.terms.terms import Term


def draw_part(
    term: Term, id: str, labels: Labels = "names", *, width: float = 1280.0, dark: bool = False
) -> Drawing:
    """Draws the inside of one block of a term.

    >>> from ncd.lang.terms.blocks import Block
    >>> from ncd.ops import Linear, Softmax
    >>> term = Linear("m:2 -> k:3") >> Block(Softmax("k"), "Weights")
    >>> [glyph.node for glyph in draw_part(term, "f0").glyphs]
    ['n1']
    """
    inside = part(elaborate(term), id)
    options = Options(labels, "auto", width, (), False, False, dark, "", ())
    return cached(inside, options, labels != "names", lambda: drawn(inside, options))


def part(circuit: Circuit, id: str) -> Circuit:
    """Returns the inside of a block as a circuit; of a repetition or a stack, the first body.

    Raises UnknownNameError if neither the circuit nor its drawing has such a block.

    >>> from ncd.lang.terms.blocks import Block
    >>> from ncd.ops import Linear, Softmax
    >>> whole = elaborate(Linear("m:2 -> k:3") >> Block(Softmax("k"), "Weights"))
    >>> inside = part(whole, "f0")
    >>> [cell.id for cell in inside.cells], [value.id for value in inside.inputs]
    (['n1'], ['v1'])
    """
    parts = sides(circuit)
    for whole in (*parts, *map(stacked, parts)):
        if (found := _in(whole, id)) is not None:
            return found
    raise UnknownNameError(f"there is no block {id!r}", cure="an id such as f0")


def _in(circuit: Circuit, id: str) -> Circuit | None:
    for loop in circuit.loops:
        if loop.id == id:
            return loop.bodies[0]
    for inner in (circuit, *(body for loop in circuit.loops for body in loop.bodies)):
        for fence in inner.own_fences:
            if fence.id == id:
                return _cut(inner, fence)
    return None


def _cut(circuit: Circuit, fence: Fence) -> Circuit:
    """Returns the columns of a circuit that lie inside one of its fences."""
    steps = tuple(
        tuple(_within(unit, fence.id) for unit in step if fence.id in unit.fences)
        for step in circuit.steps[fence.first : fence.last]
    )
    known = {fence.id}
    inner: list[Fence] = []
    for other in circuit.own_fences:  # the outer before the inner
        if other.parent in known:
            known.add(other.id)
            parent = "" if other.parent == fence.id else other.parent
            inner.append(replace(other, first=other.first - fence.first, parent=parent))
    return Circuit(fence.term or circuit.term, fence.states, steps, tuple(inner))


def _within(unit: Cell | Loop, id: str) -> Cell | Loop:
    """Returns a unit without the fences around the part."""
    return replace(unit, fences=unit.fences[unit.fences.index(id) + 1 :])
