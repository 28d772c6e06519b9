"""The layer of a decoder beside torch's own, in outputs and gradients."""

from __future__ import annotations

import torch
from torch import nn

import ncd

ENTRY = ncd.catalogue["parallelism"]


def test_it_is_the_layer_of_torch() -> None:
    """Torch's layer of an encoder with a mask is the layer of a decoder alone."""
    term = ENTRY.build(b=2, t=5, h=2, k=4, d=12)
    ours, (x,) = ncd.compile(term, seed=1), ncd.example_inputs(term, 2)
    theirs = nn.TransformerEncoderLayer(8, 2, 12, 0, "gelu", batch_first=True, norm_first=True)
    maps = [ours.self_attn.q, ours.self_attn.k, ours.self_attn.v]
    theirs.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat([one.weight for one in maps]),
            "self_attn.in_proj_bias": torch.cat([one.bias for one in maps]),
            **{f"self_attn.out_proj.{n}": x for n, x in ours.self_attn.out.state_dict().items()},
            **{
                f"{layer}.{n}": x
                for layer in ("linear1", "linear2", "norm1", "norm2")
                for n, x in getattr(ours, layer).state_dict().items()
            },
        }
    )
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    found, wanted = ours(x), theirs(x, src_mask=mask)
    torch.testing.assert_close(found, wanted)
    mine = torch.autograd.grad(found.square().sum(), [ours.norm1.weight, ours.linear2.weight])
    other = torch.autograd.grad(wanted.square().sum(), [theirs.norm1.weight, theirs.linear2.weight])
    for one, two in zip(mine, other, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


def test_megatron_s_72_layers_have_most_of_its_8_3_billion_parameters() -> None:
    """The rest are embeddings of 51,200 words and 1,024 positions, and the last norm."""
    layer = ncd.cost(ENTRY.build(**ENTRY.preset("megatron-8-3b").knobs)).parameters
    width = 3072
    assert round((72 * layer + (51_200 + 1_024 + 2) * width) / 1e9, 1) == 8.3
