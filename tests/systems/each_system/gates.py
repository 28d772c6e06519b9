"""Gates, experts and low ranks: SwiGLU, a mixture of experts, LoRA."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd import (
    Add,
    Copy,
    Einsum,
    Elementwise,
    Id,
    Index,
    Linear,
    Map,
    Param,
    Softmax,
    Term,
    Top,
    Wire,
)
from tests.systems.each_system.modern import sized
from tests.systems.each_system.system import System, Weights

WIDE = ({"t": 5, "m": 7, "d": 9}, {"t": 1, "m": 3, "d": 5}, {"t": 9, "m": 5, "d": 3})
LOW = tuple({**sizes, "r": r} for sizes, r in zip(WIDE, (3, 1, 2), strict=True))
EXPERTS = tuple({**sizes, "e": e} for sizes, e in zip(WIDE, (5, 3, 7), strict=True))


def swiglu() -> Term:
    return (
        Copy("t m")
        >> Linear("m -> d", "gate") @ Linear("m -> d", "up")
        >> Map("d, d -> d", "silu($1) * $2")
        >> Linear("d -> m", "down")
    )


def swiglu_reference(w: Weights, x: Tensor, **sizes: int) -> Tensor:
    gated = F.silu(F.linear(x, w["gate.weight"])) * F.linear(x, w["up.weight"])
    return F.linear(gated, w["down.weight"])


def experts() -> Term:
    """Each position goes through the two experts that its gate likes best, weighed anew."""
    return (
        Copy("t m")
        >> Linear("m -> e", "gate")
        >> Top("e -> n:2")
        >> Softmax("n")
        >> Wire("t n, t n#e, t m -> t n#e, t m, t n#e, t n")
        >> (Id("t n#e") @ Param("e m d", "up", "normal") >> Index("t n#e, e m d -> t n m d"))
        >> Einsum("t n m d, t m -> t n d")
        >> Elementwise("relu")
        >> Id("t n d, t n#e") @ Param("e d m", "down", "normal")
        >> Id("t n d") @ Index("t n#e, e d m -> t n d m")
        >> Einsum("t n d, t n d m, t n -> t m")
    )


def experts_reference(w: Weights, x: Tensor, **sizes: int) -> Tensor:
    """As in Mixtral: every expert on its own positions."""
    best, chosen = F.linear(x, w["gate.weight"]).topk(2)
    shares, out = best.softmax(-1), torch.zeros_like(x)
    for e, (up, down) in enumerate(zip(w["up"], w["down"], strict=True)):
        share = (shares * (chosen == e)).sum(-1, keepdim=True)
        out = out + share * ((x @ up).relu() @ down)
    return out


def lora() -> Term:
    """A map of full rank that is kept, and one of rank r that learns, at scale 2."""
    return (
        Copy("t m")
        >> Linear("m -> d", "W", True)
        @ (Linear("m -> r", "A") >> Linear("r -> d", "B") >> Map("d -> d", "2 * $1"))
        >> Add()
    )


def lora_reference(w: Weights, x: Tensor, **sizes: int) -> Tensor:
    low = F.linear(F.linear(x, w["A.weight"]), w["B.weight"])
    return F.linear(x, w["W.weight"], w["W.bias"]) + 2 * low


SYSTEMS = (
    System("SwiGLU", sized(swiglu), swiglu_reference, WIDE),
    System("mixture of experts", sized(experts), experts_reference, EXPERTS),
    System("LoRA", sized(lora), lora_reference, LOW),
)
