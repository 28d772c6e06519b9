"""Where a stack of layers saves under a budget: the best of all ways, and it really runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ncd
from ncd import Axes, Block, Dropout, Id, Linear, Repeat, Softmax
from ncd.circuit.elaborate import elaborate
from ncd.run import checkpointing
from ncd.run.checkpointing import (
    CheckpointCost,
    LayerBytes,
    _pareto_front,
    layers,
    measured_saved,
    pareto_choices,
    plans,
)
from ncd.run.program import segments
from ncd.run.run_memory import Storages, scalar_of_outputs
from tests.run.test_saved_for_backward import gradients

FEW = st.integers(0, 6)
LAYER = st.builds(lambda *n: (n[0] + n[1], n[0], n[2] + n[3], n[2], *n[4:]), *[FEW] * 7)
CHAIN = st.lists(st.tuples(st.sampled_from(["", "h", "g"]), LAYER), min_size=1, max_size=6)


def choices(chain: list[LayerBytes]) -> Iterator[list[tuple[int, int, bool]]]:
    """Yields every way to cut a chain into runs of neighbours that are saved or not."""
    for cuts in product((False, True), repeat=len(chain) - 1):
        at = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(chain)]
        runs = list(pairwise(at))
        for again in product((False, True), repeat=len(runs)):
            alike = (
                not on or (chain[a].stack and len({one.stack for one in chain[a:b]}) == 1)
                for (a, b), on in zip(runs, again, strict=True)
            )
            if all(alike):
                yield [(a, b, on) for (a, b), on in zip(runs, again, strict=True)]


def walked(chain: list[LayerBytes], choice: list[tuple[int, int, bool]]) -> tuple[int, int]:
    """Returns the peak and the FLOPs of a choice: forward on a stack of bytes, then back."""
    kept, flops = [0], 0
    for a, b, again in choice:
        run = chain[a:b]
        entered = chain[a].input_bytes + sum(one.skip_input_bytes for one in run)
        kept.append(
            entered
            if again
            else sum(
                one.saved_input_bytes + one.saved_skip_bytes + one.saved_own_bytes for one in run
            )
        )
        flops += sum(one.flops for one in run) if again else 0
    peak = sum(kept)
    for a, b, again in reversed(choice):
        inner = sum(one.saved_own_bytes for one in chain[a:b]) + sum(
            one.saved_input_bytes for one in chain[a + 1 : b]
        )
        peak = max(peak, sum(kept) + (inner + chain[b - 1].output_bytes if again else 0))
        kept.pop()
    return peak, flops


@settings(max_examples=40, deadline=None)
@given(CHAIN)
def test_no_way_of_all_is_better(parts: list[tuple[str, tuple[int, ...]]]) -> None:
    chain = [LayerBytes(stack, at, *numbers) for at, (stack, numbers) in enumerate(parts)]
    chain.sort(key=lambda one: one.stack)  # the layers of a stack are neighbours
    every = {walked(chain, choice) for choice in choices(chain)}
    front = [(p, f) for p, f in sorted(every) if not any(q <= p and g < f for q, g in every)]
    least = {f: min(p for p, g in front if g == f) for _, f in front}
    found = pareto_choices(chain)
    assert {choice.flops: choice.peak for choice in found} == least
    assert [c.peak for c in found] == sorted({c.peak for c in found}, reverse=True)


def test_a_stack_of_sixteen_needs_no_more_than_equal_groups_of_four() -> None:
    chain = [LayerBytes("h", at, 1, 1, 0, 0, 9, 0, 5) for at in range(16)]
    equal, _ = walked(chain, [(at, at + 4, True) for at in range(0, 16, 4)])
    least = pareto_choices(chain)[-1]
    assert least.peak <= 24 < equal == 43
    assert least.flops <= 16 * 5


RUN = {
    "gpt-2": {"n": 3},
    "encoder-decoder": {"prenorm": 0},
    "unet": {},
    "vit": {},
    "llama": {},
    "mamba": {"t": 4},
    "recall": {},
    "t5": {},
}


@pytest.mark.parametrize(("name", "sizes"), RUN.items())
def test_stated_bytes_are_measured_and_gradients_are_the_same(
    name: str, sizes: dict[str, int]
) -> None:
    term = ncd.catalogue[name].build(**sizes)
    inputs = ncd.example_inputs(term)
    plain = gradients(ncd.compile(term).double(), inputs)
    first, *_, last = every = plans(term)
    assert first.bytes_between_passes == first.bytes == ncd.saved(term).bytes
    middle = every[len(every) // 2]
    for plan in {middle, last}:
        module = ncd.compile(term, recompute=plan.recompute)
        assert plan.bytes_between_passes == pytest.approx(
            measured_saved(module, inputs).bytes, rel=0.1
        )
    module = ncd.compile(term, recompute=middle.recompute).double()
    torch.testing.assert_close(gradients(module, inputs), plain, rtol=1e-9, atol=1e-9)
    assert middle.flops == ncd.saved(term, middle.recompute).flops


def test_the_peak_of_memory_falls_as_stated() -> None:
    """Gradients lie beside what is saved, the same ones at every choice."""
    term = ncd.catalogue["gpt-2"].build(n=4, t=32)
    whole, *less = plans(term)
    before = peak(term, whole.recompute)
    for plan in less:
        fewer = before - peak(term, plan.recompute)
        assert fewer == pytest.approx(whole.bytes - plan.bytes, rel=0.1)


def peak(term: ncd.Term, again: tuple[str, ...]) -> int:
    """Returns the most bytes that a backward pass really holds."""
    module, inputs = ncd.compile(term, recompute=again), ncd.example_inputs(term)
    weights = [*module.parameters()]
    for weight in weights:
        weight.grad = torch.zeros_like(weight)  # so that its bytes are there from the start
    with Storages([*weights, *(x.grad for x in weights if x.grad is not None)]) as counted:
        total = scalar_of_outputs(module.execute(inputs, watch=lambda cell, given, made: None))
        counted.peak = counted.now
        total.backward()
    return counted.peak


LAYERS = Axes(y=5, m=4)(
    Id("y m")
    >> Repeat(tuple(Block(Linear("m -> m", "L") >> Softmax("m"), "Layer") for _ in range(4)))
)


def test_some_layers_are_calculated_again_and_others_are_not() -> None:
    circuit = elaborate(LAYERS)
    assert segments(circuit, ["layers.1"]) == (frozenset({"n2", "n3"}),)
    assert segments(circuit, ["f0.0:2"]) == (frozenset({"n0", "n1", "n2", "n3"}),)
    # parts that share ops are one: a block inside, a group that begins in another
    assert segments(circuit, ["layers.0:2", "layers.1:3", "Layer"]) == (
        frozenset({"n0", "n1", "n2", "n3", "n4", "n5"}),
        frozenset({"n6", "n7"}),
    )


def test_a_group_that_drops_numbers_drops_the_same_again() -> None:
    layer = Linear("m -> m", "L") >> Dropout(0.5) >> Softmax("m")
    term = Id("y:5 m:4") >> Repeat((layer,) * 4)
    inputs = ncd.example_inputs(term)
    plain, again = (
        ncd.compile(term, recompute=names).double() for names in ((), ("layers.0:2", "layers.3"))
    )
    torch.testing.assert_close(gradients(plain, inputs), gradients(again, inputs))


@pytest.mark.parametrize("name", ["layers.4", "layers.2:5", "layers.2:2", "layers.", "layers.-1"])
def test_layers_that_do_not_exist_are_refused(name: str) -> None:
    with pytest.raises(ncd.UnknownNameError) as caught:
        ncd.compile(LAYERS, recompute=[name])
    assert str(caught.value) == f"recompute: there is no block {name!r}. Try layers.0."


def test_a_budget_chooses_the_least_flops_that_fit() -> None:
    term = ncd.catalogue["vit"].build()
    every = plans(term)
    assert ncd.checkpoints(term, 1e9) == every[0]
    assert ncd.checkpoints(term, every[1].bytes) == every[1]
    assert ncd.checkpoints(term, every[1].bytes - 1) == every[2]
    with pytest.raises(ncd.LimitError) as caught:
        ncd.checkpoints(LAYERS, 100)
    assert str(caught.value) == (
        "checkpoints: no choice of layers saves at most 100 bytes: the fewest are 320. "
        "Try budget=320."
    )
    with pytest.raises(ncd.LimitError) as caught:
        ncd.checkpoints(LAYERS, 0)
    assert str(caught.value) == (
        "checkpoints: the budget is 0, but it is a number of bytes over 0. Try budget=1_000_000."
    )


def test_ops_outside_all_stacks_only_hold_what_they_save() -> None:
    """They pass nothing on that could be dropped, and are never calculated again."""
    found = layers(Id("y:5 m:4") >> Softmax("m") >> LAYERS, ncd.Formats())
    first, *stack = found
    assert first == LayerBytes("", 0, 0, 0, 0, 0, 5 * 4 * 4, 0, 0)
    assert [one.stack for one in stack] == ["layers"] * 4
    assert (
        sum(one.saved_bytes for one in found)
        == ncd.saved(Id("y:5 m:4") >> Softmax("m") >> LAYERS).bytes
    )


def test_a_group_of_one_layer_is_named_by_its_place_alone() -> None:
    chain = [LayerBytes("h", at, 1, 1, 0, 0, 9, 0, 5) for at in range(2)]
    chain += [LayerBytes("g", 4, 1, 1, 0, 0, 9, 0, 5)]
    names = checkpointing._names(chain, ((0, 1), ((1, 2), ((2, 3), ()))))
    assert names == ("h.0", "h.1", "g.4")
    assert checkpointing._names(chain, ((0, 2), ())) == ("h.0:2",)


@pytest.mark.parametrize(("count", "left"), [(300, 300), (301, 151), (700, 234)])
def test_of_very_many_choices_every_second_or_third_is_followed(count: int, left: int) -> None:
    every = [CheckpointCost(n, count - n, 0) for n in range(count)]
    worse = [CheckpointCost(n, count - n + 1, 0) for n in range(count)]
    front = _pareto_front([*worse, *every])
    assert len(front) == left and {*front} <= {*every}
    assert (front[0], front[-1]) == (every[-1], every[0])
    assert front == sorted(front, reverse=True)
