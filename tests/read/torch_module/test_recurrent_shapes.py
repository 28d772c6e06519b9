"""A recurrent layer without numbers has the shapes of one with them, in a few calls of torch."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import nn
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ncd.read.python_source.source_reader import read_source
from ncd.read.torch_module.recurrent_shapes import read_shapes_at_once

KINDS = {
    "LSTM": nn.LSTM,
    "projected": lambda *args, **named: nn.LSTM(*args, proj_size=3, **named),
    "GRU": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *args, **named: nn.RNN(*args, nonlinearity="relu", **named),
}


class CallCounter(TorchDispatchMode):
    """Counts the functions that torch calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.calls += 1
        return function(*args, **(kwargs or {}))


def _without_numbers(layer: nn.Module, shape: tuple[int, ...]) -> list[torch.Tensor]:
    with enable_python_dispatcher(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
        return tree_leaves(layer(mode.from_tensor(torch.zeros(shape))))


@pytest.mark.parametrize(
    ("kind", "layers", "both", "first"), [*product(KINDS, (1, 2), (False, True), (False, True))]
)
def test_shapes_and_kinds_are_those_with_numbers(
    kind: str, layers: int, both: bool, first: bool
) -> None:
    read_shapes_at_once()
    layer = KINDS[kind](6, 5, layers, bidirectional=both, batch_first=first)
    for shape in ((4, 2, 6), (4, 6)):
        found = _without_numbers(layer, shape)
        true = tree_leaves(layer(torch.zeros(shape)))
        assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in true]


@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_sequence_takes_no_more_calls(kind: str) -> None:
    counts = []
    for length in (2, 2000):
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            x = mode.from_tensor(torch.zeros(length, 1, 6))
            with enable_python_dispatcher(), CallCounter() as counter:
                KINDS[kind](6, 5)(x)
        counts.append(counter.calls)
    assert counts[0] == counts[1] < 100


def test_numbers_are_computed_as_before() -> None:
    torch.manual_seed(0)
    layer, x = nn.GRU(3, 4), torch.randn(5, 2, 3)
    state, gates = torch.zeros(2, 4), layer.weight_hh_l0
    for row in x:
        mine = nn.functional.linear(row, layer.weight_ih_l0, layer.bias_ih_l0).chunk(3, 1)
        theirs = nn.functional.linear(state, gates, layer.bias_hh_l0).chunk(3, 1)
        r, z = (mine[0] + theirs[0]).sigmoid(), (mine[1] + theirs[1]).sigmoid()
        state = (1 - z) * (mine[2] + r * theirs[2]).tanh() + z * state
    torch.testing.assert_close(layer(x)[1][0], state)


def test_a_long_sequence_is_read_from_a_source() -> None:
    text = "nn.LSTM(32, 16, 3, bidirectional=True)(torch.randn(4000, 2, 32))"
    assert read_source(text).shapes == ((4000, 2, 32), (6, 2, 16), (6, 2, 16))


def test_a_wrong_width_is_refused_without_numbers() -> None:
    for layer in (nn.LSTM(6, 5), nn.GRU(6, 5), nn.RNN(6, 5)):
        with pytest.raises(RuntimeError, match="Expected 6, got 7"):
            _without_numbers(layer, (4, 2, 7))
