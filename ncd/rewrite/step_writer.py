"""The term of one new position of a cached pass, which takes what is kept of others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ncd.errors import MismatchError
from ncd.formulas.formula import Application, Formula, Name, Number, Operand
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.loops import Scan
from ncd.language.op import ArrayHandle, Op
from ncd.language.terms import Term
from ncd.ops import Concat, Cumulative, Cut, Index, Pad
from ncd.ops.elementwise import FormulaOp
from ncd.rewrite.cache_choice import Demand, Form, Need, Span
from ncd.rewrite.causality import Causality
from ncd.rewrite.kept_arrays import KeptArray, KeptStack
from ncd.rewrite.pass_writer import PassWriter, clamp_places
from ncd.rewrite.position_masks import NEUTRAL
from ncd.rewrite.position_steps import PositionStep

UPDATED_FORM: Form = (("", Span(0, 0)),)  # the form of an array that is kept, with the new position


class StepWriter(PassWriter):
    """The pass of one new position, which takes what is kept and gives it anew.

    Args:
        causality: The term.
        demand: Which positions of each array are needed.
        kept: The arrays that are kept.
    """

    def __init__(self, causality: Causality, demand: Demand, kept: Sequence[KeptStack]) -> None:
        super().__init__(causality, kept)
        self.demand = demand
        taken = {
            a.name for step in self.base.steps for s in (*step.takes, *step.gives) for a in s.axes
        }
        name = "place"
        while name in taken:
            name += "_"
        self.place = ArrayHandle(Array((), Axis(name, self.length)))
        self.made: dict[Need, ArrayHandle] = {}
        self.given = {stack: ArrayHandle(stack.array) for stack in kept}
        self.stacks = {one: stack for stack in kept for one in stack.members}
        self.old: dict[KeptArray, ArrayHandle] = {}
        self.new: dict[KeptArray, ArrayHandle] = {}
        self.by_slot = {one.slot: one for one in self.stacks if one.kind in ("positions", "window")}
        self.states = {one.slot: one for one in self.stacks if one.kind in ("state", "once")}
        self.repeated: set[PositionStep] = set()  # steps that run for several sets of positions
        self.inputs: dict[ArrayHandle, ArrayHandle] = {}

    def term(self) -> Term:
        """Returns the term: new inputs, the place, what is kept, to outputs and what is kept."""
        for slot in self.base.inputs:
            if self.demand.dependences[slot].moving:
                self.inputs[slot] = self._fresh_input(slot)
        order = self._order()
        self._note_repeated(order)
        for need in order:
            self.get(need)
        outputs = [self.get((slot, self.demand.now(slot))) for slot in self.base.outputs]
        changing = (stack for stack in self.kept if stack.first_member.kind != "once")
        new = map(self.array_to_keep, changing)
        takes = (*self.inputs.values(), self.place, *self.given.values())
        return self.assemble(takes, (*outputs, *new))

    def _note_repeated(self, order: Sequence[Need]) -> None:
        forms: dict[PositionStep, set[Form]] = {}
        for slot, form in order:
            step = self.base.maker.get(slot)
            if step is not None and not self._is_kept_past(slot, form):
                forms.setdefault(step, set()).add(form)
        self.repeated = {step for step, own in forms.items() if len(own) > 1}

    # --- what is kept of each layer

    def first_array(self, stack: KeptStack) -> ArrayHandle:
        return self.given[stack]

    def layer_array(self, one: KeptArray) -> ArrayHandle | None:
        return None if one.kind == "once" else self._new_array(one)

    def _new_array(self, one: KeptArray) -> ArrayHandle:
        if one not in self.new:
            form = self.demand.now(one.slot) if one.kind == "state" else UPDATED_FORM
            self.get((one.slot, form))
        return self.new[one]

    def _old_array(self, one: KeptArray) -> ArrayHandle:
        """Returns what is kept, as it was before; that of a layer among those of all."""
        stack = self.stacks[one]
        if stack.axis is None:
            return self.given[stack]
        if one not in self.old:
            n = stack.members.index(one)
            state = self.layer_state(stack.layers, n)
            whole = state.arrays[stack]
            pattern = Signature(Type((state.number.axes, whole.axes)), Type((one.array,)))
            with self.home_at(stack.layers[n]):
                (self.old[one],) = self.call(Index(pattern), state.number, whole)
        return self.old[one]

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
        if self._is_kept_past(slot, form):
            return [(slot, self.demand.now(slot))]
        step = self.base.maker.get(slot)
        if step is None or (slot in self.states and self.states[slot].kind == "once"):
            return []
        needs = self.demand.needs(step, slot, form)
        if isinstance(step.term, Scan):
            return [need for i, need in enumerate(needs) if not self._is_carried(step, i)]
        return needs

    def _is_kept_past(self, slot: ArrayHandle, form: Form) -> bool:
        return self.demand.is_past(slot, form) and slot in self.by_slot

    def _is_carried(self, step: PositionStep, i: int) -> bool:
        """Returns whether an input of a scan is a state that is kept."""
        assert isinstance(step.term, Scan)
        return i < step.term.states and step.gives[i] in self.states

    # --- one array in one form

    def get(self, need: Need) -> ArrayHandle:
        """Returns an array in a form, which is written at its first use."""
        if need not in self.made:
            maker = self.base.maker.get(need[0])
            with self.home_at(maker.home if maker is not None else ()):
                self.made[need] = self._make(*need)
        return self.made[need]

    def _make(self, slot: ArrayHandle, form: Form) -> ArrayHandle:
        if slot in self.states and self.states[slot].kind == "once":
            return self._old_array(self.states[slot])
        if form == UPDATED_FORM:
            return self._update(self.by_slot[slot])
        if self._is_kept_past(slot, form):
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
        return self.looked_up(slot, name, clamp_places(at, size), (self.place,), span.size)

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
        self.writes_out = step in self.repeated and isinstance(step.term, Op)
        made = self.write_at(step, ins, sizes)
        self.writes_out = False
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
        whole = self.get((one.slot, UPDATED_FORM))
        if one.kind == "positions":
            if span.is_everything:
                return whole
            size = next(a.numel for a in whole.axes if a.name == one.axis)
            return self._looked_up_at(whole, one.axis, span, size)
        skipped = int(span.start - (one.offset - one.count))
        return self.piece(whole, one.axis, skipped, span.size)

    def _update(self, one: KeptArray) -> ArrayHandle:
        """Returns an array that is kept, with the new position in its place; and keeps that."""
        now, old = self.get((one.slot, self.demand.now(one.slot))), self._old_array(one)
        if one.kind == "positions":
            return self._write_place(one, old, now)
        return self._slide(one, old, now)

    def _write_place(self, one: KeptArray, old: ArrayHandle, now: ArrayHandle) -> ArrayHandle:
        """Writes the new position; the places behind it hold it too, and are never seen."""
        axis = next(a for a in old.axes if a.name == one.axis)
        at: Formula = Operand(3)
        if one.offset:
            at = Application("-", (at, Number(str(-one.offset))))
        rule = Application(
            "where", (Application("<", (Name(axis.identifier), at)), Operand(1), Operand(2))
        )
        slots = (old, self.drop_axis(now, one.axis), self.place)
        self.new[one] = self.map(rule, slots, old.axes, "write")
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
                self._old_array(self.states[step.gives[i]])
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
        total = self.map(sign, (self._old_array(one), left), left.axes)
        self.new[one] = total
        return self.map("$1", (total,), now.axes)
