"""Every system through every view: equal to plain torch, drawn, written, counted, read back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd.drawing.lint.lint import lint
from tests.support.sampling import sample
from tests.support.written_source import written
from tests.systems.each_system import SYSTEMS
from tests.systems.each_system.system import System

EVERY = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
CASES = pytest.mark.parametrize(
    ("system", "sizes"),
    [
        pytest.param(system, sizes, id=f"{system.name}: {text}")
        for system in SYSTEMS
        for sizes in system.sizes
        for text in (" ".join(f"{name}={n}" for name, n in sizes.items()),)
    ],
)


def gradients(outputs: Tensor | tuple[Tensor, ...], wanted: list[Tensor]) -> list[Tensor]:
    """The gradients of all outputs, each weighed by numbers of its own."""
    every = (outputs,) if isinstance(outputs, Tensor) else outputs
    random = torch.Generator().manual_seed(0)
    weights = [torch.randn(x.shape, generator=random).to(x) for x in every]
    total = sum((x * weight).sum() for x, weight in zip(every, weights, strict=True))
    return list(torch.autograd.grad(total, wanted))


def wanted(module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """What gradients are asked of: the inputs, and the weights in the order of their names."""
    reals = [x.requires_grad_() for x in inputs if x.is_floating_point()]
    return [*reals, *(w for _, w in sorted(module.named_parameters()))]


@CASES
def test_it_equals_plain_torch(system: System, sizes: dict[str, int]) -> None:
    term = system.build(**sizes)
    module = ncd.compile(term, seed=1).double()
    if "eval" in system.name:
        module.eval()
    arrays = system.inputs(term)
    inputs = tuple(x.double() if x.is_floating_point() else x for x in arrays)
    leaves = wanted(module, inputs)
    weights = dict(module.named_parameters())
    ours, theirs = module(*inputs), system.reference(weights, *inputs, **sizes)
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)
    pairs = zip(gradients(ours, leaves), gradients(theirs, leaves), strict=True)
    for one, two in pairs:
        torch.testing.assert_close(one, two, rtol=1e-7, atol=1e-9)


@EVERY
def test_it_draws_without_lint(system: System) -> None:
    for labels in sample(["names", "sizes", "both"], 1, system.name):
        assert lint(ncd.draw(system.build(**system.sizes[0]), labels=labels)) == [], labels


@EVERY
def test_its_source_equals_the_module(system: System) -> None:
    for einops in sample([True, False], 1, system.name):
        source_equals_module(system, einops)


def source_equals_module(system: System, einops: bool) -> None:
    term = system.build(**system.sizes[0])
    module, inputs = ncd.compile(term, seed=2).eval(), system.inputs(term)
    source = written(term, einops=einops).eval()
    source.load_state_dict(module.state_dict())
    mine, its = wanted(module, inputs), wanted(source, inputs)
    ours, theirs = module(*inputs), source(*inputs)
    torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-5)
    one, two = gradients(ours, mine), gradients(theirs, its)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@EVERY
def test_its_cost_is_what_torch_counts(system: System) -> None:
    sizes = next(s for s in system.sizes if 1 not in s.values())
    term = system.build(**sizes)
    module, cost = ncd.compile(term), ncd.cost(term)
    with FlopCounterMode(display=False) as counted:
        ncd.trace(module, *system.inputs(term))  # torch counts nothing in its fused attention
    assert cost.flops == counted.get_total_flops()
    assert cost.parameters == sum(p.numel() for p in module.parameters())


@EVERY
def test_text_and_json_give_it_back(system: System) -> None:
    term = system.build(**system.sizes[0])
    for again in (eval(repr(term), vars(ncd)), ncd.from_json(ncd.to_json(term))):
        assert again == term
        assert ncd.elaborate(again) == ncd.elaborate(term)
