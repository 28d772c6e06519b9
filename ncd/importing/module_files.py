"""Loads modules from the user's files, by names such as ``model.py:Net``."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ncd.importing.base.import_values import ImportFailed
from ncd.importing.imported import Imported, from_torch
from ncd.lang.errors import shown, unknown

_SHAPE = re.compile(r"(\d{1,9}(?:x\d{1,9})*)?(?:#(\d{1,9}))?")
TOKENS = 16  # of the input of a language model, if none is given


def example_tensor(text: str) -> Tensor:
    """Returns an input of a shape such as ``2x3x32x32``, or of whole numbers: ``8#50257``.

    >>> example_tensor("2x3").shape, int(example_tensor("4#10").max()) < 10
    (torch.Size([2, 3]), True)

    Raises ImportFailed for text that is no shape.
    """
    found = _SHAPE.fullmatch(text.strip())
    if not found or not text.strip():
        raise ImportFailed(f"{shown(text)} is no shape", cure="2x3x32x32, or 8#50257 for tokens")
    shape = [int(n) for n in found[1].split("x")] if found[1] else []
    random = torch.Generator().manual_seed(0)
    if found[2]:
        return torch.randint(max(1, int(found[2])), shape, generator=random)
    return torch.randn(shape, generator=random)


def example_tensors(text: str) -> tuple[Tensor, ...]:
    """Returns the inputs of some shapes: ``2x8x128, 2x8#50257``."""
    return tuple(map(example_tensor, text.split(","))) if text.strip() else ()


def imported_file(place: str, inputs: str = "") -> Imported:
    """Imports a Python file of the user's.

    Args:
        place: A file and a name in it, ``model.py:Net``: a module, or a class or function that
            makes one without arguments. With ``hf:config.json`` it is a model of the library
            `transformers`.
        inputs: The shapes of its inputs, such as ``"2x8#50257"``.

    Raises:
        ImportFailed: For a file or name that does not exist, or is no module.
    """
    if place.startswith("hf:"):
        return _published(Path(place[3:]), inputs)
    module = module_at(place)
    given = example_tensors(inputs)
    if not given:
        names = ", ".join(inspect.signature(module.forward).parameters)
        raise ImportFailed(
            f"{place} takes inputs ({names}), of which no shape is given", cure='--inputs "2x8x128"'
        )
    return from_torch(module, *given)


def module_at(place: str) -> nn.Module:
    """Returns the module of a file and a name, ``model.py:Net``; runs the file."""
    file, _, name = place.rpartition(":")
    path = Path(file)
    if not file or not path.is_file():
        raise ImportFailed(f"there is no file {shown(file or place)}", cure="model.py:Net")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made  # so that its classes can be found by their names
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(made)
    finally:
        sys.path.remove(str(path.parent))
    if not hasattr(made, name):
        kinds = (key for key, value in vars(made).items() if _makes_module(value))
        raise unknown("module", name, [*kinds], where=path.name)
    return _instance(getattr(made, name), f"{path.name}:{name}")


def _makes_module(value: object) -> bool:
    return isinstance(value, nn.Module) or (
        inspect.isclass(value) and issubclass(value, nn.Module) and value is not nn.Module
    )


def _instance(value: Any, place: str) -> nn.Module:
    if callable(value) and not isinstance(value, nn.Module):
        try:
            value = value()
        except TypeError as error:
            raise ImportFailed(f"{place} needs arguments: {error}", cure="a function") from None
    if not isinstance(value, nn.Module):
        raise ImportFailed(f"{place} is {shown(value)}, which is no module", cure="an nn.Module")
    return value


def _published(path: Path, inputs: str) -> Imported:
    """Returns a model of `transformers` from its configuration, with random weights."""
    try:
        import transformers
    except ModuleNotFoundError:
        raise ImportFailed("hf: needs a library", cure="pip install transformers") from None
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ImportFailed(f"{path} cannot be read: {error}", cure="a config.json") from None
    kind = data.pop("model_type", "") if isinstance(data, dict) else ""
    try:
        config = transformers.AutoConfig.for_model(kind, **data)
    except ValueError:
        raise ImportFailed(f"{path} names no model type", cure='"model_type": "llama"') from None
    model = transformers.AutoModel.from_config(config).eval()
    given = example_tensors(inputs) or _usual(config)
    return from_torch(_First(model), *given)


def _usual(config: Any) -> Sequence[Tensor]:
    """Returns a typical input for a model: tokens, or a picture."""
    size = getattr(config, "image_size", None)
    if isinstance(size, int):
        return (example_tensor(f"1x{getattr(config, 'num_channels', 3)}x{size}x{size}"),)
    return (example_tensor(f"1x{TOKENS}#{config.vocab_size}"),)


class _First(nn.Module):
    """A wrapper of a model that returns only its first output."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Any:
        takes = inspect.signature(self.model.forward).parameters
        more = {"use_cache": False} if "use_cache" in takes else {}
        return self.model(x, **more)[0]
