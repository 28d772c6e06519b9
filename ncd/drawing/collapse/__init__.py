"""Collapse: blocks, repeated layers and saved arrays that a drawing abbreviates."""

from __future__ import annotations

from collections.abc import Collection

from ncd.drawing.collapse.collapsed_blocks import folded
from ncd.drawing.collapse.saved_arrays import remembered
from ncd.lang.circuits.circuit import Circuit


def shown(circuit: Circuit, shut: Collection[str]) -> Circuit:
    """Returns the circuit with these blocks collapsed, and notes for saved and loaded arrays."""
    return remembered(folded(circuit, shut))
