"""The forward pass step by step: the op, its lines of source, and its results."""

from __future__ import annotations

from ncd.code import lines
from ncd.export import markup, source_listing
from ncd.export.forward_steps import Stop, by_side
from ncd.lang.circuits.array_names import called, given
from ncd.lang.circuits.circuit import Cell, Loop, Value
from ncd.run import Trace
from ncd.view.arrays import summary
from ncd.view.base.cache import remember
from ncd.view.diagram import op_reasons
from ncd.view.session.scene import Scene

ARRAYS, LINES = 3, 6  # the greatest numbers of arrays and of lines that are shown for an op
LAST = " This is done at every position of the scan; these are the last numbers."


class Told:
    """Writes the steps of the forward walk as HTML."""

    def __init__(self, scene: Scene, trace: Trace) -> None:
        self.scene, self.circuit, self.values = scene, scene.circuit, trace.values
        self.names = {**called(self.circuit), **given(self.circuit)}
        self.source = remember(
            "painted",
            scene.term,
            make=lambda: source_listing.coloured_lines(lines(scene.term), self.circuit),
        )
        self.side = by_side(scene.circuit)
        loops = [loop for loop in self.circuit.loops if loop.kind == "scan"]
        self.scanned = {cell.id for loop in loops for b in loop.bodies for cell in b.cells}

    def stop(self, stop: Stop) -> str:
        """Returns the op's description, its lines of source, and its results."""
        unit = stop.unit
        copies = isinstance(unit, Cell) and unit.op.role == "copy" and len(stop.arrays) > 1
        made = self._all_alike(stop) if copies else self._made(stop)
        head = self._op(unit) if isinstance(unit, Cell) else self._end(unit)
        inputs = unit.inputs if isinstance(unit, Cell) else ()
        known = [value for value in inputs if value.id in self.values]
        taken = "".join(map(self._figure, known[:ARRAYS]))
        takes = f'<div class="gives taken">{taken}</div>' if taken else ""
        right = f'<div>{takes}<div class="gives">{made}</div></div>'
        return f'<div class="stop"><div class="done">{head}</div>{right}</div>'

    def _end(self, unit: Loop | None) -> str:
        if unit is None:
            return "<h2>What goes in</h2>"
        along = markup.text(unit.axis)
        return (
            f"<h2>The end of the scan</h2><p>What came out at every position of {along}, in a row, "
            "and the state after the last.</p>"
        )

    def _op(self, cell: Cell) -> str:
        where = " · ".join(filter(None, [self.side.get(cell.id, ""), ".".join(cell.scope)]))
        path = f" <span class='muted'>{markup.text(where)}</span>" if where else ""
        ids = " ".join(f"{self._named(value)}" for value in cell.inputs)
        takes = f'<p class="takes"><span class="muted">takes</span> {ids}</p>' if ids else ""
        why = f'<p class="why">{markup.text(op_reasons.reason(cell))}</p>'
        again = LAST if cell.id in self.scanned else ""
        code = source_listing.excerpt(
            self.source, self.circuit, self.scene.dark, frozenset({cell.id}), LINES
        )
        return (
            f'<h2 data-node="{cell.id}">{markup.role(cell.op.role, self.scene.dark)}'
            f"{markup.text(cell.op.label)}{path}</h2>"
            f"<p>{_sentence(cell.words)}{again}</p>{why}{takes}{code}"
        )

    def _named(self, value: Value) -> str:
        name = markup.text(self.names.get(value.id, ""))
        return (
            f'<span class="array" data-array="{value.id}">{name} '
            f"<span class='muted'>{markup.array(value.array)}</span></span>"
        )

    def _made(self, stop: Stop) -> str:
        if not stop.arrays:
            return '<p class="muted">Nothing: what it takes goes no further.</p>'
        more = len(stop.arrays) - ARRAYS
        left = f'<p class="muted">and {markup.counted(more, "array")} more</p>' if more > 0 else ""
        return "".join(map(self._figure, stop.arrays[:ARRAYS])) + left

    def _all_alike(self, stop: Stop) -> str:
        times = f'<p class="muted">The same numbers, {len(stop.arrays)} times.</p>'
        return self._figure(stop.arrays[0]) + times

    def _figure(self, value: Value) -> str:
        name = markup.text(self.names.get(value.id, ""))
        return (
            f'<figure data-array="{value.id}"><figcaption><b>{name}</b> '
            f"{summary.shape(value.array)}</figcaption>"
            f"{summary.html(value.array, self.values[value.id])}</figure>"
        )


def _sentence(words: str) -> str:
    return f"{markup.text(words[:1].upper() + words[1:])}."
