"""The base of the ops that are defined by a formula, such as ``Map`` and ``Scale``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ncd.lang.errors import ParseError, UnknownNameError
from ncd.lang.formulas.derivative import ONE, ZERO, derivative, times
from ncd.lang.formulas.expr import Align, Arg, Expr, Position, Size
from ncd.lang.formulas.formula import CONSTANTS, Apply, Formula, Name, Number, Operand, leaves
from ncd.lang.formulas.formula_latex import latex
from ncd.lang.near_names import nearest_name
from ncd.lang.once import once
from ncd.lang.terms.op import Op, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.terms.streaming import Streamed
from ncd.lang.types.axes import Array, Axis, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.elementwise.formula_lowering import Part, constant, filled, lowered
from ncd.ops.structure.axis_places import check_plain

_VALUES = {"e": math.e, "inf": math.inf, "pi": math.pi}


class Meaning(NamedTuple):
    """The meaning of a name in a formula."""

    what: str  # "position", "size" or "constant"
    axis: str


class Mapped(Op):
    """The base of ops that are defined by a formula.

    The axes of the result have the order of the first array, if that has all of them.
    """

    @property
    def rule(self) -> Formula:
        """The formula of the operands ``$1``, … and the axes of the signature."""
        raise NotImplementedError

    @once
    def meanings(self) -> Mapping[str, Meaning]:
        """The meaning of each name in the formula; raises NCDError for one without a meaning."""
        names = [leaf.text for leaf in leaves(self.rule) if isinstance(leaf, Name)]
        return {name: self._meaning(name) for name in dict.fromkeys(names)}

    def _meaning(self, name: str) -> Meaning:
        axes = {axis.name: axis for axis in (*self._known, *self.reads)}.values()
        found = {"position": _called(name, axes)}
        if name.startswith("n_"):
            found["size"] = _called(name[2:], axes)
        every = [(what, axis) for what, some in found.items() for axis in some]
        if len(every) > 1:
            words = " or ".join(f"the {what} of axis {axis}" for what, axis in every)
            raise ParseError(f"{name} could be {words}", cure="another name for one of the axes")
        if every:
            what, axis = every[0]
            if what == "position" and axis not in self.signature.cod[0].names:
                raise ParseError(
                    f"{name} is no axis of the result ({self.signature.cod[0]})",
                    cure=f"n_{name} for its size",
                )
            return Meaning(what, axis)
        if name in CONSTANTS:
            return Meaning("constant", name)
        if name.startswith("n_") and len(name) > 2:
            return Meaning("size", name[2:])
        known = [axis.identifier for axis in self.signature.cod[0]]
        known += [f"n_{axis.identifier}" for axis in axes] + list(CONSTANTS)
        fact = f"{name} is no axis of the result, no size and no constant"
        raise UnknownNameError(fact, cure=nearest_name(name, known))

    @property
    def _known(self) -> tuple[Axis, ...]:
        return tuple(dict.fromkeys((*self.signature.dom.axes, *self.signature.cod.axes)))

    def _spread(self, inputs: Type, rests: list[tuple[Array, Array]], binding: Binding) -> Type:
        outs = super()._spread(inputs, rests, binding)
        (new,) = self.signature.cod
        if not inputs or self.dom[0].names != new.names:
            return outs
        if set(outs[0].names) != set(inputs[0].names):
            return outs
        return Type((binding.resolve(Array(inputs[0], new.below)),))

    def check(self, binding: Binding) -> None:
        for meaning in self.meanings.values():
            axis = binding.get(meaning.axis)
            if meaning.what == "position" and axis is not None:
                check_plain(axis, "has no single position")
        axes = [*self.signature.dom.axes, *self.signature.cod.axes, *self.reads]
        if all(binding.size(axis.name) is not None for axis in axes):
            every = {axis.name: binding[axis.name] for axis in axes}
            arrays = Type(map(binding.resolve, self.dom))
            self._lowered(arrays, binding.resolve(self.signature.cod[0]), every)

    def _lowered(self, ins: Type, out: Array, every: Mapping[str, Axis]) -> Expr:
        names = {name: self._part(m, out, every) for name, m in self.meanings.items()}
        args = [_operand(i, array, out) for i, array in enumerate(ins)]
        return filled(lowered(self.rule, args, names), out.dims, out.below)

    def _part(self, meaning: Meaning, out: Array, every: Mapping[str, Axis]) -> Part:
        what, name = meaning
        if what == "constant":
            return constant(_VALUES[name])
        axis = every[name]
        if what == "size":
            return constant(axis.numel, Size((axis,)))
        (dim,) = axis.dims
        return Part(Position(dim, out.dims), "whole", frozenset((dim.key,)))

    def torch(self, site: Site) -> tuple[Expr, ...]:
        return (self._lowered(site.ins, site.outs[0], site.every),)

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        rule, gradient = self._plainly_named(self.rule), Operand(len(ins) + 1)
        found: list[Slot | None] = []
        for number, slot in enumerate(ins, start=1):
            slope = derivative(rule, number) if slot.real and outs[0].real else ZERO
            if slope == ZERO:
                found.append(None)
                continue
            whole = grads[0]
            if slope != ONE:
                whole = steps.map(times(slope, gradient), (*ins, whole), site.outs[0])
            found.append(steps.product((whole,), slot.axes))
        return tuple(found)

    def _plainly_named(self, formula: Formula) -> Formula:
        """Returns the formula with its names as any ``Map`` on the whole arrays reads them."""
        if isinstance(formula, Apply):
            parts = tuple(map(self._plainly_named, formula.parts))
            return Apply(formula.operation, parts)
        if not isinstance(formula, Name):
            return formula
        what, axis = self.meanings[formula.text]
        if what == "constant":
            return Number("1e999" if axis == "inf" else repr(_VALUES[axis]))
        name = Axis(axis).identifier
        return Name(name if what == "position" else f"n_{name}")

    def streamed(self, site: Site, axis: str) -> Streamed:
        """Returns a tile of the formula for every tile: it looks at one place at a time."""
        return Streamed()

    def formula(self, site: Site) -> str:
        return f"z = {latex(self.rule)}"


def _called(name: str, axes: Iterable[Axis]) -> list[str]:
    """Returns the names of the axes with this name or identifier."""
    return [axis.name for axis in axes if name in (axis.name, axis.identifier)]


def _operand(index: int, array: Array, out: Array) -> Part:
    expr: Expr = Arg(index)
    if array.dims != out.dims:
        expr = Align(expr, array.dims, out.dims)
    keys = frozenset(dim.key for dim in array.dims)
    return Part(expr, "real" if array.below is None else "whole", keys)


def check_operands(formula: Formula, arrays: Type) -> None:
    """Raises ParseError unless the formula uses each of the arrays and no others."""
    used = {leaf.number for leaf in leaves(formula) if isinstance(leaf, Operand)}
    count = len(arrays)
    for number in sorted(used):
        if not 1 <= number <= count:
            words = f"{count} array{'' if count == 1 else 's'}"
            cure = f"$1 to ${count}" if count > 1 else "$1" if count else "an array on the left"
            raise ParseError(f"there is no ${number}, it takes {words}", cure=cure)
    for number, array in enumerate(arrays, start=1):
        if number not in used:
            raise ParseError(
                f"the formula {formula} does not use ${number}, ({array})",
                cure="a pattern without it, and Wire to drop the array",
            )
