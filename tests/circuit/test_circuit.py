"""What a circuit tells of its cells and arrays: copies, formats, names, the axes of attention."""

from __future__ import annotations

import pytest

import ncd
from ncd import Copy, Id, Linear, Param, Repeat, Scan, Softmax, Term, Wire, elaborate
from ncd.circuit.circuit import array_formats, array_names, attention_axes, cast_formats
from ncd.language.axes import Array, Axis
from ncd.language.number_formats import Formats


@pytest.mark.parametrize(
    ("term", "passed"),
    [
        (Copy("m"), [True]),
        (Wire("y m, x m -> x m, y m"), [True]),
        (Softmax("m:2"), [False]),
        (Linear("m:2 -> k:3"), [False]),
    ],
)
def test_an_op_that_only_moves_arrays_passes_them_on(term: Term, passed: list[bool]) -> None:
    assert [cell.passes_arrays_on for cell in elaborate(term).cells] == passed


@pytest.mark.parametrize(
    ("array", "queries", "keys", "heads"),
    [
        ("h y x", 1, 2, [0]),  # the nearest before the keys
        ("y h x", 1, 2, [0]),
        ("~y h ~x", 0, 2, [1]),  # of the same kind before a nearer one
        ("p:2x2 h x:2x2", 0, 2, [1]),
        ("x y h", 1, 0, [2]),  # with none before it, the nearest after
        ("x h ~y", 1, 0, [2]),
        ("x", None, 0, []),
    ],
)
def test_the_axes_of_attention(
    array: str, queries: int | None, keys: int, heads: list[int]
) -> None:
    parsed = Array.parse(array)
    assert attention_axes(parsed, parsed[keys]) == (queries, keys, heads)


def test_an_axis_is_found_by_its_name() -> None:
    assert attention_axes(Array.parse("y x:5"), Axis("x")) == (0, 1, [])


def test_an_op_that_is_not_there_is_refused() -> None:
    circuit = elaborate(Softmax("m"))
    assert circuit.cell("n0") is circuit.cells[0]
    with pytest.raises(ncd.UnknownNameError) as caught:
        circuit.cell("n1")
    assert str(caught.value) == "there is no op 'n1'. Try an id such as n0."


def test_a_weight_has_its_own_format_and_a_vector_not_under_sixteen_bits() -> None:
    names = ("table", "bias", "Q")
    term = Param("v:3 m:4", "table") @ Param("k:2", "bias") @ Linear("m:4 -> k:2", "Q")
    formats = Formats(weights="int8", activations="bfloat16", cache="int4", cached=names)
    circuit = elaborate(term)
    found = array_formats(circuit, formats)
    made = {cell.name: found[cell.outputs[0].id] for cell in circuit.cells}
    assert made == {"table": "int8", "bias": "bfloat16", "Q": "int4"}


def test_a_cast_is_where_the_format_differs_from_all_that_came() -> None:
    circuit = elaborate(Linear("m:4 -> k:4", "K") >> Softmax("k"))
    assert cast_formats(circuit, Formats()) == {}
    assert cast_formats(circuit, Formats(activations="bfloat16")) == {"v0": "bf16"}
    assert cast_formats(circuit, Formats(activations="bfloat16", cache="int8", cached=("K",))) == {
        "v0": "bf16", "v1": "i8", "v2": "bf16",
    }  # fmt: skip


def test_a_name_goes_through_copies_and_loses_nothing_at_an_op_of_two_inputs() -> None:
    term = Linear("m:2 -> k:3", "Q") >> Copy("k") >> Softmax("k") @ Id("k") >> ncd.Add()
    assert array_names(elaborate(term)) == {
        "v1": "q", "v2": "q", "v3": "q", "v4": "weights",
    }  # fmt: skip


def test_fences_and_loops_come_with_outer_ones_first() -> None:
    inner = Repeat((ncd.Block(Softmax("m"), "In"),) * 2, "inner")
    circuit = elaborate(
        ncd.Block(Repeat((inner,) * 2, "outer"), "Out") >> ncd.Block(Id("m"), "End")
    )
    assert [fence.id for fence in circuit.fences] == [f"f{n}" for n in range(9)]
    assert [fence.parent for fence in circuit.fences] == [
        "",
        "f0",
        "f1",
        "f2",
        "f2",
        "f1",
        "f5",
        "f5",
        "",
    ]
    assert [(loop.id, loop.name) for loop in circuit.loops] == [
        ("f1", "outer"), ("f2", "inner"), ("f5", "inner"),
    ]  # fmt: skip
    (first, *_) = circuit.cells
    assert circuit.cell_ids_by_fence["f2"] == ("n0", "n1")
    assert first.fences == ("f0", "f1", "f2", "f3")


@pytest.mark.parametrize(("axis", "runs"), [("t", 1), ("t:5", 5), ("t:2x3", 6)])
def test_a_scan_runs_once_for_each_position_that_is_known(axis: str, runs: int) -> None:
    circuit = elaborate(Scan(Linear("m:4 -> m", "Q"), Array.parse(axis), states=0))
    assert [cell.run_count for cell in circuit.cells] == [runs]
