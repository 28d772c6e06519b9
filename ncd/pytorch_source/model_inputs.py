"""The inputs of a module: given by the source, by a line of shapes, or guessed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from math import prod
from time import process_time
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from ncd.importing.module_files import example_tensors
from ncd.importing.torch_export import quiet
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_errors import Raised
from ncd.pytorch_source.base.source_values import SETTINGS, own_names
from ncd.pytorch_source.listed.elsewhere import Elsewhere
from ncd.pytorch_source.usual.several_inputs import (
    combinations,
    lists,
    of_pattern,
    settings_of,
    width_of,
)
from ncd.text.reader import TextError

NUMBERS = 2**24  # of an input
WIDEST = 5000  # features of an input
SECONDS = 1.5  # in which inputs of a module that takes several are tried
SIDES = (64, 224, 256, 32, 28, 96, 128, 299, 512)  # of a picture
FIXED = (32, 224, 28, 64, 256, 96, 128, 299)  # of one that a linear layer follows
LENGTHS = (16, 8, 64, 128)  # of a sequence
NAMED = ("input_shape", "image_size", "img_size", "input_size", "image_resolution", "resolution")
LAYERS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding, nn.Linear, nn.RNNBase, nn.LayerNorm)
WIDTHS = ("in_channels", "num_features", "num_channels", "in_features", "input_size")
CURE = "a last line with its shape, such as 1x3x224x224, or 8x64#50257 for tokens"


class NoInput(TextError):
    """A module of which nothing says what it takes."""


def given_inputs(shapes: str, line: int) -> tuple[Tensor, ...]:
    """Returns inputs of the given shapes; raises TextError if they are too large."""
    for each in shapes.split(","):
        if prod(int(n) for n in each.partition("#")[0].strip().split("x")) > NUMBERS:
            raise TextError(
                f"an input has more than {NUMBERS:,} numbers", line, 1, cure="1x3x64x64"
            )
    return example_tensors(shapes)


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


def steps_first(model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, str]:
    """Returns the axes of the input of a recurrent layer that takes its steps before its batch."""
    first = inputs[0] if inputs else None
    if isinstance(model, nn.RNNBase) and isinstance(first, Tensor) and first.dim() == 3:
        return {} if model.batch_first else {"input": "t b m"}
    return {}


def guessed(
    machine: Machine, model: nn.Module, failed: str = ""
) -> tuple[tuple[Any, ...], str] | None:
    """Returns an input that a module accepts, and its shape; None if no usual one fits.

    A likely shape is not tried, unless it is the one with which the module has ``failed``. Raises
    TextError for a module of which nothing says what it takes.
    """
    names = required(model)
    if not names:
        return (), ""
    settings = settings_of(model)
    features = lists(names, settings)
    if features is not None and not failed:
        return features.inputs, features.words
    if len(names) > 1:
        return _several(machine, model, names) if not failed else None
    candidates = [one for one in dict.fromkeys(_candidates(machine, model)) if one != failed]
    if not candidates and not failed:
        fact = f"no shape of an input of {type(model).__name__} is given"
        raise NoInput(fact, 1, 1, cure=CURE)
    if not failed and _likely(machine, model):
        return example_tensors(candidates[0]), candidates[0]
    for shape in candidates:
        inputs = example_tensors(shape)
        if accepted(machine, model, inputs, {}):
            return inputs, shape
    return None if failed else (example_tensors(candidates[0]), candidates[0])


def _several(machine: Machine, model: nn.Module, names: list[str]) -> tuple[tuple[Any, ...], str]:
    """Returns inputs that a module accepts, by their names; None for its masks."""
    settings, end = settings_of(model), process_time() + SECONDS
    for shape in dict.fromkeys(_candidates(machine, model)):
        for guess in combinations(names, shape, settings):
            if accepted(machine, model, guess.inputs, {}):
                return guess.inputs, guess.words
            if process_time() > end:
                break
    fact = f"{type(model).__name__} takes inputs ({', '.join(names)}), of which no shape is given"
    raise NoInput(fact, 1, 1, cure="a last line with their shapes, such as 1x16x64, 1x16x64")


def _likely(machine: Machine, model: nn.Module) -> bool:
    """Returns whether the first layer of a module determines the input shape."""
    first = next((part for part in model.modules() if isinstance(part, LAYERS)), None)
    parts = [*model.modules()]
    free = "adaptive_" in machine.text
    free = free or any(type(part).__name__.startswith("Adaptive") for part in parts)
    free = free or not any(isinstance(part, nn.Linear) for part in parts)
    picture = isinstance(first, nn.Conv2d) and first.in_channels > 1 and free
    return picture or isinstance(first, nn.Embedding) or bool(_sides(model))


def required(model: nn.Module) -> list[str]:
    """Returns the required inputs of a module."""
    kinds = inspect.Parameter
    given = inspect.signature(model.forward).parameters.values()
    plain = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    return [one.name for one in given if one.default is kinds.empty and one.kind in plain]


def _candidates(machine: Machine, model: nn.Module) -> Iterator[str]:
    """Yields shapes that a module may accept, the likeliest first."""
    ours = type(model).__module__.startswith("torch.nn.")
    settings = settings_of(model)
    parts = [part for part in model.modules() if isinstance(part, (*LAYERS, Elsewhere))]
    first = next((part for part in parts if not isinstance(part, Elsewhere)), None)
    if not parts or parts[0] is not first:
        yield from _of_settings(settings)
    if ours:
        yield from _steps_first(model)
    elif not isinstance(first, nn.Embedding):
        yield from _of_names(model, settings)
    yield from _of_first(machine, model, first)
    table = next((part for part in model.modules() if isinstance(part, nn.Embedding)), None)
    if table is not None and table is not first:
        yield from (f"1x{n}#{table.num_embeddings}" for n in LENGTHS)
    if 0 < (width := width_of(settings)) < WIDEST:
        yield f"1x{width}x8x8"
    if ours:
        yield from _of_layer(next(part for part in model.modules() if not [*part.children()]))


def _of_names(model: nn.Module, settings: dict[str, Any]) -> Iterator[str]:
    """Yields shapes by the pattern of a first ``Rearrange``, and by the settings of a picture."""
    sides = _sides(model)
    if shape := of_pattern(model, settings, (*sides, 64)[0]):
        yield shape
    channels = settings.get("channels", settings.get("input_channels"))
    if type(channels) is int and 0 < channels < WIDEST and sides:
        yield f"1x{channels}x{sides[0]}x{sides[0]}"


def _of_first(machine: Machine, model: nn.Module, first: Any) -> Iterator[str]:
    """Yields shapes that the first layer of a module accepts."""
    if isinstance(first, nn.Conv1d):
        yield from (f"1x{first.in_channels or 3}x{n}" for n in LENGTHS)
    elif isinstance(first, nn.Conv2d):
        usual = SIDES if _likely(machine, model) else FIXED
        sides = (*_sides(model), *((28, *usual) if first.in_channels < 2 else usual))
        channels = first.in_channels or (3 if _sides(model) else 1)  # a lazy one takes any
        yield from (f"1x{channels}x{n}x{n}" for n in sides)
    elif isinstance(first, nn.Conv3d):
        yield from (f"1x{first.in_channels or 3}x{n}x{n}x{n}" for n in (16, 32, 64))
        yield f"1x{first.in_channels or 3}x16x224x224"
    elif isinstance(first, nn.Embedding):
        yield from (f"1x{n}#{first.num_embeddings}" for n in (*LENGTHS, 4, 1))
    elif isinstance(first, nn.Linear | nn.LayerNorm | nn.RNNBase):
        yield from _flat(model, first)


def _of_settings(settings: dict[str, Any]) -> Iterator[str]:
    """Yields shapes for a module without layers of torch: the width is that of its settings."""
    names = ("in_channels", "num_features", "in_features", "in_dim", "dim", "d_model", "input_dim")
    for n in (settings.get(name) for name in names):
        if type(n) is int and 0 < n < WIDEST:
            yield from (f"10x{n}", f"1x16x{n}", f"1x{n}x32x32")
            return


def _steps_first(model: nn.Module) -> Iterator[str]:
    """Yields the shape for a layer whose first dimension is the steps of a sequence."""
    for part in model.modules():
        if isinstance(part, nn.RNNBase | nn.MultiheadAttention):
            n = part.input_size if isinstance(part, nn.RNNBase) else part.embed_dim
            yield f"2x16x{n}" if part.batch_first else f"16x2x{n}"


def _of_layer(layer: nn.Module) -> Iterator[str]:
    """Yields shapes that a layer of torch accepts, by its settings and by its name."""
    own = next((n for name in WIDTHS if (n := getattr(layer, name, None))), None)
    sides = int(found[1]) if (found := re.search(r"([123])d$", type(layer).__name__)) else 0
    if isinstance(layer, nn.EmbeddingBag):
        yield f"4x8#{layer.num_embeddings}"
    if isinstance(layer, nn.RMSNorm | nn.LayerNorm):
        yield "x".join(map(str, (8, *layer.normalized_shape)))
    if sides or isinstance(layer, nn.GroupNorm):
        yield "x".join(map(str, (1, own or 16, *[32 if sides < 3 else 16] * (sides or 2))))
    yield from (f"8x{own or 16}", f"1x{own or 16}x32", f"1x{own or 16}x32x32")


def _sides(model: nn.Module) -> list[int]:
    """Returns the side of a picture given in the settings of a module."""
    found = []
    settings = {**model.__dict__.get(SETTINGS, {}), **own_names(model)}
    for name in NAMED:
        value = settings.get(name)
        value = value[0] if isinstance(value, tuple | list) and value else value
        if type(value) is int and 0 < value < 2000:
            found.append(value)
    return found


def _flat(model: nn.Module, first: Any) -> Iterator[str]:
    """Yields shapes for a layer that works on the last dimension."""
    n = getattr(first, "in_features", getattr(first, "input_size", 0))
    n = n or (first.normalized_shape[-1] if isinstance(first, nn.LayerNorm) else 784)
    own = _sides(model)
    if own and own[0] != n:  # else it is the number of features of a flattened one
        yield f"1x3x{own[0]}x{own[0]}"
    if not isinstance(first, nn.RNNBase):
        yield f"1x{n}"
    yield f"1x16x{n}"
    if isinstance(first, nn.RNNBase):  # a picture that is read row by row
        yield from (f"1x{n}x{n}", f"1x1x{n}x{n}")
    for side, channels in ((28, 1), (32, 3)):  # a picture that is flattened first
        if side * side * channels == n:
            yield f"1x{channels}x{side}x{side}"
    yield from (f"1x3x{n}x{n}" for n in (224, 256, 32, 64))


def accepted(
    machine: Machine, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> bool:
    """Returns whether a module runs on these inputs, computing shapes only."""
    machine.tracing = True
    try:
        with quiet(), FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
            args = [mode.from_tensor(x) if isinstance(x, Tensor) else x for x in inputs]
            words = {
                name: mode.from_tensor(x) if isinstance(x, Tensor) else x
                for name, x in named.items()
            }
            model(*args, **words)
    except (Raised, RuntimeError, TypeError, ValueError, IndexError, AssertionError):
        return False
    finally:
        machine.tracing, machine.failure = False, None
    return True
