"""Checks of what is given to an import, before torch traces it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd.importing.base.import_values import ImportFailed
from ncd.lang.errors import shown
from ncd.lang.near_names import nearest_name


def check_arguments(module: Any, inputs: Any, axes: Any) -> None:
    """Raises ImportFailed for what is no module, no array that a term can take, or no axes."""
    if not isinstance(module, nn.Module):
        _refuse_module(module)
    tensors = [x for x in tree_leaves(inputs) if isinstance(x, Tensor)]
    for i, x in enumerate(tensors, start=1):
        which = f"input {i}" if len(tensors) > 1 else "the input"
        if x.layout is not torch.strided:
            layout = str(x.layout).removeprefix("torch.")
            raise ImportFailed(f"{which} has the layout {layout}", cure="x.to_dense()")
        if x.is_complex():
            raise ImportFailed(f"{which} holds complex numbers", cure="torch.view_as_real(x)")
    if axes is not None:
        _check_axes(axes)


def check_input_names(axes: Iterable[str], inputs: Collection[str]) -> None:
    """Raises ImportFailed for axes of an input that the module does not have."""
    for name in axes:
        if name not in inputs:
            cure = nearest_name(name, inputs) if inputs else "no axes, as it takes no tensors"
            raise ImportFailed(f"there is no input {shown(name)}", where="axes", cure=cure)


def _refuse_module(found: Any) -> None:
    """Raises ImportFailed for what is no module."""
    if isinstance(found, type) and issubclass(found, nn.Module):
        name = found.__name__
        raise ImportFailed(f"{name} is the class of a module", cure=f"a module, such as {name}(…)")
    name = getattr(found, "__name__", "") if callable(found) else ""
    cure = "a class of nn.Module that calls it in its forward" if name else "nn.Linear(8, 3)"
    raise ImportFailed(f"{name or shown(found)} is no nn.Module", cure=cure)


def _check_axes(axes: Any) -> None:
    """Raises ImportFailed for axes that are not texts by the names of inputs."""
    if not isinstance(axes, Mapping):
        text = axes if isinstance(axes, str) else "b t"
        raise ImportFailed(
            f"axes is {shown(axes)}, but it is a dict by the names of inputs",
            cure=f'axes={{"x": "{text}"}}',
        )
    for name, value in axes.items():
        if not isinstance(name, str):
            raise ImportFailed(f"{shown(name)} is no name of an input", cure='axes={"x": "b t"}')
        if not isinstance(value, str):
            words = value if isinstance(value, list | tuple) else ()
            text = " ".join(words) if all(isinstance(word, str) for word in words) else ""
            raise ImportFailed(
                f"the axes of the input {name} are {shown(value)}, but they are text",
                cure=f'axes={{"{name}": "{text or "b t"}"}}',
            )
