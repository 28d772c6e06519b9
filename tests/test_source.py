"""The source of a term computes what the module computes, and reads well."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from torch import Tensor, nn

import ncd
from ncd.axes import seq, space
from ncd.circuit import elaborate
from ncd.ops import Add, Concat, Conv, Copy, Einsum, Elementwise, LayerNorm, Linear, Named, Softmax
from ncd.source import lines, source
from ncd.terms import Axes, Block, Id, Repeat, Term
from tests.strategies import terms

MULTI_HEAD_ATTENTION = '''\
import math

from einops import einsum, rearrange
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """y m, x m -> y m"""

    def __init__(self, m: int = 128, k: int = 16, h: int = 4):
        super().__init__()
        self.k, self.h = k, h
        self.Q = nn.Linear(m, k * h, bias=False)
        self.K = nn.Linear(m, k * h, bias=False)
        self.V = nn.Linear(m, k * h, bias=False)
        self.O = nn.Linear(k * h, m, bias=False)

    def forward(self, y: Tensor, x: Tensor) -> Tensor:
        # Linear
        q = rearrange(self.Q(y), "... (k h) -> ... k h", h=self.h)
        k = rearrange(self.K(x), "... (k h) -> ... k h", h=self.h)
        v = rearrange(self.V(x), "... (k h) -> ... k h", h=self.h)

        # Scaled Dot-Product Attention
        scores = einsum(q, k, "... y k h, ... x k h -> ... y x h")
        scores = scores / math.sqrt(self.k)
        weights = scores.softmax(-2)
        out = einsum(weights, v, "... y x h, ... x k h -> ... y k h")

        # Linear
        return self.O(rearrange(out, "... k h -> ... (k h)"))
'''


def built(text: str) -> nn.Module:
    """The module that a file of source defines last."""
    space: dict[str, object] = {"__name__": "written"}
    exec(compile(text, "<written>", "exec"), space)
    made: nn.Module = space[re.findall(r"^class (\w+)", text, re.M)[-1]]()  # type: ignore[operator]
    return made


def tuple_of(outputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def run(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[list[Tensor], list[Tensor | None]]:
    """Outputs, and the gradients of their weighted sum by inputs and parameters."""
    inputs = tuple(x.clone().requires_grad_() for x in inputs)
    outputs = tuple_of(module(*inputs))
    total = sum(
        (y * torch.linspace(1, 2, y.numel(), dtype=y.dtype).view_as(y)).sum() for y in outputs
    )
    leaves = [*inputs, *dict(sorted(module.named_parameters())).values()]
    return list(outputs), list(torch.autograd.grad(total, leaves, allow_unused=True))


def agree(term: Term, batch: tuple[int, ...] = ()) -> None:
    text = source(term)
    module, written = ncd.compile(term), built(text)
    assert list(written.state_dict()) == list(module.state_dict()) or set(
        written.state_dict()
    ) == set(module.state_dict())
    written.load_state_dict(module.state_dict())
    ncd.compile(term).load_state_dict(written.state_dict())
    module, written = module.double(), written.double()  # so that rounding does not show
    inputs = tuple(x.double() for x in ncd.example_inputs(term))
    inputs = tuple(x.expand(*batch, *x.shape) * torch.ones(*batch, *x.shape) for x in inputs)
    for mine, yours in zip(run(written, inputs), run(module, inputs), strict=True):
        for a, b in zip(mine, yours, strict=True):
            assert (a is None) == (b is None)
            if a is not None and b is not None:
                torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-7, equal_nan=True)


def ruff(*arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--line-length", "100", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def reads_well(text: str) -> None:
    shape = ruff("format", "--diff", text=text)
    assert shape.returncode == 0, shape.stdout
    lint = ruff("check", "--select", "F,I,W,UP,B", text=text)
    assert lint.returncode == 0, lint.stdout


def settings_of(entry: ncd.Entry) -> list[dict[str, int]]:
    """The defaults, and each knob at its ends (bounded, for these run)."""
    found: list[dict[str, int]] = [{}]
    for knob in entry.knobs:
        low = knob.nearest(knob.min)
        found += [{knob.name: low}, {knob.name: knob.nearest(min(knob.max, knob.min + 7))}]
    return found


CASES = [(name, knobs) for name, entry in ncd.catalogue.items() for knobs in settings_of(entry)]


@pytest.mark.parametrize(("name", "knobs"), CASES, ids=lambda value: str(value))
def test_catalogue(name: str, knobs: dict[str, int]) -> None:
    try:
        term = ncd.catalogue[name].build(**knobs)
    except ncd.NCDError:
        pytest.skip("the system cannot have this setting")
    agree(term)


@pytest.mark.parametrize("name", list(ncd.catalogue))
def test_catalogue_reads_well(name: str) -> None:
    reads_well(source(ncd.catalogue[name].build(), ncd.catalogue[name].title))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_random_terms(term: Term) -> None:
    agree(term)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(terms(steps=8))
def test_random_terms_read_well(term: Term) -> None:
    reads_well(source(term))


def test_multi_head_attention_is_worth_reading() -> None:
    text = source(ncd.catalogue["multi-head-attention"].build())
    assert text == MULTI_HEAD_ATTENTION
    reads_well(text)


def test_no_line_of_the_catalogue_is_too_long() -> None:
    for entry in ncd.catalogue.values():
        assert max(len(line) for line in source(entry.build()).splitlines()) <= 100


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_batch_axes_in_front(term: Term) -> None:
    own_batch = {"BatchNorm", "Conv", "ConvTranspose", "MaxPool"}  # torch's layers take just one
    if not own_batch & {type(cell.op).__name__ for cell in elaborate(term).cells}:
        agree(term, batch=(2, 3))


def layer(wide: int, title: str = "") -> Term:
    body = (
        Copy("y m")
        >> (
            (LayerNorm("m") >> Linear(f"m -> w:{wide}", "up") >> Elementwise("relu"))
            >> Linear("w -> m:6", "down", bias=True)
        )
        @ Id("y m")
        >> Add()
    )
    return Block(Id("y:3 m:6") >> body, title) if title else Id("y:3 m:6") >> body


def test_a_repetition_is_a_class_made_many_times() -> None:
    term = Repeat((layer(8, "Feed-Forward"),) * 3)
    text = source(term, "Stack")
    assert "self.layers = nn.ModuleList(FeedForward(m, w) for _ in range(3))" in text
    assert "        for layer in self.layers:\n            x = layer(x)\n        return x" in text
    assert text.count("class ") == 2
    agree(term)
    reads_well(text)


def test_sizes_may_differ_from_body_to_body() -> None:
    term = Repeat((layer(8), layer(9), layer(10)))
    text = source(term, "Stack")
    assert "nn.ModuleList(Layer(m, w) for w in (8, 9, 10))" in text
    agree(term)
    reads_well(text)


def test_bodies_that_differ_have_classes_of_their_own() -> None:
    other = Id("y:3 m:6") >> Softmax("y")
    term = Copy("y:3 m:6") >> Repeat((layer(8), other, layer(9)), "steps") @ Id("y m") >> Add()
    text = source(term, "Stack")
    assert "self.steps = nn.ModuleList([Step(6, 8), Step_2(), Step(6, 9)])" in text
    agree(term)
    reads_well(text)


def test_the_arrays_that_bodies_leave_behind_and_take_up() -> None:
    def down(i: int) -> Term:
        conv = Conv(f"c{i} x{i} -> c{i + 1}:{2 ** (i + 1)} x{i + 1}", kernel=3, stride=2)
        return Copy(f"b c{i} x{i}") >> conv @ Id(f"b c{i} x{i}")

    def up(i: int) -> Term:
        return Linear(f"c{i + 1} -> c{i}", "map") >> Einsum(
            f"b c{i} x{i + 1}, b c{i} x{i} -> b c{i} x{i}"
        )

    sizes = Axes(b=2, c0=1, c1=2, x0=space(8, 8), x1=space(4, 4))
    term = sizes(
        Id("b c0 x0") >> Repeat((down(0), down(1)), "down") >> Repeat((up(1), up(0)), "up")
    )
    text = source(term, "UNet")
    assert "x, skip = self.down[0](x)" in text
    assert "self.down = nn.ModuleList(Down(c0, c1) for c0, c1 in ((1, 2), (2, 4)))" in text
    agree(term)
    reads_well(text)


def test_one_name_with_two_sizes_is_two_parameters() -> None:
    term = Linear("m:3 -> k:4", "Q") @ Linear("m:5 -> k:6 h:2", "K")
    assert "m: int = 3, k: int = 4, m_2: int = 5, k_2: int = 6, h: int = 2" in source(term)
    agree(term)


def test_names_that_are_taken() -> None:
    axes = Linear("nn:3 -> F:4 self:2", "k") >> Linear("F self -> k:2 forward:3", "L", bias=True)
    agree(axes)
    reads_well(source(axes, "Tensor"))
    odd = Named("m:3", "F") >> Linear("m -> n:2", "__n") >> Einsum("n -> n", "einsum")
    agree(odd)
    agree(Repeat((Linear("m:3 -> m:3", "λ"),), "ﬁ"))


def test_text_from_outside_stays_text() -> None:
    title = 'x"""\nimport os\r\u2028raise SystemExit\x00'
    first = Block(Linear("m:3 -> k:2", "Q"), title)
    term = first >> Named("k", "q\nraise SystemExit") >> Softmax("k", "w = raise SystemExit\n")
    agree(term)
    agree(Repeat((Block(term >> Linear("k -> m:3", "back"), title),)))


def test_every_line_knows_its_ops() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    circuit = elaborate(term)
    found = lines(term)
    assert "".join(f"{line.text}\n" for line in found) == source(term)
    query = next(cell.id for cell in circuit.cells if cell.name == "Q")
    assert [
        line.text.strip() for line in found if query in line.nodes and "#" not in line.text
    ] == [
        "self.Q = nn.Linear(m, k * h, bias=False)",
        'q = rearrange(self.Q(y), "... (k h) -> ... k h", h=self.h)',
    ]
    lit = {node for line in found for node in line.nodes}
    assert lit == {c.id for c in circuit.cells if c.op.code(c.site).expression}


def test_the_lines_of_a_shared_class_know_the_ops_of_every_body() -> None:
    term = Repeat((layer(8), layer(9)))
    ups = {cell.id for cell in elaborate(term).cells if cell.name == "up"}
    (line,) = [line for line in lines(term) if "self.up = " in line.text]
    assert set(line.nodes) == ups and len(ups) == 2


def test_a_copy_is_no_line_and_hides_no_value() -> None:
    residual = Copy("b m") >> (Linear("m -> m", "f") >> Elementwise("relu")) @ Id("b m")
    term = Axes(b=seq(2), m=4)(residual >> Concat("m, m -> 2m"))
    forward = source(term).split("-> Tensor:\n")[1]
    assert forward.split("\n")[:3] == [
        "        x_2 = self.f(x)",
        "        x_2 = F.relu(x_2)",
        "        return torch.cat((x_2, x), dim=-1)",
    ]
    agree(term)
