"""A term as steps on named arrays, with its blocks and loops, and the term of such steps.

Copies and exchanges of wires are not among the steps: what they give is the array that they take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import count
from typing import Any

from ncd.circuit.circuit import Circuit
from ncd.errors import MismatchError
from ncd.language.axes import Array, Type
from ncd.language.blocks import Block, Equation
from ncd.language.cached_property import lazy_property
from ncd.language.loops import Repeat, Scan
from ncd.language.op import Op
from ncd.language.step_wires import AppliedTerm, wire_together
from ncd.language.terms import Beside, Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, Copy, Swap

PLAIN_WIRES = (Wire, Copy, Swap)  # whose outputs need no step of their own
Slots = tuple[str, ...]  # names of arrays


@dataclass(frozen=True, eq=False)
class BlockStep(AppliedTerm):
    """An op or a block on named arrays.

    Args:
        term: The op, the block or the loop.
        takes: The names of the arrays that it takes.
        gives: The names of those that it gives.
        id: Its id in the circuit; empty for a new step.
        bodies: The steps within a block or a loop.
    """

    id: str = ""
    bodies: tuple[BlockSteps, ...] = ()

    @property
    def is_commutative(self) -> bool:
        return isinstance(self.term, Add)

    @lazy_property
    def has_weights(self) -> bool:
        return _is_learned(self.term)

    def write_applied(self) -> AppliedTerm:
        """Returns the step with its term written anew, if a body of it has changed."""
        if all(body.source is not None for body in self.bodies):
            return self
        return BlockStep(_with_bodies(self.term, self.bodies), self.takes, self.gives, self.id)

    def with_bodies(self, change: Callable[[BlockSteps], BlockSteps]) -> BlockStep:
        """Returns the step with every body changed."""
        return replace(self, bodies=tuple(map(change, self.bodies)))


def _is_learned(term: Term) -> bool:
    return bool(getattr(term, "name", "")) or any(map(_is_learned, term.children))


@dataclass(frozen=True, eq=False)
class BlockSteps:
    """The steps of a term, or of the inside of a block.

    Args:
        inputs: The names of the arrays that it takes.
        outputs: The names of those that it gives.
        steps: The steps.
        arrays: The axes of each array, as they are called here.
        slots: The name of each array by its id in the circuit, which copies of it have as well.
        source: The term that it was read from; None if it has been changed since.

    >>> from ncd.circuit.elaborate import elaborate
    >>> from ncd.ops import Linear
    >>> steps = read_steps(elaborate(Copy("m:3") >> Linear("m -> k:2") @ Id("m")))
    >>> [(step.id, step.takes, step.gives) for step in steps.steps], steps.outputs
    ([('n1', ('s0',), ('v3',))], ('v3', 's0'))
    """

    inputs: Slots
    outputs: Slots
    steps: tuple[BlockStep, ...]
    arrays: Mapping[str, Array]
    slots: Mapping[str, str]
    source: Term | None = None

    @property
    def types(self) -> tuple[Type, Type]:
        """The arrays that it takes and gives."""
        return (
            Type(self.arrays[slot] for slot in self.inputs),
            Type(self.arrays[slot] for slot in self.outputs),
        )

    def term(self) -> Term:
        """Returns the steps as a term, which takes whole arrays.

        Raises:
            MismatchError: For a step that needs what comes after it, or steps that do not fit.
        """
        if self.source is not None:
            return self.source
        return write_steps_in_order(self.steps, self.inputs, self.outputs, self.arrays)


def write_steps_in_order(
    steps: Sequence[BlockStep],
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    arrays: Mapping[Any, Array],
) -> Term:
    """Returns steps as a term, each after those that make what it takes.

    Raises:
        MismatchError: For a step that needs what comes after it, or steps that do not fit.
    """
    items = [step.write_applied() for step in _in_order(steps)]
    return _without_first_wires(wire_together(items, inputs, outputs, arrays))


def _without_first_wires(term: Then) -> Term:
    """Returns the term without the wires at its start, where its other steps say as much."""
    first, *rest = term.steps
    if not rest or not isinstance(first, Id):
        return term
    try:
        short = Then(*rest) if len(rest) > 1 else rest[0]
    except MismatchError:
        return term
    return short if short.dom.spec == term.dom.spec else term


def _in_order(steps: Sequence[BlockStep]) -> list[BlockStep]:
    """Returns the steps in an order in which each has its arrays; as they are if they have."""
    makers = {slot: i for i, step in enumerate(steps) for slot in step.gives}
    needs = {i: {makers[s] for s in step.takes if s in makers} for i, step in enumerate(steps)}
    if all(j < i for i, before in needs.items() for j in before):
        return list(steps)
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        ids = [steps[i].id or type(steps[i].term).__name__ for i in error.args[1]]
        raise MismatchError(
            f"{ids[0]} would need what is made from itself, by way of {', '.join(ids[1:-1])}",
            cure="an array that is made before it",
        ) from None
    found: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found += ready
        sorter.done(*ready)
    return [steps[i] for i in found]


def written_anew(steps: BlockSteps) -> BlockSteps:
    """Returns the same steps as changed ones, so that their term is written from them."""
    anew = tuple(step.with_bodies(written_anew) for step in steps.steps)
    return replace(steps, steps=anew, source=None)


# --- The term of a block or a loop with other steps inside


def _with_bodies(term: Term, bodies: Sequence[BlockSteps]) -> Term:
    if isinstance(term, Block):
        new = bodies[0].term()
        same = term.type is not None and (new.dom, new.cod) == (term.type.dom, term.type.cod)
        return replace(term, body=new, type=term.type if same else None)
    if isinstance(term, Scan):
        return replace(term, body=bodies[0].term())
    assert isinstance(term, Repeat)
    known: dict[int, Term] = {}
    equal: dict[Term, Term] = {}  # so that equal bodies are typed and drawn once
    for body in bodies:
        if id(body) not in known:
            written = body.term()
            known[id(body)] = equal.setdefault(written, written)
    return replace(term, bodies=tuple(known[id(body)] for body in bodies))


# --- The steps of a circuit


def read_steps(circuit: Circuit) -> BlockSteps:
    """Returns the steps of the term of a circuit, under the names that its arrays have there."""
    arrays = Type(value.array for value in circuit.inputs)
    found = _StepReader(circuit).block(circuit.term, arrays)
    ids = (value.id for value in circuit.inputs)
    return replace(found, slots={**dict(zip(ids, found.inputs, strict=True)), **found.slots})


class _StepReader:
    """Reads a term part by part, in the order in which its circuit numbers ops and blocks."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.cells, self.fences, self.names = count(), count(), count()
        self.arrays: dict[str, Array] = {}
        self.steps: list[BlockStep] = []
        self.slots: dict[str, str] = {}

    def block(self, term: Term, inputs: Type) -> BlockSteps:
        """Returns the steps of a term on arrays of its own."""
        outer = self.arrays, self.steps, self.slots
        self.arrays, self.steps, self.slots = {}, [], {}
        slots = self.new_slots(inputs)
        outputs = self.read(term, slots)
        found = BlockSteps(slots, outputs, tuple(self.steps), self.arrays, self.slots, term)
        self.arrays, self.steps, self.slots = outer
        return found

    def new_slots(self, arrays: Type, ids: Sequence[str] = ()) -> Slots:
        slots = tuple(ids) or tuple(f"s{next(self.names)}" for _ in arrays)
        self.arrays |= dict(zip(slots, arrays, strict=True))
        return slots

    def type_of(self, slots: Slots) -> Type:
        return Type(self.arrays[slot] for slot in slots)

    def read(self, term: Term, slots: Slots) -> Slots:
        """Adds the steps of a part, and returns the arrays that it gives."""
        match term:
            case Id():
                return slots
            case Then():
                for step in term.steps:
                    n = len(step.dom)
                    slots = (*self.read(step, slots[:n]), *slots[n:])
                return slots
            case Beside():
                parts = term.inputs_by_part(slots)
                return tuple(slot for part, own in parts for slot in self.read(part, own))
            case Block() | Repeat() | Scan():
                return self.loop(term, slots)
            case Equation():
                return self.equation(term, slots)
            case Op():
                return self.op(term, slots)
        raise TypeError(f"{type(term).__name__} is not a kind of term")

    def op(self, op: Op, slots: Slots) -> Slots:
        cell = self.circuit.cells_by_id[f"n{next(self.cells)}"]
        for value, slot in zip(cell.inputs, slots, strict=True):
            self.slots.setdefault(value.id, slot)
        ids = [value.id for value in cell.outputs]
        if isinstance(op, PLAIN_WIRES):
            made = tuple(slots[i] for i in op.sources)
        else:
            made = self.new_slots(Type(value.array for value in cell.outputs), ids)
            self.steps.append(BlockStep(op, slots, made, cell.id))
        self.slots |= dict(zip(ids, made, strict=True))
        return made

    def loop(self, term: Block | Repeat | Scan, slots: Slots) -> Slots:
        id = f"f{next(self.fences)}"
        inputs = self.type_of(slots)
        bodies = tuple(self.bodies(term, inputs))
        made = self.new_slots(term.infer_outputs(inputs))
        self.steps.append(BlockStep(term, slots, made, id, bodies))
        return made

    def bodies(self, term: Block | Repeat | Scan, inputs: Type) -> Iterator[BlockSteps]:
        match term:
            case Block():
                inner = term.to_local(inputs)[0] if term.local else inputs
                yield self.block(term.body, inner)
            case Scan():
                yield self.block(term.body, term.body_inputs(inputs)[0])
            case Repeat():
                split = len(inputs) - term.memory
                state, memory = inputs[:split], inputs[split:]
                for body in term.bodies:
                    own = len(body.dom) - term.memory
                    given = Type((*state[:own], *memory))
                    yield self.block(body, given)
                    state = (*body.infer_outputs(given), *state[own:])

    def equation(self, term: Equation, slots: Slots) -> Slots:
        """Adds an equation as one step, whose sides are not looked into."""
        next(self.cells)
        cells, fences = _count_parts(term)
        for _ in range(cells):
            next(self.cells)
        for _ in range(fences):
            next(self.fences)
        made = self.new_slots(term.infer_outputs(self.type_of(slots)))
        self.steps.append(BlockStep(term, slots, made))
        return made


def _count_parts(term: Term) -> tuple[int, int]:
    """Returns the ops within a term, with those that copy for equations, and its blocks."""
    cells = fences = 0
    for part in term.children:
        inner = _count_parts(part)
        cells += inner[0] + (isinstance(part, Op | Equation))
        fences += inner[1] + isinstance(part, Block | Repeat | Scan)
    return cells, fences
