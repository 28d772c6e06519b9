"""Steps put back into the blocks and repetitions that they come from, as one term."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from ncd.language.axes import Array
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.op import ArrayHandle, Op
from ncd.language.step_wires import AppliedTerm
from ncd.language.terms import Term
from ncd.rewrite.rules.block_steps import BlockStep, write_steps_in_order
from ncd.rewrite.rules.term_recorder import Parameters

Home: TypeAlias = tuple[tuple[str, int], ...]  # the id of each block around, and which body
Slots: TypeAlias = tuple[ArrayHandle, ...]
MOST_MEMORY = 16  # arrays that a repetition gives to all of its bodies


@dataclass(frozen=True, eq=False)
class PlacedStep(AppliedTerm):
    """A step of a block.

    Args:
        home: The blocks around it, from the outermost.
        weight: The path of an array of weights within its block; empty for other steps.
    """

    home: Home = ()
    weight: str = ""


def write_blocks(
    steps: Sequence[PlacedStep], inputs: Slots, outputs: Slots, blocks: Mapping[str, Term]
) -> Term:
    """Returns steps as a term with the blocks around them.

    Bodies of a repetition whose steps are the same are written once.

    Args:
        steps: The steps.
        inputs: The arrays that the term takes.
        outputs: The arrays that it gives.
        blocks: The block or repetition of each id.
    """
    return _BlockWriter(blocks).region(steps, inputs, outputs, 0)


class _BlockWriter:
    def __init__(self, blocks: Mapping[str, Term]) -> None:
        self.blocks = blocks

    def region(
        self, steps: Sequence[PlacedStep], inputs: Slots, outputs: Slots, depth: int
    ) -> Term:
        """Returns the term of the steps inside of ``depth`` blocks."""
        groups: dict[str, list[PlacedStep]] = {}
        for n, step in enumerate(steps):
            key = str(n) if len(step.home) == depth else step.home[depth][0]
            key = "weights" if step.weight and len(step.home) == depth else key
            groups.setdefault(key, groups.pop(key, [])).append(step)  # where its last step is
        users: dict[ArrayHandle, set[str]] = {slot: {""} for slot in outputs}
        for key, own in groups.items():
            for slot in _takes(own):
                users.setdefault(slot, set()).add(key)
        items = []
        for key, own in groups.items():
            gives = tuple(slot for slot in _gives(own) if users.get(slot, set()) - {key})
            items.append(self._item(key, own, gives, depth))
        return write_steps_in_order(items, inputs, outputs, _arrays(steps, inputs))

    def _item(self, key: str, steps: list[PlacedStep], gives: Slots, depth: int) -> BlockStep:
        if key == "weights":
            return _weights(steps)
        if key not in self.blocks:
            (step,) = steps
            return BlockStep(step.term, step.takes, step.gives)
        block = self.blocks[key]
        if isinstance(block, Repeat):
            return self._repeat(block, steps, gives, depth)
        assert isinstance(block, Block)
        takes = _external(steps)
        body = self.region(steps, takes, gives, depth + 1)
        return BlockStep(replace(block, body=body, type=None, local=False), takes, gives)

    # --- repetitions

    def _repeat(self, loop: Repeat, steps: list[PlacedStep], gives: Slots, depth: int) -> BlockStep:
        bodies: list[list[PlacedStep]] = [[] for _ in loop.bodies]
        for step in steps:
            bodies[step.home[depth][1]].append(step)
        states = _states(bodies, gives)
        once = self._equal_layers(bodies, states, gives, depth + 1)
        if once is None:
            written = tuple(
                self.region(body, states[i], states[i + 1], depth + 1)
                for i, body in enumerate(bodies)
            )
            return BlockStep(Repeat(written, loop.name, loop.shared), states[0], gives)
        body = self.region(bodies[0], once.takes, once.gives, depth + 1)
        repeat = Repeat((body,) * len(bodies), loop.name, loop.shared, once.memory)
        return BlockStep(repeat, once.takes, once.last_gives)

    def _equal_layers(
        self,
        bodies: Sequence[list[PlacedStep]],
        states: Sequence[Slots],
        gives: Slots,
        depth: int,
    ) -> _EqualLayers | None:
        """Returns what each of several equal bodies takes and gives; None if they differ."""
        if len(bodies) < 2 or len({len(body) for body in bodies}) > 1:
            return None
        first, *others = (tuple(self._signs(body, depth)) for body in bodies)
        if any(first != other for other in others) or len({*map(len, states[:-1])}) > 1:
            return None
        kept = [p for p, slots in enumerate(zip(*states[:-1], strict=True)) if len({*slots}) == 1]
        moved = [p for p in range(len(states[0])) if p not in kept]
        places = [_places(body) for body in bodies]
        after = [[places[i].get(states[i + 1][p]) for p in moved] for i in range(len(bodies) - 1)]
        if len(kept) > MOST_MEMORY or None in after[0] or any(one != after[0] for one in after):
            return None
        made = {place: slot for slot, place in places[-1].items()}
        last = tuple(made[place] for place in after[0] if place is not None)
        if not {*gives} <= {*last}:
            return None
        takes = tuple(states[0][p] for p in (*moved, *kept))
        return _EqualLayers(takes, tuple(states[1][p] for p in moved), last, len(kept))

    def _signs(self, steps: Sequence[PlacedStep], depth: int) -> Iterator[object]:
        """Yields a sign for each step, equal in two bodies that compute the same."""
        known: dict[ArrayHandle, int] = {}
        ids: dict[str, int] = {}
        for step in steps:
            takes = tuple(known.setdefault(slot, len(known)) for slot in step.takes)
            inner = tuple(
                (ids.setdefault(id, len(ids)), n, self._frame(id)) for id, n in step.home[depth:]
            )
            yield step.term, step.weight, takes, inner
            for slot in step.gives:
                known.setdefault(slot, len(known))

    def _frame(self, id: str) -> tuple[object, ...]:
        block = self.blocks[id]
        return tuple(getattr(block, field, "") for field in ("title", "role", "name", "shared"))


class _EqualLayers(NamedTuple):
    """The arrays that equal bodies take and give, and those that the last of them gives."""

    takes: Slots
    gives: Slots
    last_gives: Slots
    memory: int


def _states(bodies: Sequence[list[PlacedStep]], gives: Slots) -> list[Slots]:
    """Returns the arrays before each body that it or a later one needs, and those at the end."""
    found = [gives]
    for body in reversed(bodies):
        takes, made = _external(body), {*_gives(body)}
        passed = (slot for slot in found[0] if slot not in made and slot not in takes)
        found.insert(0, (*takes, *passed))
    return found


def _places(steps: Iterable[PlacedStep]) -> dict[ArrayHandle, tuple[int, int]]:
    return {slot: (n, k) for n, step in enumerate(steps) for k, slot in enumerate(step.gives)}


def _takes(steps: Iterable[PlacedStep]) -> Slots:
    return tuple(dict.fromkeys(slot for step in steps for slot in step.takes))


def _gives(steps: Iterable[PlacedStep]) -> Slots:
    return tuple(slot for step in steps for slot in step.gives)


def _external(steps: Sequence[PlacedStep]) -> Slots:
    """Returns the arrays that steps take from elsewhere."""
    made = {*_gives(steps)}
    return tuple(slot for slot in _takes(steps) if slot not in made)


def _arrays(steps: Sequence[PlacedStep], inputs: Slots) -> dict[ArrayHandle, Array]:
    return {slot: slot.axes for slot in (*inputs, *_takes(steps), *_gives(steps))}


def _weights(steps: Sequence[PlacedStep]) -> BlockStep:
    """Returns the step that gives all arrays of weights of a block."""
    ops, slots = dict[str, Op](), dict[str, ArrayHandle]()
    for step in steps:
        assert isinstance(step.term, Op)
        ops[step.weight], slots[step.weight] = step.term, step.gives[0]
    term, paths = Parameters(ops).term()
    return BlockStep(term, (), tuple(slots[path] for path in paths))
