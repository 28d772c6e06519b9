"""A term as a list of steps on arrays, and which of their axes are positions of one sequence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ncd.circuit.circuit import Cell, Circuit, RepeatLoop, ScanLoop, Value
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.errors import MismatchError, UnknownNameError
from ncd.language.axes import Array, Signature, Type
from ncd.language.cached_property import lazy_property
from ncd.language.loops import Scan
from ncd.language.op import ArrayHandle, Op, Reach, Site, Slots
from ncd.language.step_wires import AppliedTerm, drop_dead_steps
from ncd.language.terms import Term
from ncd.language.wire import Wiring
from ncd.ops import Conv, ConvTranspose, Dropout, Function, Given, MaxPool, Pad, Param, Window
from ncd.rewrite.gradient import Env, ForwardTape, Parameters, TermRecorder, lookup_local
from ncd.rewrite.rules.term_paths import TermPaths
from ncd.rewrite.step_blocks import Home
from ncd.words import nearest_name

# --- The steps of a term, with the ops that they come from

SPELLED_OUT = (Wiring, Param, Given, Function, Conv, ConvTranspose, MaxPool)


@dataclass(frozen=True, eq=False)
class PositionStep(AppliedTerm):
    """A step, with the op or loop of the circuit that it comes from.

    Args:
        unit: The id of the op, or of the loop.
        path: The path of the op's layer.
        source_op: The op as it stands in the circuit.
        home: The blocks around it.
        scope: The path of the submodule that it stands in.
    """

    unit: str = ""
    path: str = ""
    source_op: Op | None = None
    home: Home = ()
    scope: str = ""

    @lazy_property
    def site(self) -> Site:
        """The op with its arrays."""
        assert isinstance(self.term, Op)
        return self.term.apply_to(Type(slot.axes for slot in self.takes))

    @property
    def title(self) -> str:
        """The name of the op."""
        return getattr(self.source_op or self.term, "display_name", type(self.term).__name__)


@dataclass(frozen=True)
class WeightArray:
    """A parameter or a constant, as an array of its own.

    Args:
        path: Its path, such as ``layers.0.conv.weight``.
        op: The op that gives it.
        home: The blocks around it.
        local_path: Its path within the innermost of them.
    """

    path: str
    op: Op
    home: Home
    local_path: str


class PlacedTape(ForwardTape):
    """The steps of a term while they are written, with the blocks that they stand in."""

    def __init__(self) -> None:
        super().__init__(Parameters())
        self.home: Home = ()
        self.scope = ""
        self.weights: dict[ArrayHandle, WeightArray] = {}
        self._by_home: dict[Home, dict[str, ArrayHandle]] = {}

    def enter(self, home: Home, scope: str, path: str, op: Op | None) -> None:
        """Goes on inside of other blocks, with an op of theirs."""
        self.home, self.scope, self.path, self.written = home, scope, path, op
        self.learned = self._by_home.setdefault(home, {})

    def parameter_array(self, path: str, array: Array) -> ArrayHandle:
        slot = super().parameter_array(path, array)
        inside = path.removeprefix(f"{self.scope}.") if self.scope else path
        self.weights[slot] = WeightArray(path, self.parameters.ops[path], self.home, inside)
        return slot


class StepTape(PlacedTape):
    """Writes a term in steps; an op that slides a window is written out, with zeros beside it.

    Dropout does nothing, as in evaluation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[PositionStep] = []
        self.wires: dict[ArrayHandle, str] = {}  # the id of the array in the circuit
        self.bodies: dict[str, int] = {}  # the body of each repetition that is written

    def call(self, term: Term, *slots: ArrayHandle) -> tuple[ArrayHandle, ...]:
        if isinstance(term, Dropout):
            return slots
        if isinstance(term, SPELLED_OUT) and (made := self.write_out(term, slots)) is not None:
            return made
        if isinstance(term, Window):
            padded, term = self._pad_ends(term, slots)
            return TermRecorder.call(self, term, *padded)
        return TermRecorder.call(self, term, *slots)

    def _pad_ends(self, op: Window, slots: tuple[ArrayHandle, ...]) -> tuple[Slots, Window]:
        """Returns what a window slides over with its zeros, and the window without padding."""
        (old,) = op.apply_to(Type(slot.axes for slot in slots)).own_inputs[0]
        if not op.padding or old.spatial:
            return slots, op
        assert isinstance(op.padding, int)
        long = replace(old, name=f"{old.name}_padded", size=None, label="")
        pattern = Signature(Type((Array((old,)),)), Type((Array((long,)),)))
        slots = self.call(Pad(pattern, op.padding, op.padding), *slots)
        wide = next(axis for axis in slots[0].axes if axis.name == long.name)
        slid = Signature(Type((Array((wide,)),)), op.signature.cod)
        return slots, replace(op, pattern=slid, padding=0)

    def write_circuit(self, circuit: Circuit, env: Env) -> None:
        """Writes the ops of a circuit on the arrays of ``env``, which it extends."""
        for unit in circuit.units:
            if isinstance(unit, RepeatLoop):
                for n, body in enumerate(unit.bodies):
                    self.bodies[unit.id] = n
                    self.write_circuit(body, env)
                continue
            self._enter_unit(unit)
            slots = [lookup_local(self, env, value) for value in unit.inputs]
            if isinstance(unit, ScanLoop):
                made = TermRecorder.call(self, unit.term, *slots)
            else:
                made = self.call(unit.op, *slots)
            env.update(zip([value.id for value in unit.outputs], made, strict=True))
            self.note_wires(unit.inputs, slots)
            self.note_wires(unit.outputs, made)
            own = unit.id, self.path, self.written, self.home, self.scope
            self.found += [
                PositionStep(step.term, step.takes, step.gives, *own)
                for step in self.steps[len(self.found) :]
            ]

    def _enter_unit(self, unit: Cell | ScanLoop) -> None:
        home = tuple((id, self.bodies.get(id, 0)) for id in unit.fences)
        if isinstance(unit, ScanLoop):
            scope = ".".join(unit.scope)
            self.enter(home, scope, ".".join((*unit.scope, unit.name)), None)
        else:
            self.enter(home, ".".join(unit.module_path), unit.path, unit.op)

    def note_wires(self, values: Iterable[Value], slots: Slots) -> None:
        """Notes which arrays of the circuit these are."""
        for value, slot in zip(values, slots, strict=True):
            self.wires.setdefault(slot, value.id)


@dataclass(frozen=True, eq=False)
class StepList:
    """The steps of a term.

    Args:
        steps: The steps, each after those that it needs.
        inputs: The arrays that the term takes.
        outputs: The arrays that it gives.
        weights: The parameters as torch stores them.
        wires: The ids of arrays in the circuit.
        blocks: The block or loop of each id.
    """

    steps: tuple[PositionStep, ...]
    inputs: tuple[ArrayHandle, ...]
    outputs: tuple[ArrayHandle, ...]
    weights: Mapping[ArrayHandle, WeightArray]
    wires: Mapping[ArrayHandle, str]
    blocks: Mapping[str, Term]

    @lazy_property
    def maker(self) -> dict[ArrayHandle, PositionStep]:
        """The step that makes each array."""
        return {slot: step for step in self.steps for slot in step.gives}


def write_steps(term: Term) -> StepList:
    """Returns a term as steps; all of its axes have sizes.

    >>> from ncd.ops import Linear, Softmax
    >>> [step.title for step in write_steps(Linear("m:3 -> k:2", "Q") >> Softmax("k")).steps]
    ['Linear Q', 'Softmax']
    """
    circuit = TermPaths(elaborate(term)).with_own_names.circuit
    require_sizes(circuit)
    tape = StepTape()
    env: Env = {value.id: ArrayHandle(value.array) for value in circuit.inputs}
    inputs = tuple(env.values())
    tape.write_circuit(circuit, env)
    tape.enter((), "", "", None)
    outputs = tuple(lookup_local(tape, env, value) for value in circuit.outputs)
    tape.note_wires(circuit.outputs, outputs)
    renames = tuple(
        PositionStep(step.term, step.takes, step.gives) for step in tape.steps[len(tape.found) :]
    )
    steps = tuple(drop_dead_steps((*tape.found, *renames), outputs))
    blocks = {fence.id: fence.term for fence in circuit.fences if fence.term is not None}
    return StepList(steps, inputs, outputs, tape.weights, tape.wires, blocks)


# --- Which axes are positions of one sequence


class PositionAxes:
    """The axes of arrays that are positions of the same sequence, whatever their names.

    Keys of self-attention are a sequence ``x`` that was called ``t``: the two are one, as a
    ``Rename`` says so. Every op says which axis of its outputs continues which of its inputs.

    Args:
        steps: The steps of a term.
        axis: The name of the axis in the inputs of the term.

    Raises:
        UnknownNameError: For a name that no input has.
        MismatchError: For a spatial axis.
    """

    def __init__(self, steps: StepList, axis: str) -> None:
        self._parents: dict[tuple[ArrayHandle, str], tuple[ArrayHandle, str]] = {}
        keys = [(slot, a) for slot in steps.inputs for a in slot.axes if a.name == axis]
        if not keys:
            known = sorted({a.name for slot in steps.inputs for a in slot.axes})
            cure = nearest_name(axis, known) if known else "a term that takes an array"
            fact = f"no input has an axis {axis}"
            raise UnknownNameError(fact, where="decode", cure=cure)
        if any(a.spatial for _, a in keys):
            fact = f"the axis {axis} is a group of dimensions, which has no single order"
            raise MismatchError(fact, where="decode", cure="one dimension")
        self.length = keys[0][1].numel
        for step in steps.steps:
            self._join_step(step)
        for slot, a in keys:
            self._join((slot, a.name), (keys[0][0], axis))
        self._clock = keys[0][0], axis
        self._known: dict[ArrayHandle, tuple[str, ...]] = {}

    def names(self, slot: ArrayHandle) -> tuple[str, ...]:
        """Returns the names of an array's axes that are positions."""
        if slot not in self._known:
            root = self._root(self._clock)
            names = (a.name for a in slot.axes if self._root((slot, a.name)) == root)
            self._known[slot] = tuple(names)
        return self._known[slot]

    def step_names(self, step: PositionStep) -> tuple[str, ...]:
        """Returns the names of the axes of all arrays of a step that are positions."""
        every = (name for slot in (*step.takes, *step.gives) for name in self.names(slot))
        return tuple(dict.fromkeys(every))

    def _root(self, key: tuple[ArrayHandle, str]) -> tuple[ArrayHandle, str]:
        path = []
        while (parent := self._parents.get(key, key)) != key:
            path.append(key)
            key = parent
        self._parents.update(dict.fromkeys(path, key))
        return key

    def _join(self, a: tuple[ArrayHandle, str], b: tuple[ArrayHandle, str]) -> None:
        self._parents[self._root(a)] = self._root(b)

    def _join_step(self, step: PositionStep) -> None:
        """Joins the axes of one name, and those that an op continues under another name."""
        named: dict[str, tuple[ArrayHandle, str]] = {}
        for slot in (*step.takes, *step.gives):
            for axis in slot.axes:
                key = slot, axis.name
                self._join(key, named.setdefault(axis.name, key))
        for source, target, axis, reach in reaches(step):
            if reach.axis:
                self._join((step.takes[source], axis), (step.gives[target], reach.axis))


def reaches(step: PositionStep) -> Iterator[tuple[int, int, str, Reach]]:
    """Yields each axis of an input with an output, and which of its places that depends on."""
    if isinstance(step.term, Scan):
        return
    op = step.term
    assert isinstance(op, Op)
    for source, slot in enumerate(step.takes):
        for axis in slot.axes:
            for target in range(len(step.gives)):
                yield source, target, axis.name, op.reach(step.site, axis.name, source, target)
