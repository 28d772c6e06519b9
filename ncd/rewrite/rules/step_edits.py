"""Changes of the steps within a block: an array from elsewhere, a step left out, one more step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from typing import ClassVar

from ncd.circuit.circuit import Cell, Circuit
from ncd.errors import MismatchError
from ncd.language.axes import Array, Type
from ncd.language.blocks import Block
from ncd.language.terms import Term
from ncd.rewrite.rules.block_steps import BlockStep, BlockSteps
from ncd.rewrite.rules.rule import (
    NO_OPTIONS,
    Change,
    Options,
    Rule,
    Target,
    Weights,
)
from ncd.rewrite.rules.term_paths import Path, TermPaths, replace_parts

Region = tuple[tuple[int, int], ...]  # a step and its body, from the whole term
Slots = tuple[str, ...]
MOST_NAMES = 16  # ways to call the axes of one array inside a block


# --- Regions: the whole term, and the bodies of blocks and loops


def region_at(steps: BlockSteps, region: Region) -> BlockSteps:
    """Returns the steps of a region."""
    for i, body in region:
        steps = steps.steps[i].bodies[body]
    return steps


def find_step(steps: BlockSteps, id: str, region: Region = ()) -> tuple[Region, int] | None:
    """Returns the region and the number of the step with an id; None if there is none."""
    for i, step in enumerate(steps.steps):
        if step.id == id:
            return region, i
        for number, body in enumerate(step.bodies):
            found = find_step(body, id, (*region, (i, number)))
            if found is not None:
                return found
    return None


def find_slot(steps: BlockSteps, id: str, region: Region = ()) -> Region | None:
    """Returns the outermost region that has an array with this id in the circuit."""
    if id in steps.slots:
        return region
    inner = (
        find_slot(body, id, (*region, (i, number)))
        for i, step in enumerate(steps.steps)
        for number, body in enumerate(step.bodies)
    )
    return next((found for found in inner if found is not None), None)


def change_region(
    steps: BlockSteps, region: Region, change: Callable[[BlockSteps], BlockSteps]
) -> BlockSteps:
    """Returns the steps with those of one region changed."""
    if not region:
        return replace(change(steps), source=None)
    (i, body), inner = region[0], region[1:]
    step = steps.steps[i]
    new = change_region(step.bodies[body], inner, change)
    bodies = (*step.bodies[:body], new, *step.bodies[body + 1 :])
    return _with_step(steps, i, replace(step, bodies=bodies))


def _with_step(steps: BlockSteps, i: int, *new: BlockStep) -> BlockSteps:
    return replace(steps, steps=(*steps.steps[:i], *new, *steps.steps[i + 1 :]), source=None)


def new_slot(steps: BlockSteps, array: Array) -> tuple[BlockSteps, str]:
    """Returns the steps with one more array, and its name."""
    name = next(f"a{n}" for n in count() if f"a{n}" not in steps.arrays)
    return replace(steps, arrays={**steps.arrays, name: array}), name


def write_changed(paths: TermPaths, new: BlockSteps) -> Term:
    """Returns the term of changed steps, in which blocks stay as they were where nothing changed.

    Args:
        paths: The term before.
        new: Its steps, changed.
    """
    parts = dict(_changed_parts(paths, paths.steps, new, ()))
    return replace_parts(paths.circuit.term, parts, keep_inputs=False)


def _changed_parts(
    paths: TermPaths, old: BlockSteps, new: BlockSteps, path: Path
) -> Iterator[tuple[Path, Term]]:
    """Yields the outermost regions whose own steps have changed, written anew."""
    if new.source is not None:
        return
    pairs = list(zip(old.steps, new.steps, strict=False))
    same = len(old.steps) == len(new.steps) and all(
        (a.id, a.takes, a.gives) == (b.id, b.takes, b.gives) and a.term is b.term for a, b in pairs
    )
    if not same or (old.inputs, old.outputs) != (new.inputs, new.outputs):
        yield path, new.term()
        return
    for a, b in pairs:
        for k, (before, after) in enumerate(zip(a.bodies, b.bodies, strict=True)):
            yield from _changed_parts(paths, before, after, (*paths.path(a.id), k))


# --- One step more, or one less


def put_before(steps: BlockSteps, i: int, place: int, new: BlockStep, *others: str) -> BlockSteps:
    """Returns the steps in which one input of a step goes through a new one, with other arrays."""
    step = steps.steps[i]
    takes = (step.takes[place], *others)
    (array,) = new.term.infer_outputs(Type(steps.arrays[slot] for slot in takes))
    steps, made = new_slot(steps, array)
    after = (*step.takes[:place], made, *step.takes[place + 1 :])
    before = replace(new, takes=takes, gives=(made,))
    return _with_step(steps, i, before, replace(step, takes=after))


def put_behind(steps: BlockSteps, i: int, step: BlockStep, slot: str) -> BlockSteps:
    """Returns the steps in which what takes an array takes what a step makes of it."""
    (array,) = step.term.infer_outputs(Type((steps.arrays[slot],)))
    steps, made = new_slot(steps, array)
    moved = substitute(steps, {slot: made})
    new = replace(step, takes=(slot,), gives=(made,))
    return replace(moved, steps=(*moved.steps[: i + 1], new, *moved.steps[i + 1 :]), source=None)


def substitute(steps: BlockSteps, slots: dict[str, str]) -> BlockSteps:
    """Returns the steps, which take other arrays in the place of some."""

    def name(taken: Slots) -> Slots:
        return tuple(slots.get(slot, slot) for slot in taken)

    new = tuple(replace(step, takes=name(step.takes)) for step in steps.steps)
    return replace(steps, steps=new, outputs=name(steps.outputs), source=None)


def leave_out(steps: BlockSteps, i: int, place: int) -> BlockSteps:
    """Returns the steps without one of them: what it takes at a place stands for what it gives."""
    step = steps.steps[i]
    without = replace(steps, steps=(*steps.steps[:i], *steps.steps[i + 1 :]))
    return without_idle_steps(substitute(without, {step.gives[0]: step.takes[place]}), steps)


def without_idle_steps(steps: BlockSteps, before: BlockSteps) -> BlockSteps:
    """Returns the steps without those that nothing needs any more."""
    idle = _idle(before)
    found = steps.steps
    while True:
        needed = {*steps.outputs, *(slot for step in found for slot in step.takes)}
        left = tuple(s for s in found if needed & {*s.gives} or not s.gives or s.id in idle)
        if len(left) == len(found):
            return replace(steps, steps=left, source=None)
        found = left


def _idle(steps: BlockSteps) -> set[str]:
    """Returns the steps that nothing needed before: they stay."""
    needed = {*steps.outputs, *(slot for step in steps.steps for slot in step.takes)}
    return {step.id for step in steps.steps if not needed & {*step.gives}}


# --- An array from another region


def bring(steps: BlockSteps, source: str, region: Region, wanted: Array) -> tuple[BlockSteps, str]:
    """Returns the steps in which a region has an array of another one, and its name there.

    Args:
        steps: The steps of the whole term.
        source: The id of the array in the circuit.
        region: The region that is to have it.
        wanted: The axes that it is to have there.

    Raises:
        MismatchError: For an array that is inside of a loop, or has other axes.
    """
    around = [region[:n] for n in range(len(region), -1, -1)]
    home = next((r for r in around if source in region_at(steps, r).slots), None)
    if home is None:
        home = find_slot(steps, source)
    if home is None:
        fact = f"no op takes or gives the array {source}"
        raise MismatchError(fact, cure="an array that one does")
    slot = region_at(steps, home).slots[source]
    while home != region[: len(home)]:
        steps, slot = _give_out(steps, home, slot)
        home = home[:-1]
    for choice in _names_inside(steps, home, region, region_at(steps, home).arrays[slot]):
        if choice[-1].names == wanted.names and _sizes(choice[-1]) == _sizes(wanted):
            return _take_in(steps, home, region, slot, choice)
    array = region_at(steps, home).arrays[slot]
    raise MismatchError(
        f"the array is ({array}), and here is ({wanted})",
        bound=(*array, *wanted),
        cure=f"an array ({wanted})",
    )


def _sizes(array: Array) -> tuple[object, ...]:
    return (*(axis.size for axis in array), array.below)


def _block(steps: BlockSteps, region: Region) -> tuple[Block, BlockStep]:
    """Returns the block around a region; raises MismatchError for a loop."""
    step = region_at(steps, region[:-1]).steps[region[-1][0]]
    if not isinstance(step.term, Block):
        raise MismatchError(
            "an array would pass the border of a repetition or a scan",
            cure="an array and an op of the same layer",
        )
    return step.term, step


def _give_out(steps: BlockSteps, region: Region, slot: str) -> tuple[BlockSteps, str]:
    """Returns the steps in which a block also gives an array, and its name outside."""
    block, step = _block(steps, region)
    inner, outside = region_at(steps, region), region_at(steps, region[:-1])
    array = inner.arrays[slot]
    if block.local:
        _, names = block.to_local(Type(outside.arrays[one] for one in step.takes))
        (array,) = block.to_outer(Type((array,)), names)
    steps = change_region(steps, region, lambda own: replace(own, outputs=(*own.outputs, slot)))
    outside, made = new_slot(region_at(steps, region[:-1]), array)
    i = region[-1][0]
    step = outside.steps[i]
    outside = _with_step(outside, i, replace(step, gives=(*step.gives, made)))
    return change_region(steps, region[:-1], lambda own: outside), made


def _names_inside(
    steps: BlockSteps, home: Region, region: Region, array: Array
) -> Iterator[tuple[Array, ...]]:
    """Yields the ways to call the axes of an array in each region on the way in."""
    if home == region:
        yield (array,)
        return
    inner = region[: len(home) + 1]
    block, step = _block(steps, inner)
    choices = [array]
    if block.local:
        takes = Type(region_at(steps, home).arrays[one] for one in step.takes)
        choices = list(_local_arrays(block, takes, array))
    for one in choices:
        for rest in _names_inside(steps, inner, region, one):
            yield (array, *rest)


def _local_arrays(block: Block, takes: Type, array: Array) -> Iterator[Array]:
    _, names = block.to_local(takes)
    known: list[list[str]] = []
    for axis in array:
        inner = [own for own, outer in names.items() if outer.name == axis.name]
        known.append(inner or ([axis.name] if axis.name not in names else []))
    for n, choice in enumerate(product(*known)):
        if n < MOST_NAMES and len({*choice}) == len(choice):
            pairs = zip(array, choice, strict=True)
            yield array.with_axes(replace(axis, name=name) for axis, name in pairs)


def _take_in(
    steps: BlockSteps, home: Region, region: Region, slot: str, arrays: Sequence[Array]
) -> tuple[BlockSteps, str]:
    """Returns the steps in which each block on the way in takes an array, and its last name."""
    for n, array in zip(range(len(home) + 1, len(region) + 1), arrays[1:], strict=True):
        inner, made = new_slot(region_at(steps, region[:n]), array)
        inner = replace(inner, inputs=(*inner.inputs, made))
        steps = change_region(steps, region[:n], lambda own, inner=inner: inner)  # type: ignore[misc]
        outside, i = region_at(steps, region[: n - 1]), region[n - 1][0]
        step = outside.steps[i]
        outside = _with_step(outside, i, replace(step, takes=(*step.takes, slot)))
        steps = change_region(steps, region[: n - 1], lambda own, new=outside: new)  # type: ignore[misc]
        slot = made
    return steps, slot


# --- Rules that change steps


class StepRule(Rule):
    """The base of rules that change the steps around an op, in every body of a repetition."""

    def new_steps(
        self, steps: BlockSteps, region: Region, i: int, target: Target, options: Options
    ) -> BlockSteps:
        """Returns the steps of the whole term, changed at step ``i`` of a region."""
        raise NotImplementedError

    def change(self, target: Target, options: Options) -> Change:
        paths = target.paths.with_own_names
        steps = paths.steps
        if target.place not in paths.by_id:
            fact = f"{target.words} is no op"
            raise MismatchError(fact, where=self.name, cure="the id of an op, such as n0")
        for copy in target.copies():
            found = find_step(steps, copy.place)
            if found is None:
                fact = f"{copy.place} only passes arrays on, or stands in an equation"
                raise MismatchError(fact, where=self.name, cure="another op")
            steps = self.new_steps(steps, *found, copy, options)
        return Change(write_changed(paths, steps))


# --- Laws on several steps of one region

MakeWeights = Callable[[Weights], Weights]


@dataclass(frozen=True, eq=False)
class LawSite:
    """A step that a law begins at, among the steps of its region.

    Args:
        region: The steps of the region.
        i: The number of the step.
        circuit: The circuit, with an op for each of the steps.
    """

    region: BlockSteps
    i: int
    circuit: Circuit

    @property
    def step(self) -> BlockStep:
        """The step that the law begins at."""
        return self.region.steps[self.i]

    def cell(self, i: int) -> Cell | None:
        """The op of a step; None for a block."""
        return self.circuit.cells_by_id.get(self.region.steps[i].id)

    def only_user(self, slot: str) -> tuple[int, int] | None:
        """The only step that takes an array, and at which place; None if it is not the only one."""
        found = [
            (j, place)
            for j, step in enumerate(self.region.steps)
            for place, one in enumerate(step.takes)
            if one == slot
        ]
        return found[0] if len(found) == 1 and slot not in self.region.outputs else None

    def maker(self, slot: str) -> int | None:
        """The number of the step that gives an array."""
        return next((j for j, step in enumerate(self.region.steps) if slot in step.gives), None)

    def with_steps(self, new: Mapping[int, Sequence[BlockStep]]) -> BlockSteps:
        """Returns the steps, with others in the place of some."""
        steps = (one for j, step in enumerate(self.region.steps) for one in new.get(j, (step,)))
        return replace(self.region, steps=tuple(steps), source=None)


class StepLaw(Rule):
    """The base of laws on neighbouring steps of one region."""

    is_law: ClassVar[bool] = True
    op_kinds: ClassVar[tuple[type, ...]] = ()  # at which it begins

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.cell is not None and isinstance(target.cell.op, self.op_kinds):
            yield from ((target.place, options) for options in self.choices(target.cell))

    def choices(self, cell: Cell) -> Iterator[Options]:
        """Yields the options to try at an op."""
        yield NO_OPTIONS

    def apply_law(
        self, site: LawSite, options: Options
    ) -> tuple[BlockSteps, MakeWeights | None] | None:
        """Returns the new steps and how weights are made; None if it does not apply."""
        raise NotImplementedError

    def change(self, target: Target, options: Options) -> Change:
        paths = target.paths.with_own_names
        circuit, makers = paths.circuit, []
        steps = paths.steps
        for copy in target.copies():
            found = find_step(steps, copy.place)
            cell = circuit.cells_by_id.get(copy.place)
            made = None
            if found is not None and cell is not None and isinstance(cell.op, self.op_kinds):
                region, i = found
                made = self.apply_law(LawSite(region_at(steps, region), i, circuit), options)
            if made is None:
                fact = f"it does not apply at {copy.place}"
                cure = f"one of {', '.join(kind.__name__ for kind in self.op_kinds)} that fits"
                raise MismatchError(fact, where=self.title(options), cure=cure)
            (new, weights), home = made, region
            steps = change_region(steps, home, lambda own, new=new: new)  # type: ignore[misc]
            makers += [weights] if weights is not None else []
        return Change(
            write_changed(paths, steps),
            lambda old: {name: x for make in makers for name, x in make(old).items()},
        )
