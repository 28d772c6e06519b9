"""The arithmetic of one cell of a map, as HTML below the map."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ncd.app.figure import arithmetic_html
from ncd.app.figure.arithmetic_html import (
    array_html,
    dimension,
    number_text,
    op_arithmetic_html,
    op_html,
)
from ncd.app.parts import map_component, slice_picker
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.controls import TextControl
from ncd.circuit.circuit import Cell, Circuit
from ncd.explain.attention_row import row
from ncd.explain.cell_arithmetic import NumberOrigin, SoftmaxArithmetic, number_origin
from ncd.explain.colour_scale import PooledMaps
from ncd.site import markup

PLACE = "[0-9]{1,9},[0-9]{1,9}"
CELL, NUMBER = (
    TextControl("cell", PLACE),
    TextControl("number", PLACE),
)  # of the attention map, of the value map
MAX_FEATURES = 2  # features of the weighted sum that are shown


def selected_cell(control: TextControl, rows: int, columns: int) -> tuple[int, int] | None:
    """Returns the selected cell, if the map has it."""
    if not control.value:
        return None
    i, j = map(int, control.value.split(","))
    return (i, j) if i < rows and j < columns else None


def pick(control: TextControl, value: str) -> None:
    """Selects the clicked cell, or clears it if it was selected; a callback."""
    control.put("" if value == control.value else value)


def go_to(circuit: Circuit, value: str) -> None:
    """Selects the array and the place of a number; a callback."""
    id, *place = value.split(".")
    if id not in circuit.values or not all(part.isdecimal() for part in place):
        return
    array = circuit.values[id].array
    if len(place) == len(array.shape):
        st.session_state[selection.SELECTED_KEY] = id
        NUMBER.put(slice_picker.select_slice_of(array, tuple(map(int, place))))


def marks(
    at: tuple[int, int] | None, block: tuple[int, int], whole: bool
) -> tuple[map_component.CellFrame, ...]:
    """Returns the frames on the map: around the cell, and around its row if ``whole``."""
    if at is None:
        return ()
    i, j = at[0] // block[0], at[1] // block[1]
    cell = map_component.CellFrame("looks", i, j)
    return (map_component.CellFrame("row", i), cell) if whole else (cell,)


def pooled_note(numbers: PooledMaps, one: tuple[int, int]) -> str:
    """Returns a sentence about a pooled cell: the numbers it stands for, and the one explained.

    >>> import numpy as np
    >>> pooled_note(PooledMaps(np.zeros((150, 20), np.float32), (300, 20), (2, 1)), (4, 0))
    'The cell of the map stands for 2 numbers: rows 4 to 5, column 0. This is row 4, column 0.'
    """
    if numbers.block == (1, 1):
        return ""
    found = [
        range(at // n * n, min(at // n * n + n, size))
        for at, n, size in zip(one, numbers.block, numbers.shape, strict=True)
    ]
    names = ("row", "column")
    spans = ", ".join(_span(name, run) for name, run in zip(names, found, strict=True))
    count = markup.plural(len(found[0]) * len(found[1]), "number")
    here = ", ".join(f"{name} {at:,}" for name, at in zip(names, one, strict=True))
    return f"The cell of the map stands for {count}: {spans}. This is {here}."


def _span(name: str, run: range) -> str:
    if len(run) == 1:
        return f"{name} {run[0]:,}"
    return f"{name}s {run[0]:,} to {run[-1]:,}"


def number_html(scene: Scene, id: str, index: Sequence[int], covers: str = "") -> str:
    """Returns how a number of an array came about; ``covers`` is the sentence for a pooled cell."""
    module, values = scene.module, scene.trace.values

    def tell() -> str:
        found = number_origin(module, values, id, index)
        if isinstance(found.arithmetic, SoftmaxArithmetic) and found.cell is not None:
            html = arithmetic_html.attention_row_html(
                scene, row(module, values, found.cell, found.index, MAX_FEATURES), ""
            )
        else:
            html = _origin_html(scene, found)
        return _arithmetic_section(_title(scene, id, index, found), html + _through(found), covers)

    return scene.run_in_pool(tell)


def weight_html(
    scene: Scene, cell: Cell, index: Sequence[int], across: int, title: str, covers: str = ""
) -> str:
    """Returns the row of attention through one weight; ``across`` prefixes links to its cells."""
    module, values = scene.module, scene.trace.values

    def tell() -> str:
        found = row(module, values, cell, tuple(index), MAX_FEATURES)
        html = arithmetic_html.attention_row_html(scene, found, f"{across},")
        return _arithmetic_section(f"{title}: {number_text(found.share.value)}", html, covers)

    return scene.run_in_pool(tell)


def _arithmetic_section(title: str, html: str, covers: str) -> str:
    html = f'<p class="muted">{covers}</p>{html}' if covers else html
    close = (
        '<button type="button" class="plain" data-close '
        f'data-pick="{map_component.ONE}=">Close</button>'
    )
    return (
        f'<section class="arithmetic" aria-label="How this number comes about">'
        f"<header><h2>{title}</h2>{close}</header>{html}</section>"
    )


def _title(scene: Scene, id: str, index: Sequence[int], found: NumberOrigin) -> str:
    """Returns the array's name, the place in it, and its number."""
    array = scene.circuit.values[id].array
    every = {axis.name: axis for axis in array}
    at = ", ".join(
        f"{dimension(every, dim)} = {i}" for dim, i in zip(array.dims, index, strict=True)
    )
    return f"{array_html(scene, id)} {f'at {at}' if at else ''}: {number_text(found.value)}"


def _through(found: NumberOrigin) -> str:
    if not found.passed_cells:
        return ""
    ops = ", then ".join(op_html(cell) for cell in reversed(found.passed_cells))
    verb = "hand" if len(found.passed_cells) > 1 else "hands"
    return f'<p class="muted">{ops} only {verb} it on.</p>'


def _origin_html(scene: Scene, found: NumberOrigin) -> str:
    cell, how = found.cell, found.arithmetic
    if cell is None:
        return "<p>It is given: what goes in is where all begins.</p>"
    if how is None:
        return f"<p>{op_html(cell)}: {markup.text(cell.op.description(cell.site))}.</p>"
    return f'<p class="muted">{op_html(cell)}</p>{op_arithmetic_html(scene, found, cell, how)}'
