"""Complex numbers as pairs of real ones: rotary positions are often written so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Constant, Operand, Value
from ncd.importing.calls.concat_calls import stack
from ncd.importing.calls.formulas import broadcast
from ncd.importing.calls.slice_calls import select


@dataclass(frozen=True, eq=False)
class Pair:
    """A complex tensor: its real and its imaginary part."""

    real: Value
    imaginary: Value


def as_complex(g: Builder, x: Operand) -> Pair:
    value = g.value(x)
    parts = [select(g, value, len(value.dims) - 1, i) for i in (0, 1)]
    return Pair(*map(g.value, parts))


def as_real(g: Builder, x: Any) -> Operand:
    if not isinstance(x, Pair):
        g.refuse("a complex number of another kind")
    return stack(g, [x.real, x.imaginary], len(x.real.dims))


def product(g: Builder, one: Any, two: Any) -> Pair:
    """Multiplies complex tensors: (a + ib)(c + id) = (ac − bd) + i(ad + bc)."""
    (a, b), (c, d) = _parts(g, one), _parts(g, two)

    def times(x: Operand, y: Operand) -> Value:
        return broadcast(g, x, y, "$1 * $2")

    real = broadcast(g, times(a, c), times(b, d), "$1 - $2")
    return Pair(real, broadcast(g, times(a, d), times(b, c), "$1 + $2"))


def _parts(g: Builder, x: Any) -> tuple[Operand, Operand]:
    if isinstance(x, Pair):
        return x.real, x.imaginary
    if isinstance(x, Constant) and x.tensor.is_complex():
        return Constant(x.tensor.real.contiguous()), Constant(x.tensor.imag.contiguous())
    g.refuse("a complex number of another kind")


CALLS: dict[str, Callable[..., Any]] = {"view_as_complex": as_complex, "view_as_real": as_real}
