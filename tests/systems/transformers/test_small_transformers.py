"""Small transformers on symbols, against plain torch: outputs and gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ncd


def plain(w: dict[str, Tensor], tokens: Tensor, h: int, causal: bool) -> Tensor:
    """The same from its weights alone, by torch's own functions."""
    x = w["E"][tokens] + w["P"]
    t, m = x.shape
    for n in range(sum(name.endswith("attn.q.weight") for name in w)):
        own = {key.removeprefix(f"layers.{n}."): value for key, value in w.items()}
        q, k, v = (
            F.linear(x, own[f"attn.{p}.weight"], own[f"attn.{p}.bias"])
            .view(t, h, -1)
            .transpose(0, 1)
            for p in "qkv"
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(0, 1)
        x = x + F.linear(seen.reshape(t, m), own["attn.out.weight"], own["attn.out.bias"])
        if "linear1.weight" in own:
            inner = F.linear(x, own["linear1.weight"], own["linear1.bias"]).relu()
            x = x + F.linear(inner, own["linear2.weight"], own["linear2.bias"])
    return F.linear(x, w["U.weight"])


@pytest.mark.parametrize("name", ["reversal", "recall", "induction", "brackets"])
@pytest.mark.parametrize("h", [1, 2])
def test_it_is_plain_torch_outputs_and_gradients(name, h):
    term = ncd.catalogue[name].build(h=h)
    module = ncd.compile(term).double()
    (tokens,) = ncd.example_inputs(term)
    weights = {key: x.detach().clone().requires_grad_() for key, x in module.named_parameters()}
    wanted = plain(weights, tokens, h, causal=name != "reversal")
    given = module(tokens)
    torch.testing.assert_close(given, wanted, atol=1e-10, rtol=0)
    pull = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(0)).double()
    given.backward(pull)
    wanted.backward(pull)
    for key, x in module.named_parameters():
        torch.testing.assert_close(x.grad, weights[key].grad, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", ["recall", "induction", "brackets"])
def test_what_comes_later_changes_nothing_before(name):
    term = ncd.catalogue[name].build()
    module = ncd.compile(term)
    (tokens,) = ncd.example_inputs(term)
    other = tokens.clone()
    other[7:] = (other[7:] + 1) % 4
    assert ncd.explain.equation_proof.max_difference(module(tokens)[:7], module(other)[:7]) < 1e-5
