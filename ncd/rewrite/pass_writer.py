"""The two terms of a cached pass: many positions at once, and one position after others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ncd.errors import MismatchError
from ncd.formulas.formula import Application, Formula, Name, Number, Operand
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.loops import Scan
from ncd.language.op import ArrayHandle, Op
from ncd.language.step_wires import drop_dead_steps
from ncd.language.terms import Term, rewrite_axes
from ncd.ops import Concat, Cumulative, Cut, Index, Pad, Window
from ncd.ops.elementwise import FormulaOp
from ncd.rewrite.cache_choice import CacheChoice, Demand, Form, Need, Span
from ncd.rewrite.causality import Causality
from ncd.rewrite.gradient import (
    ForwardTape,
    Parameters,
    TermRecorder,
    assemble_term,
    parameter_steps,
)
from ncd.rewrite.position_masks import NEUTRAL
from ncd.rewrite.position_steps import PositionStep

# --- What is kept between positions


@dataclass(frozen=True, eq=False)
class KeptArray:
    """An array that is kept from one position to the next.

    Args:
        slot: The array of the whole term.
        kind: ``"positions"`` for all so far, ``"window"`` for the last of them, ``"state"`` for
            what is carried on, ``"once"`` for what depends on other inputs alone.
        axis: The axis of its positions; empty for none.
        count: How many positions a window has.
        offset: How far behind the new position the last one is that is computed.
    """

    slot: ArrayHandle
    kind: Literal["positions", "window", "state", "once"]
    axis: str = ""
    count: int = 0
    offset: int = 0

    @property
    def numbers(self) -> int:
        """The count of its numbers: of a position, or in all for a state and what is kept once."""
        return math.prod(axis.numel for axis in self.slot.axes if axis.name != self.axis)

    @property
    def array(self) -> Array:
        """Its axes as it is kept: with room for all positions, or for the last ones."""
        axes = self.slot.axes
        if self.kind == "state":
            return axes.with_axes(a for a in axes if a.name != self.axis)
        if self.kind != "window":
            return axes
        size = self.count
        return axes.with_axes(replace(a, size=size) if a.name == self.axis else a for a in axes)


def arrays_to_cache(causality: Causality, demand: Demand, choice: CacheChoice) -> list[KeptArray]:
    """Returns all arrays that are kept: those chosen, and the states of scans and sums."""
    chosen = {each.slot: each for each in choice.arrays}
    found = []
    learned = {*causality.steps.weights.values()}
    for slot in causality.steps.inputs:
        if slot in chosen:
            found.append(_keep(demand, slot, chosen[slot].span))
    for step in causality.steps.steps:
        op = step.term
        for i, slot in enumerate(step.gives):
            if isinstance(op, Scan) and i < op.states and step.takes[i] not in learned:
                if demand.dependences[slot].moving:
                    found.append(KeptArray(slot, "state"))
            elif slot in chosen:
                found.append(_keep(demand, slot, chosen[slot].span))
            moving, own = demand.dependences[slot].moving, demand.positions.names(slot)
            if isinstance(op, Cumulative) and moving and op.axis[0].name in own:
                found.append(KeptArray(slot, "state", op.axis[0].name))
    return found


def _keep(demand: Demand, slot: ArrayHandle, span: Span | None) -> KeptArray:
    if span is None:
        return KeptArray(slot, "once")
    (name,), offset = demand.positions.names(slot), int(demand.offset(slot))
    if span.is_everything:
        return KeptArray(slot, "positions", name, 0, offset)
    return KeptArray(slot, "window", name, int(offset - span.start), offset)


# --- What both terms have in common: ops at other sizes, and pieces of arrays


class PassWriter(ForwardTape):
    """Writes the steps of a term at other sizes of the axes of positions."""

    def __init__(self, causality: Causality) -> None:
        super().__init__(Parameters(dict(causality.steps.parameters.ops)))
        self.causality, self.base = causality, causality.steps
        self.learned = dict(self.base.weights)
        self.positions, self.length = causality.positions, causality.length

    def write_at(
        self, step: PositionStep, ins: Sequence[ArrayHandle], sizes: Mapping[str, int | None]
    ) -> tuple[ArrayHandle, ...]:
        """Adds a step whose axes of positions have other sizes."""
        self.path, self.written = step.path, step.source_op

        def change(axis: Axis) -> Axis:
            return replace(axis, size=sizes[axis.name]) if axis.name in sizes else axis

        term = rewrite_axes(step.term, change)
        if isinstance(term, Op) and not isinstance(term, Scan):
            return self.call(term, *ins)
        return TermRecorder.call(self, term, *ins)

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

    def assemble(self, inputs: Sequence[ArrayHandle], outputs: Sequence[ArrayHandle]) -> Term:
        """Returns the steps as a term, with the parameters that it needs."""
        live = drop_dead_steps(self.steps, (*outputs,))
        used = {slot for step in live for slot in step.takes} | {*outputs}
        self.learned = {path: slot for path, slot in self.learned.items() if slot in used}
        self.parameters = Parameters({path: self.parameters.ops[path] for path in self.learned})
        return assemble_term([*parameter_steps(self), *live], tuple(inputs), tuple(outputs))


def _clamp(places: Formula, size: int) -> Formula:
    """Returns places along an axis of this size, those beyond its ends at the ends."""
    least = Application("max", (places, Number("0")))
    return Application("min", (least, Number(str(size - 1))))


# --- Many positions at once


class PrefillWriter(PassWriter):
    """The whole pass over some positions, which also gives what is kept.

    Args:
        causality: The term.
        kept: The arrays that are kept.
        count: How many positions it takes.
    """

    def __init__(self, causality: Causality, kept: Sequence[KeptArray], count: int) -> None:
        super().__init__(causality)
        self.kept, self.shorter = kept, count
        self.made: dict[ArrayHandle, ArrayHandle] = {}

    def term(self) -> Term:
        """Returns the term: the inputs to the outputs, then the arrays that are kept."""
        for path, slot in self.base.weights.items():
            self.made[slot] = self._cut_table(self.learned[path])
        inputs = []
        for slot in self.base.inputs:
            sizes = dict.fromkeys(self.positions.names(slot), self.shorter)
            axes = (replace(a, size=sizes.get(a.name, a.size)) for a in slot.axes)
            self.made[slot] = ArrayHandle(slot.axes.with_axes(axes))
            inputs.append(self.made[slot])
        for step in self.base.steps:
            made = self.write_at(step, [self.made[s] for s in step.takes], self._sizes(step))
            self.made.update(zip(step.gives, made, strict=True))
        outputs = [self.made[slot] for slot in self.base.outputs]
        return self.assemble(inputs, (*outputs, *map(self._keep, self.kept)))

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
            places = _clamp(inside, own.numel)
            return self.looked_up(slot, own.name, places, (), own.numel + before + after)
        return self.rename(made, Array((long,)), Array((replace(long, name=own.name),)))


# --- One position after others


class StepWriter(PassWriter):
    """The pass of one new position, which takes what is kept and gives it anew.

    Args:
        causality: The term.
        demand: Which positions of each array are needed.
        kept: The arrays that are kept.
    """

    def __init__(self, causality: Causality, demand: Demand, kept: Sequence[KeptArray]) -> None:
        super().__init__(causality)
        self.demand, self.kept = demand, kept
        taken = {
            a.name for step in self.base.steps for s in (*step.takes, *step.gives) for a in s.axes
        }
        name = "place"
        while name in taken:
            name += "_"
        self.place = ArrayHandle(Array((), Axis(name, self.length)))
        self.made: dict[Need, ArrayHandle] = {}
        self.old = {one: ArrayHandle(one.array) for one in kept}
        self.new: dict[KeptArray, ArrayHandle] = {}
        self.by_slot = {one.slot: one for one in kept if one.kind in ("positions", "window")}
        self.states = {one.slot: one for one in kept if one.kind in ("state", "once")}
        self.inputs: dict[ArrayHandle, ArrayHandle] = {}

    def term(self) -> Term:
        """Returns the term: new inputs, the place, what is kept, to outputs and what is kept."""
        for slot in self.base.inputs:
            if self.demand.dependences[slot].moving:
                self.inputs[slot] = self._fresh_input(slot)
        for need in self._order():
            self.get(need)
        outputs = [self.get((slot, self.demand.now(slot))) for slot in self.base.outputs]
        for one in self.kept:
            if one.kind in ("positions", "window") and one not in self.new:
                self._update(one)
        takes = (*self.inputs.values(), self.place, *(self.old[one] for one in self.kept))
        gives = (*outputs, *(self.new[one] for one in self.kept if one.kind != "once"))
        return self.assemble(takes, gives)

    def _fresh_input(self, slot: ArrayHandle) -> ArrayHandle:
        names = self.positions.names(slot)
        axes = (replace(a, size=1) if a.name in names else a for a in slot.axes)
        return ArrayHandle(slot.axes.with_axes(axes))

    def _order(self) -> list[Need]:
        """Returns what is needed, in the order of the steps, so that no chain of calls is deep."""
        todo: list[Need] = [(slot, self.demand.now(slot)) for slot in self.base.outputs]
        todo += [(one.slot, self.demand.now(one.slot)) for one in self.by_slot.values()]
        seen: dict[Need, None] = {}
        while todo:
            need = todo.pop()
            if need in seen:
                continue
            seen[need] = None
            todo += self._needs(*need)
        place = {slot: i for i, step in enumerate(self.base.steps) for slot in step.gives}
        return sorted(
            seen,
            key=lambda need: (place.get(need[0], -1), self.demand.is_past(*need)),
        )

    def _needs(self, slot: ArrayHandle, form: Form) -> list[Need]:
        """Returns what an array in a form is made of."""
        if self.demand.is_past(slot, form) and slot in self.by_slot:
            return [(slot, self.demand.now(slot))]
        step = self.base.maker.get(slot)
        if step is None or (slot in self.states and self.states[slot].kind == "once"):
            return []
        needs = self.demand.needs(step, slot, form)
        if isinstance(step.term, Scan):
            return [need for i, need in enumerate(needs) if not self._is_carried(step, i)]
        return needs

    def _is_carried(self, step: PositionStep, i: int) -> bool:
        """Returns whether an input of a scan is a state that is kept."""
        assert isinstance(step.term, Scan)
        return i < step.term.states and step.gives[i] in self.states

    # --- one array in one form

    def get(self, need: Need) -> ArrayHandle:
        """Returns an array in a form, which is written at its first use."""
        if need not in self.made:
            self.made[need] = self._make(*need)
        return self.made[need]

    def _make(self, slot: ArrayHandle, form: Form) -> ArrayHandle:
        if slot in self.states and self.states[slot].kind == "once":
            return self.old[self.states[slot]]
        if self.demand.is_past(slot, form) and slot in self.by_slot:
            return self._past(self.by_slot[slot], form[0][1])
        step = self.base.maker.get(slot)
        if step is None:
            return self._source(slot, form)
        if isinstance(step.term, Scan) and self.demand.dependences[slot].moving:
            return self._scan(step, slot)
        needs = self._needs(slot, form)
        ins = [self.get(each) for each in needs]
        spans = dict(form)
        for each in needs:
            spans = {**dict(each[1]), **spans}
        op = step.term
        if isinstance(op, Cumulative) and slot in self.states:
            return self._running(step, slot, ins[0])
        if not all(span.is_everything for span in spans.values()):
            if isinstance(op, Pad) and op.dom[0][0].name in spans:
                return self._pad(step, op, spans, ins[0])
            if isinstance(op, Cut) and op.concatenated_axis.name in spans:
                return self._cut(step, op, slot, ins[0])
            if isinstance(op, Concat) and op.concatenated_axis.name in spans:
                return self._join_pieces(step, op, spans, ins)
            if isinstance(op, FormulaOp) and self._reads_positions(op, spans):
                return self._formula(step, op, slot, spans, ins)
        return self._op(step, slot, form, spans, needs, ins)

    def _source(self, slot: ArrayHandle, form: Form) -> ArrayHandle:
        """Returns an input at the new position, or a parameter at some of its positions."""
        if slot in self.inputs:
            return self.inputs[slot]
        for name, span in form:
            if not span.is_everything:
                size = next(a.numel for a in slot.axes if a.name == name)
                slot = self._looked_up_at(slot, name, span, size)
        return slot

    def _looked_up_at(self, slot: ArrayHandle, name: str, span: Span, size: int) -> ArrayHandle:
        """Adds an array at the positions of a span; those before the first are the first."""
        axis = next(a for a in slot.axes if a.name == name)
        at = self._index(axis.identifier, span, Operand(1))
        return self.looked_up(slot, name, _clamp(at, size), (self.place,), span.size)

    @staticmethod
    def _index(name: str, span: Span, place: Formula) -> Formula:
        """Returns the position in the sequence of place ``name`` of a span."""
        first = int(span.start)
        whole = Application("+", (Name(name), place))
        if not first:
            return whole
        return Application("+" if first > 0 else "-", (whole, Number(str(abs(first)))))

    def _op(
        self,
        step: PositionStep,
        slot: ArrayHandle,
        form: Form,
        spans: Mapping[str, Span],
        needs: Sequence[Need],
        ins: list[ArrayHandle],
    ) -> ArrayHandle:
        """Adds an op at the sizes of its arrays."""
        for name, sight in self.causality.sights.get(step, {}).items():
            used = self._joined_spans(step, needs)[name]
            if not used.is_everything and used.start < 0:
                ins = [self._hidden(one, name, used, sight.rule.tile_reduction) for one in ins]
        sizes: dict[str, int | None] = {}
        for one, array in zip((*step.takes, *step.gives), (*ins, *step.gives), strict=True):
            for name in self.positions.names(one):
                own = next((a.size for a in array.axes if a.name == name), None)
                if name in spans and not spans[name].is_everything and one in step.gives:
                    own = spans[name].size
                sizes.setdefault(name, own)
        made = self.write_at(step, ins, sizes)
        real = {**spans, **self._joined_spans(step, needs)}
        for other, one in zip(step.gives, made, strict=True):
            own = tuple((name, real[name]) for name in self.positions.names(other) if name in real)
            self.made.setdefault((other, own), one)
        found = made[step.gives.index(slot)]
        for name, span in form:
            if real[name] != span:
                found = self._part(found, name, real[name], span)
        return found

    def _joined_spans(self, step: PositionStep, needs: Sequence[Need]) -> dict[str, Span]:
        """Returns the positions that an op reads along the axes that it joins."""
        every = {**self.causality.sights.get(step, {})}
        if isinstance(step.term, Cumulative):
            every[step.term.axis[0].name] = None  # type: ignore[assignment]
        return {name: dict(own)[name] for name in every for _, own in needs if name in dict(own)}

    def _part(self, slot: ArrayHandle, name: str, whole: Span, span: Span) -> ArrayHandle:
        """Adds some positions of an array that holds more."""
        if whole.is_everything:
            size = next(a.numel for a in slot.axes if a.name == name)
            return self._looked_up_at(slot, name, span, size)
        if span.is_everything:
            fact = f"all places along {name} are needed where {whole.size} are there"
            raise MismatchError(fact, where="decode")
        return self.piece(slot, name, int(span.start - whole.start), span.size)

    def _hidden(self, slot: ArrayHandle, name: str, span: Span, how: str) -> ArrayHandle:
        """Adds numbers that change nothing where a position would be before the first."""
        if name not in slot.axes.names:
            return slot
        neutral = NEUTRAL[how] if how else -math.inf
        axis = next(a for a in slot.axes if a.name == name)
        number: Formula = Number("1e999" if math.isinf(neutral) else str(int(neutral)))
        number = Application("-", (number,)) if neutral < 0 else number
        before = Application("<", (self._index(axis.identifier, span, Operand(2)), Number("0")))
        rule = Application("where", (before, number, Operand(1)))
        return self.map(rule, (slot, self.place), slot.axes)

    def _reads_positions(self, op: FormulaOp, spans: Mapping[str, Span]) -> bool:
        read = {m.axis for m in op.meanings.values() if m.kind == "position"}
        return any(name in spans and not spans[name].is_everything for name in read)

    def _formula(
        self,
        step: PositionStep,
        op: FormulaOp,
        slot: ArrayHandle,
        spans: Mapping[str, Span],
        ins: Sequence[ArrayHandle],
    ) -> ArrayHandle:
        """Adds a formula of positions, which are counted from the new one."""
        place = Operand(len(ins) + 1)
        counted = {Axis(n).identifier: s for n, s in spans.items() if not s.is_everything}

        def moved(rule: Formula) -> Formula:
            if isinstance(rule, Application):
                return Application(rule.operation, tuple(map(moved, rule.parts)))
            if isinstance(rule, Name) and rule.text in counted:
                return self._index(rule.text, counted[rule.text], place)
            return rule

        self.reads = tuple(step.site.reads)
        rule = moved(op.plainly_named(op.defining_formula))
        array = self._array_in(slot, spans)
        return self.map(rule, (*ins, self.place), array, getattr(op, "title", ""))

    def _array_in(self, slot: ArrayHandle, spans: Mapping[str, Span]) -> Array:
        return slot.axes.with_axes(
            replace(a, size=spans[a.name].size)
            if a.name in spans and not spans[a.name].is_everything
            else a
            for a in slot.axes
        )

    # --- shifts

    def _pad(
        self, step: PositionStep, op: Pad, spans: Mapping[str, Span], x: ArrayHandle
    ) -> ArrayHandle:
        """Adds the constant where a place lies before the first position."""
        (old,), (new,) = op.dom[0], op.signature.cod[0]
        x = self._rename_axis(x, old.name, new.name)
        if not op.before:
            return x
        at = self._index(Axis(new.name).identifier, spans[new.name], Operand(2))
        inside = Application("<", (at, Number(str(op.before))))
        value: Formula = Number(repr(abs(op.value)).replace("inf", "1e999"))
        value = Application("-", (value,)) if op.value < 0 else value
        rule = Application("where", (inside, value, Operand(1)))
        return self.map(rule, (x, self.place), x.axes)

    def _rename_axis(self, x: ArrayHandle, old: str, new: str) -> ArrayHandle:
        axis = next(a for a in x.axes if a.name == old)
        return self.rename(x, Array((axis,)), Array((replace(axis, name=new, label=""),)))

    def _cut(self, step: PositionStep, op: Cut, slot: ArrayHandle, x: ArrayHandle) -> ArrayHandle:
        """Adds a piece, which is the array itself at other positions."""
        piece = op.pieces[step.gives.index(slot)]
        return self._rename_axis(x, op.concatenated_axis.name, piece.name)

    def _join_pieces(
        self, step: PositionStep, op: Concat, spans: Mapping[str, Span], ins: list[ArrayHandle]
    ) -> ArrayHandle:
        """Adds the piece in which a position lies."""
        new = op.concatenated_axis.name
        named = [self._rename_axis(x, p.name, new) for x, p in zip(ins, op.pieces, strict=True)]
        at = self._index(Axis(new).identifier, spans[new], Operand(len(ins) + 1))
        rule: Formula = Operand(len(ins))
        for i in range(len(ins) - 1, 0, -1):
            inside = Application("<", (at, Number(str(op.offset(step.site, i)))))
            rule = Application("where", (inside, Operand(i), rule))
        return self.map(rule, (*named, self.place), self._array_in(step.gives[0], spans))

    # --- what is kept

    def _past(self, one: KeptArray, span: Span) -> ArrayHandle:
        """Returns positions of an array that is kept, with the new one among them."""
        whole = self._update(one)
        if one.kind == "positions":
            if span.is_everything:
                return whole
            size = next(a.numel for a in whole.axes if a.name == one.axis)
            return self._looked_up_at(whole, one.axis, span, size)
        skipped = int(span.start - (one.offset - one.count))
        return self.piece(whole, one.axis, skipped, span.size)

    def _update(self, one: KeptArray) -> ArrayHandle:
        """Returns an array that is kept, with the new position in its place; and keeps that."""
        need = one.slot, (("", Span(0, 0)),)  # under a form that no array has
        if need in self.made:
            return self.made[need]
        now, old = self.get((one.slot, self.demand.now(one.slot))), self.old[one]
        whole = (
            self._write_place(one, old, now)
            if one.kind == "positions"
            else self._slide(one, old, now)
        )
        self.made[need] = whole
        return whole

    def _write_place(self, one: KeptArray, old: ArrayHandle, now: ArrayHandle) -> ArrayHandle:
        """Writes the new position; the places behind it hold it too, and are never seen."""
        axis = next(a for a in old.axes if a.name == one.axis)
        at: Formula = Operand(3)
        if one.offset:
            at = Application("-", (at, Number(str(-one.offset))))
        rule = Application(
            "where", (Application("<", (Name(axis.identifier), at)), Operand(1), Operand(2))
        )
        self.new[one] = self.map(rule, (old, self.drop_axis(now, one.axis), self.place), old.axes)
        return self.new[one]

    def _slide(self, one: KeptArray, old: ArrayHandle, now: ArrayHandle) -> ArrayHandle:
        """Puts the new position behind the last ones, and keeps all but the first of them."""
        axis = next(a for a in old.axes if a.name == one.axis)
        past, new = (
            self.fresh(f"{axis.identifier}_past", one.count),
            self.fresh(f"{axis.identifier}_new", 1),
        )
        last = next(a for a in now.axes if a.name == one.axis)
        before = self.rename(old, Array((axis,)), Array((past,)))
        after = self.rename(now, Array((last,)), Array((new,)))
        whole = replace(axis, size=one.count + 1)
        pattern = Signature(Type((Array((past,)), Array((new,)))), Type((Array((whole,)),)))
        (made,) = self.call(Concat(pattern), before, after)
        self.new[one] = self.piece(made, one.axis, 1, one.count)
        return made

    def _scan(self, step: PositionStep, slot: ArrayHandle) -> ArrayHandle:
        """Adds one step of a scan, from the states that are kept."""
        scan = step.term
        assert isinstance(scan, Scan)
        ins = []
        for i, each in enumerate(step.takes):
            carried = self._is_carried(step, i)
            ins.append(
                self.old[self.states[step.gives[i]]]
                if carried
                else self.get((each, self.demand.now(each)))
            )
        made = self.write_at(step, ins, {scan.axis[0].name: 1})
        for other, one in zip(step.gives, made, strict=True):
            if other in self.states:
                self.new[self.states[other]] = one
            self.made[other, self.demand.now(other)] = one
        return self.made[slot, self.demand.now(slot)]

    def _running(self, step: PositionStep, slot: ArrayHandle, now: ArrayHandle) -> ArrayHandle:
        """Adds the sum so far and the new number, or their product."""
        op = step.term
        assert isinstance(op, Cumulative)
        one, name = self.states[slot], op.axis[0].name
        sign = "$1 + $2" if op.how == "sum" else "$1 * $2"
        left = self.drop_axis(now, name)
        total = self.map(sign, (self.old[one], left), left.axes)
        self.new[one] = total
        return self.map("$1", (total,), now.axes)
