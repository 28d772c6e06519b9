"""Collapse: blocks, repeated layers and saved arrays that a drawing abbreviates."""

from __future__ import annotations

from collections.abc import Collection

from ncd.circuit.circuit import Circuit
from ncd.drawing.plan.collapse import folded
from ncd.drawing.plan.memory_notes import Places, remembered


def shown(circuit: Circuit, shut: Collection[str]) -> Circuit:
    """Returns the circuit with these blocks collapsed, and notes for saved and loaded arrays.

    Where only one of the repetitions that hand arrays over is collapsed, its notes are inside it;
    where all are, the arrays are wires between their boxes.
    """
    places = Places(circuit)
    partners = {loop.id for loop in (*places.savers, *places.loaders)}
    if partners <= {*shut}:
        return folded(circuit, shut)
    return folded(remembered(folded(circuit, {*shut} - partners)), partners & {*shut})
