"""Formulas for all numbers on a page in terms of its knobs, for dragging a size in the browser.

A system is built once more at sizes that record how they are used
(:mod:`ncd.lang.formulas.traced_sizes`), and the page's texts are made from it. In place of each
number the texts hold a letter; each letter has a formula, and the formulas come with the conditions
under which they hold. The browser evaluates them while a size is dragged, without a run of the
page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ncd.code import lines
from ncd.export import source_listing
from ncd.export.page.traced_texts import (
    FormulaTable,
    alike,
    changed_texts,
    changes,
    texts,
    wire_sizes,
)
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.traced_circuit import traced_circuit
from ncd.lang.formulas.traced_sizes import FILL, Trace, traced
from ncd.models import Entry, Knob
from ncd.view.base.knobs import MOST
from ncd.view.diagram import axis_chips, component
from ncd.view.page.page import cost_line
from ncd.view.panels.common import cost_table, shapes
from ncd.view.session.scene import Scene

Open = dict[str, Any]
PANELS = ("shapes", "source", "cost")  # depend on the sizes alone; the others show a run


def follows(scene: Scene, panel: str) -> Open | None:
    """Returns the formulas for a page and one of its panels; None if there are none.

    ``knobs`` holds the range of each knob, and ``fixed`` the values of the knobs that may not
    change. ``atoms`` and ``sums`` are the formulas, ``letters`` the formula and number format of
    each letter, ``holds`` the conditions, and ``also`` those for the panel. ``grips`` lists the
    knobs that each axis depends on.
    """
    found = _traced(scene.entry, scene.settings)
    if found is None or not alike(found[1], scene.circuit):
        return None
    trace, circuit = found
    settings = dict(scene.settings) | trace.open
    own = replace(scene, term=circuit.term, settings=settings)
    said: Open = {
        "wires": dict(wire_sizes(circuit)),
        "told": {id: text.replace(FILL, "") for id, text in component.words(circuit).items()},
        "chips": changed_texts(axis_chips.html(scene.circuit), axis_chips.html(circuit)),
    }
    with trace.asking():
        said["cost"] = cost_line(own, None).replace(FILL, "")
        said["grips"] = {name: sorted(knobs) for name, knobs in _grips(circuit)}
    before = list(trace.holds)
    said["panel"] = _panel(scene, own, panel) if panel in PANELS else []
    facts = {"holds": before, "also": [fact for fact in trace.holds if fact not in before]}
    return {
        **said,
        "knobs": {knob.name: _knob(knob) for knob in scene.entry.knobs if knob.is_size},
        "fixed": {n: v for n, v in scene.settings.items() if n not in trace.open},
        **FormulaTable().written(trace, facts),
    }


def _traced(entry: Entry, settings: Mapping[str, int]) -> tuple[Trace, Circuit] | None:
    names = [knob.name for knob in entry.knobs if knob.is_size and not knob.below]
    return traced_circuit(lambda given: entry.system(**given), settings, names)


# --- texts with letters in them -------------------------------------------------------------------


def _panel(plain: Scene, own: Scene, panel: str) -> list[tuple[int, str]]:
    """Returns the changing texts of a panel."""
    if panel == "shapes":
        return changed_texts(shapes.html(plain), shapes.html(own))
    if panel == "cost":
        return changed_texts(cost_table.html(plain, None), cost_table.html(own, None))
    said, text = lines(plain.term), lines(own.term)
    html = source_listing.html(said, plain.circuit, plain.dark)
    return changes(texts(html), "".join(line.text or " " for line in text))


# --- numbers --------------------------------------------------------------------------------------


def _grips(circuit: Circuit) -> Iterator[tuple[str, set[str]]]:
    """Yields each axis with the knobs that its size depends on."""
    for axis in reversed(circuit.axes):
        knobs = {
            name for side in axis.shape if traced(side) for name in side.trace.read(side.total)
        }
        if knobs:
            yield axis.name, knobs


def _knob(knob: Knob) -> dict[str, Any]:
    """Returns the range of a knob: that of its slider, and the mathematically possible one."""
    least, most = knob.bounds
    return {
        "min": knob.min,
        "max": knob.max,
        "step": knob.step,
        "least": least,
        "most": MOST if most is None else min(most, MOST),
        "multiple": knob.multiple,
    }
