"""Examples with noise of their own at each step: for autoencoders and for diffusion."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

FIRST, LAST, STEPS = 1e-4, 0.02, 1000  # the variance of the noise that the steps add
Knobs = Mapping[str, int]
Given = tuple[tuple[Tensor, ...], Tensor]  # what a system is given, and what it is to answer


def with_point_noise(pictures: Tensor, knobs: Knobs, random: torch.Generator) -> Given:
    """Returns pictures (n, x, y) beside noise for the point of each; the answer is the picture."""
    noise = torch.randn(len(pictures), knobs["k"], generator=random)
    return (pictures, noise), pictures


def made_noisy(pictures: Tensor, knobs: Knobs, random: torch.Generator) -> Given:
    """Returns pictures (n, o, x, x), each at a step of its own; the answer is the noise in it.

    Source: Ho et al. 2020, "Denoising Diffusion Probabilistic Models", algorithm 1.
    """
    at = torch.randint(knobs["T"], (len(pictures),), generator=random)
    noise = torch.randn(pictures.shape, generator=random)
    left = kept(knobs["T"])[at][:, None, None, None]
    return (left.sqrt() * pictures + (1 - left).sqrt() * noise, at), noise


def kept(steps: int) -> Tensor:
    """Returns the share of a picture's variance that is left after each step, (steps,).

    A step adds noise of a variance that grows evenly; with fewer steps than a thousand each adds
    more. Source: Ho et al. 2020, section 4; Nichol and Dhariwal 2021, "Improved Denoising
    Diffusion Probabilistic Models", whose published code scales the variances so.

    >>> kept(1000)[[0, -1]].tolist() == [0.9998999834060669, 4.035830352222547e-05]
    True
    """
    return (1 - added(steps)).cumprod(0)


def added(steps: int) -> Tensor:
    """Returns the variance of the noise that each step adds, (steps,)."""
    scale = STEPS / steps
    return torch.linspace(scale * FIRST, scale * LAST, steps).clamp_max(0.999)


def evidence_loss(outputs: tuple[Tensor, ...], pictures: Tensor) -> Tensor:
    """Returns what a picture costs: its pixels, and how far its point is from a plain one.

    Args:
        outputs: The pictures again (n, x, y), and means and log variances of their points (n, k).
        pictures: The pictures, from 0 to 1.

    Source: Kingma and Welling 2014, "Auto-Encoding Variational Bayes", equation 10.
    """
    again, mean, spread = outputs
    pixels = F.binary_cross_entropy(again, pictures, reduction="sum")
    return (pixels + divergence(mean, spread).sum()) / len(pictures)


def divergence(mean: Tensor, spread: Tensor) -> Tensor:
    """Returns the KL divergence of each number of a point from a standard normal one.

    >>> divergence(torch.tensor([0.0, 1.0]), torch.zeros(2)).tolist()
    [0.0, 0.5]
    """
    return (mean.square() + spread.exp() - spread - 1) / 2


def explained(found: Tensor, wanted: Tensor) -> float:
    """Returns the share of the variance of numbers (n, …) that is explained.

    >>> explained(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    1.0
    """
    rest = (found - wanted).square().sum() / (wanted - wanted.mean(0)).square().sum()
    return 1 - float(rest)
