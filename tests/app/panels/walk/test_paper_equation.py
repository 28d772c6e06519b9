"""The Equation panel: the parts of a paper's formula, each with its op or block."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ncd
from ncd.app.panels.walk.source import equation_html
from ncd.site import markup
from tests.app.panels.views import CELL, inside, scene, tags, text

HERE = scene("multi-head-attention", h=2, k=3, m=4, y=2, x=3)
BY_NAME = {cell.op.display_name: cell for cell in HERE.circuit.cells}
SCORES, V, SOFTMAX = (BY_NAME[name] for name in ("Einsum scores", "Linear V", "Softmax"))
INNER = next(f for f in HERE.circuit.fences if f.title == "Scaled Dot-Product Attention")


def test_parts_are_listed_in_the_order_of_the_diagram() -> None:
    lines = (r"\text{softmax}(<scores: QK^T>) <V: V>", "<Softmax: s>")
    html = equation_html(HERE, lines, "section <3>")
    rows = [[text(inner) for _, inner in CELL.findall(row)] for row in inside(html, "tr")]
    assert rows[0] == ["Part", "On the axes of the diagram", "In words"]
    assert [row[0] for row in rows[1:]] == ["V", "QKT", "s"]
    cells = V, SCORES, SOFTMAX
    assert [row[2] for row in rows[1:]] == [cell.op.description(cell.site) for cell in cells]
    picks = [row["data-select"] for row in tags(html, "tr") if "data-select" in row]
    assert picks == [cell.id for cell in cells]
    assert text(html).endswith("section <3>") and html.count('display="block"') == 2


@pytest.mark.parametrize("dark", [False, True])
def test_a_part_has_the_colour_that_it_has_in_the_diagram(dark: bool) -> None:
    here = replace(HERE, dark=dark)
    title = INNER.title
    html = equation_html(here, (f"<V: V> <scores: S> <{title}: A>",), "")
    marks = {row["data-select"]: row for row in tags(html, "mrow") if "data-select" in row}
    roles = {V.id: "linear", SCORES.id: SCORES.op.role, INNER.id: INNER.role}
    for id, role in roles.items():
        assert marks[id]["style"] == f"background:{markup.colour(role, dark)}"
    assert "data-fence" in marks[INNER.id] and "data-node" in marks[V.id]
    (row,) = (row for row in inside(html, "tr") if INNER.id in row)
    assert [text(inner) for _, inner in CELL.findall(row)] == ["A", "", title]


def test_an_op_outside_of_all_blocks_has_its_own_colour() -> None:
    here = replace(HERE, term=ncd.Softmax("x:3") >> ncd.Elementwise("relu"))
    (mark, *_) = (row for row in tags(equation_html(here, ("<Softmax: s>",), ""), "mrow")
                  if "data-select" in row)  # fmt: skip
    assert mark["style"] == f"background:{markup.colour('softmax', False)}"


@pytest.mark.parametrize(
    ("inside_block", "role"),
    [(ncd.Softmax("x:3"), "linear"), (ncd.Softmax("x:3") >> ncd.Scale("k:4"), "softmax")],
)
def test_an_op_alone_in_a_block_has_the_colour_of_the_block(
    inside_block: ncd.Term, role: str
) -> None:
    here = replace(HERE, term=ncd.Block(inside_block, "Own", "linear") >> ncd.Elementwise("relu"))
    (mark, *_) = (
        row
        for row in tags(equation_html(here, ("<Softmax: s>",), ""), "mrow")
        if "data-select" in row
    )
    assert mark["style"] == f"background:{markup.colour(role, False)}"


def test_a_part_that_the_term_lacks_is_told() -> None:
    with pytest.raises(LookupError) as error:
        equation_html(HERE, ("<gate: g>",), "")
    assert error.value.args == ("the equation has a part 'gate', but the term has none",)
