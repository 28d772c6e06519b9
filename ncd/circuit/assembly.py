"""Places a term on arrays, column by column, and checks layers that several cells share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from ncd.circuit.circuit import Boundary, Cell, Circuit, Fence, RepeatLoop, ScanLoop, Unit, Value
from ncd.circuit.size_solver import AxisOccurrence, SizeConstraint
from ncd.errors import MismatchError
from ncd.language.axes import NO_AXES, Axis, Signature, Type, unused_name
from ncd.language.blocks import Block, Equation
from ncd.language.loops import Repeat, Scan
from ncd.language.op import RESERVED_NAMES, Op
from ncd.language.terms import Beside, Id, Term, Then
from ncd.language.torch_code import Size, TorchExpr
from ncd.language.wire import Wire

# --- Placing a term on arrays, column by column, which builds its circuit


@dataclass
class CircuitBuffer:
    """A part of a circuit under construction: n steps between n + 1 states."""

    states: list[Boundary]
    steps: list[list[Unit]] = field(default_factory=list)

    def padded_to(self, length: int) -> CircuitBuffer:
        """Returns the strip with empty steps at its end, as long as one beside it."""
        more = length - len(self.steps)
        return CircuitBuffer(self.states + [self.states[-1]] * more, self.steps + [[]] * more)

    def circuit(self, term: Term, fences: Iterable[Fence]) -> Circuit:
        steps = tuple(tuple(step) for step in self.steps)
        return Circuit(term, tuple(self.states), steps, tuple(fences))


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of a cell: its fences, its submodules, how often it runs."""

    fences: tuple[str, ...] = ()
    module_path: tuple[str, ...] = ()
    run_count: int = 1


class CircuitBuilder:
    """Places a term on arrays, with one method for each kind of structure."""

    def __init__(self, solving: bool = True) -> None:
        self.solving = solving  # whether places are recorded, to solve for sizes
        self.count: Counter[str] = Counter()
        self.names: Counter[tuple[tuple[str, ...], str]] = Counter()
        self.fences: list[Fence] = []  # of the circuit under construction
        self.places: list[SizeConstraint] = []
        self.local: Mapping[str, str] = {}  # for each name of a local block the block's id
        self.open = False  # whether some axis has no size
        self.ops: dict[Op, Op] = {}  # the first of equal ones, so that they share their sites

    def new_id(self, prefix: str) -> str:
        self.count[prefix] += 1
        return f"{prefix}{self.count[prefix] - 1}"

    def values(self, arrays: Type) -> Boundary:
        return tuple([Value(self.new_id("v"), array) for array in arrays])

    def unique(self, name: str, scope: tuple[str, ...]) -> str:
        """Returns the name with the first number that makes it unique within its scope."""
        if not name:
            return ""
        self.names[scope, name] += 1
        count = self.names[scope, name] + (name in RESERVED_NAMES)
        return name if count == 1 else self.unique(f"{name}_{count}", scope)

    def record_occurrences(
        self, state: Boundary, own: Type, op: Op | None = None, groups: Sequence[int] = ()
    ) -> None:
        """Records the slots of each name of a place.

        ``own`` are the patterns of the arrays. With ``groups``, axes that are not in the pattern
        are shared by the arrays of one group only.
        """
        reads = op.reads if op else NO_AXES
        self.open = self.open or not (
            reads.has_all_sizes and all(v.array.has_all_sizes for v in state)
        )
        if not self.solving:
            return
        slots: dict[str, list[AxisOccurrence]] = {}
        for n, value in enumerate(state):
            for i, axis in enumerate(value.array):
                foreign = groups and axis.name not in own[n].names
                name = _unique_axis_name(axis.name, groups[n], state) if foreign else axis.name
                slots.setdefault(name, []).append((value.id, i))
            if value.array.below:
                slots.setdefault(value.array.below.name, []).append((value.id, "#"))
        for axis in reads:
            slots.setdefault(axis.name, []).append((len(self.places), axis.name))
        where = f"{op.display_name} ({op.signature})" if op else ""
        frozen = {name: tuple(found) for name, found in slots.items()}
        self.places.append(SizeConstraint(frozen, (*own.axes, *reads), op, where, self.local))

    def build(
        self, term: Term, inputs: Boundary, column: int, around: Surroundings
    ) -> CircuitBuffer:
        match term:
            case Id():
                self.record_occurrences(inputs, term.type, groups=range(len(inputs)))
                return CircuitBuffer(
                    [_with_types(inputs, term.infer_outputs(Type(v.array for v in inputs)))]
                )
            case Then():
                return self.then(term.steps, inputs, column, around)
            case Beside():
                return self.beside(term, inputs, column, around)
            case Block():
                return self.block(term, inputs, column, around)
            case Repeat():
                return self.repeat(term, inputs, column, around)
            case Scan():
                return self.scan(term, inputs, column, around)
            case Equation():
                return self.equation(term, inputs, column, around)
            case Op():
                return self.op(term, inputs, around)
        raise TypeError(f"{type(term).__name__} is not a kind of term")

    def op(self, op: Op, inputs: Boundary, around: Surroundings) -> CircuitBuffer:
        op = self.ops.setdefault(op, op)
        site = op.apply_to(Type(value.array for value in inputs))
        op.check_numbers(site)
        outputs = self.values(site.outputs)
        name = self.unique(getattr(op, "name", ""), around.module_path)
        own = Type((*op.signature.dom, *op.signature.cod))
        self.record_occurrences((*inputs, *outputs), own, op, op.broadcasting.groups(op.signature))
        cell = Cell(
            self.new_id("n"), op, site, inputs, outputs, name, around.fences, around.module_path,
            around.run_count,
        )  # fmt: skip
        return CircuitBuffer([inputs, outputs], [[cell]])

    def then(
        self, steps: tuple[Term, ...], inputs: Boundary, column: int, around: Surroundings
    ) -> CircuitBuffer:
        whole = CircuitBuffer([inputs])
        for step in steps:
            state = whole.states[-1]
            taken, rest = state[: len(step.dom)], state[len(step.dom) :]
            part = self.build(step, taken, column + len(whole.steps), around)
            whole.states[-1:] = [(*own, *rest) for own in part.states]
            whole.steps += part.steps
        return whole

    def beside(
        self, term: Beside, inputs: Boundary, column: int, around: Surroundings
    ) -> CircuitBuffer:
        parts = [self.build(part, own, column, around) for part, own in term.inputs_by_part(inputs)]
        return _parallel_buffer(parts)

    def block(
        self, term: Block, inputs: Boundary, column: int, around: Surroundings
    ) -> CircuitBuffer:
        scope = around.module_path
        if term.name:
            scope = (*scope, self.unique(term.name, scope))
        id, inner = self.with_fence(around, scope)
        at = self.reserve()
        given, names = inputs, dict[str, Axis]()
        if term.local:
            arrays, names = term.to_local(Type(value.array for value in inputs))
            given = _with_types(inputs, arrays)
        outer = self.local
        if term.local:
            self.local = {**outer, **{axis.name: id for axis in term.dom.axes}}
        strip = self.build(term.body, given, column, inner)
        self.local = outer
        if term.local:
            strip.states[0] = inputs
            ends = strip.states[-1]
            strip.states[-1] = _with_types(ends, term.to_outer(Type(v.array for v in ends), names))
        states = tuple(strip.states)
        parent = around.fences[-1] if around.fences else ""
        own = scope if term.name else ()
        self.fences[at] = Fence(id, term.title, term.role, column, states, parent, 0, term, own)
        return strip

    def with_fence(self, around: Surroundings, scope: tuple[str, ...]) -> tuple[str, Surroundings]:
        id = self.new_id("f")
        return id, Surroundings((*around.fences, id), scope, around.run_count)

    def reserve(self) -> int:
        """Returns a reserved index in the list of fences, so that outer ones precede inner ones."""
        self.fences.append(Fence("", "", "", 0, ()))
        return len(self.fences) - 1

    def body(self, term: Term, inputs: Boundary, around: Surroundings) -> Circuit:
        """Returns a separate circuit for the body of a loop."""
        outer, self.fences = self.fences, []
        strip = self.build(term, inputs, 0, around)
        circuit = strip.circuit(term, self.fences)
        self.fences = outer
        return circuit

    def repeat(
        self, term: Repeat, inputs: Boundary, column: int, around: Surroundings
    ) -> CircuitBuffer:
        name = self.unique(term.name, around.module_path)
        id, inner = self.with_fence(around, (*around.module_path, name))
        at = self.reserve()
        split = len(inputs) - term.memory
        state, memory = inputs[:split], inputs[split:]
        bodies, names, used = [], self.names.copy(), self.names
        for index, body in enumerate(term.bodies):
            own = len(body.dom)  # with a memory each takes all that there is
            scope = inner.module_path if term.shared else (*inner.module_path, str(index))
            if term.shared:
                self.names = names.copy()
            circuit = self.body(body, (*state[:own], *memory), replace(inner, module_path=scope))
            if term.shared:
                used = used | self.names
            bodies.append(circuit)
            state = (*circuit.outputs, *state[own:])
        self.names = used  # the names of all bodies are taken
        loop = RepeatLoop(
            id, term, inputs, state, tuple(bodies), name, around.fences,
            around.module_path, shared=term.shared, memory=term.memory,
        )  # fmt: skip
        return self.add_loop(loop, at, column)

    def scan(
        self, term: Scan, inputs: Boundary, column: int, around: Surroundings
    ) -> CircuitBuffer:
        arrays = Type(value.array for value in inputs)
        inner_arrays, _ = term.body_inputs(arrays)
        axis, n = term.sized_axis(arrays), term.states
        scope = around.module_path
        if term.name:
            scope = (*scope, self.unique(term.name, scope))
        id, inner = self.with_fence(around, scope)
        inner = replace(
            inner, run_count=around.run_count * (axis.numel if axis.size is not None else 1)
        )
        at = self.reserve()
        given = self.values(inner_arrays)
        for outer, own in zip(inputs, given, strict=True):
            self.link_except(outer, own, axis.name)
        body = self.body(term.body, given, inner)
        outputs = self.values(term.infer_outputs(arrays))
        for outer, own in zip(outputs, body.outputs, strict=True):
            self.link_except(outer, own, axis.name)
        sequences = (*inputs[n:], *outputs[n:])
        slots = tuple((v.id, v.array.names.index(axis.name)) for v in sequences)
        self.places.append(
            SizeConstraint({axis.name: slots}, tuple(term.axis), None, f"Scan {term.axis}")
        )
        loop = ScanLoop(
            id, term, inputs, outputs, (body,), scope[-1] if term.name else "",
            around.fences, around.module_path, axis=axis.name, states=n,
        )  # fmt: skip
        return self.add_loop(loop, at, column)

    def link_except(self, outer: Value, inner: Value, along: str) -> None:
        """Records that two arrays have the same axes except ``along``."""
        slots: dict[str, list[AxisOccurrence]] = {}
        for value in (outer, inner):
            for i, axis in enumerate(value.array):
                if axis.name != along:
                    slots.setdefault(axis.name, []).append((value.id, i))
        self.places.append(SizeConstraint({name: tuple(found) for name, found in slots.items()}))

    def add_loop(self, loop: RepeatLoop | ScanLoop, at: int, column: int) -> CircuitBuffer:
        parent = loop.fences[-1] if loop.fences else ""
        title = f"Scan along {loop.axis}" if isinstance(loop, ScanLoop) else ""
        repeats = 0 if title else len(loop.bodies)
        scope = (*loop.scope, loop.name) if loop.name else ()
        self.fences[at] = Fence(
            loop.id, title, "repeat", column, (loop.inputs, loop.outputs), parent, repeats,
            loop.term, scope,
        )  # fmt: skip
        return CircuitBuffer([loop.inputs, loop.outputs], [[loop]])

    def equation(
        self, term: Equation, inputs: Boundary, column: int, around: Surroundings
    ) -> CircuitBuffer:
        copy = self.op(Wire(Signature(term.dom, Type(term.dom * len(term.sides)))), inputs, around)
        parts, names, used = [], self.names.copy(), self.names
        given, n = copy.states[-1], len(inputs)
        for i, side in enumerate(term.sides):
            self.names = names.copy()
            own = given[i * n : (i + 1) * n]
            parts.append(self.build(side, own, column + 1, around))
            used = used | self.names
        self.names = used
        sides = _parallel_buffer(parts)
        return CircuitBuffer([copy.states[0], *sides.states], [*copy.steps, *sides.steps])


def _parallel_buffer(parts: list[CircuitBuffer]) -> CircuitBuffer:
    length = max([len(part.steps) for part in parts])
    wide = [part.padded_to(length) for part in parts]
    states = [
        tuple([v for s in at for v in s]) for at in zip(*(p.states for p in wide), strict=True)
    ]
    steps = [[c for s in at for c in s] for at in zip(*(p.steps for p in wide), strict=True)]
    return CircuitBuffer(states, steps)


def _with_types(state: Boundary, arrays: Type) -> Boundary:
    return tuple(
        v if v.array is array else Value(v.id, array)
        for v, array in zip(state, arrays, strict=True)
    )


def _unique_axis_name(name: str, group: int, state: Boundary) -> str:
    """Returns a name for an axis of one group of arrays, which no array has."""
    taken = {axis for value in state for axis in value.array.names}
    return unused_name(f"{name}/{group}", taken)


# --- Layers that several cells share, in a shared repetition or the sides of an equation


def check_shared(circuit: Circuit) -> None:
    """Raises MismatchError if cells of one path have different layers or sizes."""
    known: dict[str, Cell] = {}
    for cell in circuit.cells:
        if not cell.name:
            continue
        first = known.setdefault(cell.path, cell)
        if first is cell or _layer(first) == _layer(cell):
            continue
        raise MismatchError(
            f"the layer {cell.path} is {_words(first)} at one place and {_words(cell)} at another",
            where=cell.op.display_name,
            cure="another name for one of them, or one body for all",
        ).with_context(op=cell.op)


def _layer(cell: Cell) -> object:
    """Returns everything that determines a layer, with its sizes as numbers."""
    initial = cell.initial_values
    shapes = {name: (value.array.shape, value.is_learned) for name, value in initial.items()}
    return type(cell.op), shapes, _comparable_value(cell.layer)


def _words(cell: Cell) -> str:
    """Returns the class of the op and the sizes of its weights, in words."""
    arrays = [value.array for value in cell.initial_values.values() if value.is_learned]
    sizes = ", ".join("×".join(axis.size_text for axis in array) for array in arrays)
    return f"{type(cell.op).__name__} {sizes}".strip()


def _comparable_value(value: object) -> object:
    if isinstance(value, Size):
        return tuple(axis.numel for axis in value.axes)
    if isinstance(value, TorchExpr):
        parts = (getattr(value, f.name) for f in fields(value))  # type: ignore[arg-type]
        return type(value), tuple(map(_comparable_value, parts))
    return tuple(map(_comparable_value, value)) if isinstance(value, tuple) else value
