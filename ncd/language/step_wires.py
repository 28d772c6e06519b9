"""Steps on named arrays as a term: wires bring each step its arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ncd.language.axes import Array, Signature, Type
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Beside, Id, Term, Then
from ncd.language.wire import Wire

Slots = tuple[Any, ...]  # names of arrays
Arrays = Mapping[Any, Array]
ABREAST = 6  # ops that stand beside each other, at most
S = TypeVar("S", bound="AppliedTerm")


@dataclass(frozen=True, eq=False)
class AppliedTerm:
    """A term with the names of the arrays that it takes and gives."""

    term: Term
    takes: Slots
    gives: Slots

    @property
    def is_commutative(self) -> bool:
        """Whether the order of its arrays does not matter."""
        return False

    @property
    def has_weights(self) -> bool:
        """Whether it has weights that are told from others by their order."""
        return False


def drop_dead_steps(steps: Sequence[S], outputs: Slots) -> list[S]:
    """Returns the steps of which something is needed."""
    needed = {*outputs}
    found: list[S] = []
    for step in reversed(steps):
        if needed & {*step.gives}:
            found.insert(0, step)
            needed |= {*step.takes}
    return found


def wire_together(
    items: Sequence[AppliedTerm], inputs: Slots, outputs: Slots, arrays: Arrays
) -> Then:
    """Returns the steps one after the other, each with its arrays brought to the top."""
    state: Slots = inputs
    given = [arrays[slot] for slot in inputs]
    first = (
        [Id(Type((array,))) for array in given] if _has_size_conflict(given) else [Id(Type(given))]
    )
    steps: list[Term] = [first[0] if len(first) == 1 else Beside(*first)]
    waiting = list(items)
    while waiting:
        group = _abreast(waiting)
        del waiting[: len(group)]
        needed = {*outputs, *(slot for item in waiting for slot in item.takes)}
        wanted = tuple(slot for item in group for slot in _ordered_inputs(item, state))
        terms = [item.term for item in group]
        made = tuple(slot for item in group for slot in item.gives)
        at = _adjacent_position(state, wanted, needed)
        if at:
            above = [Id(Type((arrays[slot],))) for slot in state[:at]]
            steps.append(Beside(*above, *terms))
            state = (*state[:at], *made, *state[at + len(wanted) :])
            continue
        rest = tuple(dict.fromkeys(slot for slot in state if slot in needed))
        steps += _reordering(state, (*wanted, *rest), arrays)
        steps.append(terms[0] if len(terms) == 1 else Beside(*terms))
        state = (*made, *rest)
    steps += _reordering(state, outputs, arrays)
    return Then(*steps)


def _adjacent_position(state: Slots, wanted: Slots, needed: set[Any]) -> int:
    """Returns the place where these arrays stand side by side, with all others still needed.

    Returns 0 if they are elsewhere, or on top.
    """
    if not wanted or needed & {*wanted} or {*state} - {*wanted} - needed:
        return 0
    at = state.index(wanted[0])
    return at if state[at : at + len(wanted)] == wanted and len({*state}) == len(state) else 0


def _ordered_inputs(item: AppliedTerm, state: Slots) -> Slots:
    """Returns what an item takes; a sum takes its arrays in the order in which they come."""
    if item.is_commutative and {*item.takes} <= {*state}:
        return tuple(sorted(item.takes, key=state.index))
    return item.takes


def _abreast(items: Sequence[AppliedTerm]) -> list[AppliedTerm]:
    """Returns the first items that do not need each other.

    Of several items with weights each is one op: a later op of one would stand behind the first op
    of the next, and their weights would be exchanged.
    """
    group = [items[0]]
    made = {*items[0].gives}
    for item in items[1:ABREAST]:
        blocks = isinstance(item.term, Block | Repeat) or isinstance(group[0].term, Block | Repeat)
        if blocks or made & {*item.takes} or bool(item.takes) != bool(group[0].takes):
            break
        learned = [one for one in (*group, item) if one.has_weights]
        if len(learned) > 1 and any(isinstance(one.term, Then | Beside) for one in learned):
            break
        group.append(item)
        made |= {*item.gives}
    return group


def _reordering(state: Slots, wanted: Slots, arrays: Arrays) -> list[Term]:
    """Returns the wires from one state to another; none if they are the same."""
    if state == wanted:
        return []
    same = 0  # arrays at the end that stay where they are
    while same < min(len(state), len(wanted)) and state[-1 - same] is wanted[-1 - same]:
        same += 1
    before, after = state[: len(state) - same], wanted[: len(wanted) - same]
    if not before:  # a copy of what stays
        before, after = state[:1] or before, (*after, *state[:1])
    if {*after} - {*before}:
        before, after = state, wanted
    bare = _has_size_conflict(arrays[slot] for slot in before)
    dom, cod = (
        Type(Array() if bare else arrays[slot] for slot in slots) for slots in (before, after)
    )
    places = " ".join(str(before.index(slot) + 1) for slot in after)
    return [Wire(Signature(dom, cod), places)]


def _has_size_conflict(arrays: Iterable[Array]) -> bool:
    """Returns whether a name stands for axes of two sizes, so that no pattern can name them all."""
    sizes: dict[str, object] = {}
    return any(sizes.setdefault(axis.name, axis.size) != axis.size for axis in Type(arrays).axes)
