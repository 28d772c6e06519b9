"""The run: seeds, threads, traces, devices, batches, and what the module is made of."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor, nn

import ncd
from ncd import Entry, Id, Linear, Repeat, Term
from ncd.run.device import devices
from ncd.run.seeding import generator
from tests.support.sampling import sample
from tests.support.strategies import terms

ENTRIES = pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
MHA = ncd.catalogue["multi-head-attention"]


def called(function: Callable[..., Any], *args: object) -> tuple[Tensor, ...]:
    """What a module gives as a tuple, be it one array or several."""
    found = function(*args)
    return (found,) if isinstance(found, Tensor) else found


def loss(outputs: tuple[Tensor, ...]) -> Tensor:
    """One number that every output counts in."""
    return torch.stack([x.square().sum() for x in outputs]).sum()


def numbers(entry: Entry, seed: int, **knobs: int) -> list[Tensor]:
    """All the numbers that a visitor could see: weights, inputs, every array, every gradient."""
    term = entry.build(**knobs)
    module = ncd.compile(term, seed=seed)
    inputs = real(ncd.example_inputs(term, seed=seed))
    run = ncd.trace(module, *inputs)
    wanted = [x for x in (*inputs, *module.parameters()) if x.requires_grad]
    grads = torch.autograd.grad(loss(run.outputs), wanted)
    kept = [run.values[id] for id in sorted(run.values)]
    return [x.detach() for x in (*inputs, *wanted, *kept, *grads)]


def real(inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The inputs, those that are no whole numbers with a gradient."""
    return tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)


def equal(one: list[Tensor], two: list[Tensor]) -> bool:
    return len(one) == len(two) and all(map(torch.equal, one, two))


# --- seeds ---------------------------------------------------------------------------------------


@pytest.mark.few(20)
@ENTRIES
def test_one_seed_gives_one_set_of_numbers(entry: Entry) -> None:
    assert equal(numbers(entry, 7), numbers(entry, 7))


@pytest.mark.few(15)
@ENTRIES
def test_another_seed_gives_other_numbers(entry: Entry) -> None:
    one, two = ncd.example_inputs(entry.build(), 1), ncd.example_inputs(entry.build(), 2)
    assert not any(map(torch.equal, one, two))
    ours = dict(ncd.compile(entry.build(), seed=1).named_parameters())
    theirs = dict(ncd.compile(entry.build(), seed=2).named_parameters())
    fixed = {name for name in ours if ours[name].unique().numel() == 1}  # such as a norm's ones
    for cell in ncd.elaborate(entry.build()).cells:
        formula = str(cell.op.init or "normal") if isinstance(cell.op, ncd.Param) else "normal"
        if not any(word in formula for word in ("normal", "uniform")):
            fixed |= {name for name in ours if name.rpartition(".")[2] == cell.name}
    drawn = [name for name in ours if name not in fixed]
    assert not any(torch.equal(ours[name], theirs[name]) for name in drawn)
    assert drawn or not ours or entry.section == "Normalisation"


def test_layers_of_one_shape_have_weights_of_their_own() -> None:
    module = ncd.compile(MHA.build())
    assert not torch.equal(module.Q.weight, module.K.weight)


def test_the_global_state_is_neither_read_nor_changed() -> None:
    torch.manual_seed(1)
    before, one = torch.get_rng_state(), numbers(MHA, 0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert equal(numbers(MHA, 0), one)


def test_weights_are_drawn_as_torch_draws_them() -> None:
    weight = ncd.compile(MHA.build(m=512, k=64, h=16)).Q.weight
    bound = 512**-0.5  # nn.Linear: uniform on ±1/√fan_in
    assert weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)
    assert weight.mean().item() == pytest.approx(0, abs=bound / 100)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63, 10**30])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    draws = [torch.rand(3, generator=generator(seed, "test")) for _ in range(2)]
    assert torch.equal(*draws)


def close(some: list[Tensor], others: list[Tensor]) -> bool:
    return all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(some, others, strict=True))


def test_sixteen_threads_do_not_disturb_each_other() -> None:
    """Systems and seeds mixed, all at once: the same numbers as one after the other.

    The last bit of a matrix product depends on where its memory begins.
    """
    every = [
        (entry, seed, entry.with_clamped_indexes(entry.settings({knob.name: knob.min})))
        for entry in ncd.catalogue.values()
        for seed in (0, 1)
        for knob in entry.knobs[:2]
    ]
    jobs = sample(every, 40)
    alone = [numbers(entry, seed, **knobs) for entry, seed, knobs in jobs]
    barrier = threading.Barrier(16)

    def work(place: int) -> list[bool]:
        barrier.wait()
        order = (jobs[place:] + jobs[:place])[::4]  # each job is done by four of the threads
        expected = (alone[place:] + alone[:place])[::4]
        torch.rand(place + 1)  # somebody draws from the global state
        return [
            close(numbers(entry, seed, **knobs), numbers_alone)
            for (entry, seed, knobs), numbers_alone in zip(order, expected, strict=True)
        ]

    with ThreadPoolExecutor(16) as pool:
        results = [same for thread in pool.map(work, range(16)) for same in thread]
    assert len(results) == 16 * len(jobs[::4])
    assert all(results)


# --- traces --------------------------------------------------------------------------------------


@pytest.mark.few(20)
@ENTRIES
def test_a_trace_holds_every_array_by_the_ids_of_the_circuit(entry: Entry) -> None:
    term = entry.build()
    module = ncd.compile(term)
    inputs = ncd.example_inputs(term)
    run, circuit = ncd.trace(module, *inputs), ncd.elaborate(term)
    assert set(run.values) == set(circuit.values)
    for value, x in zip(circuit.inputs, inputs, strict=True):
        assert run.values[value.id] is x
    for value, x in zip(circuit.outputs, run.outputs, strict=True):
        assert run.values[value.id] is x
    plain = called(module.eval(), *inputs)
    torch.testing.assert_close(ncd.trace(module, *inputs).outputs, plain)


def test_a_value_is_what_its_op_made() -> None:
    module = ncd.compile(MHA.build())
    inputs = ncd.example_inputs(module.term)
    run = ncd.trace(module, *inputs)
    linear = next(c for c in module.circuit.cells if c.name == "Q")
    expected = module.Q(inputs[0]).unflatten(-1, (16, 4))
    torch.testing.assert_close(run.values[linear.outputs[0].id], expected)


# --- devices, copies, modes ----------------------------------------------------------------------


@pytest.mark.few(15)
@pytest.mark.parametrize("device", devices())
@ENTRIES
def test_every_device_gives_the_same_numbers(entry: Entry, device: str) -> None:
    term = entry.build()
    module = ncd.compile(term, device=device)
    inputs = ncd.example_inputs(term, device=device)
    assert {p.device.type for p in module.parameters()} <= {torch.device(device).type}
    outputs = tuple(x.cpu() for x in called(module, *inputs))
    expected = called(ncd.compile(term), *ncd.example_inputs(term))
    torch.testing.assert_close(outputs, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.few(15)
@ENTRIES
def test_a_deep_copy_is_a_module_of_its_own(entry: Entry) -> None:
    term = entry.build()
    module = ncd.compile(term)
    twin = copy.deepcopy(module)
    inputs = ncd.example_inputs(term)
    assert all(map(torch.equal, called(twin, *inputs), called(module, *inputs)))
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.sub_(1)
    if list(module.parameters()):
        ours, theirs = called(module.eval(), *inputs), called(twin.eval(), *inputs)
        assert not any(map(torch.allclose, ours, theirs))
    assert module.state_dict().keys() == twin.state_dict().keys()


def test_a_deep_copy_of_a_trained_part_keeps_its_mode() -> None:
    module = ncd.compile(ncd.catalogue["residual-block"].build()).eval()
    module.requires_grad_(False)
    twin = copy.deepcopy(module)
    assert not twin.training
    assert not any(p.requires_grad for p in twin.parameters())


@pytest.mark.few(20)
@ENTRIES
def test_it_works_under_torch_func(entry: Entry) -> None:
    term = entry.build()
    module = ncd.compile(term).eval()
    inputs, weights = real(ncd.example_inputs(term)), dict(module.named_parameters())

    def lost(weights: dict[str, Tensor]) -> Tensor:
        return loss(called(torch.func.functional_call, module, weights, inputs))

    grads = torch.func.grad(lost)(weights) if weights else {}
    loss(called(module, *inputs)).backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(grads[name], parameter.grad, rtol=1e-4, atol=1e-4)


def test_vmap_over_a_batch_is_the_batch_in_front() -> None:
    module = ncd.compile(MHA.build())
    one, two = torch.randn(3, 20, 128), torch.randn(3, 22, 128)
    torch.testing.assert_close(torch.func.vmap(module)(one, two), module(one, two))


def test_eval_and_train_reach_the_norms() -> None:
    term = ncd.catalogue["residual-block"].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    assert module.norm_0.training
    trained = module(*inputs)
    assert not torch.allclose(module.eval()(*inputs), trained)
    assert not module.norm_0.training
    assert torch.equal(module(*inputs[:1]), module(*inputs[:1]))


# --- batches and shapes --------------------------------------------------------------------------


@pytest.mark.few(40)
@ENTRIES
@pytest.mark.parametrize("batch", [(3,), (2, 3)])
def test_a_batch_in_front_of_every_entry(entry: Entry, batch: tuple[int, ...]) -> None:
    term = entry.build()
    module = ncd.compile(term).eval()
    every = zip(*(ncd.example_inputs(term, seed) for seed in range(math.prod(batch))), strict=True)
    inputs = [torch.stack(own).unflatten(0, batch) for own in every]
    whole = called(module, *inputs)
    assert [tuple(x.shape) for x in whole] == [(*batch, *array.shape) for array in term.cod]
    first = (0,) * len(batch)
    alone = called(module, *(x[first] for x in inputs))
    torch.testing.assert_close(tuple(x[first] for x in whole), alone, atol=1e-5, rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(terms())
def test_a_batch_in_front_of_random_terms(term: Term) -> None:
    module = ncd.compile(term).eval()
    pairs = zip(ncd.example_inputs(term, 1), ncd.example_inputs(term, 2), strict=True)
    inputs = [torch.stack(pair) for pair in pairs]
    whole, one = ncd.trace(module, *inputs), ncd.trace(module, *(x[1] for x in inputs))
    for array, a, b in zip(term.cod, whole.outputs, one.outputs, strict=True):
        assert tuple(a.shape) in ((2, *array.shape), array.shape)  # a constant has no batch
        two = a.expand(2, *array.shape)
        torch.testing.assert_close(two[1], b, rtol=1e-3, atol=1e-4, equal_nan=True)


def test_several_outputs_come_as_a_tuple_one_alone() -> None:
    x = torch.ones(2)
    assert isinstance(ncd.compile(Id("y:2") >> ncd.Copy("y"))(x), tuple)
    assert isinstance(ncd.compile(Id("y:2"))(x), Tensor)


# --- what the module is made of ------------------------------------------------------------------


def test_learned_parts_are_named_as_in_the_diagram() -> None:
    module = ncd.compile(MHA.build())
    assert {name: type(part) for name, part in module.named_children()} == dict.fromkeys(
        "QKVO", nn.Linear
    )
    block = ncd.compile(ncd.catalogue["residual-block"].build())
    kinds = {name: type(part) for name, part in block.named_children()}
    assert kinds["conv_2"] is nn.Conv2d
    assert kinds["norm_0"] is nn.BatchNorm2d


def test_a_repetition_has_separate_weights_in_a_module_list() -> None:
    body = Linear("m:4 -> m", "lin")
    module = ncd.compile(Id("y:2 m:4") >> Repeat((body,) * 3))
    assert isinstance(module.layers, nn.ModuleList)
    names = [name for name, _ in module.named_parameters()]
    assert names == [f"layers.{i}.lin.weight" for i in range(3)]
    weights = [layer.lin.weight for layer in module.layers]
    assert not torch.equal(weights[0], weights[1])
    (x,) = ncd.example_inputs(module.term)
    expected = x @ weights[0].T @ weights[1].T @ weights[2].T
    torch.testing.assert_close(module(x), expected)


def test_a_repetition_of_one_body_has_the_same_home() -> None:
    module = ncd.compile(Id("y:2 m:4") >> Repeat((Linear("m:4 -> m", "lin"),)))
    assert [name for name, _ in module.named_parameters()] == ["layers.0.lin.weight"]


def test_bodies_may_differ_in_size_and_repetitions_may_nest() -> None:
    def ladder(*sizes: int) -> Repeat:
        pairs = pairwise(sizes)
        return Repeat(
            tuple(
                Linear(f"{'abcd'[i]}:{m} -> {'abcd'[i + 1]}:{n}", "up")
                for i, (m, n) in enumerate(pairs)
            ),
            "blocks",
        )

    module = ncd.compile(Id("y:2 a:2") >> ladder(2, 3, 5))
    assert [tuple(p.shape) for p in module.parameters()] == [(3, 2), (5, 3)]
    inner = Repeat((Linear("m:4 -> m", "lin"),) * 2, "inner")
    nested = ncd.compile(Id("m:4") >> Repeat((inner, inner), "outer"))
    assert [name for name, _ in nested.named_parameters()] == [
        f"outer.{i}.inner.{j}.lin.weight" for i in range(2) for j in range(2)
    ]


def test_a_name_used_twice_is_told_apart() -> None:
    module = ncd.compile(Id("m:4") >> Linear("m -> k:4", "Q") >> Linear("k -> m:4", "Q"))
    assert [name for name, _ in module.named_children()] == ["Q", "Q_2"]


@pytest.mark.parametrize("name", ["forward", "training", "term", "circuit", "add_module"])
def test_a_name_that_the_module_has_already_is_told_apart(name: str) -> None:
    module = ncd.compile(Id("m:4") >> Linear("m -> k:4", name))
    assert [own for own, _ in module.named_children()] == [f"{name}_2"]
    (x,) = ncd.example_inputs(module.term)
    (weight,) = module.parameters()
    torch.testing.assert_close(module(x), x @ weight.T)
