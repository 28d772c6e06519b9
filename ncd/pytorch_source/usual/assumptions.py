"""The message about a source that could be read: what is assumed, and what is left out."""

from __future__ import annotations

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.listed.elsewhere import assumed_boxes
from ncd.pytorch_source.usual.usual_sizes import written


def message(machine: Machine, note: str) -> str:
    """Returns the message for a visitor whose source could be read."""
    for name, fact in machine.instead.items():
        note += f" {name} is not drawn: {fact}."
    for name, given in machine.taken.items():
        note += f" {written(name, given)} is taken, as not all sizes are given."
    for name, count in machine.plain.items():
        lengths = f"{count:,} length{'s' * (count > 1)}"
        more = f", without the {lengths} that torch counts" if count else ""
        note += f" {name} is left out: its layers are drawn with plain weights{more}."
    note = f"{note} {assumed_boxes(machine)}".strip()
    if not machine.left_out:
        return note
    lines = ", ".join(map(str, machine.left_out[:5]))
    more = " and more" * (len(machine.left_out) > 5)
    if len(machine.left_out) == 1:
        return f"{note} Line {lines} stands apart from the module, and is left out.".strip()
    return f"{note} Lines {lines}{more} stand apart from the module, and are left out.".strip()
