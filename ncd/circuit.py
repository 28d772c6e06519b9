"""The circuit of a term: its wires, its cells and its fences, laid out in columns.

Structure (then, beside, blocks, repetitions) is resolved here once. Every interpreter - drawing,
run, source, cost, autograd - walks the flat list of cells, so that all of them speak of the same
wires and ops by the same ids: ``v3`` is an array, ``n2`` an op, ``f1`` a fence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from torch import nn

from ncd.axes import Array, Type
from ncd.errors import SizeError
from ncd.op import Op, Site
from ncd.terms import Beside, Block, Id, Repeat, Term, Then


@dataclass(frozen=True)
class Value:
    """An array on its way from the op that makes it to the op that takes it."""

    id: str
    array: Array


State = tuple[Value, ...]

# Names that a module has already, so that a layer of this name becomes forward_2.
TAKEN = frozenset(dir(nn.Module())) | {"circuit", "execute", "layer_of", "term"}


@dataclass(frozen=True)
class Cell:
    """An op at its place: the arrays it takes and gives, the fences around it, its module name."""

    id: str
    op: Op
    site: Site
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    name: str
    fences: tuple[str, ...] = ()
    scope: tuple[tuple[str, int], ...] = ()

    @property
    def path(self) -> str:
        """The layer's name in the compiled module, such as ``Q`` or ``layers.0.conv``."""
        return ".".join([*(f"{name}.{index}" for name, index in self.scope), self.name])


@dataclass(frozen=True)
class Fence:
    """A block at its place, with the arrays inside it at each of its states.

    ``repeats`` is the number of bodies if it is a repetition, else 0.
    """

    id: str
    title: str
    role: str
    first: int
    states: tuple[State, ...]
    parent: str = ""
    repeats: int = 0
    term: Term | None = None

    @property
    def last(self) -> int:
        """The state at which it ends; ``first`` is the one at which it begins."""
        return self.first + len(self.states) - 1


@dataclass(frozen=True)
class Circuit:
    """Columns of states (arrays, top to bottom) and steps (the cells between two states)."""

    term: Term
    states: tuple[State, ...]
    steps: tuple[tuple[Cell, ...], ...]
    fences: tuple[Fence, ...]

    @property
    def inputs(self) -> State:
        return self.states[0]

    @property
    def outputs(self) -> State:
        return self.states[-1]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, each after the ones it needs."""
        return tuple(cell for step in self.steps for cell in step)

    @property
    def values(self) -> dict[str, Value]:
        found = {value.id: value for value in self.inputs}
        found.update((v.id, v) for cell in self.cells for v in cell.outputs)
        return found

    def cell(self, id: str) -> Cell:
        return next(cell for cell in self.cells if cell.id == id)


@dataclass
class _Strip:
    """A part of the circuit while it is put together: n steps between n + 1 states."""

    states: list[State]
    steps: list[list[Cell]] = field(default_factory=list)

    def widened(self, length: int) -> _Strip:
        """The strip with empty steps at its end, so that it stands beside a longer one."""
        more = length - len(self.steps)
        return _Strip(self.states + [self.states[-1]] * more, self.steps + [[]] * more)


class _Builder:
    """Places a term on arrays; one method a kind of structure."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.names: Counter[tuple[object, ...]] = Counter(((), name) for name in TAKEN)
        self.fences: list[Fence] = []

    def new(self, prefix: str) -> str:
        self.count[prefix] += 1
        return f"{prefix}{self.count[prefix] - 1}"

    def values(self, arrays: Type) -> State:
        return tuple(Value(self.new("v"), array) for array in arrays)

    def place(self, term: Term, inputs: State, column: int, around: _Around) -> _Strip:
        match term:
            case Id():
                return _Strip([inputs])
            case Then(steps=steps):
                return self.then(steps, inputs, column, around)
            case Beside():
                return self.beside(term, inputs, column, around)
            case Block() | Repeat():
                return self.fence(term, inputs, column, around)
            case Op():
                return self.op(term, inputs, around)
        raise TypeError(f"{type(term).__name__} is not a kind of term")

    def op(self, op: Op, inputs: State, around: _Around) -> _Strip:
        site = op.site(Type(value.array for value in inputs))
        outputs = self.values(site.outs)
        name = self.unique(getattr(op, "name", ""), around)
        cell = Cell(self.new("n"), op, site, inputs, outputs, name, around.fences, around.scope)
        return _Strip([inputs, outputs], [[cell]])

    def unique(self, name: str, around: _Around) -> str:
        if not name:
            return ""
        self.names[(around.scope, name)] += 1
        count = self.names[(around.scope, name)]
        return name if count == 1 else self.unique(f"{name}_{count}", around)

    def then(self, steps: tuple[Term, ...], inputs: State, column: int, around: _Around) -> _Strip:
        whole = _Strip([inputs])
        for index, step in enumerate(steps):
            state = whole.states[-1]
            taken, rest = state[: len(step.dom)], state[len(step.dom) :]
            here = around.body(index) if around.repeating else around
            part = self.place(step, taken, column + len(whole.steps), here)
            whole.states[-1:] = [(*state, *rest) for state in part.states]
            whole.steps += part.steps
        return whole

    def beside(self, term: Beside, inputs: State, column: int, around: _Around) -> _Strip:
        parts = []
        for part, own in term.split(inputs):
            parts.append(self.place(part, own, column, around))
        length = max(len(part.steps) for part in parts)
        wide = [part.widened(length) for part in parts]
        states = [
            tuple(v for s in at for v in s) for at in zip(*(p.states for p in wide), strict=True)
        ]
        steps = [[c for s in at for c in s] for at in zip(*(p.steps for p in wide), strict=True)]
        return _Strip(states, steps)

    def fence(self, term: Block | Repeat, inputs: State, column: int, around: _Around) -> _Strip:
        id = self.new("f")
        parent = around.fences[-1] if around.fences else ""
        inner = _Around((*around.fences, id), around.scope)
        at = len(self.fences)
        self.fences.append(Fence(id, "", "", 0, ()))  # keeps the outer before the inner
        if isinstance(term, Block):
            strip = self.place(term.body, inputs, column, inner)
            title, role, repeats = term.title, term.role, 0
        else:
            inner = _Around(inner.fences, inner.scope, self.unique(term.name, around))
            strip = self.then(term.bodies, inputs, column, inner)
            title, role, repeats = "", "repeat", len(term.bodies)
        states = tuple(strip.states)
        self.fences[at] = Fence(id, title, role, column, states, parent, repeats, term)
        return strip


@dataclass(frozen=True)
class _Around:
    """What a cell stands in: its fences, its place in repetitions, a repetition just entered."""

    fences: tuple[str, ...] = ()
    scope: tuple[tuple[str, int], ...] = ()
    repeating: str = ""

    def body(self, index: int) -> _Around:
        return _Around(self.fences, (*self.scope, (self.repeating, index)))


@lru_cache(maxsize=256)
def _elaborate(key: str, term: Term) -> Circuit:
    builder = _Builder()
    strip = builder.place(term, builder.values(term.dom), 0, _Around())
    steps = tuple(tuple(step) for step in strip.steps)
    return Circuit(term, tuple(strip.states), steps, tuple(builder.fences))


def require_sizes(circuit: Circuit, known: Iterable[str] = ()) -> None:
    """Raises SizeError, naming the op, if some axis has no size; ``known`` are names that have."""
    places = [(c.op.label, c.op, (*c.site.axes, *c.op.reads)) for c in circuit.cells]
    inputs = [(f"Input ({value.array})", None, tuple(value.array)) for value in circuit.inputs]
    for where, op, axes in (*places, *inputs):
        for axis in axes:
            if axis.size is None:
                others = f", or a name among {', '.join(known)}" if known else ""
                raise SizeError(
                    f"axis {axis.name} has no size",
                    cure=f"Axes({axis.identifier}=…){others}",
                    axis=axis.name,
                ).at(where=where, bound=axes, op=op)


def elaborate(term: Term) -> Circuit:
    """The circuit of a term; the same term gives the same circuit, with the same ids.

    >>> from ncd.terms import Id
    >>> [value.id for value in elaborate(Id("y m, x m")).outputs]
    ['v0', 'v1']
    """
    return _elaborate(repr(term), term)
