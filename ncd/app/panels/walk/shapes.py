"""The Shapes panel: the shapes of every step, in the format of the notebook's Tracker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import streamlit as st

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.explain.shape_tracker import Call, as_json
from ncd.language.axes import Array
from ncd.site import markup


def show_shapes(scene: Scene) -> None:
    """Shows a table of every step, with text and JSON to download."""
    html_panel.render(html(scene), "shapes")
    name, circuit = scene.entry.name, scene.circuit

    def text() -> str:
        return "\n".join(map(str, calls(circuit)))

    with st.container(horizontal=True):
        _file("Text", text, f"{name}-shapes.txt", "text/plain")
        _file("JSON", lambda: as_json(calls(circuit)), f"{name}-shapes.json", "application/json")


SHAPES = Panel("Shapes", show_shapes, needs_run=False)


def html(scene: Scene) -> str:
    """Returns the table."""
    rows = (_row(cell, scene) for cell in scene.circuit.cells)
    return markup.table(("Step", "Arrays", "Sizes"), rows)


def _file(label: str, make: Callable[[], str], path: str, kind: str) -> None:
    said = "The lines of the notebook's Tracker. For a module of your own: ncd.track."
    html_panel.button(f"As {label}", make, path, kind, key=f"shapes {label}", help=said)


def calls(circuit: Circuit) -> Iterator[Call]:
    """Yields every step as a tracked run would record it."""
    for cell in circuit.cells:
        took, gave = (tuple(map(_shape, values)) for values in (cell.inputs, cell.outputs))
        yield Call(cell.path or cell.op.display_name, type(cell.op).__name__, took, gave)


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(size for axis in value.array for size in axis.shape)


def _row(cell: Cell, scene: Scene) -> str:
    ids = " ".join(value.id for value in (*cell.inputs, *cell.outputs))
    ins, outs = _arrays(cell.inputs), _arrays(cell.outputs)
    return (
        f'<tr data-node="{cell.id}" data-array="{ids}" data-select="{cell.id}" tabindex="0">'
        f"<td>{markup.role(cell.op.role, scene.dark)}{markup.text(cell.op.display_name)}</td>"
        f"<td>{markup.arrays(ins)} → {markup.arrays(outs)}</td>"
        f"<td>{markup.shapes(ins)} → {markup.shapes(outs)}</td></tr>"
    )


def _arrays(values: tuple[Value, ...]) -> list[Array]:
    return [value.array for value in values]
