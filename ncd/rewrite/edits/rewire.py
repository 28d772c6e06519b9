"""Changes which arrays an op takes: a skip, an op taken out of a sum, an op moved on its wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ncd.circuit.circuit import RepeatLoop
from ncd.errors import MismatchError, NCDError, UnknownNameError, short_repr
from ncd.language.axes import Array
from ncd.ops import Add
from ncd.rewrite.rules.block_steps import PLAIN_WIRES, BlockStep, BlockSteps
from ncd.rewrite.rules.rule import Options, Target, count_option, pick
from ncd.rewrite.rules.step_edits import (
    Region,
    StepRule,
    bring,
    change_region,
    leave_out,
    put_before,
    put_behind,
    region_at,
)

MOST_INPUTS = 64


class Skip(StepRule):
    """Adds an array from earlier to what an op takes: a new skip connection."""

    name: ClassVar[str] = "skip"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        cell = target.cell
        if cell is None:
            return
        around = {*cell.fences}
        for place, value in enumerate(cell.inputs[:1]):  # another one by its number
            for other in _earlier(target, value.array):
                maker = target.circuit.producers.get(other)
                visible = maker is None or around >= {*maker.fences}
                if visible and other != _without_copies(target, value.id):
                    yield target.place, {"from": other, "input": place + 1}

    def title(self, options: Options) -> str:
        return f"Add a skip from {options['from']}"

    def new_steps(
        self, steps: BlockSteps, region: Region, i: int, target: Target, options: Options
    ) -> BlockSteps:
        where = f"Skip to {target.words}"
        source = options.get("from")
        if source not in target.circuit.values:
            fact = f"there is no array {short_repr(source)}"
            raise UnknownNameError(fact, where=where, cure="an id such as v0")
        source = _in_same_body(target, str(source))
        step = region_at(steps, region).steps[i]
        place = count_option(options, "input", MOST_INPUTS, where) - 1 if "input" in options else 0
        if place >= len(step.takes):
            fact = f"it has no input {place + 1}"
            raise MismatchError(fact, where=where, cure="input = 1")
        wanted = region_at(steps, region).arrays[step.takes[place]]
        try:
            steps, slot = bring(steps, source, region, wanted)
            return change_region(
                steps, region, lambda own: put_before(own, i, place, BlockStep(Add(), (), ()), slot)
            )
        except NCDError as error:
            raise error.with_context(where=where) from None


def _earlier(target: Target, array: Array) -> Iterator[str]:
    """Yields the arrays of some axes that are made before an op, each once."""
    circuit, seen = target.circuit, set[str]()
    for cell in circuit.cells:
        for value in cell.inputs:
            same = value.array == array and value.array.below is None
            id = _without_copies(target, value.id)
            if same and id not in seen:
                seen.add(id)
                yield id
        if cell.id == target.place:
            return


def _without_copies(target: Target, id: str) -> str:
    """Returns the id of the array that an array is a copy of."""
    maker = target.circuit.producers.get(id)
    if maker is None or not isinstance(maker.op, PLAIN_WIRES):
        return id
    place = [value.id for value in maker.outputs].index(id)
    return _without_copies(target, maker.inputs[maker.op.sources[place]].id)


def _in_same_body(target: Target, source: str) -> str:
    """Returns the array that is to the op of this body what ``source`` is to that of its own."""
    own = target.path
    for loop in reversed(target.circuit.loops):
        path = target.paths.by_id[loop.id]
        if isinstance(loop, RepeatLoop) and own[: len(path)] == path:
            for body in loop.bodies:
                ids = [value.id for value in body.inputs]
                if source in ids:  # what a layer takes
                    return loop.bodies[own[len(path)]].inputs[ids.index(source)].id
    copies = Target(target.paths, source).copies()

    def shared(one: Target) -> int:
        maker = target.circuit.producers.get(one.place)
        path = target.paths.by_id.get(maker.id, ()) if maker else ()
        same = (a == b for a, b in zip(path, own, strict=False))
        return next((n for n, equal in enumerate(same) if not equal), min(len(path), len(own)))

    return max(copies, key=shared).place


class Bypass(StepRule):
    """Takes an op with several arrays out: one of them stands for what it gives."""

    name: ClassVar[str] = "bypass"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        cell = target.cell
        if cell is not None and len(cell.inputs) > 1 and len(cell.outputs) == 1:
            for place, value in enumerate(cell.inputs):
                if value.array == cell.outputs[0].array:
                    yield target.place, {"keep": place + 1}

    def title(self, options: Options) -> str:
        return f"Remove, and keep only array {options['keep']}"

    def new_steps(
        self, steps: BlockSteps, region: Region, i: int, target: Target, options: Options
    ) -> BlockSteps:
        where = f"Bypass {target.words}"
        place = count_option(options, "keep", MOST_INPUTS, where) - 1
        own = region_at(steps, region)
        step = own.steps[i]
        fits = place < len(step.takes) and len(step.gives) == 1
        if not fits or own.arrays[step.takes[place]] != own.arrays[step.gives[0]]:
            raise MismatchError(
                f"array {place + 1} of what it takes is not of the axes that it gives",
                where=where,
                cure="an array that is",
            )
        return change_region(steps, region, lambda steps: leave_out(steps, i, place))


class MoveAlongWire(StepRule):
    """Moves an op along its wire, past the next op or the one before."""

    name: ClassVar[str] = "move"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.is_part and len(target.inputs) == 1 and target.inputs == target.outputs:
            yield target.place, {"to": "later"}
            yield target.place, {"to": "earlier"}

    def title(self, options: Options) -> str:
        later = options["to"] == "later"
        return "Move behind the next op" if later else "Move before the op before it"

    def new_steps(
        self, steps: BlockSteps, region: Region, i: int, target: Target, options: Options
    ) -> BlockSteps:
        where = f"Move {target.words}"
        later = pick(options, "to", ("later", "earlier"), where) == "later"
        change = _later if later else _earlier_step
        return change_region(steps, region, lambda own: change(own, i, where))


def _refuse(where: str, what: str) -> MismatchError:
    return MismatchError(what, where=where, cure="an op whose neighbour keeps the axes")


def _check_keeps(steps: BlockSteps, i: int, where: str) -> None:
    step = steps.steps[i]
    if len(step.takes) != 1 or len(step.gives) != 1:
        raise _refuse(where, "it takes or gives several arrays")
    if steps.arrays[step.takes[0]] != steps.arrays[step.gives[0]]:
        raise _refuse(where, "it gives other axes than it takes")


def _later(steps: BlockSteps, i: int, where: str) -> BlockSteps:
    """Returns the steps with one of them behind the only step that takes what it gives."""
    _check_keeps(steps, i, where)
    step = steps.steps[i]
    (slot,), (given,) = step.gives, step.takes
    users = [j for j, other in enumerate(steps.steps) if slot in other.takes]
    if len(users) != 1 or slot in steps.outputs or len(steps.steps[users[0]].gives) != 1:
        raise _refuse(where, "what follows is no single op")
    (after,) = steps.steps[users[0]].gives
    if steps.arrays[after] != steps.arrays[given]:
        raise _refuse(where, "what follows gives other axes")
    without = leave_out(steps, i, 0)
    return put_behind(without, users[0] - 1, step, after)


def _earlier_step(steps: BlockSteps, i: int, where: str) -> BlockSteps:
    """Returns the steps with one of them before the step that makes what it takes."""
    _check_keeps(steps, i, where)
    step = steps.steps[i]
    (given,), (slot,) = step.takes, step.gives
    maker = next((j for j, other in enumerate(steps.steps) if given in other.gives), None)
    if maker is None or len(steps.steps[maker].gives) != 1:
        raise _refuse(where, "nothing stands before it here")
    uses = sum(given in other.takes for other in steps.steps) + (given in steps.outputs)
    takes = steps.steps[maker].takes
    places = [p for p, one in enumerate(takes) if steps.arrays[one] == steps.arrays[slot]]
    if uses != 1:
        raise _refuse(where, "what stands before it is needed elsewhere")
    if not places:
        raise _refuse(where, "what stands before it takes other axes")
    without = leave_out(steps, i, 0)
    return put_before(without, maker, places[0], step)
