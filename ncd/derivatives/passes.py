"""The forward pass of a circuit step by step, and the backward pass through its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ncd.derivatives.steps import Recording, Steps
from ncd.lang.circuits.circuit import Cell, Circuit, Loop, Value
from ncd.lang.terms.loops import Scan
from ncd.lang.terms.step_wires import Step, alive, wired
from ncd.lang.terms.step_writer import Slot, Slots
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Axis
from ncd.ops import Add

Env = dict[str, Slot]  # the array of each value of a circuit


def walk(steps: Recording, circuit: Circuit, env: Env) -> None:
    """Writes the ops of a circuit on the arrays of ``env``, which it extends."""
    for unit in circuit.units:
        write(steps, unit, env)


def write(steps: Recording, unit: Cell | Loop, env: Env) -> None:
    """Writes one op or loop on the arrays of ``env``, which it extends."""
    if isinstance(unit, Loop):
        _loop(steps, unit, env)
        return
    slots = [found(steps, env, value) for value in unit.inputs]
    steps.path, steps.written = unit.path, unit.op
    _keep(env, unit.outputs, steps.call(unit.op, *slots))


def _loop(steps: Recording, loop: Loop, env: Env) -> None:
    if loop.kind == "scan":
        slots = [found(steps, env, value) for value in loop.inputs]
        _keep(env, loop.outputs, _scanned(steps, loop, slots))
        return
    for body in loop.bodies:
        walk(steps, body, env)


def _keep(env: Env, values: Iterable[Value], slots: Slots) -> None:
    env.update(zip([value.id for value in values], slots, strict=True))


def found(steps: Steps, env: Env, value: Value) -> Slot:
    """Returns an array as its axes are called here: a local block has names of its own."""
    return steps.renamed(env[value.id], env[value.id].axes, value.array)


def pulled(
    forward: Recording, backward: Steps, given: Iterable[tuple[Slot, Slot]]
) -> dict[Slot, Slot]:
    """Writes the backward pass; returns the gradient of every array that has one.

    Args:
        forward: The forward pass.
        backward: Takes the steps.
        given: Outputs with their gradients.
    """
    grads: dict[Slot, Slot] = {}

    def add(slot: Slot, more: Slot) -> None:
        more = backward.product((more,), slot.axes)
        grads[slot] = backward.call(Add(), grads[slot], more)[0] if slot in grads else more

    for slot, more in given:
        add(slot, more)
    for record in reversed(forward.records):
        if not any(out in grads for out in record.outs):
            continue
        own = tuple(
            grads.get(out) or (backward.zeros(out.axes) if out.real else out) for out in record.outs
        )
        for slot, one in zip(record.ins, record.pull(backward, own), strict=True):
            if one is not None and slot.real:
                add(slot, one)
    return grads


def assembled(steps: Sequence[Step], inputs: Slots, outputs: Slots) -> Term:
    """Returns the steps that the outputs need as one term."""
    arrays: Mapping[Slot, Array] = {
        slot: slot.axes
        for slot in (*inputs, *(slot for step in steps for slot in (*step.takes, *step.gives)))
    }
    return wired(alive(steps, (*outputs,)), (*inputs,), (*outputs,), arrays)


# --- scans ---------------------------------------------------------------------------------------


class _Body(Recording):
    """The body of a scan at one position, to which the parameters come as states."""

    def __init__(self, outer: Recording) -> None:
        super().__init__(outer.parameters)
        self.outer = outer

    def stored(self, path: str, array: Array) -> Slot:
        outer = self.outer
        if path not in outer.learned:
            outer.path, outer.written = self.path, self.written
            outer.learned[path] = outer.stored(path, array)
        return Slot(array)


@dataclass(frozen=True)
class _ScanRecord:
    """A scan of the forward pass, which also gives the states before each position."""

    axis: Axis
    body: _Body
    ins: Slots  # states, parameters, sequences
    outs: Slots  # states, sequences
    kept: Slots  # the states before each position
    inner: tuple[Slots, Slots, Slots]  # the body's states, parameters and inputs
    made: tuple[Slots, Slots]  # its new states and outputs

    def pull(self, steps: Steps, grads: Slots) -> tuple[Slot | None, ...]:
        """Runs backwards along the axis; the body's forward pass is repeated at each position."""
        states, weights, inputs = self.inner
        n, body = len(states), Steps(self.body.parameters)
        given = [(slot, Slot(slot.axes)) for made in self.made for slot in made if slot.real]
        found = pulled(self.body, body, given)
        sums = [Slot(slot.axes) for slot in weights]
        pulls = [slot for _, slot in given]
        new = [found.get(slot) or body.zeros(slot.axes) for slot in states]
        more = [
            body.call(Add(), total, found[slot])[0] if slot in found else total
            for slot, total in zip(weights, sums, strict=True)
        ]
        real = [slot for slot in inputs if slot.real]
        ends = [found.get(slot) or body.zeros(slot.axes) for slot in real]
        takes = (*pulls[:n], *weights, *sums, *states, *inputs, *pulls[n:])
        gives = (*new, *weights, *more, *ends)
        term = assembled((*self.body.steps, *body.steps), takes, gives)
        loop = Scan(term, Array((self.axis,)), states=n + 2 * len(weights))
        sequences = (*self.kept, *self.ins[n + len(weights) :], *grads[n:])
        backwards = (steps.reversed(slot, self.axis) for slot in sequences if slot.axes)
        first = (*grads[:n], *self.ins[n : n + len(weights)])
        start = (*first, *(steps.zeros(slot.axes) for slot in weights))
        out = steps.call(loop, *start, *backwards)
        totals = out[n + len(weights) : n + 2 * len(weights)]
        along = iter(out[n + 2 * len(weights) :])
        along = (steps.reversed(slot, self.axis) for slot in along)
        by_input = (next(along) if slot.real else None for slot in inputs)
        return (*out[:n], *totals, *by_input)


def _scanned(steps: Recording, loop: Loop, slots: Slots) -> tuple[Slot, ...]:
    """Writes a scan whose parameters are states, and which keeps its states."""
    (circuit,), n = loop.bodies, loop.states
    assert isinstance(loop.term, Scan)
    axis = next(a for a in loop.inputs[n].array if a.name == loop.axis)
    body, env = _Body(steps), {value.id: Slot(value.array) for value in circuit.inputs}
    every = tuple(env.values())
    walk(body, circuit, env)
    made = tuple(found(body, env, value) for value in circuit.outputs)
    weights = tuple(body.learned.values())
    inner = every[:n], weights, every[n:]
    term = assembled(
        body.steps, (*every[:n], *weights, *every[n:]), (*made[:n], *weights, *made[n:], *every[:n])
    )
    ins = (
        *slots[:n],
        *(steps.learned[path] for path in body.learned),
        *(_in_front(steps, slot, axis) for slot in slots[n:]),
    )
    call = Scan(term, Array((axis,)), states=n + len(weights))
    out = Steps.call(steps, call, *ins)
    after = n + len(weights)
    outs = (*out[:n], *out[after : after + len(made) - n])
    kept = out[after + len(made) - n :]
    steps.records.append(_ScanRecord(axis, body, ins, outs, kept, inner, (made[:n], made[n:])))
    return tuple(
        steps.product((slot,), value.array) if slot.real else slot
        for slot, value in zip(outs, loop.outputs, strict=True)
    )


def _in_front(steps: Steps, slot: Slot, axis: Axis) -> Slot:
    """Returns an array with an axis in front of the others."""
    rest = (other for other in slot.axes if other.name != axis.name)
    return steps.product((slot,), Array((axis, *rest))) if slot.real else slot
