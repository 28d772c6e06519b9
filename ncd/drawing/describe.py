"""The words of a drawing, for those who cannot see it."""

from __future__ import annotations

from ncd.lang.circuit import Circuit


def describe(circuit: Circuit) -> tuple[str, str]:
    """A title and a description that read well aloud."""
    outer = [f.title.strip() for f in circuit.own_fences if f.title.strip() and not f.parent]
    title = outer[0] if outer else "Neural circuit diagram"
    term = circuit.term
    steps = "; ".join(cell.op.words(cell.site) for cell in circuit.cells)
    return title, f"From ({term.dom}) to ({term.cod}). In order: {steps or 'nothing is done'}."
