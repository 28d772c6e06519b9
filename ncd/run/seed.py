"""Weights and inputs from a seed, never from torch's global state: threads share a process."""

from __future__ import annotations

import hashlib
import math

import torch
from torch import Tensor, nn

from ncd.run.device import device as find_device
from ncd.terms import Term


def generator(seed: int, purpose: str) -> torch.Generator:
    """A generator of its own for each purpose, so that one part's draws never shift another's.

    The draw is made on the CPU, so that every device gets the same numbers.

    >>> torch.rand(1, generator=generator(0, "Q")) == torch.rand(1, generator=generator(0, "Q"))
    tensor([True])
    """
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return torch.Generator("cpu").manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def initialise(layer: nn.Module, random: torch.Generator) -> None:
    """Fills a layer as torch's own ``reset_parameters`` does, but from ``random``.

    Linear and convolution weights and biases are uniform on ±1/√fan_in; normalisations start at
    weight 1 and bias 0.
    """
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, Tensor) or weight.dim() < 2 or isinstance(layer, nn.LayerNorm):
        layer.reset_parameters()  # type: ignore[operator]
        return
    # torch: kaiming_uniform_ with a = √5 is uniform on ±1/√fan_in, fan_in the weight's size(1)·…
    bound = 1 / math.sqrt(weight[0].numel())
    with torch.no_grad():
        for parameter in (weight, layer.bias):
            if isinstance(parameter, Tensor):
                draw = torch.rand(parameter.shape, generator=random)
                parameter.copy_(draw.mul_(2 * bound).sub_(bound))


def example_inputs(
    term: Term, seed: int = 0, device: str | torch.device = "cpu"
) -> tuple[Tensor, ...]:
    """A tensor of standard normal numbers for each array of ``term.dom``.

    >>> from ncd.terms import Id
    >>> [tuple(x.shape) for x in example_inputs(Id("y:2 m:3, x:4 m:3"))]
    [(2, 3), (4, 3)]
    """
    target = find_device(device)
    return tuple(
        torch.randn(array.shape, generator=generator(seed, f"input {i}")).to(target)
        for i, array in enumerate(term.dom)
    )
