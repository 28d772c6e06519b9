"""Collapse: blocks, repeated layers and saved arrays that a drawing abbreviates."""

from __future__ import annotations

from collections.abc import Collection

from ncd.circuit.circuit import Circuit
from ncd.drawing.plan.collapse import collapse_blocks
from ncd.drawing.plan.memory_notes import SavedArrayNames, with_memory_notes


def collapsed(circuit: Circuit, shut: Collection[str]) -> Circuit:
    """Returns the circuit with these blocks collapsed, and notes for saved and loaded arrays.

    Where only one of the repetitions that hand arrays over is collapsed, its notes are inside it;
    where all are, the arrays are wires between their boxes.
    """
    places = SavedArrayNames(circuit)
    partners = {loop.id for loop in (*places.savers, *places.loaders)}
    if partners <= {*shut}:
        return collapse_blocks(circuit, shut)
    return collapse_blocks(
        with_memory_notes(collapse_blocks(circuit, {*shut} - partners)), partners & {*shut}
    )
