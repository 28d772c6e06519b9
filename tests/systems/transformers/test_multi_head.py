"""Multi-head attention against torch's own, with the same weights: outputs and gradients."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import ncd
from tests.support.sampling import count

SIZES = {
    "h": st.integers(1, 6),
    "k": st.integers(1, 16),
    "m": st.integers(1, 32),
    "y": st.integers(1, 12),
    "x": st.integers(1, 12),
    "causal": st.integers(0, 1),
}
ENTRY = ncd.catalogue["multi-head-attention"]
BATCH = st.sampled_from(((), (3,), (2, 2)))


def heads_first(weight: Tensor, k: int, h: int) -> Tensor:
    """Rows in the notebook's order, k h, as torch has them: a head's k rows together."""
    return rearrange(weight, "(k h) m -> (h k) m", k=k, h=h)


def inputs(term: ncd.Term, batch: tuple[int, ...], seed: int) -> list[Tensor]:
    random = torch.Generator().manual_seed(seed)
    shapes = [(*batch, *array.shape) for array in term.dom]
    return [torch.randn(shape, generator=random).requires_grad_() for shape in shapes]


def close(one: Tensor, two: Tensor) -> None:
    torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5)


def by_torch(module: nn.Module, sizes: dict[str, int], target: Tensor, source: Tensor) -> Tensor:
    """Figure 21 with ``scaled_dot_product_attention``, on the module's own weights."""
    h = sizes["h"]

    def split(x: Tensor) -> Tensor:
        return rearrange(x, "... y (k h) -> ... h y k", h=h)

    q, k, v = split(module.Q(target)), split(module.K(source)), split(module.V(source))
    x = F.scaled_dot_product_attention(q, k, v, is_causal=bool(sizes["causal"]))
    return module.O(rearrange(x, "... h y k -> ... y (k h)"))


@settings(max_examples=count(12, 40), deadline=None)
@given(st.fixed_dictionaries(SIZES), BATCH, st.integers(0, 99))
def test_it_equals_scaled_dot_product_attention(
    sizes: dict[str, int], batch: tuple[int, ...], seed: int
) -> None:
    term = ENTRY.build(**sizes)
    module = ncd.compile(term, seed=seed)
    arrays = inputs(term, batch, seed)
    wanted = [*arrays, *module.parameters()]
    ours, theirs = module(*arrays), by_torch(module, sizes, *arrays)
    close(ours, theirs)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(seed))
    for one, two in zip(
        torch.autograd.grad(ours, wanted, upstream),
        torch.autograd.grad(theirs, wanted, upstream),
        strict=True,
    ):
        close(one, two)


def torch_twin(module: nn.Module, k: int, h: int) -> nn.MultiheadAttention:
    """torch's layer with the module's weights; its width is h·k, so m must be that too."""
    twin = nn.MultiheadAttention(h * k, h, bias=False, batch_first=True)
    with torch.no_grad():
        rows = [heads_first(layer.weight, k, h) for layer in (module.Q, module.K, module.V)]
        twin.in_proj_weight.copy_(torch.cat(rows))
        twin.out_proj.weight.copy_(heads_first(module.O.weight.T, k, h).T)
    return twin


@settings(max_examples=count(12, 40), deadline=None)
@given(st.fixed_dictionaries(SIZES), st.sampled_from(((), (3,))), st.integers(0, 99))
def test_it_equals_torch_multihead_attention(
    sizes: dict[str, int], batch: tuple[int, ...], seed: int
) -> None:
    k, h = sizes["k"], sizes["h"]
    term = ENTRY.build(**{**sizes, "m": k * h})
    module = ncd.compile(term, seed=seed)
    twin = torch_twin(module, k, h)
    target, source = inputs(term, batch, seed)
    mask = torch.ones(sizes["y"], sizes["x"], dtype=torch.bool).triu(1)
    ours = module(target, source)
    theirs, weights = twin(
        target, source, source, attn_mask=mask if sizes["causal"] else None,
        average_attn_weights=False,
    )  # fmt: skip
    close(ours, theirs)
    run = ncd.trace(module, target, source)
    softmax = next(c for c in module.circuit.cells if isinstance(c.op, ncd.Softmax))
    close(rearrange(run.values[softmax.outputs[0].id], "... y x h -> ... h y x"), weights)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(seed))
    grads = torch.autograd.grad(ours, [target, source, *module.parameters()], upstream)
    expected = torch.autograd.grad(theirs, [target, source, *twin.parameters()], upstream)
    close(grads[0], expected[0])
    close(grads[1], expected[1])
    close(torch.cat([heads_first(g, k, h) for g in grads[2:5]]), expected[2])
    close(heads_first(grads[5].T, k, h).T, expected[3])


@pytest.mark.parametrize("causal", [0, 1])
def test_scaled_dot_product_attention_is_torchs(causal: int) -> None:
    term = ncd.catalogue["scaled-dot-product-attention"].build(y=7, x=9, k=5, causal=causal)
    arrays = inputs(term, (2,), 0)
    ours = ncd.compile(term)(*arrays)
    theirs = F.scaled_dot_product_attention(*arrays, is_causal=bool(causal))
    close(ours, theirs)
    for one, two in zip(
        torch.autograd.grad(ours.square().sum(), arrays),
        torch.autograd.grad(theirs.square().sum(), arrays),
        strict=True,
    ):
        close(one, two)


def test_the_steps_are_the_papers() -> None:
    """Equation 1, step by step, on one query: softmax(q·k / √k) is what weighs the values."""
    term = ncd.catalogue["scaled-dot-product-attention"].build(y=1, x=2, k=4)
    q, k, v = torch.ones(1, 4), torch.tensor([[1.0] * 4, [0.0] * 4]), torch.eye(2, 4)
    weight = math.exp(2) / (math.exp(2) + 1)  # q·k is 4 and 0; by √4, 2 and 0
    out = ncd.compile(term)(q, k, v)
    close(out, torch.tensor([[weight, 1 - weight, 0, 0]]))


def test_a_causal_query_does_not_feel_later_keys() -> None:
    term = ENTRY.build(y=5, x=5, causal=1)
    module = ncd.compile(term)
    target, source = ncd.example_inputs(term)
    changed = source.clone()
    changed[3:] += 1
    before, after = module(target, source), module(target, changed)
    close(before[:3], after[:3])
    assert not torch.allclose(before[3:], after[3:])


def test_the_order_k_h_matters() -> None:
    """Without the permutation of the rows torch's layer gives something else."""
    term = ENTRY.build(k=3, h=2, m=6)
    module = ncd.compile(term)
    twin = torch_twin(module, 3, 2)
    with torch.no_grad():
        layers = (module.Q, module.K, module.V)
        twin.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
    target, source = ncd.example_inputs(term)
    assert not torch.allclose(module(target, source), twin(target, source, source)[0], atol=1e-3)


@pytest.mark.parametrize(
    ("w", "said"),
    [
        (1, "$1 × 1$ convolution tensors are the identity, so can be freely added."),
        (2, "The window of $2 × 2$ takes in a patch of the image; $1 × 1$ is the identity."),
    ],
)
def test_the_published_callout_is_said_of_windows_of_one_pixel_alone(w: int, said: str) -> None:
    entry = ncd.catalogue["visual-attention"]
    assert entry.look({"w": w})["notes"] == {"Q": said}
