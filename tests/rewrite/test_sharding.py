"""A term on several devices: equal to the whole, and each number is sent as often as was said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

import ncd
from ncd import Axes, Id, Linear, MismatchError, NCDError, ParseError, SizeError, Term
from ncd.language.axes import seq
from ncd.language.wire import Wire
from ncd.ops import (
    CausalMask,
    Conv,
    Cumulative,
    Einsum,
    Group,
    LayerNorm,
    Param,
    Reduce,
    RMSNorm,
    Softmax,
    Split,
)
from ncd.rewrite.sharded_run import Ring, run_sharded
from ncd.rewrite.sharding import Sharding, shard
from ncd.systems.catalogue_entry import Entry

SIZES = Axes(b=4, t=seq(6), m=8, d=12, h=4, k=2)
PERCEPTRON = Linear("m -> d", "up", True) >> Linear("d -> m", "down", True)
SINGLE = {
    entry.name: entry for entry in ncd.catalogue.values() if not ncd.elaborate(entry.build()).loops
}


def sent(plan: Sharding) -> list[tuple[str, str]]:
    return [(message.collective, str(message.array)) for message in plan.messages]


def assert_equals_the_whole(term: Term, axes: Sequence[str], devices: int) -> Sharding:
    """Compares outputs, and the gradients of inputs and weights, with those of the whole."""
    term = ncd.elaborate(term).term
    plan, module = shard(term, axes, devices), ncd.compile(term).eval()
    inputs = [x.requires_grad_(x.is_floating_point()) for x in ncd.example_inputs(term)]
    whole = module.execute(inputs)
    found = run_sharded(plan, inputs, module)
    assert found.numbers_sent == plan.numbers_sent
    leaves = [x for x in (*inputs, *module.parameters()) if x.requires_grad]
    for one, two in zip(found.outputs, whole, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    for one, two in zip(gradients(found.outputs, leaves), gradients(whole, leaves), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6 + 1e-4 * float(two.abs().max()))
    return plan


def gradients(outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Returns the gradients of the sum of sines, which no norm makes 0."""
    total = sum((x.sin().sum() for x in outputs if x.requires_grad), torch.zeros(()))
    if not (leaves and total.requires_grad):
        return ()
    return torch.autograd.grad(total, leaves, materialize_grads=True, allow_unused=True)


# --- equal to the whole


@pytest.mark.few(6)
@pytest.mark.parametrize("entry", SINGLE.values(), ids=lambda entry: entry.name)
def test_every_system_on_two_devices_along_each_axis(entry: Entry) -> None:
    term = ncd.elaborate(entry.build()).term
    for axis in ncd.elaborate(term).axes:
        if not axis.spatial and axis.numel % 2 == 0:
            assert_equals_the_whole(term, [axis.name], 2)


@pytest.mark.parametrize(
    ("axes", "weights", "messages"),
    [
        (["h"], 4, [("all-reduce", "y m")]),  # as in Megatron: heads, and one sum at the end
        (["y", "x"], 1, [("all-gather", "x k h"), ("all-gather", "x k h")]),  # keys and values
        (["k"], 4, [("all-reduce", "y x h"), ("all-reduce", "y m")]),
        (["y"], 1, []),
    ],
)
def test_attention_on_four_devices(
    axes: list[str], weights: int, messages: list[tuple[str, str]]
) -> None:
    term = ncd.catalogue["multi-head-attention"].build(h=4, k=4, m=8, y=8, x=4)
    plan = assert_equals_the_whole(term, axes, 4)
    assert sent(plan) == messages
    assert plan.weights_held * weights == sum(x.numel() for x in ncd.compile(term).parameters())


ROWS = Id("b m")


@pytest.mark.parametrize(
    ("term", "axes", "messages"),
    [
        (ROWS >> PERCEPTRON, ["d"], [("all-reduce", "b m")]),
        (ROWS >> PERCEPTRON, ["m", "d"], [("reduce-scatter", "b d"), ("reduce-scatter", "b m")]),
        (ROWS >> Linear("m -> m", "L", True), ["m"], [("all-gather", "b m")]),
        (ROWS >> Softmax("m"), ["m"], [("all-reduce", "b")] * 2),
        (ROWS >> LayerNorm("m"), ["m"], [("all-reduce", "b")] * 2),
        (ROWS >> RMSNorm("m"), ["m"], [("all-reduce", "b")]),
        (ROWS >> Reduce("m -> ()", "mean"), ["m"], [("all-reduce", "b")]),
        (ROWS >> Reduce("m -> ()", "max"), ["m"], [("all-reduce", "b")]),
        (ROWS >> Cumulative("m"), ["m"], [("all-gather", "b m")]),
        (Id("b m t") >> Conv("m t -> d u", "conv", 3), ["m"], [("all-gather", "b m t")]),
        (Id("b m, m d") >> Einsum("b m, m d -> b d"), ["m"], [("all-reduce", "b d")]),
        (Id("t k") >> CausalMask("t k"), ["t"], []),
        (Id("t k") >> CausalMask("t k"), ["k"], []),
        (Param("m", "bias", "normal"), ["m"], []),
        (Id("b h k") >> Group("h k -> n"), ["h"], []),  # the heads vary slowest, so halves stay
        (Id("b h k") >> Group("h k -> n"), ["k"], [("all-gather", "b h k")]),
        (ROWS >> Split("m -> h k_2"), ["m"], []),
        (Id("b, m") >> Wire("b, m -> m, b, b"), ["b", "m"], []),  # each array is held in its way
    ],
)
def test_ops_along_their_own_axes(
    term: Term, axes: list[str], messages: list[tuple[str, str]]
) -> None:
    assert sent(assert_equals_the_whole(SIZES(term), axes, 2)) == messages


def test_data_parallelism_sends_the_gradients_of_all_weights() -> None:
    term = SIZES(ROWS >> PERCEPTRON)
    forward = assert_equals_the_whole(term, ["b"], 4)
    backward = assert_equals_the_whole(ncd.gradient(term, "parameters"), ["b"], 4)
    weights = sum(x.numel() for x in ncd.compile(term).parameters())
    assert forward.numbers_sent == 0 and forward.weights_held == weights
    assert backward.numbers_sent == 2 * 3 * weights
    assert {message.collective for message in backward.messages} == {"all-reduce"}


def test_tensor_parallelism_sends_as_much_back_as_forth() -> None:
    """Megatron's two operations, f and g: one sums forward, the other the gradient behind."""
    term = SIZES(ROWS >> PERCEPTRON)
    plans = [assert_equals_the_whole(one, ["d"], 4) for one in (term, ncd.gradient(term))]
    assert [sent(plan) for plan in plans] == [[("all-reduce", "b m")]] * 2


def test_gradients_of_heads_stay_where_their_weights_are() -> None:
    """Torch stores the weights of all heads in one matrix, of which each device has some rows."""
    term = SIZES(Id("b t m") >> Linear("m -> h k", "q") >> Linear("h k -> m", "out"))
    plan = assert_equals_the_whole(ncd.gradient(term, "parameters"), ["h"], 4)
    assert sent(plan) == []


def test_what_one_device_does_and_holds() -> None:
    term = SIZES(ROWS >> PERCEPTRON)
    whole, plan = shard(term, ["d"], 1), shard(term, ["d"], 4)
    assert whole.numbers_sent == 0 and whole.weights_held == 8 * 12 + 12 + 12 * 8 + 8
    assert whole.flops == 4 * plan.flops == ncd.cost(term).flops
    assert plan.weights_held == (8 * 12 + 12 + 12 * 8) // 4 + 8
    assert whole.arrays_held == 4 * (8 + 12 + 8) and plan.arrays_held == 4 * (8 + 3 + 8)
    axes = [plan.shard_axis(value) for value in plan.circuit.values.values()]
    assert axes == ["", "d", ""]


# --- the ring


@pytest.mark.parametrize(("devices", "count"), [(1, 5), (2, 4), (3, 7), (4, 2)])
def test_a_ring_joins_scatters_and_gathers(devices: int, count: int) -> None:
    """Each number passes along all links but one, also where the parts are not of one size."""
    draws = torch.Generator().manual_seed(devices)
    tensors = [torch.randn(count, 2, generator=draws) for _ in range(devices)]
    ring = Ring()
    parts = ring.reduce_scatter(tensors, 0, torch.add)
    assert ring.numbers_sent == (devices - 1) * 2 * count
    torch.testing.assert_close(torch.cat(parts), sum(tensors, torch.zeros(())))
    assert [len(part) for part in parts] == [len(x) for x in tensors[0].tensor_split(devices)]
    whole = ring.all_gather(parts, 0)
    assert ring.numbers_sent == 2 * (devices - 1) * 2 * count and len(whole) == devices
    most = Ring().all_reduce(tensors, torch.maximum)
    assert all(torch.equal(x, torch.stack(tensors).amax(0)) for x in most)


# --- what is refused


@pytest.mark.parametrize(
    ("axes", "devices", "kind", "message"),
    [
        ("d", 2, ParseError, "shard: axes is 'd', but it is several names. Try axes=['d']."),
        (["d"], 0, ParseError, "shard: the number of devices is 0. Try devices=4."),
        (["d"], True, ParseError, "shard: the number of devices is True. Try devices=4."),
        (["d"], 5, SizeError, "shard: 5 devices do not divide d = 12. Try d = 10."),
        (["d"], 24, SizeError, "shard: 24 devices do not divide d = 12. Try d = 24."),
    ],
)  # fmt: skip
def test_other_axes_and_devices(
    axes: list[str], devices: int, kind: type[NCDError], message: str
) -> None:
    with pytest.raises(kind) as raised:
        shard(SIZES(ROWS >> PERCEPTRON), axes, devices)
    assert str(raised.value) == message


def test_an_axis_that_is_not_there_or_of_two_dimensions_and_a_repetition() -> None:
    with pytest.raises(NCDError, match="there is no axis 'dd'"):
        shard(SIZES(ROWS >> PERCEPTRON), ["dd"], 2)
    with pytest.raises(MismatchError, match="x has several dimensions"):
        shard(Softmax("x:4x4"), ["x"], 2)
    with pytest.raises(MismatchError, match="a repetition is not sharded as one"):
        shard(SIZES(ROWS >> ncd.Repeat((PERCEPTRON,) * 2)), ["d"], 2)


def test_inputs_and_weights_are_checked() -> None:
    plan = shard(SIZES(ROWS >> PERCEPTRON), ["d"], 2)
    module = ncd.compile(SIZES(ROWS >> PERCEPTRON))
    with pytest.raises(MismatchError, match=r"the sharded term reads \(b m\), not 0 arrays"):
        run_sharded(plan, [], module)
    with pytest.raises(MismatchError, match=r"the sharded term reads the weights up\.weight"):
        run_sharded(plan, [torch.zeros(4, 8)])
