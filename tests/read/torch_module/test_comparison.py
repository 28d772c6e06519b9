"""An import runs what it has made once beside torch, and tells every difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd import from_torch
from ncd.read.torch_calls.call_table import CALLS
from ncd.read.torch_calls.import_recorder import ImportedValue
from ncd.read.torch_module import comparison, graph_calls
from ncd.read.torch_module.comparison import largest_difference
from ncd.run.limits import Limits
from tests.read.torch_module.test_kinds import A, Called, drawn

Function = Callable[..., Any]


class Half(nn.Module):
    """Rounds to half precision on its way, which a term does not."""

    def forward(self, x: Tensor) -> Tensor:
        return (x.half() / 3).float()


class Unused(nn.Module):
    """Has a layer that is not called."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x)


EVALUATED = (
    "Its batch norms are in evaluation mode: they use the statistics that they keep, not those of "
    "the batch."
)
TOLD: dict[str, tuple[nn.Module, tuple[Tensor, ...], tuple[str, ...]]] = {
    "nothing": (nn.Linear(4, 3), (A,), ()),
    "rounding": (
        Half(),
        (torch.full((2, 4), 1000.0),),
        (
            "The output is up to 0.0833 from torch's on the inputs given.",
            "It casts numbers to float16, with fewer digits; the term keeps all digits.",
        ),
    ),
    "parameters that are not used": (
        Unused(),
        (A,),
        ("Its outputs use 20 of the module's 40 parameters.",),
    ),
    "numbers below 0": (
        Called(lambda i: i * 2),
        (torch.tensor([-1, 2]),),
        ("The input holds whole numbers below 0, and the term takes real ones there.",),
    ),
    "numbers below 0 of the second input": (
        Called(lambda a, i: (a * 2, i * 2)),
        (A, torch.tensor([-1, 2])),
        ("Input 2 holds whole numbers below 0, and the term takes real ones there.",),
    ),
    "a batch norm that is evaluated": (nn.BatchNorm1d(3).eval(), (A,), (EVALUATED,)),
    "a batch norm that learns": (nn.BatchNorm1d(3), (A,), ()),
    "one number for each channel": (nn.BatchNorm1d(4).eval(), (drawn(1, 4),), (EVALUATED,)),
    "a batch norm that keeps nothing": (
        nn.BatchNorm1d(3, track_running_stats=False).eval(),
        (A,),
        (),
    ),
    "dropout": (nn.Dropout(0.5), (A,), ()),
    "dropout in a box": (nn.AlphaDropout(0.5), (A,), ()),
    "random numbers": (Called(lambda a: a + torch.rand_like(a)), (A,), ()),
    "numbers of another machine": (nn.Linear(4, 3).double(), (A.double(),), ()),
    "few digits": (nn.Linear(4, 3).bfloat16(), (A.bfloat16(),), ()),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_an_import_tells(name: str) -> None:
    module, inputs, notes = TOLD[name]
    state = {key: x.clone() for key, x in module.state_dict().items()}
    assert from_torch(module, *inputs).notes == notes
    assert all(torch.equal(state[key], x) for key, x in module.state_dict().items())


def shapeless(g: Any, x: Any) -> Any:
    """Reads a function as one that drops the last axis."""
    x = g.materialise(g.value(x))
    return CALLS["select"](g, x, -1, 0)


def real(g: Any, x: Any) -> ImportedValue:
    """Reads a function as one that gives real numbers."""
    x = g.materialise(g.value(x))
    g.dtype = torch.float32
    return CALLS["mul"](g, x, 1.5)


FAULTS: dict[str, tuple[Function, Function, tuple[Tensor, ...], str]] = {
    # a reader with a fault, what is called, and what is told
    "values": (
        lambda g, x: CALLS["sin"](g, x),
        torch.cos,
        (torch.zeros(2, 3),),
        "The output is up to 1 from torch's on the inputs given.",
    ),
    "shape": (
        shapeless,
        torch.cos,
        (A,),
        "The output has shape (2, 3), and torch's has (2, 3, 4).",
    ),
    "one of two": (
        lambda g, x: CALLS["sin"](g, x),
        lambda a: (a, a.cos()),
        (torch.zeros(3),),
        "Output 2 is up to 1 from torch's on the inputs given.",
    ),
    "not a number": (
        lambda g, x: CALLS["log"](g, x),
        torch.cos,
        (-torch.ones(3),),
        "The output is up to inf from torch's on the inputs given.",
    ),
    "kind": (
        lambda g, x: CALLS["gt"](g, x, 0),
        torch.cos,
        (A,),
        "The output holds whole numbers, and torch's real ones.",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_reader_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, function, inputs, note = FAULTS[name]
    monkeypatch.setattr(graph_calls, "CALLS", {**CALLS, "cos": reader})
    found = from_torch(Called(function), *inputs)
    assert found.notes == (note,)
    assert found.difference >= 0.5


def test_a_module_that_is_large_is_not_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    monkeypatch.setattr(comparison, "borrowing", lambda *args: ran.append(args))
    layer = nn.Linear(4, 3)
    for limits, note in {
        Limits(10**9, 47): "it takes 48 FLOP, and the limit is 47",
        Limits(171, 10**9): "it takes 172 bytes, and the limit is 171",
    }.items():
        monkeypatch.setattr(comparison, "COMPARISON_LIMITS", limits)
        found = from_torch(layer, drawn(2, 4))
        assert found.notes == (f"It is not run beside torch at once: {note}.",) and not ran
        monkeypatch.setattr(
            comparison, "COMPARISON_LIMITS", Limits(limits.bytes + 1, limits.flops + 1)
        )
        assert "could not be run" in from_torch(layer, drawn(2, 4)).notes[0] and ran.pop()


def test_a_batch_norm_of_one_example_is_drawn_up_to_it_and_keeps_its_statistics_to_itself() -> None:
    found = from_torch(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), drawn(1, 4))
    assert found.failure == (
        "1: Expected more than 1 value per channel when training, got input size torch.Size([1, 3])"
    )
    assert found.term.cod.spec == "b:1 d:3"


def test_a_module_that_fails_is_not_run_again() -> None:
    found = from_torch(nn.Sequential(nn.Linear(4, 3), nn.Linear(4, 3)), drawn(2, 4))
    assert found.failure and not found.notes


def test_code_of_the_module_does_not_run_again_and_its_buffers_stay() -> None:
    calls: list[object] = []

    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x: Tensor) -> Tensor:
            calls.append(x)
            self.total.add_(x.sum(0))
            return x + self.total

    module = Counted()
    found = from_torch(module, drawn(2, 4))
    assert not found.notes and len(calls) == 1 and not module.total.any()


def test_what_no_output_needs_is_not_run() -> None:
    def wasteful(x: Tensor) -> Tensor:
        return x + 1 if (x[:, None, None].expand(-1, 9, 9, -1) * 2) is not None else x

    found = from_torch(Called(wasteful), drawn(2, 4))
    evaluated = comparison._EvaluationRun(found.exported_module)
    names = {node.name for node in evaluated.needed}
    assert "mul" not in names and "add" in names
    assert torch.equal(evaluated.outputs()[0], drawn(2, 4) + 1)


def test_how_far_tensors_are_apart() -> None:
    one, inf, nan = torch.ones(2), torch.tensor([1.0, -torch.inf]), torch.tensor([1.0, torch.nan])
    assert (
        largest_difference(one, one)
        == largest_difference(inf, inf)
        == largest_difference(nan, nan)
        == 0
    )
    assert (
        largest_difference(one, one * 3) == 2
        and largest_difference(torch.ones(0), torch.ones(0)) == 0
    )
    for other in (inf, nan, -inf, one[:, None], one[0], one.long()):
        assert largest_difference(one, other) == torch.inf
    assert largest_difference(inf, -inf) == largest_difference(inf, nan) == torch.inf
    assert largest_difference(torch.tensor([True, False]), torch.tensor([1, 0])) == 0


def test_the_difference_is_infinite_for_another_shape() -> None:
    found = from_torch(nn.Linear(4, 3), drawn(2, 4))
    other = ncd.Id("b:2 m:4") >> ncd.Linear("m:4 -> d:3", "n", True) >> ncd.Index("b d", b=0)
    assert found.difference == 0 and replace(found, term=other).difference == torch.inf


SHAPES: dict[str, tuple[Function, str]] = {
    "kept by a mean": (lambda x: F.adaptive_avg_pool2d(x, 1), "b:2 c:3 u:1 u_2:1"),
    "merged": (lambda x: x.mean(-1).transpose(1, 2).reshape(2, 12), "b:2 m:12"),
    "one example": (lambda x: x[:1].sum((-1, -2)), "u:1 c:3"),
    "sides of a picture": (lambda x: F.max_pool2d(x, 2), "b:2 c:3 x_2:2x2"),
    "one side of it": (lambda x: F.max_pool2d(x, 2).transpose(-1, -2)[..., 0], "b:2 c:3 w:2"),
    "sides that are turned": (lambda x: F.max_pool2d(x, 2).permute(0, 3, 1, 2), "b:2 w:2 c:3 h:2"),
    "sides that are merged": (lambda x: F.max_pool2d(x, 2).flatten(2), "b:2 c:3 p:4"),
    "windows": (
        lambda x: x.view(2, 3, 2, 2, 2, 2).permute(0, 2, 4, 1, 3, 5) * 2,
        "b:2 y:2 x:2 c:3 i:2 j:2",
    ),
    "the same twice": (
        lambda x: (x, x.view(2, 3, 2, 2, 4)),
        "b:2 c:3 p:4 w:4, b:2 c:3 y:2 i:2 w:4",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_outputs_have_the_shape_of_torch(name: str) -> None:
    function, spec = SHAPES[name]
    found = from_torch(Called(function), drawn(2, 3, 4, 4))
    assert not found.notes and not found.boxes and found.difference <= 1e-6
    assert found.term.cod.spec == spec and found.term.dom[0].shape == (2, 3, 4, 4)


def test_an_input_that_is_split_has_the_shape_and_the_names_that_are_given() -> None:
    found = from_torch(
        Called(lambda x: x.view(2, 3, 2, 2).transpose(1, 2) * 2), A, axes={"inputs_0": "b t width"}
    )
    assert found.term.dom.spec == "b:2 ~t:3 width:4"
    assert found.difference == 0


def test_axes_of_size_one_come_in_one_step_that_says_so() -> None:
    found = from_torch(nn.AdaptiveAvgPool2d(1), drawn(2, 3, 4, 4))
    labels = [cell.op.display_name for cell in ncd.elaborate(found.term).cells]
    assert labels == ["Reduce mean", "Map unsqueeze"]
