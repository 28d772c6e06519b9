"""The systems of one loop over tiles against plain torch, outputs and gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.language.blocks import Equation
from ncd.systems.tensors.flash_attention import flash_attention, passes
from tests.systems.retyped import given, in_order, same

SIZES = {"y": 5, "x": 7, "k": 4}


def test_a_product() -> None:
    ours = ncd.compile(ncd.catalogue["matrix-product"].build(a=3, b=4, c=5))
    same(ours, torch.matmul, given([3, 4], [4, 5]), [])


def test_attention() -> None:
    ours = ncd.compile(ncd.catalogue["flash-attention"].build(**SIZES))
    same(ours, F.scaled_dot_product_attention, given([5, 4], [7, 4], [7, 4]), [])


def test_a_feed_forward() -> None:
    ours = ncd.compile(ncd.catalogue["fused-mlp"].build(y=5, m=3, f=8))
    up, down = nn.Linear(3, 8, bias=False), nn.Linear(8, 3, bias=False)
    weights = in_order([ours.up, ours.down], [up, down])
    same(ours, lambda y: down(up(y).relu()), given([5, 3]), weights)


def test_a_norm_before_a_linear_map() -> None:
    ours = ncd.compile(ncd.catalogue["streamed-norm"].build(y=5, m=6, k=3))
    norm, linear = nn.RMSNorm(6, eps=1e-6), nn.Linear(6, 3, bias=False)
    weights = in_order([ours.norm, ours.L], [norm, linear])

    def theirs(y: Tensor) -> Tensor:
        found: Tensor = linear(norm(y))
        return found

    same(ours, theirs, given([5, 6]), weights)


def test_the_passes_of_attention_are_equal() -> None:
    """Divided before the product, and after it; a sum without the maximum would be infinite."""
    for step, before in ((0, flash_attention(**SIZES)), (1, passes(0, **SIZES))):
        assert ncd.prove(Equation(before, passes(step, **SIZES)))
    module = ncd.compile(passes(1, **SIZES))
    large = [1000 * x for x in ncd.example_inputs(module.term)]
    torch.testing.assert_close(module(*large), F.scaled_dot_product_attention(*large))
