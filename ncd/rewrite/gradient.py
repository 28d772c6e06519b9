"""The gradient of a term as a term: its steps, and the forward and the backward pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from ncd.circuit.circuit import Cell, Circuit, ScanLoop, Value
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.errors import unknown_name_error
from ncd.language.arguments import check_names, check_term
from ncd.language.axes import NO_AXES, Array, Axis, Signature, Type
from ncd.language.loops import Scan
from ncd.language.op import ArrayHandle, Op, PullbackRule, Site, Slots
from ncd.language.step_wires import AppliedTerm, drop_dead_steps, wire_together
from ncd.language.terms import Term
from ncd.ops import Add, Param, Split
from ncd.rewrite.rules.term_recorder import Parameters, TermRecorder, merged_axes

# --- Records of the steps of the forward pass, and their pullbacks


class TapeEntry(Protocol):
    """A part of the forward pass that has a pullback."""

    @property
    def ins(self) -> Slots:
        """The arrays that it takes."""

    @property
    def outs(self) -> Slots:
        """The arrays that it gives."""

    def pull(self, steps: TermRecorder, grads: Slots) -> tuple[ArrayHandle | None, ...]:
        """Returns the gradient of each input from those of the outputs."""


@dataclass(frozen=True)
class OpRecord:
    """An op of the forward pass, with its arrays."""

    op: Op
    site: Site
    ins: Slots
    outs: Slots

    def pull(self, steps: TermRecorder, grads: Slots) -> tuple[ArrayHandle | None, ...]:
        steps.reads = tuple(self.site.reads)
        return self.op.pullback(self.site, steps, self.ins, self.outs, grads)


@dataclass(frozen=True)
class RuleRecord:
    """Steps of the forward pass from one array to another, whose pullback is one rule."""

    ins: Slots
    outs: Slots
    rule: PullbackRule

    def pull(self, steps: TermRecorder, grads: Slots) -> tuple[ArrayHandle | None, ...]:
        return (self.rule(steps, grads[0]),)


class ForwardTape(TermRecorder):
    """The forward pass, written in ops that have a pullback, all of which are recorded."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.records: list[TapeEntry] = []
        self.path = ""  # of the op that is written
        self.written: Op | None = None

    def call(self, term: Term, *slots: ArrayHandle) -> tuple[ArrayHandle, ...]:
        if not isinstance(term, Op):
            return super().call(term, *slots)
        if (found := self.write_out(term, slots)) is not None:
            return found
        site = term.apply_to(Type(slot.axes for slot in slots))
        made = super().call(term, *slots)
        self.records.append(OpRecord(term, site, slots, made))
        return made

    @property
    def count(self) -> int:
        return len(self.records)

    def override_pullback(
        self, since: int, slot: ArrayHandle, made: ArrayHandle, rule: PullbackRule
    ) -> None:
        self.records[since:] = [RuleRecord((slot,), (made,), rule)]

    def param(self, name: str, *groups: Array, kept: Array = NO_AXES) -> ArrayHandle:
        path = f"{self.path}.{name}" if name else self.path
        merged = merged_axes(groups, kept)
        if path not in self.learned:
            array = Array((*merged, *kept), kept.below)
            self.learned[path] = self.parameter_array(path, array)
        slot = self.learned[path]
        for flat, group in zip(merged, groups, strict=True):
            if not group:  # of size 1 in torch, and no axis here
                slot = self.product((slot,), Array(a for a in slot.axes if a is not flat))
            elif (flat,) != tuple(group):
                pattern = Signature(Type((Array((flat,)),)), Type((group,)))
                (slot,) = self.call(Split(pattern), slot)
        return slot

    def parameter_array(self, path: str, array: Array) -> ArrayHandle:
        """Returns a parameter, as an array that a step before all others gives."""
        own, last = self.written, path.rpartition(".")[2]
        assert own is not None
        if hasattr(own, "array"):  # a parameter or a constant already
            self.parameters.ops[path] = replace(own, array=array, name=last)  # type: ignore
        else:
            self.parameters.ops[path] = Param(array, last)
        return ArrayHandle(array)


# --- The forward pass of a circuit step by step, and the backward pass through its records

Env = dict[str, ArrayHandle]  # the array of each value of a circuit


def write_forward(steps: ForwardTape, circuit: Circuit, env: Env) -> None:
    """Writes the ops of a circuit on the arrays of ``env``, which it extends."""
    for unit in circuit.run_order:
        write(steps, unit, env)


def write(steps: ForwardTape, unit: Cell | ScanLoop, env: Env) -> None:
    """Writes one op or scan on the arrays of ``env``, which it extends."""
    slots = [lookup_local(steps, env, value) for value in unit.inputs]
    if isinstance(unit, ScanLoop):
        _keep(env, unit.outputs, write_scan(steps, unit, slots))
        return
    steps.path, steps.written = unit.path, unit.op
    _keep(env, unit.outputs, steps.call(unit.op, *slots))


def _keep(env: Env, values: Iterable[Value], slots: Slots) -> None:
    env.update(zip([value.id for value in values], slots, strict=True))


def lookup_local(steps: TermRecorder, env: Env, value: Value) -> ArrayHandle:
    """Returns an array as its axes are called here: a local block has names of its own."""
    return steps.rename(env[value.id], env[value.id].axes, value.array)


def write_backward(
    forward: ForwardTape, backward: TermRecorder, given: Iterable[tuple[ArrayHandle, ArrayHandle]]
) -> dict[ArrayHandle, ArrayHandle]:
    """Writes the backward pass; returns the gradient of every array that has one.

    Args:
        forward: The forward pass.
        backward: Takes the steps.
        given: Outputs with their gradients.
    """
    grads: dict[ArrayHandle, ArrayHandle] = {}

    def add(slot: ArrayHandle, more: ArrayHandle) -> None:
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


def assemble_term(steps: Sequence[AppliedTerm], inputs: Slots, outputs: Slots) -> Term:
    """Returns the steps that the outputs need as one term."""
    arrays: Mapping[ArrayHandle, Array] = {
        slot: slot.axes
        for slot in (*inputs, *(slot for step in steps for slot in (*step.takes, *step.gives)))
    }
    return wire_together(drop_dead_steps(steps, (*outputs,)), (*inputs,), (*outputs,), arrays)


# --- scans ---------------------------------------------------------------------------------------


class _ScanBody(ForwardTape):
    """The body of a scan at one position, to which the parameters come as states."""

    def __init__(self, outer: ForwardTape) -> None:
        super().__init__(outer.parameters)
        self.outer = outer

    def parameter_array(self, path: str, array: Array) -> ArrayHandle:
        outer = self.outer
        if path not in outer.learned:
            outer.path, outer.written = self.path, self.written
            outer.learned[path] = outer.parameter_array(path, array)
        return ArrayHandle(array)


@dataclass(frozen=True)
class _ScanRecord:
    """A scan of the forward pass, which also gives the states before each position."""

    axis: Axis
    body: _ScanBody
    ins: Slots  # states, parameters, sequences
    outs: Slots  # states, sequences
    prior_states: Slots  # the states before each position
    inner: tuple[Slots, Slots, Slots]  # the body's states, parameters and inputs
    body_results: tuple[Slots, Slots]  # its new states and outputs

    def pull(self, steps: TermRecorder, grads: Slots) -> tuple[ArrayHandle | None, ...]:
        """Runs backwards along the axis; the body's forward pass is repeated at each position."""
        states, weights, inputs = self.inner
        n, body = len(states), TermRecorder(self.body.parameters)
        made = (slot for slots in self.body_results for slot in slots)
        given = [(slot, ArrayHandle(slot.axes)) for slot in made if slot.real]
        found = write_backward(self.body, body, given)
        sums = [ArrayHandle(slot.axes) for slot in weights]
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
        term = assemble_term((*self.body.steps, *body.steps), takes, gives)
        loop = Scan(term, Array((self.axis,)), states=n + 2 * len(weights))
        sequences = (*self.prior_states, *self.ins[n + len(weights) :], *grads[n:])
        backwards = (steps.reverse(slot, self.axis) for slot in sequences if slot.axes)
        first = (*grads[:n], *self.ins[n : n + len(weights)])
        start = (*first, *(steps.zeros(slot.axes) for slot in weights))
        out = steps.call(loop, *start, *backwards)
        totals = out[n + len(weights) : n + 2 * len(weights)]
        along = iter(out[n + 2 * len(weights) :])
        along = (steps.reverse(slot, self.axis) for slot in along)
        by_input = (next(along) if slot.real else None for slot in inputs)
        return (*out[:n], *totals, *by_input)


def write_scan(steps: ForwardTape, loop: ScanLoop, slots: Slots) -> tuple[ArrayHandle, ...]:
    """Writes a scan whose parameters are states, and which keeps its states."""
    (circuit,), n = loop.bodies, loop.states
    assert isinstance(loop.term, Scan)
    axis = next(a for a in loop.inputs[n].array if a.name == loop.axis)
    body, env = _ScanBody(steps), {value.id: ArrayHandle(value.array) for value in circuit.inputs}
    every = tuple(env.values())
    write_forward(body, circuit, env)
    made = tuple(lookup_local(body, env, value) for value in circuit.outputs)
    weights = tuple(body.learned.values())
    inner = every[:n], weights, every[n:]
    term = assemble_term(
        body.steps, (*every[:n], *weights, *every[n:]), (*made[:n], *weights, *made[n:], *every[:n])
    )
    ins = (
        *slots[:n],
        *(steps.learned[path] for path in body.learned),
        *(_in_front(steps, slot, axis) for slot in slots[n:]),
    )
    call = Scan(term, Array((axis,)), states=n + len(weights))
    out = TermRecorder.call(steps, call, *ins)
    after = n + len(weights)
    outs = (*out[:n], *out[after : after + len(made) - n])
    kept = out[after + len(made) - n :]
    steps.records.append(_ScanRecord(axis, body, ins, outs, kept, inner, (made[:n], made[n:])))
    return tuple(
        steps.product((slot,), value.array) if slot.real else slot
        for slot, value in zip(outs, loop.outputs, strict=True)
    )


def _in_front(steps: TermRecorder, slot: ArrayHandle, axis: Axis) -> ArrayHandle:
    """Returns an array with an axis in front of the others."""
    rest = (other for other in slot.axes if other.name != axis.name)
    return steps.product((slot,), Array((axis, *rest))) if slot.real else slot


# --- The gradient of a term, as a term


def gradient(term: Term, wrt: Literal["inputs", "parameters"] | Sequence[str] = "inputs") -> Term:
    """Returns the gradient of a term, as a term.

    It takes the arrays of the term, and then the gradient of each output of real numbers. It gives
    the gradient of each input of real numbers, or of the chosen parameters, as torch stores them.
    Its own parameters have the names of the term's module, so their values fit.

    Args:
        term: The term; all of its axes have sizes.
        wrt: ``"inputs"``, ``"parameters"``, or the names of parameters, such as ``["Q.weight"]``.

    Returns:
        The term; it can be drawn, run, costed and differentiated again.

    Raises:
        SizeError: For an axis without a size.
        MismatchError: For an op without a gradient, such as a call by its name, with the reason.
        UnknownNameError: For a name that is no parameter.
        ParseError: For ``wrt`` of another kind.

    Source: Rumelhart, Hinton and Williams 1986, "Learning representations by back-propagating
    errors"; ``torch.autograd.grad``.

    >>> from ncd.ops import Softmax
    >>> back = gradient(Softmax("x:3"))
    >>> str(back.dom), str(back.cod)
    ('x, x', 'x')
    """
    check_term(term, "gradient")
    forward, inputs, outputs = _forward(term)
    given = [(slot, ArrayHandle(slot.axes)) for slot in outputs if slot.real]
    backward = TermRecorder(forward.parameters)
    grads = write_backward(forward, backward, given)
    wanted = [slot for slot in inputs if slot.real]
    if not (isinstance(wrt, str) and wrt == "inputs"):
        wanted = _parameters(forward, wrt)
    made = tuple(grads.get(slot) or backward.zeros(slot.axes) for slot in wanted)
    steps = [*parameter_steps(forward), *forward.steps, *backward.steps]
    return assemble_term(steps, (*inputs, *(slot for _, slot in given)), made)


def parameter_names(term: Term) -> list[str]:
    """Returns the names of a term's parameters in the order of their gradients.

    >>> from ncd.ops import Linear
    >>> parameter_names(Linear("m:3 -> k:2", "Q", bias=True))
    ['Q.weight', 'Q.bias']
    """
    forward, _, _ = _forward(term)
    return [path for path in forward.learned if _learns(forward, path)]


def _forward(term: Term) -> tuple[ForwardTape, tuple[ArrayHandle, ...], list[ArrayHandle]]:
    """Returns the forward pass, its inputs and its outputs."""
    circuit = elaborate(term)
    require_sizes(circuit)
    forward = ForwardTape(Parameters())
    env: Env = {value.id: ArrayHandle(value.array) for value in circuit.inputs}
    inputs = tuple(env.values())
    write_forward(forward, circuit, env)
    return forward, inputs, [lookup_local(forward, env, value) for value in circuit.outputs]


def _parameters(forward: ForwardTape, wrt: str | Sequence[str]) -> list[ArrayHandle]:
    """Returns the parameters of these names, or all of them."""
    learned = {path: slot for path, slot in forward.learned.items() if _learns(forward, path)}
    if isinstance(wrt, str) and wrt == "parameters":
        return list(learned.values())
    form, example = '"inputs", "parameters" or several names', next(iter(learned), "Q.weight")
    check_names(wrt, "wrt", "gradient", form, example)
    for name in wrt:
        if name not in learned:
            raise unknown_name_error("parameter", name, learned, where="gradient")
    return [learned[name] for name in wrt]


def _learns(forward: ForwardTape, path: str) -> bool:
    op = forward.parameters.ops[path]
    return any(one.is_learned for one in op.initial_values(op.apply_to(op.dom)).values())


def parameter_steps(forward: ForwardTape) -> list[AppliedTerm]:
    """Returns the step that gives all parameters."""
    if not forward.learned:
        return []
    term, paths = forward.parameters.term()
    return [AppliedTerm(term, (), tuple(forward.learned[path] for path in paths))]
