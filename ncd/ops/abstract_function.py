"""Abstract functions: the boxes f, g, G and H of the figures, of which only the type is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import pi
from typing import Any, ClassVar
from zlib import crc32

from ncd.errors import MismatchError, ParseError, short_repr
from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.language import torch_code as ex
from ncd.language.axes import Array, Dim, Signature, Type, unused_name
from ncd.language.fields import (
    OPTIONAL_SIGNATURE,
    SIGNATURE,
    FieldFormat,
    SignatureField,
    StatedField,
    choice,
    term_field,
)
from ncd.language.op import ArrayHandle, Glyph, Mark, Op, Sample, Site, Slots, TermBuilder
from ncd.language.patterns import union
from ncd.ops.axis_places import axis_ports, broadcast_glyph

_SMOOTH = ("gelu", "linear", "sigmoid", "sin", "softplus", "tanh")
_TURNS = 97  # a prime, so that the numbers of small matrices all differ
_STEP = 31  # about a third of a turn, so that neighbouring numbers are far apart


def _read_letter(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 20:
        raise ParseError(f"{name} is {short_repr(value)}, but it is a short name", cure='"f"')
    if not value.isprintable():
        raise ParseError(f"{name} is {short_repr(value)}, which cannot be printed", cure='"f"')
    return value


LETTER = FieldFormat("text", _read_letter)


@dataclass(frozen=True, repr=False, eq=False)
class Function(Op):
    """An arbitrary but fixed smooth map between arrays, for figures about any function f.

    Each output is ``fn`` of a sum of matrix products, one for each input. The matrices follow from
    the letter and the sizes, so that two boxes of one letter and type are one function.

    Args:
        letter: The letter in the box.
        pattern: The arrays that it takes and gives, such as ``"3, 4 2, 6 -> 1 2"``.
        fn: ``"linear"``, ``"gelu"``, ``"sigmoid"``, ``"sin"``, ``"softplus"`` or ``"tanh"``.
        of: For the associated transpose Fᵀ the type of the linear map F, of which some axes change
            sides: ``Function("F", "b a -> c", of="a -> b c")``.

    Raises:
        MismatchError: For a transpose of a map that is not linear, is not from one array to one, or
            has other axes; and for whole numbers.

    Source: Notebook, figures 3 to 18.

    >>> Function("f", "3, 4 2, 6 -> 1 2", fn="tanh").cod
    Type.parse('1 2')
    """

    letter: str = term_field(LETTER)
    pattern: SignatureField = term_field(SIGNATURE)
    fn: str = term_field(choice(*_SMOOTH), "linear")
    of: StatedField = term_field(OPTIONAL_SIGNATURE, None)
    role: ClassVar[str] = "linear"

    def check_pattern(self) -> None:
        if self.of is not None:
            self._check_transposed(self.of)
        if any(array.below is not None for array in (*self.dom, *self.pattern.cod)):
            raise MismatchError(
                "it is of whole numbers, but a smooth map is of real ones",
                cure="Map or Index, which take whole numbers",
            )

    def _check_transposed(self, of: Signature) -> None:
        sides = (self.pattern.dom, self.pattern.cod, of.dom, of.cod)
        if self.fn != "linear" or any(len(side) != 1 for side in sides):
            raise MismatchError(
                "only a linear map of one array to one has a transposed one",
                cure='fn="linear", and one array on each side',
            )
        own, whole = ({*a[0].names, *b[0].names} for a, b in (sides[:2], sides[2:]))
        if own != whole:
            raise MismatchError(
                f"the transpose of a map ({of}) has its axes, on other sides",
                cure=f'"{of.cod} -> {of.dom}"',
            )

    @property
    def signature(self) -> Signature:
        return self.pattern

    @property
    def display_name(self) -> str:
        return f"Function {self.letter}{'' if self.of is None else 'ᵀ'}"

    def torch_code(self, site: Site) -> tuple[ex.TorchExpr, ...]:
        if self.of is not None:
            return (self._transposed_product(self.of, site),)
        return tuple(self._output(site, j) for j in range(len(site.own_outputs)))

    def _output(self, site: Site, j: int) -> ex.TorchExpr:
        own, out = site.own_outputs[j], site.outputs[j]
        rests = [
            _without_axes(array, own)
            for array, own in zip(site.inputs, site.own_inputs, strict=True)
        ]
        rest = union(rests)
        end = _flat_dim(own, "out")
        total: ex.TorchExpr | None = None
        for i, array in enumerate(site.inputs):
            moved = ex.reorder_axes(ex.Arg(i), array, Array((*rests[i], *site.own_inputs[i])))
            flat = ex.merge_axes(moved, rests[i], site.own_inputs[i])
            part: ex.TorchExpr = ex.call(
                "F.linear", flat, self._matrix(i, j, end, site.own_inputs[i])
            )
            if rests[i].names != rest.names:
                part = ex.Align(part, (*rests[i].dims, end), (*rest.dims, end))
            total = part if total is None else ex.Infix("+", total, part)
        if total is None:
            total = self._wave(ex.Position(end, (end,)), 0, j)
        else:
            total = ex.Infix("/", total, ex.call("math.sqrt", _count(site.own_inputs)))
        if self.fn != "linear":
            total = ex.Call(ELEMENTWISE[self.fn].torch, (total,))
        return ex.reorder_axes(ex.split_axis(total, rest, own), Array((*rest, *own)), out)

    def _matrix(self, i: int, j: int, end: Dim, takes: Array) -> ex.TorchExpr:
        """Returns the matrix of input i and output j, with a row for each output position."""
        start = _flat_dim(takes, "in")
        if start == end:
            start = Dim("in", 0, takes.numel)
        both = (end, start)
        return self._wave(_product(ex.Position(end, both), ex.Position(start, both)), i, j)

    def _transposed_product(self, of: Signature, site: Site) -> ex.TorchExpr:
        """Returns the product of the input with the matrix of the map itself, of type ``of``."""
        both = (*site.own_outputs[0].dims, *site.own_inputs[0].dims)
        takes = Array(site.axes_by_name[name] for name in of.dom[0].names)
        gives = Array(site.axes_by_name[name] for name in of.cod[0].names)
        numbers = self._wave(_product(_place(gives, both), _place(takes, both)), 0, 0)
        total = ex.Contract((ex.Arg(0), numbers), (site.inputs[0].dims, both), site.outputs[0].dims)
        return ex.Infix("/", total, ex.call("math.sqrt", ex.Size(tuple(takes))))

    def _wave(self, places: ex.TorchExpr, i: int, j: int) -> ex.TorchExpr:
        """Returns a cosine at whole positions, exact for large ones too."""
        shift = (crc32(self.letter.encode()) + 7 * i + 11 * j) % _TURNS
        spread = ex.Infix("*", places, ex.Const(_STEP))
        turn = ex.Infix("%", ex.Infix("+", spread, ex.Const(shift)), ex.Const(_TURNS))
        return ex.Call(
            "torch.cos", (ex.Infix("*", ex.Cast(turn, "real"), ex.Const(2 * pi / _TURNS)),)
        )

    def flops(self, site: Site) -> int:
        if self.of is not None and not site.own_inputs[0]:  # an outer product
            return 0
        count = 0
        for array, own in zip(site.inputs, site.own_inputs, strict=True):
            rows = _without_axes(array, own).numel
            count += sum(2 * rows * own.numel * out.numel for out in site.own_outputs)
        return count

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (
            axis_ports(site.inputs, site.own_inputs),
            axis_ports(site.outputs, site.own_outputs),
        )
        shape = "italic" if len(site.inputs) == len(site.outputs) == 1 else "function"
        text = self.letter if self.of is None else f"{self.letter}^T"
        if shape == "italic" and not ins and not outs:
            shape = "elementwise"
        return broadcast_glyph(site, Mark(shape, text, ins=ins, outs=outs))

    def latex(self, site: Site) -> str:
        letters = ", ".join("abcdfghl"[i % 8] for i in range(len(site.inputs)))
        name = self.letter if self.of is None else rf"{self.letter}^{{\top}}"
        return rf"z = {name}({letters})"

    def description(self, site: Site) -> str:
        name = self.letter if self.of is None else f"{self.letter} transposed"
        return f"function {name}: ({site.own_inputs}) to ({site.own_outputs})"

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        if self.of is not None:
            return (self._transposed_steps(self.of, site, steps, ins[0]),)
        return tuple(self._output_steps(site, steps, ins, j) for j in range(len(site.own_outputs)))

    def _output_steps(self, site: Site, steps: TermBuilder, ins: Slots, j: int) -> ArrayHandle:
        own, out, total = site.own_outputs[j], site.outputs[j], None
        inner = [inner_axes(array, site) for array in site.own_inputs]
        for i, (x, array) in enumerate(zip(ins, site.own_inputs, strict=True)):
            x = steps.rename(x, array, inner[i])
            wave = self._wave_text(f"({_flat(own)} + 1) * (2 * ({_flat(inner[i])}) + 3)", i, j)
            matrix = steps.map(wave, (), Array((*own, *inner[i])), self.letter)
            part = steps.product((x, matrix), out)
            total = part if total is None else steps.map("$1 + $2", (total, part), out)
        root = f" / {math.sqrt(sum(array.numel for array in site.own_inputs))!r}" if ins else ""
        if total is None:
            total = steps.map(self._wave_text(_flat(own), 0, j), (), out)
        text = f"$1{root}" if self.fn == "linear" else f"{self.fn}($1{root})"
        return steps.map(text, (total,), out)

    def _transposed_steps(
        self, of: Signature, site: Site, steps: TermBuilder, x: ArrayHandle
    ) -> ArrayHandle:
        takes = Array(site.axes_by_name[name] for name in of.dom[0].names)
        gives = Array(site.axes_by_name[name] for name in of.cod[0].names)
        wave = self._wave_text(f"({_flat(gives)} + 1) * (2 * ({_flat(takes)}) + 3)", 0, 0)
        matrix = steps.map(
            wave, (), Array((*site.own_outputs[0], *site.own_inputs[0])), self.letter
        )
        (out,) = site.outputs
        z = steps.product((x, matrix), out)
        return steps.map(f"$1 / {math.sqrt(takes.numel)!r}", (z,), out)

    def _wave_text(self, places: str, i: int, j: int) -> str:
        """Returns the formula of the matrix entries at whole positions; see ``_wave``."""
        shift = (crc32(self.letter.encode()) + 7 * i + 11 * j) % _TURNS
        return f"cos(({places} * {_STEP} + {shift}) % {_TURNS} * {2 * pi / _TURNS!r})"

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        shift = crc32(b"f") % _TURNS
        first = (
            "torch.cos(((torch.arange(2, dtype=a.dtype)[:, None] + 1) * "
            f"(2 * torch.arange(3, dtype=a.dtype) + 3) * 31 + {shift}) % 97 * (2 * math.pi / 97))"
        )
        return (
            Sample(cls("f", "a -> b:2"), "a:3", f"{first} @ a / math.sqrt(3)"),
            Sample(cls("f", "b -> a:3", of="a -> b"), "b:2", f"{first}.T @ a / math.sqrt(3)"),
            Sample(
                cls("f", "c a -> b:2", of="a -> b c"),
                "c:1 a:3",
                f"{first} @ a[0] / math.sqrt(3)",
            ),
            Sample(cls("f", "a -> b:2", "tanh"), "a:3", f"torch.tanh({first} @ a / math.sqrt(3))"),
        )


def _product(out: ex.TorchExpr, start: ex.TorchExpr) -> ex.TorchExpr:
    """Returns the phase of the matrix entry at these positions."""
    two = ex.Infix("+", ex.Infix("*", ex.Const(2), start), ex.Const(3))
    return ex.Infix("*", ex.Infix("+", out, ex.Const(1)), two)


def _place(array: Array, among: tuple[Dim, ...]) -> ex.TorchExpr:
    """Returns the flat position in an array, shaped to broadcast with the dimensions ``among``."""
    place: ex.TorchExpr | None = None
    for dim in array.dims:
        own = ex.Position(dim, among)
        place = (
            own if place is None else ex.Infix("+", ex.Infix("*", place, ex.Const(dim.size)), own)
        )
    return ex.Const(0) if place is None else place


def _flat_dim(array: Array, name: str) -> Dim:
    """Returns the dimension of one with its axes merged, which has this name if there are more."""
    return array.dims[0] if len(array.dims) == 1 else Dim(name, 0, array.numel)


def _without_axes(array: Array, own: Array) -> Array:
    return Array(axis for axis in array if axis.name not in own.names)


def _count(arrays: Type) -> ex.TorchExpr:
    """Returns the number of numbers of some arrays."""
    total: ex.TorchExpr = ex.Size(tuple(arrays[0]))
    for array in arrays[1:]:
        total = ex.Infix("+", total, ex.Size(tuple(array)))
    return total


def inner_axes(own: Array, site: Site) -> Array:
    """Returns the axes of an input, with names that no other array has."""
    taken = {*site.axes_by_name}
    axes = []
    for axis in own:
        name = unused_name(f"{axis.identifier}_in", taken)
        taken.add(name)
        axes.append(replace(axis, name=name, label=""))
    return Array(axes)


def _flat(array: Array) -> str:
    """Returns the formula of the flat position along some axes."""
    text = "0"
    for axis in array:
        text = axis.identifier if text == "0" else f"({text}) * {axis.numel} + {axis.identifier}"
    return text
