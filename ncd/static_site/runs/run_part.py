"""The part of a page that runs its system: what goes in, a button, and the steps of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from ncd.export import markup
from ncd.export.forward_steps import Stop, by_side, stops
from ncd.lang.circuits.circuit import Cell, Circuit, Loop, Value
from ncd.static_site.runs.cell_terms import renamed, terms

WALK = """<div class="walk" hidden><div class="strip" role="group" aria-label="Steps">
<button type="button" data-by="-1">Previous</button>
<button type="button" data-by="1">Next</button>
<input type="range" min="1" value="1" aria-label="Step"><b class="count"></b>
<button type="button" class="end">End the steps</button></div>
<div data-live="walk" aria-live="polite"></div><div class="figures"></div></div>"""
INSIDE = " This is done at every position of a scan, and its numbers are not kept here."


def run_part(said: str) -> Callable[[Circuit], str]:
    """Returns the writer of the part; ``said`` tells where the numbers of the run come from.

    Sizes of inputs, and those in the words of steps, follow the sizes of the page.
    """

    def part(circuit: Circuit) -> str:
        items = ", ".join(
            f'<span data-input="{value.id}">{markup.shapes([value.array])}</span>'
            for value in circuit.inputs
        )
        given = f' <span class="muted">Goes in: {items}.</span>' if items else ""
        return (
            '<section class="run" aria-label="Run" data-live="run"><h2>Run here</h2>'
            f'<p><span class="origin">{markup.text(said)}</span>{given}</p>'
            '<p><button class="go" type="button">Run here</button> '
            '<button class="begin" type="button" hidden>Step by step</button> '
            '<span class="ran" role="status"></span></p>'
            f'{WALK}<div class="results"></div></section>'
        )

    return part


def without_model(why: str) -> Callable[[Circuit], str]:
    """Returns the part of a page whose system does not run in a browser, which says why."""
    said = f"<p>It does not run in a browser: {markup.text(why)}. The app runs it.</p>"
    return lambda circuit: f'<section class="run"><h2>Run here</h2>{said}</section>'


def walk(circuit: Circuit) -> str:
    """Returns each step: what is lit in the diagram, what it takes and makes, and its words."""
    return "".join(_stops(circuit))


def _stops(circuit: Circuit) -> Iterator[str]:
    side = by_side(circuit)
    scans = (body for loop in circuit.loops if loop.kind == "scan" for body in loop.bodies)
    inside = {cell.id for body in scans for cell in body.cells}
    for stop in stops(circuit):
        taken = stop.unit.inputs if isinstance(stop.unit, Cell) else ()
        yield (
            f'<article data-ids="{" ".join(stop.ids)}" data-takes="{_ids(taken)}" '
            f'data-makes="{_ids(stop.arrays)}"{_same(stop)}{_terms(stop, circuit)} hidden>'
            f"{_head(stop, side, inside)}</article>"
        )


def _ids(values: Iterable[Value]) -> str:
    return " ".join(value.id for value in values)


def _same(stop: Stop) -> str:
    """Returns the mark of a step that makes several arrays of the same numbers."""
    return ' data-same="1"' if isinstance(stop.unit, Cell) and stop.unit.op.role == "copy" else ""


def _terms(stop: Stop, circuit: Circuit) -> str:
    """Returns what the page needs to say how one number of the step came about."""
    found = terms(stop.unit) if isinstance(stop.unit, Cell) else {}
    if found and isinstance(stop.unit, Cell) and any(names := renamed(stop.unit, circuit)):
        found["renamed"] = json.dumps(names)
    return "".join(f' data-{name}="{markup.text(said)}"' for name, said in found.items())


def _head(stop: Stop, side: dict[str, str], inside: set[str]) -> str:
    unit = stop.unit
    if unit is None:
        return "<h3>What goes in</h3>"
    if isinstance(unit, Loop):
        along = markup.text(unit.axis)
        return (
            f"<h3>The end of the scan</h3><p>What came out at every position of {along}, in a "
            "row, and the state after the last.</p>"
        )
    where = " · ".join(filter(None, [side.get(unit.id, ""), ".".join(unit.scope)]))
    path = f' <span class="muted">{markup.text(where)}</span>' if where else ""
    words = unit.words
    again = INSIDE if unit.id in inside else ""
    title = f"{markup.role(unit.op.role, None)}{markup.text(unit.op.label)}{path}"
    return f"<h3>{title}</h3><p>{markup.text(words[:1].upper() + words[1:])}.{again}</p>"
