"""What ways to put a layer on devices cost, beside the formulas of their papers."""

from __future__ import annotations

import pytest

import ncd
from ncd import SizeError
from ncd.rewrite.device_costs import WAYS, WayCosts, simulated_run, way_costs

B, T, H, K, D = 4, 8, 4, 2, 16
LAYER = ncd.elaborate(ncd.catalogue["parallelism"].build(b=B, t=T, h=H, k=K, d=D)).term
BACK = ncd.gradient(LAYER, "parameters")
WEIGHTS = ncd.cost(LAYER).parameters
STREAM = B * T * H * K  # the numbers of an array between two parts


def costs(way: str, devices: int = 4) -> WayCosts:
    found = way_costs(LAYER, BACK, WAYS[way], devices)
    assert isinstance(found, WayCosts)
    return found


def test_heads_and_hidden_features() -> None:
    """Forward one sum for each part; backward one for each map that reads the whole array.

    Megatron's backward pass has two: there queries, keys and values come from one map.
    """
    found = costs("tensor")
    shared = 3 * H * K + D  # biases of the maps whose results are split
    split = 4 * (H * K) ** 2 + 2 * H * K * D + shared
    assert found.plan.weights_held == split // 4 + WEIGHTS - split
    assert found.plan.numbers_sent == 2 * (2 * 3 * STREAM)
    assert found.backward_numbers == 4 * (2 * 3 * STREAM)


def test_examples() -> None:
    found = costs("data")
    assert (found.plan.numbers_sent, found.plan.weights_held) == (0, WEIGHTS)
    assert found.backward_numbers == 2 * 3 * WEIGHTS
    assert found.plan.arrays_held * 4 == costs("data", 1).plan.arrays_held


def test_positions() -> None:
    """Keys and values are gathered, and their gradients summed; so are those of all weights."""
    found = costs("sequence")
    assert found.plan.numbers_sent == 2 * (3 * STREAM)
    own = [m for m in found.backward_messages if "x" in m.array.names]
    weights = [m for m in found.backward_messages if m not in own]
    assert sum(message.array.numel for message in weights) == WEIGHTS
    assert {message.collective for message in weights} == {"all-reduce"}
    assert {str(message.array) for message in own} == {"b x h k"}
    kinds = sorted(message.collective for message in own)
    assert kinds == ["all-gather", "all-gather", "reduce-scatter", "reduce-scatter"]


def test_one_device_sends_nothing() -> None:
    for way in WAYS:
        found = costs(way, 1)
        assert (found.plan.numbers_sent, found.backward_numbers) == (0, 0)


def test_devices_that_do_not_divide_an_axis_are_told_of() -> None:
    found = way_costs(LAYER, BACK, WAYS["tensor"], 8)
    assert isinstance(found, SizeError) and found.fact == "8 devices do not divide h = 4"


@pytest.mark.parametrize("way", WAYS)
def test_a_simulated_run_is_that_of_the_whole(way: str) -> None:
    module, inputs = ncd.compile(LAYER, seed=3), ncd.example_inputs(LAYER, 4)
    done = simulated_run(costs(way).plan, inputs, module)
    assert done.output_error < 1e-6 and done.gradient_error < 1e-5
    assert done.numbers_sent == costs(way).plan.numbers_sent
    other = simulated_run(costs(way).plan, [x + 1 for x in inputs], module)
    assert other.output_error < 1e-6
