"""Floating-point formats bit by bit: what a number becomes in each, and a run whose numbers all do.

The formats of :mod:`ncd.language.number_formats` say what a system takes; these are looked into, so
that tf32 and E5M2 are among them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ncd.circuit.circuit import Cell
from ncd.run.module import CircuitModule

_BIT_TYPES = {8: torch.uint8, 16: torch.int16, 32: torch.int32}  # of as many bits


@dataclass(frozen=True)
class FloatFormat:
    """A floating-point format: a sign, an exponent and a mantissa, of some bits each.

    Args:
        name: What it is called.
        dtype: The dtype in which torch holds it.
        exponent: The bits of its exponent.
        mantissa: The bits of its mantissa; fewer than those of the dtype for tf32.

    Source: IEEE 754; Micikevicius et al. 2022, "FP8 Formats for Deep Learning", table 1, for E4M3
    and E5M2; PyTorch's documentation of *torch.backends*, for tf32.

    >>> float16: FloatFormat = FORMATS["float16"]
    >>> float16.largest, float16.epsilon, float16.width
    (65504.0, 0.0009765625, 16)
    """

    name: str
    dtype: torch.dtype
    exponent: int
    mantissa: int

    @property
    def width(self) -> int:
        """Its bits: one for the sign, and those of exponent and mantissa."""
        return 1 + self.exponent + self.mantissa

    @property
    def epsilon(self) -> float:
        """The difference of 1 and the next larger number."""
        return 2.0**-self.mantissa

    @property
    def largest(self) -> float:
        """The largest finite number."""
        found: float = torch.finfo(self.dtype).max
        return found if not self._dropped_bits else found - found % 2.0 ** (127 - self.mantissa)

    @property
    def smallest_normal(self) -> float:
        """The smallest number over 0 that has all bits of the mantissa."""
        found: float = torch.finfo(self.dtype).smallest_normal
        return found

    @property
    def smallest(self) -> float:
        """The smallest number over 0: the spacing of those that have fewer bits."""
        return self.smallest_normal * self.epsilon

    @property
    def has_infinity(self) -> bool:
        """Whether what is too large becomes infinite; in E4M3 it becomes the largest number."""
        return self.dtype != torch.float8_e4m3fn

    @property
    def _dropped_bits(self) -> int:
        """The bits of the dtype's mantissa that the format lacks."""
        return 8 * self.dtype.itemsize - self.width

    def round(self, x: Tensor) -> Tensor:
        """Returns the nearest numbers of the format, as float32; of two, the one that ends in 0.

        >>> FORMATS["bfloat16"].round(torch.tensor([257.0, 1e38, 1e39])).tolist()
        [256.0, 9.969209968386869e+37, inf]
        """
        x = x.detach().float()
        if self._dropped_bits:
            return _without_last_bits(x, self._dropped_bits)
        bounded = x if self.has_infinity else x.clamp(-self.largest, self.largest)
        return bounded.to(self.dtype).float()

    def spacing(self, x: float) -> float:
        """Returns how far the next larger number is, or would be, from the one that x becomes.

        >>> FORMATS["float16"].spacing(2048.0), FORMATS["bfloat16"].spacing(300.0)
        (2.0, 2.0)
        """
        near = min(max(abs(self.round_number(x)), self.smallest_normal), self.largest)
        power = torch.frexp(torch.tensor(near)).exponent
        return float(2.0 ** (int(power) - 1 - self.mantissa))

    def round_number(self, x: float) -> float:
        """Returns the nearest number of the format."""
        return float(self.round(torch.tensor(x, dtype=torch.float32)))

    def bits(self, x: float) -> tuple[str, str, str]:
        """Returns the bits of the number that x becomes: of its sign, exponent and mantissa.

        >>> FORMATS["float16"].bits(-1.5)
        ('1', '01111', '1000000000')
        """
        held = torch.tensor(self.round_number(x), dtype=torch.float32).to(self.dtype)
        whole = held.view(_BIT_TYPES[8 * self.dtype.itemsize]).item()
        every = f"{whole & (2 ** (8 * self.dtype.itemsize) - 1):0{8 * self.dtype.itemsize}b}"
        at = 1 + self.exponent
        return every[0], every[1:at], every[at : self.width]


def _without_last_bits(x: Tensor, count: int) -> Tensor:
    """Returns float32 numbers rounded so that their last bits are 0, ties to even."""
    whole = x.contiguous().view(torch.int32)
    last_kept = (whole >> count) & 1
    near = ((whole + (2 ** (count - 1) - 1) + last_kept) >> count) << count
    return torch.where(x.isfinite(), near.view(torch.float32), x)


FORMATS: Mapping[str, FloatFormat] = {
    "float32": FloatFormat("float32", torch.float32, 8, 23),
    "tf32": FloatFormat("tf32", torch.float32, 8, 10),
    "bfloat16": FloatFormat("bfloat16", torch.bfloat16, 8, 7),
    "float16": FloatFormat("float16", torch.float16, 5, 10),
    "e5m2": FloatFormat("float8 E5M2", torch.float8_e5m2, 5, 2),
    "e4m3": FloatFormat("float8 E4M3", torch.float8_e4m3fn, 4, 3),
}


def rounded_run(
    module: CircuitModule, inputs: tuple[Tensor, ...], format: FloatFormat
) -> dict[str, Tensor]:
    """Returns every array of a run in a format, by the ids of the circuit.

    Inputs, weights and the results of ops are rounded; an op calculates in float32, as the units
    of a GPU for 16 and 8 bits add up. A number without axes, such as a loss, stays in float32, as
    in torch's autocast.

    Args:
        module: A compiled module.
        inputs: A tensor for each array of its term.
        format: The format.

    >>> import ncd
    >>> module = ncd.compile(ncd.Softmax("x:3"))
    >>> found = rounded_run(module, ncd.example_inputs(module.term), FORMATS["e4m3"])
    >>> [number * 2**9 % 1 for number in found[module.circuit.outputs[0].id].tolist()]
    [0.0, 0.0, 0.0]
    """

    def step(cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(_round_array(x, format) for x in made)

    own, values = copy.deepcopy(module), dict[str, Tensor]()
    with torch.no_grad():
        for weight in (*own.parameters(), *own.buffers()):
            weight.copy_(_round_array(weight, format))
        own.execute(tuple(_round_array(x, format) for x in inputs), keep=values, watch=step)
    return values


def _round_array(x: Tensor, format: FloatFormat) -> Tensor:
    return format.round(x) if x.is_floating_point() and x.dim() else x
