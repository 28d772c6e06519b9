"""The base of both terms of a cached pass: ops at other sizes, and pieces of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ncd.formulas.formula import Application, Formula, Number
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.op import ArrayHandle
from ncd.language.step_wires import drop_dead_steps
from ncd.language.terms import Term, rewrite_axes
from ncd.ops import Cut, Index
from ncd.rewrite.causality import Causality
from ncd.rewrite.gradient import TermRecorder
from ncd.rewrite.kept_arrays import KeptArray, KeptStack
from ncd.rewrite.position_steps import PlacedTape, PositionStep
from ncd.rewrite.step_blocks import Home, PlacedStep, write_blocks


@dataclass(frozen=True)
class LayerState:
    """The arrays that layers keep, before one of the layers.

    Args:
        number: The number of the layer.
        arrays: The arrays of all layers, those of the layers before as they are afterwards.
    """

    number: ArrayHandle
    arrays: Mapping[KeptStack, ArrayHandle]


class PassWriter(PlacedTape):
    """Writes the steps of a term at other sizes of the axes of positions, in their blocks."""

    def __init__(self, causality: Causality, kept: Sequence[KeptStack]) -> None:
        super().__init__()
        self.causality, self.base, self.kept = causality, causality.steps, kept
        self.weights.update(self.base.weights)
        self.positions, self.length = causality.positions, causality.length
        self.placed: list[PlacedStep] = []
        self.writes_out = False  # whether ops are written with their weights as arrays
        self.layers: dict[tuple[Home, ...], list[LayerState]] = {}

    def call(self, term: Term, *slots: ArrayHandle) -> tuple[ArrayHandle, ...]:
        if self.writes_out:
            return super().call(term, *slots)
        return TermRecorder.call(self, term, *slots)

    def place_steps(self) -> None:
        """Notes the blocks of the steps that were written since the last time."""
        self.placed += [
            PlacedStep(step.term, step.takes, step.gives, self.home)
            for step in self.steps[len(self.placed) :]
        ]

    @contextmanager
    def home_at(self, home: Home) -> Iterator[None]:
        """Writes steps inside of these blocks."""
        self.place_steps()
        before, self.home = self.home, home
        yield
        self.place_steps()
        self.home = before

    def write_at(
        self, step: PositionStep, ins: Sequence[ArrayHandle], sizes: Mapping[str, int | None]
    ) -> tuple[ArrayHandle, ...]:
        """Adds a step whose axes of positions have other sizes."""

        def change(axis: Axis) -> Axis:
            return replace(axis, size=sizes[axis.name]) if axis.name in sizes else axis

        self.enter(step.home, step.scope, step.path, step.source_op)
        return self.call(rewrite_axes(step.term, change), *ins)

    def piece(
        self, slot: ArrayHandle, name: str, first: int, count: int, rename: bool = False
    ) -> ArrayHandle:
        """Adds the part of an array along an axis, which keeps its name."""
        axis = next(a for a in slot.axes if a.name == name)
        rest = axis.numel - first - count
        if not first and not rest:
            return slot
        before = [self.fresh(f"{axis.identifier}_before", first)] if first else []
        after = [self.fresh(f"{axis.identifier}_after", rest)] if rest else []
        whole, own = replace(axis, name=f"{axis.name}_all", label=""), replace(axis, size=count)
        x = self.rename(slot, Array((axis,)), Array((whole,)))
        pieces = [*before, own, *after]
        pattern = Signature(Type((Array((whole,)),)), Type(Array((each,)) for each in pieces))
        return self.call(Cut(pattern), x)[len(before)]

    def fresh(self, name: str, size: int) -> Axis:
        """Returns an axis of a name that no array of the term has."""
        return Axis(f"{name}_", size)

    def drop_axis(self, slot: ArrayHandle, name: str) -> ArrayHandle:
        """Adds an array without an axis of size 1."""
        left = slot.axes.with_axes(a for a in slot.axes if a.name != name)
        pattern = Signature(Type((slot.axes,)), Type((left,)))
        return self.call(Index(pattern, {name: 0}), slot)[0]

    def looked_up(
        self,
        slot: ArrayHandle,
        name: str,
        places: Formula,
        given: Sequence[ArrayHandle],
        count: int,
    ) -> ArrayHandle:
        """Adds an array at places along an axis, given by a formula of their number."""
        axis = next(a for a in slot.axes if a.name == name)
        table = replace(axis, name=f"{axis.name}_all", label="")
        x = self.rename(slot, Array((axis,)), Array((table,)))
        one = replace(axis, size=count)
        at = self.map(places, given, Array((one,), table))
        out = slot.axes.with_axes(one if a.name == name else a for a in slot.axes)
        return self.call(Index(Signature(Type((at.axes, x.axes)), Type((out,)))), at, x)[0]

    # --- the arrays that equal layers keep, as one

    def layer_state(self, layers: tuple[Home, ...], n: int) -> LayerState:
        """Returns the arrays that layers keep, before layer ``n``."""
        stacks = [stack for stack in self.kept if stack.layers == layers]
        found = self.layers.setdefault(layers, [])
        if not found:
            with self.home_at(layers[0][:-1]):
                number = self.map("0", (), Array((), stacks[0].axis), "layer")
                found.append(LayerState(number, {one: self.first_array(one) for one in stacks}))
        while len(found) <= n:
            found.append(self._next_state(stacks, found[-1], len(found) - 1))
        return found[n]

    def _next_state(self, stacks: Sequence[KeptStack], old: LayerState, n: int) -> LayerState:
        news = {stack: self.layer_array(stack.members[n]) for stack in stacks}
        axis = stacks[0].axis
        assert axis is not None
        rule, arrays = f"where({axis.identifier} == $2, $3, $1)", {**old.arrays}
        with self.home_at(stacks[0].layers[n]):
            for stack, new in news.items():
                if new is not None:
                    slots = (old.arrays[stack], old.number, new)
                    arrays[stack] = self.map(rule, slots, stack.array, "write")
            last = axis.numel - 1
            number = self.map(f"min($1 + 1, {last})", (old.number,), Array((), axis), "next layer")
        return LayerState(number, arrays)

    def stacked_array(self, stack: KeptStack) -> ArrayHandle:
        """Returns the arrays of all layers, after the last of them."""
        return self.layer_state(stack.layers, len(stack.members)).arrays[stack]

    def array_to_keep(self, stack: KeptStack) -> ArrayHandle:
        """Returns what a layer, or all layers of a stack, keep after the new positions."""
        if stack.axis is not None:
            return self.stacked_array(stack)
        made = self.layer_array(stack.first_member)
        assert made is not None, "what is kept once is not kept again"
        return made

    def first_array(self, stack: KeptStack) -> ArrayHandle:
        """Returns the arrays of all layers before the first of them."""
        raise NotImplementedError

    def layer_array(self, one: KeptArray) -> ArrayHandle | None:
        """Returns what a layer keeps; None for what it has kept before."""
        raise NotImplementedError

    # --- the term

    def assemble(self, inputs: Sequence[ArrayHandle], outputs: Sequence[ArrayHandle]) -> Term:
        """Returns the steps as a term, with the parameters that it needs."""
        for layers in self.layers:
            self.layer_state(layers, len(layers))
        self.place_steps()
        numbers = (state.number for states in self.layers.values() for state in states)
        live = drop_dead_steps(self.placed, (*outputs, *numbers))
        used = dict.fromkeys((*(slot for step in live for slot in step.takes), *outputs))
        weights = [
            PlacedStep(weight.op, (), (slot,), weight.home, weight.local_path)
            for slot in used
            if (weight := self.weights.get(slot))
        ]
        return write_blocks([*weights, *live], (*inputs,), (*outputs,), self.base.blocks)


def clamp_places(places: Formula, size: int) -> Formula:
    """Returns places along an axis of this size, those beyond its ends at the ends."""
    least = Application("max", (places, Number("0")))
    return Application("min", (least, Number(str(size - 1))))
