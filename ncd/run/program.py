"""Circuits ready to run: cells in order, values freed in time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ncd.circuit.circuit import Cell, Circuit, ScanLoop
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
