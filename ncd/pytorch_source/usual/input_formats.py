"""Assumed and written inputs in the format that a module takes, and the order of their axes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ncd.importing.module_files import example_tensors
from ncd.pytorch_source.usual.input_shapes import LAYERS


def in_range(model: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Returns the input of an embedding as whole numbers of its range, where none is given.

    >>> in_range(nn.Embedding(100, 8), (torch.ones(2, 5),))[0].dtype
    torch.int64
    """
    first = next((part for part in model.modules() if isinstance(part, LAYERS)), None)
    real = len(given) == 1 and given[0].is_floating_point()
    if not real or not isinstance(first, nn.Embedding):
        return given
    if not type(model).__module__.startswith("torch.nn."):  # it may take real numbers first
        return given
    return example_tensors(f"{'x'.join(map(str, given[0].shape))}#{first.num_embeddings}")


def in_format(model: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns assumed inputs, of 64 bits where the weights of the module are."""
    if not any(each.dtype == torch.float64 for each in model.parameters()):
        return inputs
    real = (isinstance(x, Tensor) and x.is_floating_point() for x in inputs)
    return tuple(x.double() if is_real else x for x, is_real in zip(inputs, real, strict=True))


def steps_first(model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, str]:
    """Returns the axes of the input of a recurrent layer that takes its steps before its batch."""
    first = inputs[0] if inputs else None
    if isinstance(model, nn.RNNBase) and isinstance(first, Tensor) and first.dim() == 3:
        return {} if model.batch_first else {"input": "t b m"}
    return {}
