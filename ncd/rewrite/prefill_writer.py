"""The term of the first positions of a cached pass, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ncd.formulas.formula import Application, Name, Number
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.op import ArrayHandle
from ncd.language.terms import Term
from ncd.ops import Concat, Cut, Pad, Window
from ncd.rewrite.causality import Causality
from ncd.rewrite.kept_arrays import KeptArray, KeptStack
from ncd.rewrite.pass_writer import PassWriter, clamp_places
from ncd.rewrite.position_steps import PositionStep


class PrefillWriter(PassWriter):
    """The whole pass over some positions, which also gives what is kept.

    Args:
        causality: The term.
        kept: The arrays that are kept.
        count: How many positions it takes.
    """

    def __init__(self, causality: Causality, kept: Sequence[KeptStack], count: int) -> None:
        super().__init__(causality, kept)
        self.shorter = count
        self.made: dict[ArrayHandle, ArrayHandle] = {}

    def term(self) -> Term:
        """Returns the term: the inputs to the outputs, then the arrays that are kept."""
        for slot, weight in self.base.weights.items():
            with self.home_at(weight.home):
                self.made[slot] = self._cut_table(slot)
        inputs = []
        for slot in self.base.inputs:
            sizes = dict.fromkeys(self.positions.names(slot), self.shorter)
            axes = (replace(a, size=sizes.get(a.name, a.size)) for a in slot.axes)
            self.made[slot] = ArrayHandle(slot.axes.with_axes(axes))
            inputs.append(self.made[slot])
        for step in self.base.steps:
            with self.home_at(step.home):
                ins = [self.made[slot] for slot in step.takes]
                made = self.write_at(step, ins, self._sizes(step))
            self.made.update(zip(step.gives, made, strict=True))
        outputs = [self.made[slot] for slot in self.base.outputs]
        return self.assemble(inputs, (*outputs, *map(self.array_to_keep, self.kept)))

    def first_array(self, stack: KeptStack) -> ArrayHandle:
        return self.zeros(stack.array)

    def layer_array(self, one: KeptArray) -> ArrayHandle:
        maker = self.base.maker.get(one.slot)
        with self.home_at(maker.home if maker is not None else ()):
            return self._keep(one)

    def _shorter(self, size: int) -> int:
        """Returns the size of an axis of positions for so many positions of the sequence."""
        return size - self.length + self.shorter if size >= self.length else size

    def _cut_table(self, slot: ArrayHandle) -> ArrayHandle:
        for name in self.positions.names(slot):
            size = next(a.numel for a in slot.axes if a.name == name)
            slot = self.piece(slot, name, 0, self._shorter(size))
        return slot

    def _sizes(self, step: PositionStep) -> dict[str, int | None]:
        """Returns the sizes of the axes of positions of a step; those that follow are left open."""
        sizes: dict[str, int | None] = {}
        for slot in step.gives:
            for name in self.positions.names(slot):
                size = next(a.numel for a in slot.axes if a.name == name)
                sizes[name] = None if isinstance(step.term, Pad | Window) else self._shorter(size)
        for slot in step.takes:
            new = {a.name: a.numel for a in self.made[slot].axes}
            sizes |= {name: new[name] for name in self.positions.names(slot)}
        if isinstance(step.term, Concat | Cut):
            self._open_one(step, step.term, sizes)
        return sizes

    def _open_one(self, step: PositionStep, op: Concat | Cut, sizes: dict[str, int | None]) -> None:
        """Leaves the size of the longest piece open, which is the one that grows."""
        if op.concatenated_axis.name not in sizes:
            return
        if isinstance(op, Concat):
            sizes[op.concatenated_axis.name] = None
            return
        longest = max(op.pieces, key=lambda axis: step.site.size(axis.name))
        for axis in op.pieces:
            sizes[axis.name] = None if axis is longest else step.site.size(axis.name)

    def _keep(self, kept: KeptArray) -> ArrayHandle:
        """Returns an array as it is kept: with room for more positions, or the last of them."""
        slot = self.made[kept.slot]
        if not kept.axis:
            return slot
        axis = next(a for a in slot.axes if a.name == kept.axis)
        if kept.kind == "positions":
            size = next(a.numel for a in kept.slot.axes if a.name == kept.axis)
            return self._pad_ends(slot, axis, 0, size - axis.numel)
        if kept.kind == "state":
            return self.drop_axis(self.piece(slot, axis.name, self.shorter - 1, 1), axis.name)
        end = self.shorter + kept.offset
        first = end - kept.count
        part = self.piece(slot, axis.name, max(first, 0), max(end - max(first, 0), 1))
        missing = kept.count - next(a.numel for a in part.axes if a.name == kept.axis)
        return self._pad_ends(part, axis, missing, 0)

    def _pad_ends(self, slot: ArrayHandle, axis: Axis, before: int, after: int) -> ArrayHandle:
        """Adds places before and after those of an axis; what is there is never read."""
        if not before and not after:
            return slot
        own = next(a for a in slot.axes if a.name == axis.name)
        long = replace(own, name=f"{own.name}_long", size=own.numel + before + after, label="")
        if slot.real:
            pattern = Signature(Type((Array((own,)),)), Type((Array((long,)),)))
            (made,) = self.call(Pad(pattern, before, after), slot)
        else:
            inside = Application("-", (Name(own.identifier), Number(str(before))))
            places = clamp_places(inside, own.numel)
            return self.looked_up(slot, own.name, places, (), own.numel + before + after)
        return self.rename(made, Array((long,)), Array((replace(long, name=own.name),)))
