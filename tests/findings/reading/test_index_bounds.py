"""Rows of a table and axes of an array: the last one is right, the one beyond it is not."""

from __future__ import annotations

import math

import pytest
import torch

from ncd.findings.reading.axis_range import NoAxis, named_axes
from ncd.findings.reading.size_table import OutOfRange, SizeTable
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.reading.traced_numbers import SourceNumber

TABLE = "table, x = nn.Embedding(10, 4), torch.randn(6, 4)\n"
TAKE = "torch.take_along_dim(x, torch.tensor([[{}]]), "  # which torch does not read with symbols
LOOKUPS = [  # by the rows that there are; the text with the largest row that is asked for
    (10, "table(torch.tensor([[0, {}]]))"),
    (10, "table(torch.tensor({}))"),
    (10, "table(torch.full((2, 3), {}))"),
    (10, "table(torch.full((2,), fill_value={}))"),
    (10, "table(torch.arange({} + 1))"),
    (10, "table(torch.arange(2, {} + 1))"),
    (10, "table(torch.arange(end={} + 1, start=0))"),
    (10, "table(torch.arange(0, {} + 1, 1))"),
    (10, "table(torch.randint({} + 1, (2, 3)))"),
    (10, "table(torch.randint(0, {} + 1, (2, 3)))"),
    (10, "table(torch.randint(high={} + 1, size=(2, 3)))"),
    (10, "table(torch.arange(2) + ({} - 1))"),
    (10, "table(torch.arange({} + 1).unsqueeze(0).repeat(2, 1).long())"),
    (10, "table(torch.arange(3)[:, None] + torch.arange({} - 1))"),
    (10, "nn.functional.embedding(torch.arange({} + 1), table.weight)"),
    (10, "nn.EmbeddingBag(10, 4)(torch.tensor([[0, {}]]))"),
    (6, "x[{}]"),
    (4, "x[:, {}]"),
    (4, "x[..., {}]"),
    (4, "x[None, :, {}]"),
    (6, "x[{}, ..., None]"),
    (6, "x[[0, {}]]"),
    (6, "x[torch.tensor([0, {}])]"),
    (6, "x.select(0, {})"),
    (4, "x.select(dim=-1, index={})"),
    (6, "x.index_select(0, torch.tensor([{}]))"),
    (4, "torch.index_select(x, -1, torch.tensor([{}]))"),
    (4, "x.gather(1, torch.tensor([[0, {}]]))"),
    (6, "x.index_add(0, torch.tensor([{}]), torch.randn(1, 4))"),
    (6, "x.index_fill(0, torch.tensor([{}]), 1.0)"),
    (24, "x.take(torch.tensor([{}]))"),
    (4, TAKE + "dim=1)"),
    (6, TAKE + "0)"),
    (5, "nn.functional.one_hot(torch.tensor([{}]), 5)"),
    (5, "nn.functional.one_hot(torch.tensor([{}]), num_classes=5)"),
    (4, "nn.functional.cross_entropy(x, torch.tensor([0, 1, 2, 0, 1, {}]))"),
    (4, "nn.CrossEntropyLoss()(x, torch.randint(0, {} + 1, (6,)))"),
    (4, "nn.functional.nll_loss(x[None].transpose(1, 2), torch.full((1, 6), {}))"),
    (4, "nn.functional.cross_entropy(x[0], torch.tensor({}))"),
]


def read(text: str, symbolic: bool = False) -> SourceTrace:
    return SourceTrace(TABLE + text, symbolic).read()


@pytest.mark.parametrize(("rows", "text"), LOOKUPS, ids=[text for _, text in LOOKUPS])
def test_the_row_after_the_last_is_refused(rows: int, text: str) -> None:
    last = read(text.format(rows - 1))
    assert (last.error, last.refusal) == (None, None)
    beyond = read(text.format(rows), symbolic=not text.startswith(TAKE))
    assert isinstance(beyond.error, OutOfRange)
    assert (beyond.error.largest, beyond.error.rows) == (rows, rows)
    assert str(beyond.error) == f"{rows} is no row of a table with {rows}"
    test = beyond.table.tests[-1]
    assert not test.holds and beyond.call is not None
    assert not bool(test.expr.xreplace(beyond.table.values).doit())


@pytest.mark.parametrize(
    "text",
    [
        "table(torch.arange(0, 20, 2))",  # its last number is not said
        "table(torch.randn(3).long())",
        "table(torch.tensor([1.0]).long() * 50)",
        "x[torch.tensor([True] * 6)]",
        "x[True]",
        "x[2:50]",
        "x[None, None]",
        "nn.functional.one_hot(torch.tensor([70]))",
        "nn.functional.cross_entropy(x, torch.rand(6, 4))",
        "x.index_select(0, torch.randn(2).argsort())",
    ],
)
def test_what_the_text_does_not_say_is_not_refused(text: str) -> None:
    assert read(text).error is None


AXES = [  # by how many axes the array has; the text with the axis that it names
    (2, "x.sum({})"),
    (2, "x.softmax(dim={})"),
    (2, "torch.max(x, {})"),
    (2, "torch.cat([x, x], {})"),
    (2, "x.transpose({}, 0)"),
    (2, "torch.roll(x, 1, {})"),
    (2, "x.mean(({},))"),
    (2, "x.flip([{}])"),
    (3, "torch.stack([x, x], dim={})"),
    (3, "x.unsqueeze({})"),
    (2, "x.cumsum({})"),
    (3, "nn.functional.cosine_similarity(x, x[None], dim={})"),
    (1, "torch.tensor(3.0).sum({})"),
    (2, "nn.functional.softmax(x, {})"),
    (2, "nn.Softmax(dim={})(x)"),
]


@pytest.mark.parametrize(("rank", "text"), AXES, ids=[text for _, text in AXES])
def test_an_axis_counts_from_both_sides(rank: int, text: str) -> None:
    for axis in (rank - 1, -rank):
        assert read(text.format(axis)).error is None
    for axis in (rank, -rank - 1):
        trace = read(text.format(axis), symbolic=True)
        assert isinstance(trace.error, NoAxis)
        assert (trace.error.axis, trace.error.rank) == (axis, rank)
        assert str(trace.error) == f"axis {axis} of an array with {rank}"
        test = trace.table.tests[-1]
        assert not test.holds and not bool(test.expr.xreplace(trace.table.values).doit())


@pytest.mark.parametrize(
    ("name", "given", "axes"),
    [
        ("sum", {1: 2}, [2]),
        ("sum", {1: (0, -1)}, [0, -1]),
        ("sum", {"dim": 1, "keepdim": True}, [1]),
        ("argmax", {}, []),
        ("max", {1: torch.ones(2)}, []),
        ("permute", {1: 1, 2: 0}, [1, 0]),
        ("permute", {1: (1, 0)}, [1, 0]),
        ("flatten", {"start_dim": 1, "end_dim": 2}, [1, 2]),
        ("transpose", {1: 0, 2: 1}, [0, 1]),
        ("std", {1: True}, []),
        ("view", {1: 3, 2: 4}, []),
        ("relu", {}, []),
    ],
)
def test_the_arguments_that_are_axes(name: str, given: dict, axes: list[int]) -> None:
    function = getattr(torch.Tensor, name)
    assert list(named_axes(function, name, {0: torch.ones(2, 3), **given})) == axes


# --- the table itself


def test_a_number_has_one_symbol_wherever_it_is_read() -> None:
    table = SizeTable(math.inf)
    one, again = (table.number(SourceNumber(1, 4, 6, 12)) for _ in range(2))
    other = table.number(SourceNumber(2, 4, 6, 12))
    assert one is again and other is not one
    assert len(table.values) == len(table.places) == 2


def test_windows_follow_the_numbers_that_they_stand_for() -> None:
    table = SizeTable(math.inf)
    a, b = (table.number(SourceNumber(line, 0, 1, value)) for line, value in ((1, 5), (2, 3)))
    x, y = table.values
    inner = table.window((a * b).expr)
    outer = table.window(inner + 1)
    assert table.window((a * b).expr) is inner is not outer
    assert (table.value(inner), table.value(outer), table.value(outer * 2)) == (15, 16, 32)
    assert table.value_after(outer, {x: 10}) == 31
    assert table.value_after(outer + y, {y: 1}) == 7
    assert table.value_after(x, {y: 1}) == 5
    assert table.numbers(outer) == {x, y} and table.numbers(x + 1) == {x}
    assert table.numbers(7) == set()


def test_a_size_goes_to_torch_and_comes_back() -> None:
    table, other = SizeTable(math.inf), SizeTable(math.inf)
    a = table.number(SourceNumber(1, 0, 1, 5))
    size = table.to_torch(a)
    assert isinstance(size, torch.SymInt) and int(table.from_torch(size + 1)) == 6
    assert table.expr(size) == a.expr and table.expr(4) == 4
    assert table.to_torch("a") == "a" and type(other.to_torch(a)) is int
