"""Calls of torch functions, with checked arguments and limited results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_operators import absorbed, is_placeholder
from ncd.pytorch_source.base.source_values import Method, Native, Unknown
from ncd.pytorch_source.listed.layer_building import placeholder

NUMBERS = 2**22  # of a tensor whose numbers are computed
WORK = 2**27  # numbers of all these tensors together
SAME = ("cpu", "cuda", "requires_grad_", "detach_")
COPIED = ("contiguous", "clone")  # which weights without memory need not be
NEEDED = ("item", "tolist", "nonzero", "masked_select", "equal", "allclose")
IGNORED = ("device", "pin_memory", "non_blocking", "generator", "layout", "memory_format")
REFUSED = ("out",)
TYPED = {  # by the names of their tensors
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}


def tensor_method(machine: Machine, value: Tensor, name: str) -> Any:
    """Returns a listed method of a tensor."""
    weights = is_placeholder(value) and not machine.tracing
    if name in SAME or (weights and name in COPIED):
        return Method(name, lambda *args, **named: value)
    if name == "backward":
        return Method(name, lambda *args, **named: None)
    if name.endswith("_") and weights:
        return Method(name, lambda *args, **named: value)  # the numbers of weights do not matter
    if name in ("to", "type"):
        return Method(name, lambda *args, **named: _converted(machine, value, args, named))
    if name in NEEDED and machine.tracing:
        raise machine.refuse(f"{name}() depends on the numbers, which are not known", "its shape")
    inner = getattr(value, name)
    return Method(name, lambda *args, **named: torch_call(machine, inner, args, named))


def _converted(
    machine: Machine, value: Tensor, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns a tensor of another dtype; devices are ignored."""
    given = [*args, *named.values()]
    kind = next((found for x in given if (found := _type(x)) is not None), None)
    return value if kind is None else torch_call(machine, value.to, (kind,), {})


def _type(value: Any) -> torch.dtype | None:
    """Returns the type of numbers that a value names: ``torch.int64``, ``torch.LongTensor``."""
    if isinstance(value, Native | str):
        name = value.name if isinstance(value, Native) else value.removeprefix("torch.")
        return TYPED.get(name.removesuffix("Tensor")) if name.endswith("Tensor") else None
    return (
        value.dtype
        if isinstance(value, Tensor)
        else value
        if isinstance(value, torch.dtype)
        else None
    )


def torch_call(
    machine: Machine, function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """Returns what a listed function of torch gives."""
    for one in _flat((*args, *named.values()), 0):
        if isinstance(one, Unknown):
            return absorbed(machine, one)
        if isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise machine.stop("a size has more than 63 bits")
    if refused := [name for name in REFUSED if named.get(name) is not None]:
        raise machine.refuse(f"the argument {refused[0]} is not understood here", "its result")
    machine.step(machine.node, 5)
    given = {name: value for name, value in named.items() if name not in IGNORED}
    return _bounded(machine, machine.attempt(function, *args, **given))


def _flat(values: Any, depth: int) -> list[Any]:
    """Returns the values in lists of lists."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple) and depth < 3:
            found += _flat(value, depth + 1)
        else:
            found.append(value)
    return found


def _bounded(machine: Machine, found: Any) -> Any:
    """Counts the numbers of the results, up to a limit."""
    if machine.tracing:
        return found
    for one in _flat((found,), 0):
        if isinstance(one, Tensor) and not isinstance(one, FakeTensor) and not is_placeholder(one):
            _count(machine, one.numel())
    return found


def _count(machine: Machine, numbers: int) -> None:
    machine.numbers += numbers
    if numbers > NUMBERS or machine.numbers > WORK:
        raise machine.stop(f"it computes a tensor of {numbers:,} numbers", "smaller sizes")


# tensors that a source makes ----------------------------------------------------------------------


def is_size(value: Any) -> bool:
    """Returns whether a value is a whole number; one that remembers its origin is one too."""
    return isinstance(value, int) and not isinstance(value, bool)


RANDOM = (torch.randn, torch.rand, torch.empty)  # whose numbers do not matter
SMALL = 4096  # of such a tensor that has numbers all the same


def sized(function: Callable[..., Tensor], first: int = 0) -> Callable[..., Any]:
    """Returns a function such as ``torch.zeros`` with a limit on the size.

    ``first`` is the number of arguments before the shape.
    """

    def made(machine: Machine, *args: Any, **named: Any) -> Any:
        lead, rest = args[:first], args[first:]
        shape = rest = (named.pop("size"),) if "size" in named else rest
        if len(rest) == 1 and isinstance(rest[0], tuple | list):
            shape = tuple(rest[0])
        if any(isinstance(n, Unknown) for n in _flat((shape,), 0)):
            return torch_call(machine, function, (*lead, *rest), named)
        if not all(is_size(n) and n >= 0 for n in shape):
            return torch_call(machine, function, (*lead, *rest), named)
        few = NUMBERS if machine.tracing or function not in RANDOM else SMALL
        if prod(shape) <= few:
            return torch_call(machine, function, (*lead, shape), named)
        if machine.tracing:
            raise machine.stop(f"it is a tensor of {prod(shape):,} numbers", "smaller sizes")
        kind = named.get("dtype") or (torch.int64 if function is torch.randint else torch.float32)
        return machine.attempt(lambda: placeholder(shape, kind).detach())

    return made


def counted(machine: Machine, *args: Any, **named: Any) -> Any:
    """Returns ``torch.arange(…)`` of a bounded length."""
    numbers = [x for x in (*args, named.get("end", 0)) if isinstance(x, int | float)]
    step = named.get("step", args[2] if len(args) > 2 else 1)
    far = max(map(abs, numbers), default=0)
    if isinstance(step, int | float) and far > NUMBERS * min(abs(step) or 1, 1):
        raise machine.stop(f"it is a tensor of more than {NUMBERS:,} numbers")
    return torch_call(machine, torch.arange, args, named)


def lined(machine: Machine, start: Any, end: Any, steps: Any = 100, **named: Any) -> Any:
    """Returns ``torch.linspace(…)`` of a bounded length."""
    if not isinstance(steps, int) or not 0 <= steps <= NUMBERS:
        raise machine.stop(f"it is a tensor of more than {NUMBERS:,} numbers")
    return torch_call(machine, torch.linspace, (start, end, steps), named)
