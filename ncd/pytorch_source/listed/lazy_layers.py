"""Layers such as ``nn.LazyLinear``, whose number of inputs follows from the first input."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Native
from ncd.pytorch_source.listed.layer_building import layer, placeholder

PLAIN: dict[str, type[nn.Module]] = {
    "LazyLinear": nn.Linear,
    **{f"LazyConv{n}d": getattr(nn, f"Conv{n}d") for n in (1, 2, 3)},
    **{f"LazyConvTranspose{n}d": getattr(nn, f"ConvTranspose{n}d") for n in (1, 2, 3)},
    **{f"LazyBatchNorm{n}d": getattr(nn, f"BatchNorm{n}d") for n in (1, 2, 3)},
}


def _lazy(name: str) -> Native:
    """Returns a function that makes a plain layer without inputs, to be given them later."""
    real = PLAIN[name]

    def made(machine: Machine, *args: Any, **named: Any) -> nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about weights without numbers
            found = layer(machine, real, (0, *args), named)
        found.register_forward_pre_hook(_fit)
        return found

    return Native(name, made)


def _fit(part: nn.Module, given: tuple[Any, ...]) -> None:
    """Gives a layer weights for an input."""
    x = given[0]
    if not isinstance(x, Tensor):
        return
    n = x.shape[-1] if isinstance(part, nn.Linear) else x.shape[1]
    with unset_fake_temporarily():
        for name, own in [*part._parameters.items()]:
            if own is not None and (shape := _shape(part, name, own, n)) != own.shape:
                setattr(part, name, placeholder(shape))
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.num_features != n:
            part.running_mean, part.running_var = torch.zeros(n), torch.ones(n)
    names = ("in_features", "num_features", "in_channels")
    setattr(part, next(name for name in names if hasattr(part, name)), n)


def _shape(part: nn.Module, name: str, own: Tensor, n: int) -> tuple[int, ...]:
    """Returns the shape of a parameter for ``n`` inputs."""
    if isinstance(part, nn.modules.batchnorm._BatchNorm):
        return (n,)
    if name != "weight":
        return tuple(own.shape)
    if isinstance(part, nn.modules.conv._ConvTransposeNd):
        return (n, *own.shape[1:])
    return (own.shape[0], n // getattr(part, "groups", 1), *own.shape[2:])


def lazy_parts(model: nn.Module) -> list[nn.Module]:
    """Returns the layers of a model that have not been given their inputs."""
    return [part for part in model.modules() if _fit in part._forward_pre_hooks.values()]


def settle(model: nn.Module) -> None:
    """Keeps the weights that its layers have now."""
    for part in lazy_parts(model):
        part._forward_pre_hooks.clear()


LAZY = {name: _lazy(name) for name in PLAIN}
