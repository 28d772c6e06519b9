"""The backward pass op by op against torch's, what is frozen, and finite differences."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.circuit.costs import cost
from ncd.errors import MismatchError
from ncd.explain.autograd_dag import autograd
from ncd.explain.chain_rule import (
    Slope,
    cotangents,
    has_no_scan,
    isolated_copy,
    op_gradients,
    slopes,
)
from ncd.run.module import CircuitModule

TERMS = {name: entry.build() for name, entry in ncd.catalogue.items()}
LIGHT = [
    name
    for name, term in TERMS.items()
    if cost(term).flops < 5_000_000 and has_no_scan(ncd.elaborate(term))
]


def made(name: str) -> tuple[CircuitModule, tuple[torch.Tensor, ...]]:
    term = ncd.catalogue[name].build()
    return ncd.compile(term), ncd.example_inputs(term)


def plain(
    module: CircuitModule, inputs: tuple[torch.Tensor, ...]
) -> dict[str, torch.Tensor | None]:
    """The gradients of the parameters and the inputs, by torch alone."""
    ids = [value.id for value in module.circuit.inputs]
    given = {id: x.clone() for id, x in zip(ids, inputs, strict=True)}
    reals = {id: x.requires_grad_() for id, x in given.items() if x.is_floating_point()}
    outputs = isolated_copy(module).execute(tuple(given.values()))
    starts = cotangents([y.detach() for y in outputs], 0)
    ends = [(y, g) for y, g in zip(outputs, starts, strict=True) if y.requires_grad]
    leaves = dict(module.named_parameters()) | reals
    if not ends:
        return dict.fromkeys(leaves)
    ys, gs = zip(*ends, strict=True)
    found = torch.autograd.grad(ys, [*leaves.values()], gs, allow_unused=True)
    return dict(zip(leaves, found, strict=True))


@pytest.mark.parametrize("name", LIGHT)
def test_the_chain_rule_op_by_op_gives_what_torch_gives(name: str) -> None:
    module, inputs = made(name)
    module.double()
    inputs = tuple(x.double() if x.is_floating_point() else x for x in inputs)
    found = op_gradients(module, *inputs)
    for leaf, wanted in plain(module, inputs).items():
        own = found.parameters.get(leaf, found.arrays.get(leaf))
        assert (own is None) == (wanted is None), leaf
        if wanted is not None:
            torch.testing.assert_close(own, wanted, rtol=1e-4, atol=1e-5)
    shapes = {value.id: value.array.shape for value in module.circuit.values.values()}
    assert all(tuple(grad.shape) == shapes[id] for id, grad in found.arrays.items())
    assert all(p.grad is None for p in module.parameters())


def test_what_is_used_twice_gets_both_gradients() -> None:
    twice = ncd.Copy("m:3") >> ncd.Elementwise("sin") @ ncd.Id("m:3") >> ncd.Add()
    x = torch.randn(3)
    found = op_gradients(ncd.compile(twice), x)
    start = cotangents([x], 0)[0]
    torch.testing.assert_close(found.arrays["v0"], start * (x.cos() + 1))


def test_what_is_frozen_has_no_gradient_and_the_graph_ends_before_it() -> None:
    module, inputs = made("multi-head-attention")
    whole, less = (ncd.autograd(module, *inputs, frozen=off) for off in ((), ("Q.weight", "v0")))
    lost = {node.label for node in whole.nodes} - {node.label for node in less.nodes}
    assert "Q.weight" in lost and len(less.nodes) < len(whole.nodes)
    assert {e.source for e in less.edges} <= {node.id for node in less.nodes}
    found = op_gradients(module, *inputs, frozen=("Q.weight", "v0"))
    every = op_gradients(module, *inputs)
    assert found.parameters.keys() == every.parameters.keys() - {"Q.weight"}
    for name, grad in found.parameters.items():
        torch.testing.assert_close(grad, every.parameters[name])
    assert all(p.requires_grad for p in module.parameters())


def test_where_all_is_frozen_there_is_no_graph() -> None:
    module, inputs = made("autograd")
    dag = ncd.autograd(module, *inputs, frozen=("w", "v0", "v1"))
    assert not dag.edges and {node.kind for node in dag.nodes} == {"output"}
    assert not any(op_gradients(module, *inputs, frozen=("w", "v0", "v1")))


@pytest.mark.parametrize("name", ["autograd", "multi-head-attention", "layer-norm", "batch-norm"])
def test_gradients_agree_with_finite_differences(name: str) -> None:
    module, inputs = made(name)
    before = {n: x.clone() for n, x in module.state_dict().items()}
    found = slopes(module, *inputs)
    assert found and all(found) and any(abs(slope.numeric) > 1e-3 for slope in found)
    (one,) = slopes(module, *inputs, together=True)
    assert one and set(one.names) == {name for slope in found for name in slope.names}
    assert all(torch.equal(x, before[n]) for n, x in module.state_dict().items())


def test_a_wrong_gradient_would_be_seen() -> None:
    assert not Slope(("w",), 1.0, 1.001) and Slope(("w",), 1.0, 1.000001)
    assert Slope(("w",), 0.0, 1e-5) and not Slope(("w",), 0.0, 1.1e-5)
    assert Slope(("w",), -100.0, -100.0009) and not Slope(("w",), -100.0, -100.0011)


def test_a_direction_has_length_1_and_what_is_frozen_has_none() -> None:
    x = torch.tensor([0.5])
    (found,) = slopes(ncd.compile(ncd.Id("m:1") >> ncd.Elementwise("sin")), x)
    assert abs(found.gradient) == pytest.approx(abs(float(cotangents([x], 0)[0] * x.cos())))
    module, inputs = made("autograd")
    assert [slope.names for slope in slopes(module, *inputs, frozen=("w", "v0"))] == [("v1",)]


def test_the_arrays_of_a_scan_have_no_gradient_of_their_own() -> None:
    term = ncd.Axes(t=4, m=3)(ncd.Scan(ncd.Elementwise("relu") >> ncd.Id("m"), "t", states=0))
    with pytest.raises(MismatchError, match="made anew at every position"):
        op_gradients(ncd.compile(term), *ncd.example_inputs(term))


@pytest.mark.parametrize("name", ["lenet", "multi-head-attention", "layer-norm", "gru"])
def test_the_functions_of_an_op_are_numbered_in_the_order_in_which_they_ran(name: str) -> None:
    module, inputs = made(name)
    dag = autograd(module, *inputs)
    numbers: dict[str, list[int]] = {}
    for node in dag.nodes:
        if node.kind == "function":
            home, _, number = node.id.rpartition(".")
            assert home == (node.cell or "scan")
            numbers.setdefault(home, []).append(int(number))
    assert max(map(len, numbers.values())) > 1
    assert all(found == [*range(len(found))] for found in numbers.values())


def test_a_copy_has_buffers_of_its_own_and_shares_what_has_none() -> None:
    layer, norm = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)
    module = torch.nn.Sequential(layer, norm)
    copy = isolated_copy(module)
    copy(torch.randn(4, 3))
    assert norm.num_batches_tracked == 0 and copy[1].num_batches_tracked == 1
    assert copy[0] is layer and copy[1].weight is norm.weight
    plain = torch.nn.Sequential(layer)
    assert isolated_copy(plain) is plain
