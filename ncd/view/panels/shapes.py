"""Shapes: every step with the arrays that go in and come out, as the notebook's Tracker prints."""

from __future__ import annotations

from ncd.export import markup
from ncd.lang.axes import Array
from ncd.lang.circuit import Cell, Value
from ncd.view import panel
from ncd.view.scene import Scene

TITLE = "Shapes"
RUNS = False


def show(scene: Scene) -> None:
    """A table of every step, in → out."""
    rows = (_row(cell, scene) for cell in scene.circuit.cells)
    panel.show(markup.table(("Step", "Arrays", "Sizes"), rows), "shapes")


def _row(cell: Cell, scene: Scene) -> str:
    ids = " ".join(value.id for value in (*cell.inputs, *cell.outputs))
    ins, outs = _arrays(cell.inputs), _arrays(cell.outputs)
    return (
        f'<tr data-node="{cell.id}" data-array="{ids}" data-select="{cell.id}" tabindex="0">'
        f"<td>{markup.role(cell.op.role, scene.dark)}{markup.text(cell.op.label)}</td>"
        f"<td>{markup.arrays(ins)} → {markup.arrays(outs)}</td>"
        f"<td>{markup.shapes(ins)} → {markup.shapes(outs)}</td></tr>"
    )


def _arrays(values: tuple[Value, ...]) -> list[Array]:
    return [value.array for value in values]
