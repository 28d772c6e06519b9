"""The backward pass of a system with a box for each block, which takes what was saved for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import ClassVar, NamedTuple

from ncd.circuit.circuit import Circuit, Loop, RepeatLoop, ScanLoop, Unit
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.errors import MismatchError
from ncd.language.axes import Array, Signature, Type
from ncd.language.op import ArrayHandle, DrawnBox, DrawnOp, Glyph, Mark, Site, Slots
from ncd.language.step_wires import AppliedTerm, drop_dead_steps, wire_together
from ncd.language.terms import Term
from ncd.rewrite.gradient import (
    Env,
    ForwardTape,
    TapeEntry,
    write,
    write_backward,
)
from ncd.rewrite.rules.term_recorder import Parameters, TermRecorder
from ncd.words import plain_text

MIN_BOX_STEPS = (
    3  # steps of an op that are one box; fewer are drawn as they are, if nothing was saved
)


class Tap(NamedTuple):
    """An array that was saved for the backward pass, and its label."""

    label: str
    array: Array


@dataclass(frozen=True, repr=False, eq=False)
class LoadNote(DrawnOp):
    """A note where a saved array is loaded."""

    text: str
    array: Array
    role: ClassVar[str] = "note"

    @property
    def signature(self) -> Signature:
        return Signature(Type(), Type((self.array,)))

    def glyph(self, site: Site) -> Glyph:
        return Glyph(marks=(Mark("load", self.text, (), tuple(range(len(self.array)))),))

    def description(self, site: Site) -> str:
        return f"({self.array}) loaded from memory, {plain_text(self.text)}"


@dataclass(frozen=True, repr=False, eq=False)
class BackwardBox(DrawnBox):
    """The backward pass of a block or op as one box."""

    pattern: Signature

    @property
    def signature(self) -> Signature:
        return self.pattern

    def description(self, site: Site) -> str:
        return f"{plain_text(self.title)}: ({site.inputs}) to ({site.outputs})"


def backward_diagram(term: Term, taps: Mapping[str, Sequence[Tap]]) -> Term:
    """Returns the backward pass as a term to be drawn: blocks are boxes, saved arrays are loaded.

    It takes the gradient of each output of real numbers, and gives that of each input of real
    numbers. Of a repetition whose bodies are all alike the first is written. ``taps`` are the saved
    arrays by the ids of the forward ops that need them first.

    Raises SizeError for an axis without a size, and MismatchError for an op without a gradient or
    for blocks that need each other.

    >>> from ncd.ops import Softmax
    >>> str(backward_diagram(Softmax("x:3"), {"n0": [Tap("weights", Softmax("x:3").cod[0])]}).dom)
    'x'
    """
    circuit = elaborate(term)
    require_sizes(circuit)
    steps, given, wanted = _backward(circuit)
    items = [*_boxes(_parts(circuit, steps), given, wanted, taps)]
    slots = (*given, *wanted, *(slot for item in items for slot in (*item.takes, *item.gives)))
    return wire_together(items, given, wanted, {slot: slot.axes for slot in slots})


# --- the steps of the backward pass, each with its op --------------------------------------------


class _OwnedSteps(TermRecorder):
    """Steps that remember the op whose backward pass they are; None for the ends."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.now: Unit | None = None
        self.homes: dict[AppliedTerm, Unit | None] = {}

    def call(self, term: Term, *slots: ArrayHandle) -> tuple[ArrayHandle, ...]:
        made = super().call(term, *slots)
        self.homes[self.steps[-1]] = self.now
        return made


@dataclass(frozen=True)
class _OwnedRecord:
    """A record of the forward pass, with the op that it is of."""

    record: TapeEntry
    owner: Unit

    @property
    def ins(self) -> Slots:
        return self.record.ins

    @property
    def outs(self) -> Slots:
        return self.record.outs

    def pull(self, steps: TermRecorder, grads: Slots) -> tuple[ArrayHandle | None, ...]:
        assert isinstance(steps, _OwnedSteps)
        steps.now = self.owner
        return self.record.pull(steps, grads)


Homes = dict[AppliedTerm, Unit | None]


def _backward(circuit: Circuit) -> tuple[Homes, tuple[ArrayHandle, ...], tuple[ArrayHandle, ...]]:
    """Returns the steps with their ops, the gradients that come in, and those that go out."""
    forward = ForwardTape(Parameters())
    env: Env = {value.id: ArrayHandle(value.array) for value in circuit.inputs}
    inputs = tuple(env.values())
    owned: list[TapeEntry] = []
    _write(forward, circuit, env, owned)
    outputs = [env[value.id] for value in circuit.outputs]
    forward.records = owned
    backward = _OwnedSteps(forward.parameters)
    given = [(slot, ArrayHandle(slot.axes)) for slot in outputs if slot.real]
    grads = write_backward(forward, backward, given)
    wanted = tuple(grads[slot] for slot in inputs if slot in grads)
    learned = tuple(grads[slot] for slot in forward.learned.values() if slot in grads)
    steps = drop_dead_steps(backward.steps, (*wanted, *learned))
    return {step: backward.homes[step] for step in steps}, tuple(g for _, g in given), wanted


def _write(forward: ForwardTape, circuit: Circuit, env: Env, owned: list[TapeEntry]) -> None:
    """Writes the forward pass, and adds each record with its op to ``owned``."""
    for unit in circuit.units:
        if isinstance(unit, RepeatLoop):
            first, last = unit.bodies[0], unit.bodies[-1]
            once = alike(unit)
            for body in (first,) if once else unit.bodies:
                _write(forward, body, env, owned)
            for made, value in zip(first.outputs, last.outputs, strict=True) if once else ():
                env[value.id] = env[made.id]
        else:
            write(forward, unit, env)
            owned += [_OwnedRecord(record, unit) for record in forward.records[len(owned) :]]


def alike(loop: Loop) -> bool:
    """Returns whether the first body stands for all: they are equal, and leave nothing behind."""
    left = {v.id for v in loop.outputs} - {v.id for v in (*loop.bodies[-1].outputs, *loop.inputs)}
    return len({body.term for body in loop.bodies}) == 1 and not left


# --- the boxes -----------------------------------------------------------------------------------


class _BackwardGroup(NamedTuple):
    """The backward steps of a block or an op, and the ids of the forward ops."""

    title: str
    steps: list[AppliedTerm]
    cells: tuple[str, ...]


def _parts(circuit: Circuit, homes: Homes) -> list[_BackwardGroup]:
    """Returns the steps of each outermost block, and of each op outside, after all they need."""
    titles = block_titles(circuit)
    labels = {cell.id: cell.op.display_name for cell in circuit.cells} | titles
    members: dict[str, list[str]] = {}
    for unit in circuit.run_order:
        cells = unit.bodies[0].cells if isinstance(unit, ScanLoop) else (unit,)
        members.setdefault(_key(unit, titles), []).extend(cell.id for cell in cells)
    groups: dict[str, list[AppliedTerm]] = {}
    for step, home in homes.items():
        groups.setdefault(_key(home, titles) if home else "", []).append(step)
    makers = {slot: key for key, own in groups.items() for step in own for slot in step.gives}
    needs = {
        key: {makers[slot] for step in own for slot in step.takes if slot in makers} - {key}
        for key, own in groups.items()
    }
    try:
        order = [*TopologicalSorter(needs).static_order()]
    except CycleError:
        fact = "two blocks need gradients of each other"
        raise MismatchError(fact, cure="a block around both") from None
    return [
        _BackwardGroup(labels.get(key, "Scan"), groups[key], tuple(members.get(key, ())))
        for key in order
    ]


def block_titles(circuit: Circuit) -> dict[str, str]:
    """Returns the blocks with a title, by their ids, without those around all or a repetition."""
    every = [{*cell.fences} for cell in circuit.cells] or [set()]
    around = set.intersection(*every)
    around |= {id for loop in circuit.loops if isinstance(loop, RepeatLoop) for id in loop.fences}
    return {f.id: f.title for f in circuit.fences if f.title.strip() and f.id not in around}


def _key(unit: Unit, titles: Mapping[str, str]) -> str:
    return next((id for id in unit.fences if id in titles), unit.id)


def _boxes(
    parts: Sequence[_BackwardGroup], given: Slots, wanted: Slots, taps: Mapping[str, Sequence[Tap]]
) -> Iterator[AppliedTerm]:
    """Yields a box for each part, after notes for what it loads; few plain steps as they are."""
    takers: dict[ArrayHandle, set[int]] = {}
    for n, part in enumerate(parts):
        for slot in (slot for step in part.steps for slot in step.takes):
            takers.setdefault(slot, set()).add(n)
    flow = {*given, *(slot for part in parts for step in part.steps for slot in step.gives)}
    for n, part in enumerate(parts):
        loaded = [tap for id in part.cells for tap in taps.get(id, ())]
        made = dict.fromkeys(slot for step in part.steps for slot in step.gives)
        takes = dict.fromkeys(slot for step in part.steps for slot in step.takes)
        if not loaded and len(part.steps) < MIN_BOX_STEPS and flow.issuperset(takes):
            yield from part.steps
            continue
        ins = tuple(slot for slot in takes if slot in flow and slot not in made)
        outs = tuple(slot for slot in made if slot in wanted or takers.get(slot, {n}) != {n})
        notes = tuple(ArrayHandle(tap.array) for tap in loaded)
        for tap, slot in zip(loaded, notes, strict=True):
            yield AppliedTerm(LoadNote(tap.label, tap.array), (), (slot,))
        types = (Type(slot.axes for slot in side) for side in ((*notes, *ins), outs))
        yield AppliedTerm(BackwardBox(f"{part.title}'", Signature(*types)), (*notes, *ins), outs)
