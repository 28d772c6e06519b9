"""Shown: the circuit that a drawing is of, which is not all of the circuit of its term."""

from __future__ import annotations

from collections.abc import Collection

from ncd.drawing.collapse.collapsed_blocks import folded
from ncd.drawing.collapse.saved_arrays import remembered
from ncd.lang.circuits.circuit import Circuit


def shown(circuit: Circuit, shut: Collection[str]) -> Circuit:
    """The circuit with these blocks folded, and notes for what repetitions save and load."""
    return remembered(folded(circuit, shut))
