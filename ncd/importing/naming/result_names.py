"""Names for the last axis of a module's results, by what they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ncd.importing.base.atoms import every, leaves
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Value

LAYERS = 2  # with fewer a module is a layer, whose results are no classes


def name_results(outputs: Sequence[Value], g: Builder, inputs: Iterable[Value]) -> None:
    """Suggests names for what the last layer of a module gives: words, or classes.

    It gives words if it has as many results as a table of the module has rows, and classes if it is
    the only result, one row for each example, and of another size than
    all of the input but its batch.
    """
    slots = [slot for step in g.steps for slot in (*step.takes, *step.gives)]
    words = {atom.size for slot in slots for atom in leaves(slot.atoms) if atom.hint == "v"}
    learned = sum(bool(step.weights) for step in g.steps)
    sizes = {atom.size for value in inputs for atom in every(value.dims[1:])}
    for value in outputs:
        last = leaves(value.dims[-1]) if value.dims else ()
        if len(last) != 1 or last[0].hint != "out" or value.slot.kind != "real":
            continue
        alone = len(outputs) == 1 and len(value.dims) == 2 and learned >= LAYERS
        if last[0].size in words:
            last[0].hint = "v"
        elif alone and last[0].size not in sizes:
            last[0].hint = "classes"
