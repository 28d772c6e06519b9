"""The parts of expressions that get a line of their own, how many dimensions they have, and the
order of loops that hold no op.
"""

from __future__ import annotations

from typing import Any

import pytest

import ncd
from ncd import Elementwise, Id, Repeat
from ncd.circuit.elaborate import elaborate
from ncd.language import torch_code as ex
from ncd.language.axes import Dim
from ncd.write.torch_source.expression_writer import Writer
from ncd.write.torch_source.identifiers import UniqueNames
from ncd.write.torch_source.scopes import _Order, heavy_parts

X, Y = ex.Arg(0), ex.Arg(1)
TWO = ex.Const(2)
POSITION = ex.Position(Dim("x", 0, 5), ())
EXP, HALF = ex.Call("torch.exp", (X,)), ex.Call("math.sqrt", (TWO,))


@pytest.mark.parametrize(
    ("expr", "positions", "calls", "operations"),
    [
        (ex.Infix("+", X, Y), [], [], []),
        (ex.Infix("+", EXP, HALF), [], [EXP], []),  # a plain number is none
        (ex.Infix("*", ex.Infix("+", TWO, TWO), ex.Infix("+", X, TWO)), [], [], ["second"]),
        (ex.Infix("*", ex.Infix("+", X, POSITION), EXP), [POSITION], [EXP], ["first"]),
        (ex.Prefix("-", ex.Prefix("-", EXP)), [], [EXP], []),
    ],
    ids=["arrays", "a call", "an operation", "a position", "inside others"],
)
def test_positions_calls_and_operations_on_arrays_may_have_a_line(
    expr: Any, positions: list[Any], calls: list[Any], operations: list[str]
) -> None:
    sides = {"first": getattr(expr, "left", None), "second": getattr(expr, "right", None)}
    assert [*heavy_parts(expr)] == [positions, calls, [sides[side] for side in operations]]
    assert [*heavy_parts(expr, {*calls})][1] == []


@pytest.mark.parametrize(
    ("expr", "rank"),
    [
        (X, 3),
        (Y, 1),
        (TWO, 0),
        (ex.Infix("+", Y, X), 3),
        (ex.Infix("+", Y, TWO), 1),
        (ex.Call("torch.exp", (ex.Infix("+", X, Y),)), 3),
    ],
)
def test_an_expression_has_as_many_dimensions_as_its_widest_part(expr: Any, rank: int) -> None:
    writer = Writer(
        lambda axis: ncd.write.torch_source.source_file.Code(""), UniqueNames(), set(), ranks=(3, 1)
    )
    assert writer.rank(expr) == rank


def test_loops_without_an_op_come_after_their_inputs() -> None:
    empty = Repeat((Id("m"),) * 2)
    term = Id("m:4, m") >> (Elementwise("sin") >> empty) @ (Elementwise("cos") >> empty)
    circuit = elaborate(term)
    order = _Order(circuit.units)
    loops = [unit for unit in circuit.units if unit in circuit.loops]
    assert [order.order_key([unit]) for unit in loops] == [0, 1]
    assert order.order_key(loops) == 1 and order.order_key([*circuit.units]) == 0
