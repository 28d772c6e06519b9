"""Circuits ready to run: cells in order, values freed in time, blocks calculated again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ncd.circuit.circuit import Cell, Circuit, Fence, Loop, RepeatLoop, ScanLoop
from ncd.errors import unknown_name_error
from ncd.language.torch_code import TorchExpr
from ncd.run.evaluate import (
    CREATING_NODES,
    Code,
    TensorOptions,
    compile_expr,
    compile_exprs,
    over_batches,
)
from ncd.run.seeding import same_draws

# --- Programs: circuits ready to run, with cells in order and values in slots freed in time

# What is shown a step may put other tensors in the place of those that it made.
Watch = Callable[[Cell, tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Tensor, ...] | None]


@dataclass(frozen=True)
class Instruction:
    """A cell ready to run: the slots of its inputs and outputs, and those to free afterwards.

    ``path`` are the modules on the way to its layer; ``weight`` is the name of its own parameter.
    """

    kernel: Code
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    freed_slots: tuple[int, ...]
    cell: Cell | None = None
    path: tuple[str, ...] = ()
    weight: str = ""
    single_output: bool = True  # whether it gives a tensor, not several


@dataclass(frozen=True)
class ScanInstruction:
    """A scan ready to run: its body's program, and its dimension in each input, from the end."""

    body: Program
    states: int
    shape: tuple[int, ...]
    ins: tuple[tuple[int, ...], ...]
    outs: tuple[tuple[int, ...], ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    freed_slots: tuple[int, ...]


@dataclass(frozen=True)
class RecomputeInstruction:
    """Steps whose arrays are not saved, but calculated again in the backward pass."""

    body: Program
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    freed_slots: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """Steps in order; ``ids`` names the value of each slot, ``creates_tensors`` says if "
    "any makes a tensor."""

    ids: tuple[str, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[Instruction | ScanInstruction | RecomputeInstruction, ...]
    creates_tensors: bool


class RunContext(NamedTuple):
    """Settings shared by all steps of a run; ``recorded_arrays`` and ``watch`` as in the module."""

    module: nn.Module
    like: TensorOptions
    recorded_arrays: dict[str, Tensor] | None = None
    watch: Watch | None = None


class UnboundInstruction(NamedTuple):
    """A step whose values have ids but no slots yet."""

    run: Code
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    creates_tensor: bool
    cell: Cell | None = None
    alone: bool = True
    expressions: tuple[TorchExpr, ...] = ()


# --- planning ------------------------------------------------------------------------------------


def part(cell: Cell) -> UnboundInstruction:
    """Returns a cell as a step without slots."""
    ins, outs = (tuple([value.id for value in end]) for end in (cell.inputs, cell.outputs))
    return cell.remember_result("part", _unbound_instruction)._replace(
        inputs=ins, outputs=outs, cell=cell
    )


def _unbound_instruction(cell: Cell) -> UnboundInstruction:
    """Returns an op on its site as a step, of no values yet."""
    ranks = tuple(len(array.shape) for array in cell.site.inputs)
    said, layer, every = cell.torch_code, cell.layer, cell.expressions
    alone = isinstance(said, TorchExpr) or len(every) == 1
    name = layer.function if layer else ""
    run = compile_expr(every[0], ranks, name) if alone else compile_exprs(every, ranks, name)
    return UnboundInstruction(
        over_batches(run, ranks) if cell.op.torch_function else run,
        inputs=(),
        outputs=(),
        creates_tensor=any(
            isinstance(node, CREATING_NODES) for expr in every for node in expr.walk()
        ),
        alone=alone and len(cell.outputs) == 1,
        expressions=every,
    )


Ids = tuple[str, ...]
Parts = Sequence["UnboundInstruction | ScanLoop | Segment"]
Change = Callable[[Parts, Circuit], Parts]


class Segment(NamedTuple):
    """Parts that form one segment, with the ids of what it takes from and gives to the others."""

    parts: Parts
    inputs: Ids
    outputs: Ids


def plan(circuit: Circuit, change: Change | None = None) -> Program:
    """Returns the program of a circuit; ``change`` may replace steps."""
    parts = [part(unit) if isinstance(unit, Cell) else unit for unit in circuit.run_order]
    changed = parts if change is None else change(parts, circuit)
    ins, outs = (tuple(value.id for value in end) for end in (circuit.inputs, circuit.outputs))
    return _program(changed, ins, outs, change)


def _program(parts: Parts, inputs: Ids, outputs: Ids, change: Change | None) -> Program:
    every = (*inputs, *(id for item in parts for id in input_output_ids(item)[1]))
    slots = {id: slot for slot, id in enumerate(dict.fromkeys(every))}
    needed = {*outputs}
    steps: list[Instruction | ScanInstruction | RecomputeInstruction] = []
    for item in reversed(parts):
        ins, outs = input_output_ids(item)
        done = tuple(slots[id] for id in dict.fromkeys((*ins, *outs)) if id not in needed)
        needed.update(ins)
        places = tuple(slots[id] for id in ins), tuple(slots[id] for id in outs), done
        steps.append(_step(item, places, change))
    new = any(item.creates_tensor for item in parts if isinstance(item, UnboundInstruction))
    return Program(
        tuple(slots),
        tuple(slots[id] for id in inputs),
        tuple(slots[id] for id in outputs),
        tuple(reversed(steps)),
        new
        or any(step.body.creates_tensors for step in steps if not isinstance(step, Instruction)),
    )


def input_output_ids(
    item: UnboundInstruction | ScanLoop | Segment,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the ids of the values that a step takes and gives."""
    if not isinstance(item, ScanLoop):
        return item.inputs, item.outputs
    return tuple(v.id for v in item.inputs), tuple(v.id for v in item.outputs)


Slots = tuple[int, ...]
Places = tuple[Slots, Slots, Slots]  # of the inputs, the outputs, and those then done with


def _step(
    item: UnboundInstruction | ScanLoop | Segment, places: Places, change: Change | None
) -> Instruction | ScanInstruction | RecomputeInstruction:
    if isinstance(item, Segment):
        return RecomputeInstruction(_program(*item, change), *places)
    if isinstance(item, ScanLoop):
        return _scan(item, places, plan(item.bodies[0], change))
    cell = item.cell
    path: tuple[str, ...] = ()
    weight = ""
    if cell is not None and cell.layer is not None:
        path = (*cell.module_path, cell.name)
    elif cell is not None and cell.initial_values:
        path, weight = cell.module_path, cell.name
    return Instruction(item.run, *places, cell, path, weight, item.alone)


def _scan(loop: ScanLoop, places: Places, body: Program) -> ScanInstruction:
    n = loop.states
    sequences = loop.inputs[n:]
    first = sequences[0].array
    return ScanInstruction(
        body,
        n,
        first[first.names.index(loop.axis)].shape,
        tuple(value.array.position(loop.axis) for value in sequences),
        tuple(value.array.position(loop.axis) for value in loop.outputs[n:]),
        *places,
    )


# --- running -------------------------------------------------------------------------------------


def execute(program: Program, inputs: Iterable[Tensor], run: RunContext) -> tuple[Tensor, ...]:
    """Runs every step, and frees each value after its last use unless all are kept."""
    values: list[Any] = [None] * len(program.ids)
    for slot, x in zip(program.inputs, inputs, strict=True):
        values[slot] = x
    keep, watch = run.recorded_arrays, run.watch
    for step in program.steps:
        given = [values[slot] for slot in step.inputs]
        if isinstance(step, ScanInstruction):
            made: Sequence[Tensor] = scan(step, given, run)
        elif isinstance(step, RecomputeInstruction):
            made = run_segment(step, given, run)
        else:
            found = step.kernel(given, _current_layer(step, run.module), run.like)
            made = (found,) if step.single_output else found
            if watch is not None and step.cell is not None:
                made = watch(step.cell, tuple(given), tuple(made)) or made
        for slot, x in zip(step.outputs, made, strict=True):
            values[slot] = x
        del given, made
        if keep is None:
            for slot in step.freed_slots:
                values[slot] = None
    if keep is not None:
        keep.update(zip(program.ids, values, strict=True))
    return tuple([values[slot] for slot in program.outputs])


def run_segment(
    step: RecomputeInstruction, given: Sequence[Tensor], run: RunContext
) -> tuple[Tensor, ...]:
    """Runs a segment; of its arrays only those that it takes are saved for the backward pass."""
    if run.recorded_arrays is not None or not torch.is_grad_enabled():
        return execute(step.body, given, run)
    made: tuple[Tensor, ...] = checkpoint(
        lambda *xs: execute(step.body, xs, run),
        *given,
        use_reentrant=False,
        context_fn=lambda: same_draws(run.module),
    )
    return made


def _current_layer(step: Instruction, module: Any) -> Any:
    """Returns the current layer or parameter of a step, which may have been replaced."""
    for name in step.path:
        module = module._modules[name]
    return getattr(module, step.weight) if step.weight else module


def scan(step: ScanInstruction, given: Sequence[Tensor], run: RunContext) -> list[Tensor]:
    """Runs a body at each position in order, and stacks its outputs except the states."""
    n = step.states
    states = list(given[:n])
    rows = [
        (x.flatten(dims[0], dims[-1]) if len(dims) > 1 else x).unbind(dims[-1])
        for x, dims in zip(given[n:], step.ins, strict=True)
    ]
    made: list[tuple[Tensor, ...]] = []
    for at in range(math.prod(step.shape)):
        out = execute(step.body, (*states, *[row[at] for row in rows]), run)
        states = list(out[:n])
        made.append(out[n:])
    columns = zip(*made, strict=True) if step.outs else ()
    whole = [
        torch.stack(column, dims[-1]).unflatten(dims[-1], step.shape)
        if len(dims) > 1
        else torch.stack(column, dims[-1])
        for column, dims in zip(columns, step.outs, strict=True)
    ]
    return [*states, *whole]


# --- A part of a program: the steps that some of its values depend on


def steps_leading_to(program: Program, ids: Collection[str]) -> Program:
    """Returns only the steps of a program that the values of these ids depend on."""
    needed = {slot for slot, id in enumerate(program.ids) if id in ids}
    steps: list[Instruction | ScanInstruction | RecomputeInstruction] = []
    for step in reversed(program.steps):
        if not needed.isdisjoint(step.outputs):
            steps.append(step)
            needed.update(step.inputs)
    return replace(program, steps=tuple(reversed(steps)), outputs=())


# --- Blocks whose arrays are not saved for the backward pass, but calculated again


LAYERS = re.compile(r"(\d{1,4})(?::(\d{1,4}))?", re.ASCII)  # "2" or "0:3"


def choices(circuit: Circuit) -> tuple[Fence, ...]:
    """Returns the blocks that can be calculated again; of a repetition those of its first body.

    A block inside a scan is not among them, as the scan runs as a whole.
    """
    later = {f.id for loop in circuit.loops for body in loop.bodies[1:] for f in all_fences(body)}
    return tuple(f for f in circuit.fences if f.id not in later and any(_members(circuit, f)))


def segments(circuit: Circuit, names: Collection[str]) -> tuple[frozenset[str], ...]:
    """Returns the ids of the ops in each block of these ids or titles, or in these layers.

    A block in a repetition stands for that of every body, and a repetition for each of its bodies.
    ``"layers.2"`` is one body, and ``"layers.0:3"`` the first three as one segment. Segments that
    share ops are one.

    Raises:
        UnknownNameError: For a name that is none of these.
    """
    alike, blocks = _alike(circuit), choices(circuit)
    every = {fence.id: fence for fence in circuit.fences}
    found: list[frozenset[str]] = []
    for name in names:
        parts = [
            part
            for fence in blocks
            if name in (fence.id, fence.title)
            for id in alike.get(fence.id, (fence.id,))
            for part in _members(circuit, every[id])
        ] or layers(circuit, name)
        if not parts:
            raise unknown_name_error("block", name, _block_names(circuit), where="recompute")
        for part in parts:
            shared = [one for one in found if one & part]
            found = [one for one in found if not one & part] + [part.union(*shared)]
    return tuple(found)


def path(loop: Loop) -> str:
    """Returns the place of a repetition's layers in the module, such as ``encoder.layers``."""
    return ".".join((*loop.scope, loop.name))


def layers(circuit: Circuit, name: str) -> list[frozenset[str]]:
    """Returns the ops of the layers that a name such as ``layers.0:3`` says, as one segment."""
    stack, _, places = name.rpartition(".")
    found = LAYERS.fullmatch(places)
    if not found:
        return []
    first = int(found[1])
    last = int(found[2] or first + 1)
    stacks = [_bodies(circuit, loop) for loop in circuit.loops if stack in (path(loop), loop.id)]
    parts = [own[first:last] for own in stacks if first < last <= len(own)]
    return [segment for part in parts if (segment := frozenset[str]().union(*part))]


def _block_names(circuit: Circuit) -> dict[str, None]:
    """Returns the names that stand for blocks, and for the first layer of each repetition."""
    blocks = [f for f in choices(circuit) if f.title.strip() or f.repeats]
    titles = [f.title if f.title.strip() else f.id for f in blocks]
    layers = [f"{path(loop)}.0" for loop in circuit.loops if _bodies(circuit, loop)]
    return dict.fromkeys([*titles, *layers])


def all_fences(circuit: Circuit) -> Iterator[Fence]:
    """Yields the fences of a circuit and of the loops in it."""
    yield from circuit.own_fences
    for loop in circuit.loops:
        for body in loop.bodies:
            yield from body.own_fences


def _members(circuit: Circuit, fence: Fence) -> list[frozenset[str]]:
    """Returns the ids of the ops of a block, or of each body of a repetition."""
    for loop in circuit.loops:
        if loop.id == fence.id and isinstance(loop, RepeatLoop):
            return [part for part in _bodies(circuit, loop) if part]
    own = frozenset(unit.id for unit in circuit.run_order if fence.id in unit.fences)
    return [own] if own else []


def _bodies(circuit: Circuit, loop: Loop) -> list[frozenset[str]]:
    """Returns the ids of the ops in each body of a repetition; of one in a scan none."""
    inner = {unit.id for unit in circuit.run_order}
    parts = [frozenset(unit.id for unit in body.run_order) for body in loop.bodies]
    runs = frozenset[str]().union(*parts) <= inner
    return parts if isinstance(loop, RepeatLoop) and runs else []


def _alike(circuit: Circuit) -> dict[str, tuple[str, ...]]:
    """Returns for each block of a first body the blocks at its place in all bodies."""
    found: dict[str, tuple[str, ...]] = {}
    for loop in reversed(circuit.loops):  # inner ones first
        bodies = [[fence.id for fence in all_fences(body)] for body in loop.bodies]
        for same in zip(*bodies, strict=False):
            more = [id for one in same for id in found.get(one, (one,))]
            found[same[0]] = tuple(dict.fromkeys(more))
    return found


def group_segments(parts: Parts, circuit: Circuit, wanted: Collection[frozenset[str]]) -> Parts:
    """Returns the steps with those of each segment as one, after all that it needs."""
    home = {id: n for n, segment in enumerate(wanted) for id in segment}
    groups: dict[object, list[UnboundInstruction | ScanLoop | Segment]] = {}
    for part in parts:
        id = part.id if isinstance(part, ScanLoop) else _id(part)
        groups.setdefault(home.get(id, id), []).append(part)
    outside = {value.id for value in circuit.outputs}
    takers: dict[str, set[object]] = {}
    for key, own in groups.items():
        for part in own:
            for id in input_output_ids(part)[0]:
                takers.setdefault(id, set()).add(key)
    items = [
        _segment(own, {id for id, at in takers.items() if at - {key}} | outside)
        if isinstance(key, int)
        else own[0]
        for key, own in groups.items()
    ]
    return _dependency_order(items, {value.id for value in circuit.inputs})


def _id(part: UnboundInstruction | Segment) -> str:
    assert isinstance(part, UnboundInstruction)
    assert part.cell is not None
    return part.cell.id


def _segment(parts: Parts, needed: set[str]) -> Segment:
    made = dict.fromkeys(id for part in parts for id in input_output_ids(part)[1])
    taken = dict.fromkeys(id for part in parts for id in input_output_ids(part)[0])
    inputs = tuple(id for id in taken if id not in made)
    return Segment(tuple(parts), inputs, tuple(id for id in made if id in needed))


def _dependency_order(items: Parts, ready: set[str]) -> Parts:
    """Returns the steps in an order in which each comes after those that it needs."""
    waiting = list(items)
    found: list[UnboundInstruction | ScanLoop | Segment] = []
    while waiting:
        at = next(
            i for i, item in enumerate(waiting) if ready.issuperset(input_output_ids(item)[0])
        )
        item = waiting.pop(at)
        found.append(item)
        ready.update(input_output_ids(item)[1])
    return found
