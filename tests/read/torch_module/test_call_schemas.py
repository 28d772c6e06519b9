"""Every reader of a call takes all arguments that torch's schemas have; others become boxes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import utils
from torch.nn.utils import parametrizations

import ncd
from ncd import ImportFailed, from_torch
from ncd.read.torch_calls.call_table import CALLS
from ncd.read.torch_module import graph_calls
from tests.read.torch_module.test_kinds import Called, drawn

# Overloads that are read as boxes: a product in another dtype, places of what is not 0, and counts
# as the only array.
BOXED = {
    *("mm.dtype", "bmm.dtype", "addmm.dtype", "baddbmm.dtype"),
    *("where.default", "repeat_interleave.Tensor"),
}
# Functions of texts and lists in Python, of which none stands in a graph.
OTHERS = {"einsum.sublist", "split.str", "index.str"}


def schemas() -> Iterator[tuple[str, Any]]:
    """Yields the overloads of all functions that are read, but those that write to an argument."""
    for name in CALLS:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            schema = getattr(packet, overload)._schema
            kinds = [str(argument.type) for argument in schema.arguments]
            plain = not any(argument.is_out for argument in schema.arguments)
            tensors = any("Tensor" in kind for kind in kinds) and "Dict" not in kinds[0]
            if plain and tensors and f"{name}.{overload}" not in BOXED | OTHERS:
                yield f"{name}.{overload}", schema


def test_every_reader_takes_all_arguments_of_its_schemas() -> None:
    wrong, count = [], 0
    for name, schema in schemas():
        reader = inspect.signature(CALLS[name.partition(".")[0]])
        arguments = [one for one in schema.arguments if not one.kwarg_only]
        least = [one for one in arguments if not one.has_default_value()]
        named = {one.name: None for one in schema.arguments if one.kwarg_only}
        for given, more in ((arguments, named), (least, {})):
            count += 1
            try:
                reader.bind(None, *given, **more)
            except TypeError as error:
                wrong.append(f"{name}: {error}")
    assert not wrong and count > 200


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyError("u"), "KeyError 'u'"),
        (ZeroDivisionError(), "ZeroDivisionError"),
        (RuntimeError("it is of\n another size"), "it is of another size"),
    ],
)
def test_a_call_that_its_reader_fails_on_is_a_box(
    error: Exception, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> None:
        raise error

    monkeypatch.setattr(graph_calls, "CALLS", {**CALLS, "tanh": fails})
    found = from_torch(nn.Tanh(), drawn(2, 3))
    (box,) = found.boxes
    assert box.reason == f"it is called in a way that is not known ({why})"
    assert found.difference == 0


UNUSUAL = {  # calls with arguments that a reader must not pass over, and their boxes
    "a softplus that becomes a line": (lambda a: nn.Softplus(1, 0.5)(a), []),
    "a sum of which one is scaled": (lambda a: torch.add(a, a, alpha=3) - a.sub(2, alpha=2), []),
    "a quotient rounded down": (lambda a: a.div(0.3, rounding_mode="floor"), ["div"]),
    "a converted mask": (lambda a: (a.floor().to(torch.bool)).to(torch.float64) * a, []),
    "the type of another": (lambda a: (a > 0).type_as(a) * 2, []),
    "truth of whole numbers": (lambda a: a.long().bool().float(), []),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_setting_is_read_or_boxed(name: str) -> None:
    function, boxes = UNUSUAL[name]
    found = from_torch(Called(function), drawn(2, 3, 4) * 2)
    assert [box.function for box in found.boxes] == boxes
    assert found.difference <= 1e-6


class Gated(nn.Module):
    """A root-mean-square norm that may take a gate, as in Mamba-2."""

    def __init__(self, m: int) -> None:
        super().__init__()
        self.weight, self.variance_epsilon = nn.Parameter(drawn(m)), 1e-6

    def forward(self, x: Tensor, gate: Tensor | None = None) -> Tensor:
        x = x if gate is None else x * nn.functional.silu(gate)
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


Gated.__name__ = "GatedRMSNorm"


class Moved(nn.Module):
    """Moves its experts to where its input is, as mixtures of experts do."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.gated = Gated(4), Gated(4)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        self.experts.to(x.device)
        return self.norm(x) + self.gated(self.experts[0](x), gate=self.experts[1](x))


def test_a_norm_may_take_a_gate_and_a_part_may_be_moved_to_where_it_is() -> None:
    module = Moved()
    found = from_torch(module, drawn(2, 4))
    assert not found.boxes and found.difference <= 1e-6
    assert "_apply" not in vars(module) and "forward" not in vars(module.norm)


def test_a_module_that_changes_its_own_dtype_is_refused() -> None:
    def moved(x: Tensor) -> Tensor:
        part.to(torch.float64)
        return part(x.double())

    part = nn.Linear(4, 4)
    module = Called(moved)
    module.part = part
    with pytest.raises(ImportFailed) as error:
        from_torch(module, drawn(2, 4))
    assert str(error.value) == (
        "Called: weight is moved from torch.float32 on cpu to torch.float64 on cpu."
    )


def test_bits_are_not_read_as_numbers_of_another_kind() -> None:
    with pytest.raises(ImportFailed) as error:
        from_torch(Called(lambda a: a.view(torch.int32) * 2), drawn(2, 3))
    assert str(error.value) == (
        "aten.view.dtype cannot be imported: an argument torch.int32. Try another way."
    )


NORMED = {
    "weight norm": lambda: utils.weight_norm(nn.Conv1d(4, 8, 3)),
    "weight norm of a matrix": lambda: utils.weight_norm(nn.Linear(4, 8)),
    "one length": lambda: utils.weight_norm(nn.Linear(4, 8), dim=None),
    "lengths of columns": lambda: utils.weight_norm(nn.Linear(4, 8), dim=1),
    "parametrised": lambda: parametrizations.weight_norm(nn.Conv1d(4, 8, 3)),
    "transposed": lambda: parametrizations.weight_norm(nn.ConvTranspose1d(4, 8, 3)),
    "spectral norm": lambda: utils.spectral_norm(nn.Linear(4, 8)).eval(),
    "parametrised spectral norm": lambda: parametrizations.spectral_norm(nn.Linear(4, 8)).eval(),
    "orthogonal": lambda: parametrizations.orthogonal(nn.Linear(4, 4)),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("name", NORMED)
def test_a_weight_that_is_computed_has_the_parameters_of_torch(name: str) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = NORMED[name]()
        for x in module.parameters():
            nn.init.normal_(x)
    found = from_torch(module, drawn(2, 4, 9) if "Conv" in str(module) else drawn(2, 4))
    assert ncd.cost(found.term).parameters == sum(x.numel() for x in module.parameters())
    assert found.difference <= 1e-5
    state = found.state_dict()
    assert all(torch.equal(state[key], x) for key, x in module.state_dict().items())
