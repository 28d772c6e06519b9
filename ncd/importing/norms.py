"""Finds root-mean-square norms that are written out in Python, by testing what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EPSILONS = ("variance_epsilon", "eps", "epsilon", "norm_eps")
Norm = partial[Tensor]


def root_mean_squares(module: nn.Module) -> dict[str, tuple[nn.Module, Norm]]:
    """Returns the parts of a module that are such norms, by their paths, as calls of torch's.

    A part is one if its class says so, and it gives what torch's norm gives for random numbers.
    Called with more than an array, such as a gate, it is what its class says.
    """
    found = {}
    for path, part in module.named_modules():
        if "RMSNorm" in type(part).__name__ and not isinstance(part, nn.RMSNorm):
            norm = _as_torch(part)
            if norm is not None:
                found[path] = (part, norm)
    return found


def _as_torch(part: nn.Module) -> Norm | None:
    weights = dict(part.named_parameters())
    weight = weights.get("weight")
    eps = next((getattr(part, name) for name in EPSILONS if hasattr(part, name)), None)
    if len(weights) != 1 or weight is None or weight.dim() != 1 or not isinstance(eps, float):
        return None
    norm = partial(_norm, part, part.forward, eps)
    random = torch.Generator().manual_seed(0)
    x = torch.randn(3, len(weight), generator=random).to(weight)
    try:
        with torch.no_grad():
            same = torch.allclose(part(x), norm(x), rtol=1e-5, atol=1e-6)
    except (RuntimeError, TypeError):
        return None
    return norm if same else None


def _norm(
    part: nn.Module, forward: Callable[..., Tensor], eps: float, *given: Any, **named: Any
) -> Tensor:
    if len(given) != 1 or named:
        return forward(*given, **named)
    weight = part.get_parameter("weight")
    return F.rms_norm(given[0], tuple(weight.shape), weight, eps)


@contextmanager
def replaced(norms: Mapping[str, tuple[nn.Module, Norm]]) -> Iterator[None]:
    """Replaces these modules by torch's own norm inside a ``with`` block."""
    for part, norm in norms.values():
        part.forward = norm
    try:
        yield
    finally:
        for part, _ in norms.values():
            del part.forward
