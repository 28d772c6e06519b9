"""Constant arrays whose numbers are written out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ncd.errors import MismatchError, ParseError, SizeError, short_repr
from ncd.formulas.formula import Number as FormulaNumber
from ncd.formulas.formula_latex import ellipsize
from ncd.language.axes import Array, Signature, Type
from ncd.language.broadcasting import LEADING_ANY
from ncd.language.fields import ARRAY, NAME, ArrayField, FieldFormat, ParsedField, term_field
from ncd.language.op import (
    ArrayHandle,
    Glyph,
    InitialValue,
    Mark,
    Op,
    Sample,
    Site,
    Slots,
    TermBuilder,
)
from ncd.language.patterns import Binding
from ncd.language.torch_code import TorchExpr, Weight
from ncd.ops.axis_places import axis_ports

MAX_NUMBERS = 1_000_000  # numbers of one array
Numbers = tuple[float, ...]


def run_lengths(numbers: Iterable[float]) -> str:
    """Returns numbers as text, equal neighbours as one with a count.

    >>> run_lengths([0, 0, 0, 1.5, -math.inf])
    '0*3 1.5 -inf'
    """
    words: list[list[Any]] = []
    for number in numbers:
        whole = float(number).is_integer() and abs(number) < 1e15
        word = f"{number:.0f}" if whole else repr(float(number))
        if words and words[-1][0] == word:
            words[-1][1] += 1
        else:
            words.append([word, 1])
    return " ".join(word if count == 1 else f"{word}*{count}" for word, count in words)


def _read(value: Any, name: str) -> Numbers:
    if isinstance(value, tuple) and all(type(number) is float for number in value):
        return value
    if not isinstance(value, str):
        raise ParseError(f"{name} is {short_repr(value)}, but it is text", cure='"0 1.5 -inf*3"')
    found: list[float] = []
    for word in value.split():
        text, star, times = word.partition("*")
        count = int(times) if times.isdecimal() and len(times) < 8 else 0 if star else 1
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not count or math.isnan(number):
            raise ParseError(f"{short_repr(word)} is no number", cure='"0 1.5 -inf*3"')
        if len(found) + count > MAX_NUMBERS:
            raise ParseError(f"{name} has more than {MAX_NUMBERS:,} numbers", cure="fewer")
        found += [number] * count
    return tuple(found)


NUMBERS = FieldFormat("text", _read, run_lengths, lambda value: repr(run_lengths(value)))


@dataclass(frozen=True, repr=False, eq=False)
class Given(Op):
    """A constant array, such as a mask or a table of rotations; it is not learned.

    Args:
        array: Its axes, such as ``"y:2 x:3"``; ``"y:3#v:9"`` holds whole numbers.
        name: Its name.
        numbers: Its numbers in the order of memory, as text; ``0*3`` is three zeros.

    Raises:
        ParseError: For text that is no numbers.
        SizeError: If there are not as many numbers as positions.
        MismatchError: For whole numbers that are not below their bound.

    Source: buffers of ``torch.nn.Module``, and constants of ``torch.export``.

    >>> Given("y:2 x:2", "mask", "0 -inf 0*2").cod.spec
    'y:2 x:2'
    """

    array: ArrayField = term_field(ARRAY)
    name: str = term_field(NAME, "constant")
    numbers: ParsedField[Numbers, Numbers | str] = term_field(NUMBERS, ())
    role: ClassVar[str] = "data"
    broadcasting = LEADING_ANY

    @property
    def signature(self) -> Signature:
        return Signature(Type(), Type((self.array,)))

    def check_pattern(self) -> None:
        self._check_numbers(self.array)

    def _check_numbers(self, array: Array) -> None:
        """Raises MismatchError for a number that is no place along the axis below."""
        if array.below is None:
            return
        most = array.below.numel if array.below.size is not None else math.inf
        wrong = [n for n in self.numbers if not (n.is_integer() and 0 <= n < most)]
        if wrong:
            raise MismatchError(
                f"{wrong[0]:g} is no {array.kind}", cure=f'Given("{Array(array)}", …)'
            )

    def check_axes(self, binding: Binding) -> None:
        (array,) = map(binding.with_known_sizes, self.signature.cod)
        self._check_numbers(array)
        if array.has_all_sizes and array.numel != len(self.numbers):
            count = len(self.numbers)
            raise SizeError(
                f"the array ({array.spec}) has {array.numel:,} numbers, but {count:,} are given",
                cure=f"sizes with {count:,} numbers",
                axis=array.names[0] if array else "",
            )

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        return {
            self.name: InitialValue(site.own_outputs[0], FormulaNumber("0"), False, self.numbers)
        }

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return (Weight(),)

    def result_name(self, site: Site) -> str:
        return self.name

    def glyph(self, site: Site) -> Glyph:
        outs = axis_ports(site.outputs, site.own_outputs)
        return Glyph(marks=(Mark("box", ellipsize(self.name), outs=outs),))

    def latex(self, site: Site) -> str:
        return rf"z = \mathrm{{{self.name}}}".replace("_", r"\_")

    def description(self, site: Site) -> str:
        return f"constant array {self.name} of axes ({site.own_outputs})"

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        return (steps.param("", kept=site.own_outputs[0]),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        inf = "torch.tensor([[0, -math.inf], [0, 0.5]])"
        return (
            Sample(cls("y:2 x:2", "mask", "0 -inf 0 0.5"), "", inf),
            Sample(cls("y:3#v:9", "places", "8 0*2"), "", "torch.tensor([8, 0, 0])"),
        )
