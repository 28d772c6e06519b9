"""The Shapes panel: a row for each step, and the lines of the notebook's Tracker."""

from __future__ import annotations

from ncd.app.panels.walk.shapes_and_cost import calls, shapes_html
from ncd.explain.shape_tracker import TrackedCall
from tests.app.panels.views import CELL, inside, scene, tags, text

HERE = scene("scaled-dot-product-attention", y=2, x=3, k=4)


def test_a_row_for_each_step_has_the_arrays_and_their_sizes() -> None:
    html = shapes_html(HERE)
    rows = [[text(inner) for _, inner in CELL.findall(row)] for row in inside(html, "tr")]
    head, *_, last = rows
    assert head == ["Step", "Arrays", "Sizes"]
    (product,) = (row for row in rows if row[0] == "Einsum scores")
    assert product == ["Einsum scores", "y k, x k → y x", "2 4, 3 4 → 2 3"]
    assert last[1:] == ["y x, x k → y k", "2 3, 3 4 → 2 4"]
    assert len(rows) == 1 + len(HERE.circuit.cells)
    for row, cell in zip(tags(html, "tr")[1:], HERE.circuit.cells, strict=True):
        assert row["data-node"] == row["data-select"] == cell.id
        assert row["data-array"].split() == [v.id for v in (*cell.inputs, *cell.outputs)]


def test_each_step_is_a_line_as_a_tracked_run_has_it() -> None:
    first, *_, last = calls(scene("multi-head-attention", h=2, k=3, m=4, y=2, x=3).circuit)
    assert first == TrackedCall("Copy", "Copy", ((3, 4),), ((3, 4), (3, 4)))
    assert last == TrackedCall("O", "Linear", ((2, 3, 2),), ((2, 4),))
