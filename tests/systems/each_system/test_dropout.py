"""Dropout in a system: what it drops in training, and that it does nothing else."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

import ncd
from ncd.systems.transformers.encoder_decoder import encoder_layer
from tests.systems.each_system.system import merged, run, under
from tests.systems.each_system.test_systems import gradients, wanted
from tests.systems.each_system.transformer import sized

TERM = sized(encoder_layer(True, dropout=0.4), t=7, h=3, k=5, d=11)
DROPPED = [c for c in ncd.elaborate(TERM).cells if isinstance(c.op, ncd.Dropout)]


def test_in_training_it_equals_torch_with_the_same_numbers_dropped() -> None:
    module = ncd.compile(TERM, seed=3).double()
    (x,) = (x.double() for x in ncd.example_inputs(TERM))
    leaves = wanted(module, (x,))
    traced = ncd.trace(module, x)
    masks = []
    for cell in DROPPED:
        given, left = (traced.values[v[0].id] for v in (cell.inputs, cell.outputs))
        mask = (left / given).detach()
        kept = mask != 0
        torch.testing.assert_close(mask[kept], torch.full_like(mask[kept], 1 / 0.6))
        assert 0 < kept.sum() < kept.numel()
        masks.append(mask)
    w = dict(module.named_parameters())
    norms = [(w[f"norm{i}.weight"], w[f"norm{i}.bias"]) for i in (1, 2)]
    a = F.layer_norm(x, x.shape[-1:], *norms[0])
    attention = nn.MultiheadAttention(x.shape[-1], 3, batch_first=True)
    a = run(attention, merged(under(w, "self_attn")), a, a, a, need_weights=False)[0]
    middle = x + masks[0] * a
    a = F.layer_norm(middle, x.shape[-1:], *norms[1])
    a = F.linear(F.linear(a, w["linear1.weight"], w["linear1.bias"]).relu(), w["linear2.weight"])
    theirs = middle + masks[1] * (a + w["linear2.bias"])
    torch.testing.assert_close(traced.outputs[0], theirs)
    pairs = zip(gradients(traced.outputs[0], leaves), gradients(theirs, leaves), strict=True)
    for one, two in pairs:
        torch.testing.assert_close(one, two)


def test_the_seed_says_what_is_dropped_and_torch_s_own_state_is_left_alone() -> None:
    x = ncd.example_inputs(TERM)
    state = torch.get_rng_state()
    one, two, other = (ncd.compile(TERM, seed=seed) for seed in (0, 0, 1))
    first, second = one(*x), one(*x)
    assert torch.equal(two(*x), first)
    assert torch.equal(two(*x), second)
    assert not torch.equal(first, second)
    other.load_state_dict(one.state_dict())
    assert not torch.equal(other(*x), first)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one.eval()(*x), one(*x))
    assert torch.equal(one(*x), other.eval()(*x))
