"""The parts of expressions that get a line of their own, how many dimensions they have, and the
order of loops that hold no op.
"""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

import ncd
from ncd import Elementwise, Id, Repeat
from ncd.circuit.circuit import Cell
from ncd.circuit.elaborate import elaborate
from ncd.language import torch_code as ex
from ncd.language.axes import Dim
from ncd.write.torch_source.expression_writer import (
    Writer,
    einops_pattern,
    lookup_code,
    scatter_code,
)
from ncd.write.torch_source.identifiers import UniqueNames
from ncd.write.torch_source.line_breaking import Code
from ncd.write.torch_source.scopes import CellCode, _Order, heavy_parts

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


@pytest.mark.parametrize("batched", [*product((False, True), repeat=2)])
@pytest.mark.parametrize("shared", [(), (2,)], ids=["nothing shared", "an axis shared"])
def test_lookups_and_sums_into_places_are_what_they_say(
    shared: tuple[int, ...], batched: tuple[bool, bool]
) -> None:
    """Each table by itself gives the same; both kinds have batch axes in front or not."""
    batches = [(4,) * has for has in batched]
    wide = max(batches) + shared
    for own, rest in product(((), (3,), (3, 2)), ((), (5,), (5, 2))):
        place = torch.randint(7, batches[0] + shared + own)
        table = torch.randn(batches[1] + shared + (7, *rest))
        sums = torch.randn(batches[1] + shared + own + rest)
        ranks = [len(shared + own), len(shared) + 1 + len(rest), len(shared + own + rest)]
        sizes = (len(own), len(rest))
        looked_up = lookup_code(
            ex.Lookup(X, Y, *sizes), Code("place"), Code("table"), (ranks[0], ranks[1]), batched
        )
        summed = scatter_code(
            ex.Scattered(X, Y, *sizes, 7),
            Code("place"),
            Code("sums"),
            (ranks[0], ranks[2]),
            batched,
        )
        names = {"place": place, "table": table, "sums": sums}
        namespace = {"torch": torch, "F": torch.nn.functional, **names}
        places, tables, numbers = (
            x.expand((*wide, *x.shape[x.dim() - n :])).reshape(-1, *x.shape[x.dim() - n :])
            for x, n in ((place, len(own)), (table, 1 + len(rest)), (sums, len(own + rest)))
        )
        found = torch.stack([rows[at] for rows, at in zip(tables, places, strict=True)])
        assert torch.equal(eval(looked_up.text, namespace), found.view((*wide, *own, *rest)))
        added = torch.zeros(len(places), 7, *rest)
        for row, at, more in zip(added, places, numbers, strict=True):
            row.index_add_(0, at.flatten(), more.reshape(-1, *rest))
        torch.testing.assert_close(eval(summed.text, namespace), added.view((*wide, 7, *rest)))


A, B, C, D = (Dim(name, 0, 2) for name in "abcd")


@pytest.mark.parametrize(
    ("before", "after", "batched", "pattern", "sizes"),
    [
        (((A,), (B, C)), ((A,), (C,), (B,)), False, "... (b c) -> ... c b", [C]),
        (((A, B), (C, D)), ((A, B), (D,), (C,)), False, "(a b) (c d) -> (a b) d c", [B, D]),
        (((A,), (B, C), (D,)), ((A,), (B, C), ()), True, "... (b c) d -> ... (b c) 1", [C]),
        (((), (A,)), ((A,), ()), False, "1 a -> a 1", []),
        (((A,),), ((A,),), True, "... a -> ... a", []),
        (((A, B, C),), ((A,), (B,), (C,)), False, "(a b c) -> a b c", [B, C]),
    ],
)
def test_what_is_the_same_in_front_is_left_out_of_a_pattern(
    before: Any, after: Any, batched: bool, pattern: str, sizes: Any
) -> None:
    found = einops_pattern(before, after, lambda dim: dim.name, batched)
    assert found == (f'"{pattern}"', sizes)


def test_items_in_another_order_are_not_the_whole_of_a_tuple() -> None:
    def code_of(*found: ex.TorchExpr) -> CellCode:
        return CellCode.from_cell(cast(Cell, SimpleNamespace(torch_code=found, outputs=found)))

    first, second = ex.Item(EXP, 0), ex.Item(EXP, 1)
    assert code_of(first, second) == CellCode(tuple_expr=EXP)
    assert code_of(second, first) == CellCode((second, first))
    assert code_of(first) == CellCode((first,)) and code_of() == CellCode()
