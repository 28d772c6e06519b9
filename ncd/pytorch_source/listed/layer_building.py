"""Layers of torch whose weights take no memory, as only their shapes matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_operators import is_placeholder
from ncd.pytorch_source.base.source_values import Unknown

PLACES = ("device", "pin_memory", "out")  # arguments that say where numbers lie
MODULES = 4_000  # that one source makes
ONES = ("running_var",)  # buffers that begin with ones


def placeholder(shape: Any, dtype: torch.dtype = torch.float32, grad: bool = True) -> nn.Parameter:
    """Returns a weight of a given shape that takes the memory of one number.

    >>> placeholder((1000, 1000)).untyped_storage().nbytes()
    4
    """
    real = dtype.is_floating_point or dtype.is_complex
    return nn.Parameter(torch.ones((), dtype=dtype).expand(shape), requires_grad=grad and real)


def begin(
    machine: Machine,
    real: type[nn.Module],
    subject: nn.Module,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> None:
    """Initialises an object as the ``__init__`` of a class of torch does."""
    machine.step(machine.node, 20)
    if unknown := [one for one in (*args, *named.values()) if isinstance(one, Unknown)]:
        raise machine.unknown(unknown[0])
    with _copies(), torch.device("meta"):
        machine.attempt(real.__init__, subject, *args, **_placed(named))
    for part in subject.modules():
        _fill(part)


def layer(
    machine: Machine, real: type[nn.Module], args: Any, named: Mapping[str, Any]
) -> nn.Module:
    """Returns a layer of torch."""
    subject = real.__new__(real)
    begin(machine, real, subject, args, named)
    return subject


def parameter(machine: Machine, value: Any = None, requires_grad: bool = True) -> nn.Parameter:
    """Returns a parameter; its numbers are not kept."""
    if value is None:
        value = torch.zeros(0)
    if not isinstance(value, Tensor):
        raise machine.raised(TypeError("nn.Parameter takes a tensor"), machine.node)
    return placeholder(value.shape, value.dtype, bool(requires_grad))


def _placed(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if name not in PLACES}


def _fill(part: nn.Module) -> None:
    """Gives a layer placeholder weights."""
    for name, own in [*part._parameters.items()]:
        if own is not None and own.is_meta:
            setattr(part, name, placeholder(own.shape, own.dtype, own.requires_grad))
    for name, buffer in [*part._buffers.items()]:
        if buffer is not None and buffer.is_meta:
            make = torch.ones if name in ONES else torch.zeros
            part._buffers[name] = make(buffer.shape, dtype=buffer.dtype)


@contextmanager
def _copies() -> Iterator[None]:
    """Makes copies of weights placeholders too, while torch copies layers."""
    before = nn.Parameter.__deepcopy__

    def copied(own: nn.Parameter, memo: dict[int, Any]) -> nn.Parameter:
        if id(own) not in memo:
            spread = own.is_meta or is_placeholder(own)
            made = placeholder(own.shape, own.dtype, own.requires_grad) if spread else own
            memo[id(own)] = made
        found: nn.Parameter = memo[id(own)]
        return found

    nn.Parameter.__deepcopy__ = copied  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        nn.Parameter.__deepcopy__ = before  # type: ignore[method-assign]


def deep_copy(machine: Machine, value: Any) -> Any:
    """Returns a copy of a module with its own weights; other values are returned unchanged."""
    import copy

    if not isinstance(value, nn.Module | list | dict | tuple):
        return value
    with _copies():
        return machine.attempt(copy.deepcopy, value)
