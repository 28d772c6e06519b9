"""What a run in the browser is told of its arrays."""

from __future__ import annotations

import re

import pytest

import ncd
from ncd import Block, Copy, Einsum, Id, Softmax, Term, elaborate
from ncd.circuit.circuit import Value
from ncd.language.axes import Array
from ncd.site.browser_run import _axes, _maps, walk


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


@pytest.mark.parametrize(
    ("term", "steps"),
    [
        (
            Id("y:2 m:3") >> Copy("y m") >> Softmax("m") @ Id("y m"),
            [
                'data-ids="v0" data-takes="" data-makes="v0"',
                'data-ids="n0 v1 v2" data-takes="v0" data-makes="v1 v2" data-same="1"',
                'data-ids="n1 v3" data-takes="v1" data-makes="v3" data-kind="softmax m"',
            ],
        ),
        (
            Id("t:2 k:3, x:4 k:3") >> Block(Einsum("y k, x k -> y x"), "B", local=True),
            [
                'data-ids="v0 v1" data-takes="" data-makes="v0 v1"',
                'data-ids="n0 v2" data-takes="v0 v1" data-makes="v2" data-kind="einsum" '
                'data-renamed="[{&#34;t&#34;: &#34;y&#34;}, {}]"',  # of the first input alone
            ],
        ),
    ],
)
def test_a_step_says_what_it_takes_and_makes_and_how_a_number_came_about(
    term: ncd.Term, steps: list[str]
) -> None:
    assert re.findall("<article (.*?) hidden>", walk(elaborate(term))) == steps
