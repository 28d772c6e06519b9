"""A reading knows each call with its line and layer, and where each size comes from."""

from __future__ import annotations

import ast

import pytest

from ncd.findings.reading.source_trace import RUNS, SourceTrace
from ncd.findings.search import findings, size_findings

TINY = """import torch
from torch import nn
class Tiny(nn.Module):
    def __init__(self, hidden=10, ratio=0.5):
        super().__init__()
        self.block = nn.Sequential(nn.Conv2d(1, hidden, 3, padding=1), nn.MaxPool2d(2))
        self.head = nn.Linear(int(hidden * ratio) * 14 * 14, 3)
    def forward(self, x):
        return self.head(self.block(x).flatten(1))
Tiny()(torch.randn(32, 1, 28, 28))"""


def read(text: str, symbolic: bool) -> SourceTrace:
    return SourceTrace(text, symbolic).read()


@pytest.fixture(scope="module")
def tiny() -> SourceTrace:
    return read(TINY, True)


def test_a_failing_call_has_its_line_and_layer(tiny: SourceTrace) -> None:
    assert tiny.call is not None and tiny.call.name == "linear"
    assert (tiny.call.path, getattr(tiny.node, "lineno", 0)) == ("head", 9)
    assert [layer.path for layer in tiny.recorder.layers] == ["", "head"]


def test_each_size_knows_the_numbers_that_it_is_made_of(tiny: SourceTrace) -> None:
    assert tiny.call is not None
    table = tiny.table
    got, takes = tiny.call.shapes[0][1], tiny.call.shapes[1][1]
    names = [{table.places[s].name for s in table.numbers(e)} for e in (got, takes)]
    assert (table.value(got), table.value(takes)) == (1960, 980)
    assert names[0] >= {"hidden", "kernel_size", "padding"} - {"padding"}
    assert names[1] == {"hidden", ""}
    (hidden,) = (s for s in table.places if table.places[s].name == "hidden")
    assert (table.value_after(got, {hidden: 20}), table.value_after(takes, {hidden: 20})) == (
        3920,
        1960,
    )


def test_the_last_test_before_the_failure_is_the_reason(tiny: SourceTrace) -> None:
    last = tiny.table.tests[-1]
    assert not last.holds and type(last.expr).__name__ == "Equality"


def test_a_plain_reading_stops_at_the_same_place(tiny: SourceTrace) -> None:
    plain = read(TINY, False)
    assert plain.call is not None and plain.call.path == "head"
    assert getattr(plain.node, "lineno", 0) == getattr(tiny.node, "lineno", 0)
    assert plain.recorder.values(plain.call.shapes[0]) == (32, 1960)


@pytest.mark.parametrize("symbolic", [False, True])
def test_a_loss_after_the_model_is_read_too(symbolic: bool) -> None:
    text = """import torch
from torch import nn
net = nn.Linear(4, 3)
loss = nn.CrossEntropyLoss()(net(torch.randn(8, 4)), torch.randint(0, 5, (8,)))"""
    trace = read(text, symbolic)
    assert trace.call is not None and trace.call.name == "cross_entropy"
    assert str(trace.error) == "4 is no row of a table with 3"
    assert isinstance(trace.node, ast.Call) and trace.node.lineno == 4


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("nn.LSTM(8, 6, bidirectional=True)(torch.rand(5, 2, 8))", ((5, 2, 12), *[(2, 2, 6)] * 2)),
        ("nn.Linear(4, 2)(3, 5, 4)", ((3, 5, 2),)),
        ('rearrange(x, "b (r h) -> b h r", r=2)\n3x10', ((3, 5, 2),)),
        (
            "class Net(nn.Module):\n  def forward(self, x):\n    return x + x.shape[1]\n2x3",
            ((2, 3),),
        ),
    ],
)
def test_the_shapes_of_the_result_are_those_of_torch(
    text: str, shapes: tuple[tuple[int, ...], ...], symbolic: bool
) -> None:
    trace = read(text, symbolic)
    assert trace.error is None and trace.refusal is None
    assert trace.shape_of(trace.result) == shapes


def test_time_ends_a_reading() -> None:
    assert SourceTrace(TINY, True, deadline=0).read().unsure


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        "x[x > 0]",
        "x[x > 0].view(2)",
        "torch.where(x > 0)[0]",
        "x[: x.argmax()]",
        "torch.masked_select(x, x > 0).mean()",
        "x.repeat_interleave(torch.tensor([1, 2, 3]), 0)",
    ],
)
def test_what_depends_on_the_numbers_in_an_array_is_neither_right_nor_wrong(
    body: str, symbolic: bool
) -> None:
    """They run in torch with some numbers, whatever the shapes are."""
    text = f"class Net(nn.Module):\n  def forward(self, x):\n    return {body}\n3x4"
    trace = read(text, symbolic)
    assert trace.unsure and trace.error is None
    if not symbolic:
        assert findings(text) == () == size_findings(text)


def test_a_method_that_is_not_there_yet_is_no_fault_of_the_shapes() -> None:
    body = "  def forward(self, x):\n    raise NotImplementedError\n"
    trace = read(f"class Net(nn.Module):\n{body}Net()(torch.randn(3, 4))", False)
    assert trace.unsure and trace.error is None


@pytest.mark.parametrize(
    "made",
    [
        "nn.Transformer(8, 2, {0}, {0}, 16)",
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), num_layers={0})",
    ],
)
def test_of_a_deep_stack_of_equal_layers_one_is_read_with_symbols(made: str) -> None:
    inputs = ", ".join(["torch.randn(5, 2, 8)"] * (1 + made.startswith("nn.Transformer(")))
    text = f"net = {made}\ny = nn.Linear(7, 3)(net({inputs}))"
    deep, plain = (read(text.format(2), symbolic) for symbolic in (True, False))
    assert deep.call is not None and deep.call.name == "linear"
    assert deep.recorder.values(deep.call.shapes[0]) == (5, 2, 8)
    second = [
        any(".layers.1." in f".{call.path}." for call in each.recorder.calls)
        for each in (deep, plain)
    ]
    assert second == [False, True]


@pytest.mark.parametrize("symbolic", [False, True])
def test_a_loop_of_training_is_read_for_some_turns(symbolic: bool) -> None:
    text = "f = nn.Linear(2, 3)\nfor i in range({}):\n    y = f(torch.ones(1, 2))\nz = y + 1"
    few, many = (read(text.format(turns), symbolic) for turns in (RUNS, RUNS + 1))
    assert len(few.ran) == len(many.ran) == RUNS
    assert many.error is None and not many.unsure  # the last turn gives nothing that is known
    assert few.shape_of(few.result) == ((1, 3),)


def test_a_module_that_is_given_no_array_does_not_run() -> None:
    trace = read("f = nn.Identity()\ny = f(3)\nz = f(torch.ones(2))", False)
    assert [args for _, args, _ in trace.ran] == [(trace.inputs[0],)]
    assert (trace.error, trace.shape_of(trace.result)) == (None, ((2,),))


def test_layers_without_sizes_are_read_with_plain_numbers() -> None:
    text = "f = nn.LazyLinear(3)\ny = f(torch.ones(2, 4))"
    plain, symbols = read(text, False), read(text, True)
    assert plain.shape_of(plain.result) == ((2, 3),) and not plain.unsure
    assert symbols.unsure and symbols.error is None


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(("below", "error"), [(5, ""), (6, "5 is no row of a table with 5")])
def test_tokens_are_below_the_number_behind_their_shape(
    below: int, error: str, symbolic: bool
) -> None:
    assert read(f"nn.Embedding(5, 3)\n2x4#{below}", symbolic).message == error


def test_what_is_not_understood_is_a_refusal_and_no_failure() -> None:
    for text, fact in (("x = (", "'(' was never closed"), ("x = " + "-" * 9000 + "1", "deep")):
        trace = read(text, False)
        assert trace.refusal is not None and fact in str(trace.refusal)
        assert trace.error is None and trace.call is None and trace.message == ""


@pytest.mark.parametrize("symbolic", [False, True])
def test_numbers_of_a_text_are_used_as_python_uses_them(symbolic: bool) -> None:
    head = "f = nn.Linear(int('3'), int(4.7))\nx = torch.ones(2, 3)\n"
    trace = read(f"{head}y = f(x)[: int(8 / 5), math.floor(1.9) : math.ceil(2.1)]", symbolic)
    assert trace.error is None and trace.shape_of(trace.result) == ((1, 2),)
