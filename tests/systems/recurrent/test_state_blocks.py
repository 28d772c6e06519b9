"""Blocks whose state runs along the text are the loops of their papers, in plain torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import ncd
from ncd import Axes, Term, seq
from ncd.systems.recurrent.selective_state import mamba, mamba_block
from ncd.systems.recurrent.state_mixers import StateMixer

T, M = 6, 3
Weights = dict[str, Tensor]


def compiled(term: Term) -> tuple[ncd.CircuitModule, Weights]:
    """The module with weights that are all apart, and these without the name of the block."""
    module = ncd.compile(term, seed=1).double()
    random = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=random, dtype=torch.float64) / 2)
    own = {name.removeprefix("mixer."): x.detach() for name, x in module.named_parameters()}
    return module, own


def linear(own: Weights, name: str, x: Tensor) -> Tensor:
    return F.linear(x, own[f"{name}.weight"], own.get(f"{name}.bias"))


def last_positions(own: Weights, name: str, x: Tensor) -> Tensor:
    """A convolution of each feature, which sees no later position."""
    weight, bias = own[f"{name}.weight"], own.get(f"{name}.bias")
    padded = F.pad(x.T, (weight.shape[-1] - 1, 0))
    return F.silu(F.conv1d(padded, weight, bias, groups=len(weight)).T)


def rms(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    found = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return found if weight is None else found * weight


# --- Mamba-2 and the gated delta rule -------------------------------------------------------------


def mamba_2(own: Weights, x: Tensor, w: int, h: int, o: int, s: int, eps: float) -> Tensor:
    """Dao and Gu 2024, section 7: a value times its step is written, each group has a norm."""
    values = last_positions(own, "conv_x", linear(own, "in_x", x)).view(T, w, h, o)
    writes, reads = (
        last_positions(own, f"conv_{name}", linear(own, f"in_{name}", x)).view(T, w, s)
        for name in "BC"
    )
    steps = F.softplus(linear(own, "in_dt", x).view(T, w, h) + own["dt_bias"])
    gate, state, read = linear(own, "in_z", x).view(T, w, h, o), torch.zeros(w, h, s, o), []
    for t in range(T):
        decay = torch.exp(-own["A_log"].exp() * steps[t])
        new = torch.einsum("ws,who->whso", writes[t], values[t] * steps[t][..., None])
        state = state * decay[..., None, None] + new
        read.append(torch.einsum("whso,ws->who", state, reads[t]) + own["D"][..., None] * values[t])
    gated = torch.stack(read) * F.silu(gate)
    weight = own["norm"] if "norm" in own else own["norm.weight"]
    normed = rms(gated.flatten(2), weight.flatten(1), eps).flatten(1)
    return linear(own, "out_proj", normed)


def gated_delta(own: Weights, x: Tensor, w: int, h: int, o: int, s: int, eps: float) -> Tensor:
    """Yang et al. 2025, section 3: what the state answers to a key is corrected."""
    values = last_positions(own, "conv_x", linear(own, "in_x", x)).view(T, w, h, o)
    keys, queries = (
        last_positions(own, f"conv_{name}", linear(own, f"in_{name}", x)).view(T, w, s)
        for name in "kq"
    )
    keys, queries = (each / (each.square().sum(-1, True) + 1e-6).sqrt() for each in (keys, queries))
    steps = F.softplus(linear(own, "in_dt", x).view(T, w, h) + own["dt_bias"])
    share = torch.sigmoid(linear(own, "in_b", x)).view(T, w, h)
    state, read = torch.zeros(w, h, s, o), []
    for t in range(T):
        state = state * torch.exp(-own["A_log"].exp() * steps[t])[..., None, None]
        error = values[t] - torch.einsum("whso,ws->who", state, keys[t])
        state = state + torch.einsum("ws,who->whso", keys[t], error * share[t][..., None])
        read.append(torch.einsum("whso,ws->who", state, queries[t]) / s**0.5)
    gate = linear(own, "in_z", x).view(T, w, h, o)
    normed = rms(torch.stack(read), own["norm.weight"], eps) * F.silu(gate)
    return linear(own, "out_proj", normed.flatten(1))


@pytest.mark.parametrize(
    ("mixer", "groups", "wanted"),
    [
        (StateMixer(kernel=3, eps=0.25), 1, mamba_2),
        (StateMixer(kernel=2, bias=True), 2, mamba_2),
        (StateMixer(kernel=1, convolution_bias=False, eps=0.25), 2, mamba_2),
        (StateMixer(kernel=3, corrects=True, eps=0.25), 2, gated_delta),
        (StateMixer(kernel=2, corrects=True, convolution_bias=False), 1, gated_delta),
    ],
)
def test_a_block_with_a_matrix_for_each_head_is_the_loop_of_its_paper(
    mixer: StateMixer, groups: int, wanted: Callable[..., Tensor]
) -> None:
    sizes = {"w": groups, "h": 3, "o": 2, "s": 4}
    inner = {"l": groups * 3 * 2, "a": groups * 4}
    module, own = compiled(Axes(t=seq(T), m=M, **inner, **sizes)(mixer.term(**sizes)))
    x = torch.randn(T, M, dtype=torch.float64)
    torch.testing.assert_close(module(x), wanted(own, x, **sizes, eps=mixer.eps))
    biased = [name for name in own if name.startswith("in_") and name.endswith("bias")]
    assert bool(biased) == mixer.bias == ("out_proj.bias" in own)
    assert ("conv_x.bias" in own) == mixer.convolution_bias


# --- Mamba ----------------------------------------------------------------------------------------


def selective(own: Weights, x: Tensor, d: int, s: int, eps: float = 0) -> Tensor:
    """Gu and Dao 2023, algorithm 2, of which the steps, writing and reading depend on the text."""
    inside = last_positions(own, "conv1d", linear(own, "in_x", x))
    made = [linear(own, f"x_{name}", inside) for name in ("dt", "B", "C")]
    if eps:
        made = [
            rms(each, own[f"x_{name}_norm.weight"], eps)
            for each, name in zip(made, ("dt", "B", "C"), strict=True)
        ]
    steps = F.softplus(linear(own, "dt_proj", made[0]) + own["dt_bias"])
    state, read = torch.zeros(d, s), []
    for t in range(T):
        state = torch.exp(-steps[t][:, None] * own["ssm.A_log"].exp()) * state
        state = state + (steps[t] * inside[t])[:, None] * made[1][t]
        read.append(state @ made[2][t] + own["D"] * inside[t])
    return linear(own, "out_proj", torch.stack(read) * F.silu(linear(own, "in_z", x)))


@pytest.mark.parametrize(("w", "bias", "eps"), [(1, False, 0), (2, True, 0), (4, False, 0.25)])
def test_a_mamba_block_is_the_loop_of_its_paper(w: int, bias: bool, eps: float) -> None:
    term = Axes(t=seq(T), m=M, d=5, s=4, r=2)(mamba_block(5, w, bias, eps=eps))
    module, own = compiled(term)
    x = torch.randn(T, M, dtype=torch.float64)
    torch.testing.assert_close(module(x), selective(own, x, 5, 4, eps))
    assert ("in_x.bias" in own) == ("in_z.bias" in own) == ("out_proj.bias" in own) == bias


def test_mamba_adds_what_each_layer_gives_and_scores_words_by_its_embedding() -> None:
    term = mamba(n=2, t=T, m=M, d=5, s=4, r=2, w=3, v=9, eps=0.25)
    module, own = compiled(term)
    words = torch.arange(T) * 2 % 9
    x = own["embeddings"][words]
    for n in range(2):
        begin = f"layers.{n}."
        layer = {key.removeprefix(begin): own[key] for key in own if key.startswith(begin)}
        layer = {key.removeprefix("mixer."): layer[key] for key in layer}
        x = x + selective(layer, rms(x, layer["norm.weight"], 0.25), 5, 4)
    wanted = rms(x, own["norm_f.weight"], 0.25) @ own["embeddings"].T
    torch.testing.assert_close(module(words), wanted)
