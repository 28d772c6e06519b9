"""The inside of a block is drawn with the ids that everything has in the whole."""

from __future__ import annotations

import pytest

import ncd
from ncd.drawing.pipeline import block_circuit, draw_part
from ncd.drawing.plan.repeated_layers import fold_repetitions
from ncd.errors import UnknownNameError
from ncd.site.op_cards import block_op_ids
from tests.systems.each_system import SYSTEMS
from tests.systems.each_system.system import System


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_the_inside_of_a_block_is_that_part_of_the_whole(system: System) -> None:
    term = system.build(**system.sizes[0])
    circuit = ncd.elaborate(term)
    for fence in circuit.fences:
        cells = {cell.id for cell in block_circuit(circuit, fence.id).cells}
        own = block_op_ids(circuit, fence)
        assert cells <= own if fence.repeats else cells == own
        drawing = draw_part(term, fence.id)
        shown = {id for glyph in drawing.glyphs for id in (glyph.cells or (glyph.node,))}
        assert {id for id in shown if id.startswith("n")} <= own
        assert {wire.array for wire in drawing.wires} <= set(circuit.values)


def test_a_stack_of_layers_shows_its_first() -> None:
    layer = ncd.Block(
        ncd.Id("m:4") >> ncd.Linear("m -> m:4", "A") >> ncd.Softmax("m") >> ncd.Linear("m -> m:4"),
        "Layer",
    )
    term = layer >> layer >> layer >> layer
    circuit = ncd.elaborate(term)
    stack = next(f.id for f in fold_repetitions(circuit).fences if f.id.startswith("s"))
    assert [cell.id for cell in block_circuit(circuit, stack).cells] == ["n0", "n1", "n2"]
    assert [glyph.node for glyph in draw_part(term, stack).glyphs] == ["n0", "n1", "n2"]


def test_a_block_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="there is no block 'f9'"):
        draw_part(ncd.Id("m:4"), "f9")
