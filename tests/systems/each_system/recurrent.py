"""Recurrences: ``nn.RNN`` and ``nn.LSTM`` as scans, a state space layer as scan and as product."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ncd import (
    Add,
    Axes,
    Copy,
    Cut,
    Einsum,
    Equation,
    Id,
    Linear,
    Map,
    Param,
    Rename,
    Scan,
    Term,
    Wire,
    seq,
)
from tests.systems.each_system.system import System, Weights, run


def rnn(t: int, i: int, n: int) -> Term:
    step = (
        Linear("n -> n", "hh", True) @ Linear("i -> n", "ih", True)
        >> Map("n, n -> n", "tanh($1 + $2)")
        >> Copy("n")
    )
    return Axes(t=seq(t), i=i, n=n)(Scan(step, "t"))


def lstm(t: int, i: int, n: int) -> Term:
    """States c and h, input x; the gates are i, f, g and o, as in torch."""
    gates = Linear("n -> 4n", "hh", True) @ Linear("i -> 4n", "ih", True) >> Add()
    step = (
        Id("n") @ (gates >> Cut("4n -> n, n, n, n"))
        >> Map("n, n, n, n -> n", "$1 * sigmoid($3) + sigmoid($2) * tanh($4)")
        >> Copy("n")
        >> Id("n") @ (Map("n, n -> n", "tanh($1) * sigmoid($2)") >> Copy("n"))
    )
    return Axes(t=seq(t), i=i, n=n)(Scan(step, "t", states=2))


def as_torch(w: Weights) -> dict[str, Tensor]:
    return {f"{kind}_{name}_l0": w[f"{name}.{kind}"] for kind in ("weight", "bias")
            for name in ("hh", "ih")}  # fmt: skip


def rnn_reference(w: Weights, h: Tensor, x: Tensor, **sizes: int) -> tuple[Tensor, ...]:
    y, last = run(nn.RNN(x.shape[-1], h.shape[-1]), as_torch(w), x, h[None])
    return last[0], y


def lstm_reference(w: Weights, c: Tensor, h: Tensor, x: Tensor, **sizes: int) -> tuple[Tensor, ...]:
    layer = nn.LSTM(x.shape[-1], h.shape[-1])
    y, (last_h, last_c) = run(layer, as_torch(w), x, (h[None], c[None]))
    return last_c[0], last_h[0], y


# --- a state space layer -------------------------------------------------------------------------


def as_scan() -> Term:
    """s ← a s + b x, y = c s, for every channel d with n states of its own."""
    step = (
        Param("d n", "a", "0.5 + uniform / 4")
        >> Param("d n", "b", "normal")
        >> Wire("d n, d n, d n, d -> d n, d n, d n, d")
        >> Map("d n, d n, d n, d -> d n", "$2 * $3 + $1 * $4")
        >> Copy("d n")
        >> Id("d n") @ (Param("d n", "c", "normal") >> Einsum("d n, d n -> d"))
    )
    return Map("-> d n", "0") >> Scan(step, "t") >> Wire("d n, t d -> t d")


def as_product() -> Term:
    """y = K x, with K = Σ c aᵗ⁻ˢ b below the diagonal."""
    return (
        Rename("t -> s")
        >> Param("d n", "c", "normal")
        >> Param("d n", "b", "normal")
        >> Param("d n", "a", "0.5 + uniform / 4")
        >> Map("d n -> d n s t", "where(t >= s, $1 ** max(t - s, 0), 0)")
        >> Einsum("d n s t, d n, d n, s d -> t d")
    )


def state_space(t: int, d: int, n: int) -> Term:
    return Axes(t=seq(t), d=d, n=n)(Equation(as_scan(), as_product()))


def state_space_reference(w: Weights, x: Tensor, **sizes: int) -> tuple[Tensor, ...]:
    state, out = torch.zeros_like(w["a"]), []
    for row in x:
        state = w["a"] * state + w["b"] * row[:, None]
        out.append((w["c"] * state).sum(-1))
    return torch.stack(out), torch.stack(out)


SIZES = ({"t": 5, "i": 3, "n": 7}, {"t": 1, "i": 5, "n": 3}, {"t": 7, "i": 1, "n": 5})
CHANNELS = ({"t": 5, "d": 3, "n": 7}, {"t": 3, "d": 1, "n": 5}, {"t": 7, "d": 5, "n": 3})

SYSTEMS = (
    System("RNN", rnn, rnn_reference, SIZES),
    System("LSTM", lstm, lstm_reference, SIZES),
    System("state space layer, scan = product", state_space, state_space_reference, CHANNELS),
)
