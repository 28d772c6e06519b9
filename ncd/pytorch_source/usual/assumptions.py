"""The message about a source that could be read: what is assumed, and what is left out."""

from __future__ import annotations

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.folding.large_models import folded_modules
from ncd.pytorch_source.listed.elsewhere import assumed_boxes
from ncd.pytorch_source.usual.usual_sizes import written


def message(machine: Machine, inputs: str, call: str) -> str:
    """Returns the message for a visitor whose source could be read.

    Args:
        machine: The interpretation.
        inputs: The inputs that are assumed, in words; empty if the source gives them.
        call: A line that says what is assumed about both; empty if none can be written.
    """
    note = ""
    if inputs and not call:
        note = f"No input is given, so {inputs} is taken. A last line with a shape changes it."
    if machine.evaluated:
        note += f" It is read in evaluation, as in training {machine.evaluated}."
    for name, fact in machine.instead.items():
        note += f" {name} is not drawn: {fact}."
    written_there = {machine.maker[1], *machine.maker[2]} if call and machine.maker else set()
    for name, given in machine.taken.items():
        if name in written_there:
            continue
        note += f" {written(name, given)} is taken, as not all sizes are given."
    for name, count in machine.plain.items():
        lengths = f"{count:,} length{'s' * (count > 1)}"
        more = f", without the {lengths} that torch counts" if count else ""
        note += f" {name} is left out: its layers are drawn with plain weights{more}."
    note = " ".join(filter(None, (note, assumed_boxes(machine), folded_modules(machine)))).strip()
    if not machine.left_out:
        return note
    lines = ", ".join(map(str, machine.left_out[:5]))
    more = " and more" * (len(machine.left_out) > 5)
    if len(machine.left_out) == 1:
        return f"{note} Line {lines} stands apart from the module, and is left out.".strip()
    return f"{note} Lines {lines}{more} stand apart from the module, and are left out.".strip()
