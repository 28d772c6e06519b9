"""What a run in the browser is told of its arrays."""

from __future__ import annotations

import pytest

from ncd import Id, Softmax, Term, elaborate
from ncd.circuit.circuit import Value
from ncd.language.axes import Array
from ncd.site.browser_run import _axes, _maps


@pytest.mark.parametrize(
    ("term", "rows", "columns", "heads", "names"),
    [
        (Id("h:3 y:2 x:4") >> Softmax("x"), [1], [2], [0], ["y", "x", "h"]),
        (Id("y:2x2 h:3 x:4x5") >> Softmax("x"), [0, 1], [3, 4], [2], ["y", "x", "h"]),
        (Id("b:2 h:3x2 y:2 x:4") >> Softmax("x"), [3], [4], [0, 1, 2], ["y", "x", "b, h"]),
        (Softmax("x:4"), [], [0], [], ["", "x", ""]),
    ],
)
def test_a_map_has_the_dimensions_of_its_queries_keys_and_heads(
    term: Term, rows: list[int], columns: list[int], heads: list[int], names: list[str]
) -> None:
    circuit = elaborate(term)
    assert list(_maps(circuit)) == [
        {
            "value": circuit.outputs[0].id,
            "title": "Softmax",
            **{"rows": rows, "columns": columns, "heads": heads, "names": names},
        }
    ]
    assert list(_maps(elaborate(Id("x:4")))) == []


def test_an_axis_with_a_label_or_sides_says_them() -> None:
    array = Array.parse('y:2 x:2x3 m"4c":8')
    assert list(_axes(Value("v0", array))) == ["y", ["x", "x", 2], ["m", "4c", 1]]
