"""Whether a term is causal along an axis: no position of its outputs depends on a later one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ncd.errors import LookAheadError, NCDError
from ncd.language.loops import Scan
from ncd.language.op import ArrayHandle, Op, Reach, TilingRule
from ncd.ops.elementwise import FormulaOp
from ncd.rewrite.known_numbers import KnownNumbers
from ncd.rewrite.position_masks import Numbers
from ncd.rewrite.position_steps import PositionAxes, PositionStep, StepList, reaches

NEVER = -math.inf  # the lag of what is known before anything has come in


@dataclass(frozen=True)
class Dependence:
    """The inputs that an array depends on, and how late it is known.

    Args:
        moving: Whether it depends on the sequence.
        context: Whether it depends on another input.
        lags: For each axis of positions how many places later than its own it is known; below 0
            it is known before.
        final: Whether it is of the last position, without an axis of positions: a state.
    """

    moving: bool = False
    context: bool = False
    lags: Mapping[str, float] = field(default_factory=dict)
    final: bool = False


@dataclass(frozen=True)
class Sight:
    """The positions that each position of another axis sees: those from first to last beside it.

    Args:
        row: The axis of the positions that see.
        start: The first offset; minus infinity for all before.
        end: The last offset; at most 0 as a rule.
        rule: The rule by which the op joins what it sees.
    """

    row: str
    start: float
    end: float
    rule: TilingRule


class Causality:
    """Follows the sequence through a term.

    Args:
        steps: The steps of the term.
        axis: The axis of positions, by its name in the inputs.

    Raises:
        LookAheadError: If an output depends on later positions, or may do so.
    """

    def __init__(self, steps: StepList, axis: str) -> None:
        self.steps, self.axis = steps, axis
        self.positions = PositionAxes(steps, axis)
        self.length = self.positions.length
        self.known = KnownNumbers(steps, self.positions)
        self.sights: dict[PositionStep, dict[str, Sight]] = {}
        self.dependences: dict[ArrayHandle, Dependence] = {}
        self.causes: dict[ArrayHandle, tuple[PositionStep, ArrayHandle]] = {}  # what looks ahead
        self._names = {
            name
            for step in steps.steps
            for slot in (*step.takes, *step.gives)
            for name in self.positions.names(slot)
        }
        for slot in steps.weights:
            self.dependences[slot] = Dependence(
                lags=dict.fromkeys(self.positions.names(slot), NEVER)
            )
        for slot in steps.inputs:
            own = self.positions.names(slot)
            self.dependences[slot] = Dependence(bool(own), not own, dict.fromkeys(own, 0))
        for step in steps.steps:
            self._follow(step)
        for slot in steps.outputs:
            self._check_output(slot)

    # --- the outputs

    def _check_output(self, slot: ArrayHandle) -> None:
        found = self.dependences[slot]
        if not found.moving or found.final:
            return
        step = self.steps.maker.get(slot)
        if len(found.lags) > 1:
            names = " and ".join(found.lags)
            raise self.refusal(
                step, slot, f"an output ({slot.axes}) has two axes of positions, {names}"
            )
        ((name, lag),) = found.lags.items()
        if lag > 0:
            cause = self.causes[slot]
            why = f"place {name} of an output depends on place {name} + {lag:g}"
            raise self.refusal(*cause, why)
        size = next(axis.numel for axis in slot.axes if axis.name == name)
        if size != self.length:
            raise self.refusal(
                step,
                slot,
                f"an output has {size} places along {name}, but the sequence has {self.length}",
            )

    def refusal(self, step: PositionStep | None, slot: ArrayHandle, why: str) -> LookAheadError:
        """Returns the error for a step that looks ahead along an array."""
        return LookAheadError(
            why,
            where=step.title if step is not None else "decode",
            cure=f"a mask so that no position sees later ones, or another axis than {self.axis}",
            op=step.unit if step is not None else "",
            wire=self._wire(slot),
        )

    def _wire(self, slot: ArrayHandle) -> str:
        """Returns the id of an array of the circuit, or of the nearest one that it is made of."""
        todo, seen = [slot], {slot}
        for each in todo:
            if each in self.steps.wires:
                return self.steps.wires[each]
            step = self.steps.maker.get(each)
            todo += [other for other in (step.takes if step else ()) if other not in seen]
            seen |= {*todo}
        return ""

    # --- one step

    def _follow(self, step: PositionStep) -> None:
        ins = [self.dependences[slot] for slot in step.takes]
        moving, context = (any(getattr(d, n) for d in ins) for n in ("moving", "context"))
        if any(d.final for d in ins) and any(d.lags and d.moving for d in ins):
            slot = next(s for s, d in zip(step.takes, ins, strict=True) if d.final)
            raise self.refusal(step, slot, "the state of the last position meets the sequence")
        for slot in (*step.takes, *step.gives):
            if len(self.positions.names(slot)) > 2:
                why = f"the array ({slot.axes}) has more than two axes of positions"
                raise self.refusal(step, slot, why)
        if isinstance(step.term, Scan):
            self._follow_scan(step, step.term, ins, moving, context)
            return
        self._check_sizes(step)
        lags = self._lags(step, ins)
        self._note_cause(step, lags)
        final = any(d.final for d in ins)
        for slot, own in zip(step.gives, lags, strict=True):
            self.dependences[slot] = Dependence(moving, context, own, final)

    def _lags(self, step: PositionStep, ins: list[Dependence]) -> list[dict[str, float]]:
        """Returns the lags of each output of an op."""
        lags = [dict.fromkeys(self.positions.names(slot), NEVER) for slot in step.gives]
        mixed: dict[str, Reach] = {}
        for source, target, axis, reach in reaches(step):
            if axis not in self.positions.names(step.takes[source]):
                continue
            if reach.is_everything:
                mixed[axis] = reach
            if reach.is_carried and ins[source].lags[axis] > 0:
                slot = step.takes[source]
                raise self.refusal(step, slot, f"it runs ahead of the sequence along {axis}")
            if reach.axis in lags[target]:
                more = 0 if reach.is_everything else reach.end
                lag = ins[source].lags[axis] + more
                lags[target][reach.axis] = max(lags[target][reach.axis], lag)
        for axis in mixed:
            sight = self._sight(step, axis, mixed)
            self.sights.setdefault(step, {})[axis] = sight
            lag = max(d.lags.get(axis, NEVER) for d in ins) + sight.end
            for own in lags:
                if sight.row in own:
                    own[sight.row] = max(own[sight.row], lag)
        return lags

    def _note_cause(self, step: PositionStep, lags: Sequence[Mapping[str, float]]) -> None:
        """Notes the first step after which a position depends on a later one."""
        for slot, own in zip(step.gives, lags, strict=True):
            if max(own.values(), default=NEVER) > 0:
                before = [self.causes[each] for each in step.takes if each in self.causes]
                moving = [each for each in step.takes if self.dependences[each].moving]
                self.causes[slot] = before[0] if before else (step, (moving or step.takes)[0])

    def _check_sizes(self, step: PositionStep) -> None:
        """Refuses a formula that reads the number of positions: a longer sequence changes it."""
        op = step.term
        assert isinstance(op, Op)
        own = self.positions.step_names(step)
        read = {axis.name for axis in op.reads if axis.name in self._names}
        if isinstance(op, FormulaOp):
            sizes = [m.axis for m in op.meanings.values() if m.kind == "size"]
            read |= {name for name in sizes if name in own or name in read}
        for name in sorted(read):
            slot = (*step.takes, *step.gives)[0]
            raise self.refusal(step, slot, f"it reads the number of places along {name}")

    def _sight(self, step: PositionStep, axis: str, mixed: Mapping[str, Reach]) -> Sight:
        """Returns what each position sees of the positions that an op joins."""
        op = step.term
        assert isinstance(op, Op)
        slot = next(each for each in step.takes if axis in self.positions.names(each))
        try:
            rule = op.tiling_rule(step.site, axis)
        except NCDError:
            raise self.refusal(step, slot, f"it works on all places along {axis} at once") from None
        if op.initial_values(step.site):
            raise self.refusal(
                step, slot, f"its weights are of a fixed number of places along {axis}"
            )
        if rule.mean:
            raise self.refusal(step, slot, f"it is a mean over all places along {axis}")
        rows = [name for name in self.positions.names(step.gives[0]) if name not in mixed]
        if not rows:
            why = f"it joins all places along {axis}, and no place is left that would see them"
            raise self.refusal(step, slot, why)
        (row,) = rows
        seen = self._visible_distances(step, rule, (row, axis))
        most = max(self.known.distances)
        if seen.size and seen[-1] >= most:
            ahead = seen[seen > 0][0]
            raise self.refusal(step, slot, f"place {row} = 0 sees place {axis} = {ahead:g}")
        if not seen.size:
            return Sight(row, 0, 0, rule)
        first, last = float(seen[0]), float(seen[-1])
        return Sight(row, -math.inf if first <= -most else first, last, rule)

    def _visible_distances(
        self, step: PositionStep, rule: TilingRule, pair: tuple[str, str]
    ) -> Numbers:
        """Returns the distances at which a number has an influence."""
        holding = [slot for slot in step.takes if pair[1] in self.positions.names(slot)]
        factors = [self.known.numbers(slot, pair) for slot in holding]
        numbers = factors[0] if len(factors) == 1 else self.known.product(factors)
        if len(step.takes) > 1 and rule.tile_reduction != "sum":
            numbers = np.asarray(np.nan)
        hidden = self.known.hidden(rule, numbers)
        distances = np.asarray(self.known.distances, dtype=float)
        return distances[~np.broadcast_to(hidden, distances.shape)]

    # --- scans

    def _follow_scan(
        self, step: PositionStep, scan: Scan, ins: list[Dependence], moving: bool, context: bool
    ) -> None:
        """A scan along the sequence carries its states; its first ones must not depend on it."""
        n, name = scan.states, scan.axis[0].name
        along = any(name in self.positions.names(slot) for slot in step.takes[n:])
        for slot, one in zip(step.takes, ins, strict=True):
            if one.moving and (one.final or tuple(one.lags) != ((name,) if along else ())):
                why = f"it runs along {name}, with ({slot.axes})"
                raise self.refusal(step, slot, why)
        for slot, one in zip(step.takes[:n], ins, strict=False):
            if one.moving:
                raise self.refusal(step, slot, "its first state depends on the sequence")
        lag = max((one.lags.get(name, NEVER) for one in ins), default=NEVER)
        if lag > 0:
            raise self.refusal(step, step.takes[n], f"it runs ahead of the sequence by {lag:g}")
        for i, slot in enumerate(step.gives):
            own = dict.fromkeys(self.positions.names(slot), lag)
            moves = moving and (bool(own) or i < n)
            self.dependences[slot] = Dependence(moves, context, own, moves and not own)
