"""Weights as safetensors: what a run has learned, to be kept and to be loaded again."""

from __future__ import annotations

from collections.abc import Mapping

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Size, Tensor, nn

from ncd.lang.errors import MismatchError, ParseError

MOST = 200_000_000  # bytes


def written(module: nn.Module, note: Mapping[str, str]) -> bytes:
    """The module's numbers as the bytes of a ``.safetensors`` file; ``note`` goes with them."""
    tensors = {name: x.detach().cpu().contiguous() for name, x in module.state_dict().items()}
    data: bytes = save(tensors, dict(note))
    return data


def read_weights(module: nn.Module, data: bytes) -> None:
    """Puts numbers that :func:`written` gave into a module of the same shapes.

    >>> one, two = nn.Linear(2, 3), nn.Linear(2, 3)
    >>> read_weights(two, written(one, {}))
    >>> bool((one.weight == two.weight).all())
    True

    Raises ParseError for what is no such file, and MismatchError for the weights of another module,
    which leaves this one as it was.
    """
    if len(data) > MOST:
        raise ParseError(f"{len(data):,} bytes are too many", cure=f"at most {MOST:,}")
    try:
        found = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0][:100]
        raise ParseError(
            f"this is no safetensors file: {reason}", cure="a file kept here"
        ) from None
    _match({name: x.shape for name, x in module.state_dict().items()}, found)
    module.load_state_dict(found)


def _match(own: Mapping[str, Size], found: Mapping[str, Tensor]) -> None:
    """Raises MismatchError unless names and shapes are the same."""
    for name in sorted(own.keys() | found.keys()):
        here, there = own.get(name), found[name].shape if name in found else None
        if here != there:
            words = ("none" if shape is None else str(tuple(shape)) for shape in (here, there))
            raise MismatchError(
                "{}: the module has {}, the file {}".format(repr(name)[:60], *words),
                cure="weights that were trained at these knobs",
            )
