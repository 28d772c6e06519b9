"""The layer of torch that stops with an error: which it is, what it takes, and what it is given."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.rnn import RNNCellBase
from torch.utils._pytree import tree_map_only

from ncd.importing.torch_export import quiet
from ncd.lang.errors import readable
from ncd.pytorch_source.base.machine import NODE, Machine
from ncd.pytorch_source.base.source_errors import LayerStops, error_at
from ncd.text.text_errors import TextError

LETTERS = 300  # of a message of torch
WHICH = {-1: "last", -2: "last but one", 1: "second"}
WIDTHS: tuple[tuple[type[nn.Module], str, int], ...] = (  # an argument, and a dimension of its size
    (nn.Linear, "in_features", -1),
    (nn.RNNBase, "input_size", -1),
    (RNNCellBase, "input_size", -1),
    (_NormBase, "num_features", 1),
    (nn.GroupNorm, "num_channels", 1),
)
TABLES = (nn.Embedding, nn.EmbeddingBag)


def layer_failure(
    machine: Machine, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> TextError | None:
    """Returns the error of the layer that stops, at the place where it is made; None if none does.

    Args:
        machine: The interpretation; it knows where each layer was made.
        model: The module.
        inputs: Its inputs, of which only the shapes matter.
        named: Its inputs by name.
    """
    running: list[tuple[nn.Module, tuple[Any, ...]]] = []

    def enter(layer: nn.Module, args: tuple[Any, ...]) -> None:
        running.append((layer, args))

    def leave(*_: Any) -> None:
        running.pop()

    hooks = [part.register_forward_pre_hook(enter) for part in model.modules()]
    hooks += [part.register_forward_hook(leave) for part in model.modules()]
    try:
        with quiet(), FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
            args, words = tree_map_only(Tensor, mode.from_tensor, (inputs, named))
            model(*args, **words)
    except Exception as error:
        return _told(machine, *running[-1], error) if running else None
    finally:
        for hook in hooks:
            hook.remove()
    return None


def _told(
    machine: Machine, layer: nn.Module, args: tuple[Any, ...], error: Exception
) -> TextError | None:
    """Returns what a layer says of the first array that it is given."""
    given = next((x for x in args if isinstance(x, Tensor)), None)
    place = machine.places.get(id(layer), NODE)
    if given is None or machine.failure is not None:
        return None
    name, shape = type(layer).__name__, "×".join(map(str, given.shape)) or "of one number"
    if isinstance(layer, TABLES) and given.is_floating_point():
        fact = f"{name} takes whole numbers, but the array ({shape}) holds real ones"
        cure = f"a last line {'x'.join(map(str, given.shape))}#{layer.num_embeddings}"
        return error_at(place, fact, cure, LayerStops)
    for argument, dimension in _widths(layer):
        wanted = getattr(layer, argument)
        if -given.dim() <= dimension < given.dim() and given.shape[dimension] != wanted:
            size = given.shape[dimension]
            where = f"its {WHICH.get(dimension, 'channel')} dimension"
            fact = f"{argument} is {wanted}, but the array ({shape}) has {size} in {where}"
            return error_at(place, f"{name}: {fact}", f"{argument}={size}", LayerStops)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = readable(lines[0], LETTERS).rstrip(".!") if lines else type(error).__name__
    return error_at(place, f"{name} stops on an array ({shape}): {words}", kind=LayerStops)


def _widths(layer: nn.Module) -> list[tuple[str, int]]:
    """Returns the arguments that are the size of a dimension of the input, and which it is."""
    if isinstance(layer, _ConvNd):
        return [("in_channels", -len(layer.kernel_size) - 1)]
    return [(name, dimension) for kind, name, dimension in WIDTHS if isinstance(layer, kind)]
