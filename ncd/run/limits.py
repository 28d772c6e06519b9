"""The memory and FLOPs that one run may take."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from ncd.circuit.circuit import Circuit
from ncd.circuit.costs import BYTES, INTEGER_BYTES, cost_of
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.errors import LimitError, ParseError, short_repr
from ncd.language.axes import Array
from ncd.language.terms import Term
from ncd.run.device import free_bytes

GIGA = 10**9


@dataclass(frozen=True)
class Limits:
    """The memory and the operations that one run may take.

    Args:
        bytes: Bytes of memory, forward and backward; ``NCD_MAX_BYTES`` sets the default.
        flops: Floating-point operations; ``NCD_MAX_FLOPS`` sets the default.

    Raises:
        LimitError: If an environment variable is not a number, or a limit is no whole number.

    Source: README, "Settings"; the defaults suit a small shared machine.

    >>> Limits(bytes=1_000_000).flops == Limits().flops
    True
    """

    bytes: int = 2 * GIGA
    flops: int = 200 * GIGA

    def __post_init__(self) -> None:
        for name, usual in (("bytes", Limits.bytes), ("flops", Limits.flops)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                fact = f"{name} is {short_repr(value)}, but it is a whole number"
                raise LimitError(fact, where="Limits", cure=f"{name}={usual}")

    @staticmethod
    def from_environment() -> Limits:
        """Returns the limits that the environment sets.

        Raises:
            LimitError: For a value that is not a number.
        """
        return Limits(number("NCD_MAX_BYTES", Limits.bytes), number("NCD_MAX_FLOPS", Limits.flops))


def checked_limits(limits: object) -> Limits:
    """Returns the limits, or those of the environment for None; raises ParseError."""
    if limits is None:
        return Limits.from_environment()
    if not isinstance(limits, Limits):
        fact = f"limits is {short_repr(limits)}, but it is the limits of a run"
        raise ParseError(fact, cure=f"limits=ncd.Limits(bytes={Limits.bytes})")
    return limits


def number(name: str, default: int) -> int:
    """Returns a number from the environment; raises LimitError if it is not one."""
    text = os.environ.get(name, "")
    try:
        found = int(float(text)) if text else default
    except (ValueError, OverflowError):
        found = 0
    if found < 1:
        raise LimitError(
            f"{name} is {short_repr(text)}, but it is a number, 1 or more", cure=f"{name}={default}"
        )
    return found


def weight(array: Array) -> int:
    """Returns the bytes of an array."""
    return array.numel * (BYTES if array.below is None else INTEGER_BYTES)


def operations(circuit: Circuit) -> int:
    """Returns the floating-point operations of a run."""
    return cost_of(circuit).flops


def check_input_memory(term: Term, limits: Limits | None = None) -> None:
    """Raises LimitError, naming limit and need, if the inputs alone exceed the limit."""
    circuit = elaborate(term)
    require_sizes(circuit)
    most = checked_limits(limits).bytes
    need = sum(weight(value.array) for value in circuit.inputs)
    if need > most:
        raise LimitError(
            f"the inputs take {need:,} bytes of memory, and the limit NCD_MAX_BYTES is {most:,}",
            where="Input",
            bound=term.dom.axes,
            cure="smaller sizes",
        )


def check_free(need: int, device: str | torch.device) -> None:
    """Raises LimitError if a device has fewer bytes left than a run needs."""
    free = free_bytes(device)
    if free is not None and need > free:
        where = "the machine" if torch.device(device).type == "cpu" else str(device)
        raise LimitError(
            f"the run takes {need:,} bytes of memory, and {where} has {free:,} left",
            cure="again later, or smaller sizes",
        )
