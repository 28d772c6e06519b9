"""Rules of broadcasting: the places in the outputs of the axes that an op does not name.

An op names the axes that it works on. Its inputs may have others, and each is an axis of its
outputs too; a rule says where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncd.errors import MismatchError
from ncd.language.axes import NO_AXES, Array, Axis, Signature, Type
from ncd.language.patterns import Binding, union
from ncd.language.terms import BroadcastSources

Others = Sequence[tuple[Array, Array]]  # of each input: before its first own axis, and after


@dataclass(frozen=True)
class BroadcastRule:
    """Puts other axes before and after the own axes of an output, as they stand in the inputs.

    Args:
        any_kind: Whether whole numbers are taken where the signature has real ones, and given.
        shares_axes: Whether all inputs have the same other axes.

    Source: the rules of numpy and torch, on names in place of positions.

    >>> from ncd.ops import Linear, Softmax
    >>> str(Linear("m -> k").infer_outputs(Type.parse("y m h")))
    'y k h'
    >>> str(Softmax("x").infer_outputs(Type.parse("y x h")))
    'y x h'
    """

    any_kind: bool = False
    shares_axes: bool = False

    def sources(self, signature: Signature) -> BroadcastSources:
        """Returns for each output the inputs that have all axes it is broadcast over."""
        count = len(signature.dom)
        return (tuple(range(count)) if self.shares_axes or count == 1 else (),) * len(signature.cod)

    def groups(self, signature: Signature) -> tuple[int, ...]:
        """Returns a number for each input and output, those with one name for one axis the same.

        Empty if a name is one axis in all of them.
        """
        return ()

    def outputs(self, signature: Signature, inputs: Type, others: Others, binding: Binding) -> Type:
        """Returns the whole outputs; raises MismatchError where an axis would have two places."""
        taken = {name for array in signature.dom for name in array.names}
        for (before, after), array, pattern in zip(others, inputs, signature.dom, strict=True):
            stray = [name for name in (*before.names, *after.names) if name in taken]
            if stray:
                raise MismatchError(
                    f"the array ({array}) has axis {stray[0]}, but the pattern takes ({pattern}) "
                    f"there and names {stray[0]} elsewhere",
                    cure=f"{stray[0]} in the pattern of this array too, or another name for it",
                )
        pairs = zip(self._axes(signature, inputs, others), signature.cod, strict=True)
        return Type(binding.with_known_sizes(self._array(axes, own, inputs)) for axes, own in pairs)

    def _axes(self, signature: Signature, inputs: Type, others: Others) -> Sequence[Iterable[Axis]]:
        """Returns the axes of each output."""
        if len(others) == 1 and not signature.dom[0]:  # new axes stand last
            others = [(inputs[0], NO_AXES)]
        first = union(before for before, _ in others)
        last = union(
            after if own else _axes_not_in(after, first)
            for (_, after), own in zip(others, signature.dom, strict=True)
        )
        for array in signature.cod:
            astray = [name for name in first.names if name in last.names]
            if astray:
                raise MismatchError(
                    f"axis {astray[0]} stands before ({array}) in one array and after it in "
                    "another",
                    cure=f"an Einsum before it, to put {astray[0]} in one place",
                )
        return [(*first, *array, *last) for array in signature.cod]

    def _array(self, axes: Iterable[Axis], own: Array, inputs: Type) -> Array:
        """Returns an output of these axes; raises MismatchError if one occurs twice."""
        below = own.below
        if below is None and self.any_kind:
            below = next((array.below for array in inputs if array.below), None)
        out = Array(axes, below)
        doubled = [name for name in own.names if out.names.count(name) > 1]
        if doubled:
            raise MismatchError(
                f"axis {doubled[0]} would appear twice in the result ({out})",
                cure=f"another name for the new axis {doubled[0]}",
            )
        return out


class InPlace(BroadcastRule):
    """Leaves all axes of the first input in their places, without those that the output lacks.

    An output of as many own axes has them in place of the input's, one by one. If other inputs add
    axes, it is the general rule.
    """

    def _axes(self, signature: Signature, inputs: Type, others: Others) -> Sequence[Iterable[Axis]]:
        array, old, new = inputs[0], signature.dom[0], signature.cod[0]
        if len(inputs) > 1:
            (axes,) = super()._axes(signature, inputs, others)
            if {axis.name for axis in axes} != {*array.names}:
                return [axes]
        if len(old) == len(new):
            names = {a.name: b for a, b in zip(old, new, strict=True) if a.name != b.name}
            return [[names.get(axis.name, axis) for axis in array]]
        dropped = {*old.names} - {*new.names}
        return [[axis for axis in array if axis.name not in dropped]]


@dataclass(frozen=True)
class PerInput(BroadcastRule):
    """Gives each output all axes of one input; arrays beside each other share none.

    Args:
        order: For each output the index of the input that it is.
    """

    any_kind: bool = True
    shares_axes: bool = False
    order: tuple[int, ...] = ()

    def sources(self, signature: Signature) -> BroadcastSources:
        return tuple((i,) for i in self.order)

    def groups(self, signature: Signature) -> tuple[int, ...]:
        return (*range(len(signature.dom)), *self.order)


class AsWritten(BroadcastRule):
    """Gives the outputs of the signature: nothing is broadcast."""

    def outputs(self, signature: Signature, inputs: Type, others: Others, binding: Binding) -> Type:
        return Type(map(binding.with_known_sizes, signature.cod))


def _axes_not_in(array: Array, others: Array) -> Array:
    """Returns the axes of ``array`` that are not in ``others``; raises MismatchError."""
    union((others, array))
    return Array(axis for axis in array if axis.name not in others.names)


LEADING, IN_PLACE = BroadcastRule(), InPlace()
LEADING_ANY, IN_PLACE_ANY = BroadcastRule(any_kind=True), InPlace(any_kind=True)
