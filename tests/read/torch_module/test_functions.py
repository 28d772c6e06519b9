"""Functions and layers of torch are imported without a box, with torch's values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn

import ncd
from ncd import ImportFailed, from_torch
from ncd.read.torch_calls import import_recorder
from ncd.read.torch_calls.call_table import CALLS
from ncd.read.torch_module import graph_calls
from ncd.read.torch_module.from_torch import Imported
from ncd.read.torch_module.graph_calls import decompose_call
from tests.read.torch_module.call_settings import FAILED, MORE, REFUSED
from tests.read.torch_module.functions import FUNCTIONS, LAYERS
from tests.read.torch_module.test_kinds import Called, drawn

PARTS = 8  # of the table, so that they run beside each other

# Functions that have a reader, and are read in smaller calls nevertheless.
SMALLER = {
    "fold": {"repeat"},
    "softmax0": {"softmax", "_softmax"},
    "sums of exponentials": {"real"},  # of real numbers, which are their own real part
}


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The functions that have a reader and were read in smaller calls, which hides its faults."""
    found: set[str] = set()

    def watched(node: fx.Node) -> fx.GraphModule | None:
        graph = decompose_call(node)
        name = str(node.target).split(".")[1].removesuffix("_")
        found.update({name} & CALLS.keys() if graph is not None else ())
        return graph

    monkeypatch.setattr(graph_calls, "decompose_call", watched)
    return found


def faults(found: Imported, module: nn.Module, inputs: tuple[Tensor, ...]) -> Iterator[str]:
    """Yields how an import differs from its module: boxes, notes, and gradients of the inputs."""
    yield from (f"{box.function} is a box: {box.reason}" for box in found.boxes)
    yield from found.notes
    if found.boxes or not any(x.is_floating_point() for x in inputs):
        return
    grads = []
    for one in (found.module().eval(), module.eval()):
        given = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
        out = one(*given)
        out = out[0] if isinstance(out, tuple) else out
        if not out.requires_grad:
            return
        (out * torch.linspace(0.5, 1.5, out.numel()).reshape(out.shape)).sum().backward()
        grads += [[x.grad for x in given if x.grad is not None]]
    for one, two in zip(*grads, strict=True):
        if not torch.allclose(one, two, atol=1e-4, rtol=1e-3, equal_nan=True):
            yield f"a gradient is {(one - two).abs().max():.2g} from torch's"


@pytest.mark.parametrize("part", range(PARTS))
def test_functions_have_ops_and_give_the_values_and_gradients_of_torch(
    part: int, smaller: set[str]
) -> None:
    wrong, x = {}, drawn(2, 4, 8)
    for name, function in [*FUNCTIONS.items(), *MORE.items()][part::PARTS]:
        module = Called(function)
        smaller.clear()
        wrong[name] = [*faults(from_torch(module.eval(), x), module, (x,))]
        assert smaller == SMALLER.get(name, set()), name
    assert {name: some for name, some in wrong.items() if some} == {}


def test_layers_have_ops_and_give_the_values_and_gradients_of_torch(smaller: set[str]) -> None:
    wrong = {}
    for name, (make, inputs) in LAYERS.items():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            module = make().eval()
            for x in module.parameters():
                nn.init.normal_(x)
        wrong[name] = [*faults(from_torch(module, *inputs), module, inputs)]
    assert {name: some for name, some in wrong.items() if some} == {} and not smaller


def test_a_decomposition_is_a_block_with_the_name_of_the_function() -> None:
    found = from_torch(Called(lambda x: nn.functional.glu(x, -1)), drawn(2, 8))
    assert "Block(" in repr(found.term) and "'glu'" in repr(found.term)
    assert ncd.gradient(found.term) is not None and not found.boxes


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_op_is_one_box_with_its_name_and_reason(name: str) -> None:
    function, why = REFUSED[name]
    found = from_torch(Called(function), drawn(2, 4, 8))
    assert {(box.function, box.reason) for box in found.boxes} == {(name.partition(" ")[0], why)}
    assert not any("differ" in note or "output" in note for note in found.notes)


@pytest.mark.parametrize("name", FAILED)
def test_what_cannot_be_a_box_either_is_refused_with_its_reason(name: str) -> None:
    function, message = FAILED[name]
    with pytest.raises(ImportFailed) as error:
        from_torch(Called(function), drawn(2, 4, 8))
    assert str(error.value) == f"{message}. Try another way."


def test_a_parameter_that_a_decomposition_takes_twice_is_one_array() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(drawn(4, 4))

        def forward(self, x: Tensor) -> Tensor:
            return torch.addcmul(x, self.weight, self.weight)

    found = from_torch(Twice(), drawn(4, 4))
    assert not found.boxes and not found.notes and ncd.cost(found.term).parameters == 16


def test_random_numbers_that_are_kept_are_told_and_writes_to_views_are_no_decomposition() -> None:
    found = from_torch(Called(lambda x: x + torch.rand(2, 4)), drawn(2, 4))
    assert found.notes == ("It keeps random numbers that torch draws anew in each run.",)
    found = from_torch(Called(lambda x: torch.vander(x)), drawn(4))
    assert [box.function for box in found.boxes] == ["vander"] and not found.notes


class _Skip(nn.Module):
    """A picture that is made larger, beside one of its size, as in a U-Net."""

    def __init__(self, mode: str, joined: bool) -> None:
        super().__init__()
        self.mode, self.joined = mode, joined
        self.first, self.last = nn.Conv2d(3, 4, 1), nn.Conv2d(8 if joined else 4, 2, 3, padding=1)

    def forward(self, low: Tensor, high: Tensor) -> Tensor:
        up = nn.functional.interpolate(self.first(low), scale_factor=2.0, mode=self.mode)
        return self.last(torch.cat([up, high], dim=1) if self.joined else up + high)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_picture_that_is_made_larger_meets_a_skip(mode: str, joined: bool) -> None:
    module, inputs = _Skip(mode, joined), (torch.randn(1, 3, 4, 4), torch.randn(1, 4, 8, 8))
    found = from_torch(module, *inputs)
    assert found.difference < 1e-5
    assert not list(faults(found, module, inputs))


@pytest.mark.parametrize(
    ("part", "boxes"),
    [
        *((slice(1, None, 2), 0), (slice(None, 7, 2), 0), (slice(None, 6, 2), 1)),
        *((slice(3, None, 4), 0), (slice(4, None, 4), 1), (slice(None, None, 3), 1)),
        *((slice(1, 6, 4), 0), (slice(0, 5, 4), 0), (slice(0, 4, 4), 1), (slice(1, 8, 4), 0)),
    ],
)
def test_every_nth_number_is_cut_where_the_whole_is_cut_evenly(part: slice, boxes: int) -> None:
    found = from_torch(Called(lambda x: x[..., part] + 1), drawn(2, 4, 8))
    assert found.difference == 0 and len(found.boxes) == boxes


class _Own(nn.Module):
    """A function of the input and of one parameter."""

    def __init__(self, shape: tuple[int, ...], function: Callable[[Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.w, self.function = nn.Parameter(drawn(*shape)), function

    def forward(self, x: Tensor) -> Any:
        return self.function(x, self.w)


# A parameter's shape, what is done with it, and how many learned maps and other arrays it is.
OWN: dict[str, tuple[tuple[int, ...], Callable[[Tensor, Tensor], Any], int, int]] = {
    "a product": ((8, 3), lambda x, w: x @ w, 1, 0),
    "a map": ((3, 8), nn.functional.linear, 1, 0),
    "a vector": ((8,), lambda x, w: x @ w, 0, 1),
    "one for each example": ((2, 8, 3), lambda x, w: x @ w, 0, 1),
    "rows": ((6, 8), lambda x, w: sum(nn.functional.linear(x, p) for p in w.chunk(3)), 3, 0),
    "rows from the end": (
        (6, 8),
        lambda x, w: sum(nn.functional.linear(x, p) for p in w.split(2, -2)),
        3,
        0,
    ),
    "columns": ((3, 16), lambda x, w: sum(nn.functional.linear(x, p) for p in w.chunk(2, 1)), 0, 1),
    "rows to and from a place": (
        (6, 8),
        lambda x, w: nn.functional.linear(x, w[:3]) - nn.functional.linear(x, w[3:]),
        0,
        2,
    ),
    "a row of one": ((1, 8), lambda x, w: x + w.squeeze(0), 0, 1),
    "rows of columns": (
        (8, 6),
        lambda x, w: sum(nn.functional.linear(x, p) for p in w.t().chunk(3)),
        0,
        1,
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_a_parameter_is_a_learned_map_if_its_rows_are_whole(name: str) -> None:
    shape, function, maps, others = OWN[name]
    found = from_torch(_Own(shape, function), drawn(2, 4, 8))
    text = repr(found.term)
    assert (text.count("Linear("), text.count("Param(")) == (maps, others)
    assert found.difference < 1e-5 and not found.boxes
    assert set(found.state_dict()) == {"w"}


def test_a_long_row_of_places_is_no_list_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_recorder, "MAX_NUMBERS", 8)
    assert not from_torch(Called(lambda x: x + torch.arange(1.0, 9.0) ** 2), drawn(2, 8)).boxes
    assert not from_torch(Called(lambda x: x[torch.arange(9) % 9]), drawn(9, 2)).boxes
    with pytest.raises(ImportFailed, match="more than a million numbers"):
        from_torch(Called(lambda x: x + torch.arange(1.0, 10.0) ** 2), drawn(2, 9))
