"""The Cells panel: the numbers of every array from input to output, the used ones highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

import torch

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.controls import slider
from ncd.circuit.circuit import Boundary, Cell, Circuit, Unit, Value
from ncd.circuit.knob import Knob
from ncd.drawing.cell_grids import Slice, dependency_slices
from ncd.drawing.equation import sides
from ncd.language.axes import Axis
from ncd.site import markup

MAX_CELLS = 10  # the greatest number of cells along an axis


def show_cells(scene: Scene) -> None:
    """Shows a line of tables for each side of an equation, or one for any other system."""
    circuit = scene.circuit
    parts = sides(circuit)
    lines = [_CircuitLine(part, scene) for part in parts]
    sign = getattr(scene.term, "sign", "")
    html = "".join(
        f'<div class="line" data-sign="{sign if n else ""}">{line.html}</div>'
        for n, line in enumerate(lines)
    )
    lit = any(line.lit for line in lines)
    told = "Blue is what the last numbers are made from. " if lit else ""
    html_panel.render(
        f'{sliders(scene)}<div class="cells">{html}</div>'
        f'<p class="muted">{told}{numbers_origin(scene)}</p>',
        "cells",
        on_pick=lambda picked: _pick(scene, picked),
    )


CELLS = Panel("Cells", show_cells, follows_moves=True)


def sliders(scene: Scene) -> str:
    """Returns a slider for each index, as in the sidebar."""
    return "".join(_slider(knob, scene) for knob in indexes(scene))


def _slider(knob: Knob, scene: Scene) -> str:
    now, places = scene.settings[knob.name], range(scene.settings[knob.below])
    label = f"<i>{markup.text(knob.name)}</i> = {now}"
    return slider(markup.text(f"{knob.name} = {now}"), knob.name, places, now, label)


def indexes(scene: Scene) -> list[Knob]:
    """Returns the knobs that are positions along an axis."""
    return [knob for knob in scene.entry.knobs if knob.below]


def _pick(scene: Scene, picked: str) -> None:
    """Sets an index; a callback."""
    name, _, place = picked.partition("=")
    knob = next((knob for knob in indexes(scene) if knob.name == name), None)
    if knob:
        knobs.set_values({name: knobs.nearest_legal(knob, place)[0]})


class _CircuitLine:
    """The arrays of a circuit, column by column, with the ops between them."""

    def __init__(self, circuit: Circuit, scene: Scene) -> None:
        self.circuit, self.scene = circuit, scene
        self.touched = dependency_slices(circuit)
        self.lit = any(at is not None for slice in self.touched.values() for at in slice)
        self.picks = {knob.below: knob.name for knob in indexes(scene)}

    @property
    def html(self) -> str:
        """Returns the line as HTML, each op between its inputs and its outputs."""
        steps = map(self.step, self.circuit.columns)
        states = map(self.state, self.circuit.states)
        return "".join(part for pair in zip_longest(states, steps, fillvalue="") for part in pair)

    def state(self, state: Boundary) -> str:
        return f'<div class="state">{"".join(map(self.table, state))}</div>'

    def step(self, step: Sequence[Unit | Value]) -> str:
        ops = [unit for unit in step if isinstance(unit, Cell)]
        return f'<div class="step">{"".join(map(self.op, ops))}→</div>'

    def op(self, cell: Cell) -> str:
        texts = [mark.text for mark in cell.op.glyph(cell.site).marks if mark.text]
        index = " index" if cell.op.role == "index" else ""
        return (
            f'<span class="op{index}" data-node="{cell.id}" data-select="{cell.id}" role="button" '
            f'tabindex="0">{markup.text(", ".join(texts) or cell.op.display_name)}</span>'
        )

    def table(self, value: Value) -> str:
        tensor = self.scene.trace.values[value.id].detach().cpu()
        at: Slice = self.touched.get(value.id, ()) if self.lit else ()
        grid = _ArrayGrid.from_tensor(tensor, value, at, self.lit and value.id in self.touched)
        return grid.html(self.picks)


@dataclass(frozen=True)
class _ArrayGrid:
    """An array as rows and columns, at one place along any further axes."""

    value: Value
    numbers: torch.Tensor  # (rows, columns)
    axes: tuple[Axis | None, Axis | None]
    used_slice: Slice  # the part of rows and columns that is used, if not all
    is_highlighted: bool
    position_text: str

    @staticmethod
    def from_tensor(tensor: torch.Tensor, value: Value, at: Slice, lit: bool) -> _ArrayGrid:
        axes = list(value.array)
        places = [0 if p is None else p for p in at or (None,) * len(axes)]
        flat = tensor.reshape([axis.numel for axis in axes])
        first = max(0, len(axes) - 2)
        numbers = flat[tuple(places[:first])]
        shown: list[Axis | None] = [None, None, *axes[first:]]
        fixed = zip(axes[:first], places, strict=False)
        told = ", ".join(f"{markup.axis(axis)} = {place}" for axis, place in fixed)
        two = numbers.reshape([axis.numel if axis else 1 for axis in shown[-2:]])
        where = (None, None, *at[first:])[-2:]
        return _ArrayGrid(value, two, (shown[-2], shown[-1]), where, lit, told)

    def html(self, picks: dict[str, str]) -> str:
        rows, columns = (
            _slots(n, at) for n, at in zip(self.numbers.shape, self.used_slice, strict=True)
        )
        down, across = self.axes
        corner = "<td></td>" if down else ""
        top = "".join(self.head(across, j, 1, picks) for j in columns) if across else ""
        body = "".join(
            f"<tr>{self.head(down, i, 0, picks) if down else ''}"
            f"{''.join(self.cell(i, j) for j in columns)}</tr>"
            for i in rows
        )
        name = markup.array(self.value.array) + (
            f" at {self.position_text}" if self.position_text else ""
        )
        return (
            f'<figure data-array="{self.value.id}" data-select="{self.value.id}">'
            f"<figcaption>{name}</figcaption>"
            f"<table>{f'<tr>{corner}{top}</tr>' if across else ''}{body}</table></figure>"
        )

    def head(self, axis: Axis | None, place: int | None, side: int, picks: dict[str, str]) -> str:
        """Returns the number of a row or column; a click on it sets the index along its axis."""
        name = axis.name if axis else ""
        if place is None:
            return "<th>…</th>"
        if name not in picks:
            return f"<th>{place}</th>"
        pressed = str(self.is_highlighted and self.used_slice[side] == place).lower()
        return (
            f'<th><button type="button" data-pick="{markup.text(picks[name])}={place}" '
            f'title="{markup.text(picks[name])} = {place}" aria-pressed="{pressed}">{place}'
            "</button></th>"
        )

    def cell(self, i: int | None, j: int | None) -> str:
        lit = self.is_highlighted and all(
            at is None or at == place for at, place in zip(self.used_slice, (i, j), strict=True)
        )
        text = "…" if i is None or j is None else _figure(self.numbers[i, j])
        return f'<td class="touch">{text}</td>' if lit else f"<td>{text}</td>"


def _slots(size: int, at: int | None) -> list[int | None]:
    """Returns the positions that are shown, including those near the index; None marks a gap.

    >>> _slots(3, None), _slots(20, 12)
    ([0, 1, 2], [None, 8, 9, 10, 11, 12, 13, 14, 15, None])
    """
    if size <= MAX_CELLS:
        return [*range(size)]
    first = max(0, min((at or 0) - MAX_CELLS // 2 + 1, size - MAX_CELLS + 2))
    inside = list(islice(range(first, size), MAX_CELLS - 1 if first == 0 else MAX_CELLS - 2))
    before = [None] if first else []
    return [*before, *inside, *([None] if inside[-1] < size - 1 else [])]


def _figure(number: torch.Tensor) -> str:
    """Returns a number rounded to the width of a cell."""
    text = f"{float(number):.2f}" if number.is_floating_point() else str(int(number))
    return text.replace("-", "−")
