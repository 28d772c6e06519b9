"""``ncd.track`` against the notebook's Tracker, and on modules that no one wrote for it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

import ncd


class Tracker(nn.Module):
    """The notebook's, retyped; its lines are kept instead of printed."""

    def __init__(self, module: nn.Module, name: str = "") -> None:
        super().__init__()
        self.module = module
        self.name = name or module._get_name()
        self.lines: list[str] = []

    def forward(self, x: Tensor) -> Tensor:
        before = " ".join(map(str, x.size()))
        y: Tensor = self.module.forward(x)
        self.lines.append(f"{self.name}: \t {before} -> {' '.join(map(str, y.size()))}")
        return y


def model() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 6 * 6, 5))


def test_its_lines_are_those_of_the_notebook() -> None:
    own, x = model(), torch.zeros(2, 3, 8, 8)
    parts = [Tracker(part, name) for name, part in own.named_children()]
    nn.Sequential(*parts)(x)
    with ncd.track(own) as sizes:
        own(x)
    assert str(sizes).splitlines() == [line for part in parts for line in part.lines]


def test_a_module_without_a_name_is_called_by_its_class() -> None:
    with ncd.track(nn.Linear(2, 3)) as sizes:
        sizes.module(torch.zeros(2))
    assert str(sizes) == "Linear: \t 2 -> 3"


def test_as_json_it_says_the_same() -> None:
    own = model()
    with ncd.track(own) as sizes:
        own(torch.zeros(2, 3, 8, 8))
    first, *_, last = json.loads(sizes.json())
    assert first == {
        "name": "0",
        "kind": "Conv2d",
        "took": [[2, 3, 8, 8]],
        "gave": [[2, 4, 6, 6]],
    }
    assert (last["name"], last["gave"]) == ("2", [[2, 5]])


def test_a_decorated_function_is_tracked_also_where_it_calls_itself() -> None:
    own = nn.Linear(2, 2)
    sizes = ncd.track(own)

    @sizes
    def twice(x: Tensor, more: int = 1) -> Tensor:
        y: Tensor = own(x)
        return twice(y, more - 1) if more else y

    twice(torch.zeros(3, 2))
    own(torch.zeros(3, 2))  # outside
    assert [call.gave for call in sizes.calls] == [((3, 2),), ((3, 2),)]


def test_nothing_is_left_behind_after_an_error() -> None:
    own = model()
    with pytest.raises(RuntimeError), ncd.track(own) as sizes:
        own(torch.zeros(2, 3, 9, 9))
    assert [call.name for call in sizes.calls] == ["0", "1"]
    assert not any(part._forward_hooks for part in own.modules())


def test_the_numbers_stay_as_they_are() -> None:
    own, x = model(), torch.randn(2, 3, 8, 8)
    with ncd.track(own, whole=True) as sizes:
        tracked = own(x)
    assert torch.equal(tracked, own(x))
    assert [call.kind for call in sizes.calls] == ["Conv2d", "Flatten", "Linear", "Sequential"]


@dataclass
class Found:
    scores: Tensor
    more: dict[str, list[Tensor]]


class Nested(nn.Module):
    def forward(self, x: Tensor, *, mask: Tensor | None = None, scale: float = 1.0) -> Found:
        assert mask is not None
        return Found(x[0] * scale, {"masked": [x * mask]})


def test_shapes_are_found_in_whatever_holds_them() -> None:
    with ncd.track(Nested()) as sizes:
        sizes.module(torch.zeros(2, 3), mask=torch.zeros(3))
    (call,) = sizes.calls
    assert (call.took, call.gave) == (((2, 3), (3,)), ((3,), (2, 3)))


def test_each_line_is_told_as_it_comes() -> None:
    told: list[object] = []
    own = model()
    with ncd.track(own, echo=told.append) as sizes:
        own(torch.zeros(1, 3, 8, 8))
    assert told == list(map(str, sizes.calls))


@pytest.mark.parametrize("name", ["multi-head-attention", "identity-resnet"])
def test_the_shapes_panel_says_of_a_layer_what_its_run_says(name: str) -> None:
    from ncd.app.panels.walk.shapes_and_cost import calls

    term = ncd.catalogue[name].build()
    module = ncd.compile(term)
    with ncd.track(module) as sizes:
        module(*ncd.example_inputs(term))
    stated = {call.name: call for call in calls(ncd.elaborate(term))}
    groups = {"Q", "K", "V", "O"}  # a linear layer has the axes k h as one
    for call in sizes.calls:
        own = stated[call.name]
        if call.name in groups:
            numbers = [torch.Size(shape).numel() for shape in (*own.took, *own.gave)]
            assert numbers == [torch.Size(shape).numel() for shape in (*call.took, *call.gave)]
        else:
            assert (own.took, own.gave) == (call.took, call.gave)
