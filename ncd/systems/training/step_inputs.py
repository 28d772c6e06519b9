"""The inputs and targets of a training step, made from examples."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ncd.systems.training.captions import random_captions
from ncd.systems.training.written_dates import decoder_inputs

FIRST, LAST, NOISE_STEPS = 1e-4, 0.02, 1000  # the variance of the noise that the steps add
Knobs = Mapping[str, int]
InputsAndTargets = tuple[
    tuple[Tensor, ...], Tensor
]  # what a system is given, and what it is to answer


def with_point_noise(
    pictures: Tensor, answers: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns pictures (n, x, y) beside noise for the point of each; the answer is the picture."""
    noise = torch.randn(len(pictures), knobs["k"], generator=random)
    return (pictures, noise), answers


def with_captions(
    pictures: Tensor, digits: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns pictures beside a caption of each (n, s); the answers are the digits (n)."""
    return (pictures, random_captions(digits, knobs["s"], random)), digits


def add_noise(
    pictures: Tensor, answers: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns pictures (n, o, x, x), each at a step of its own; the answer is the noise in it.

    Source: Ho et al. 2020, "Denoising Diffusion Probabilistic Models", algorithm 1.
    """
    at = torch.randint(knobs["T"], (len(pictures),), generator=random)
    noise = torch.randn(pictures.shape, generator=random)
    left = signal_fraction(knobs["T"])[at][:, None, None, None]
    return (left.sqrt() * pictures + (1 - left).sqrt() * noise, at), noise


def signal_fraction(steps: int) -> Tensor:
    """Returns the share of a picture's variance that is left after each step, (steps,).

    A step adds noise of a variance that grows evenly; with fewer steps than a thousand each adds
    more. Source: Ho et al. 2020, section 4; Nichol and Dhariwal 2021, "Improved Denoising
    Diffusion Probabilistic Models", whose published code scales the variances so.

    >>> signal_fraction(1000)[[0, -1]].tolist() == [0.9998999834060669, 4.035830352222547e-05]
    True
    """
    return (1 - noise_fraction(steps)).cumprod(0)


def noise_fraction(steps: int) -> Tensor:
    """Returns the variance of the noise that each step adds, (steps,)."""
    scale = NOISE_STEPS / steps
    return torch.linspace(scale * FIRST, scale * LAST, steps).clamp_max(0.999)


def read_and_written(
    examples: Tensor, answers: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns what is read and, at each place, what is written before; the answer is what follows.

    Args:
        examples: The symbols that are read, then those that are to be written (n, s + t).
    """
    read, written = examples.split((knobs["s"], knobs["t"]), 1)
    return (read, decoder_inputs(written)), written
