"""The circuit: arrays, ops at their places and fences, in columns; names and formats of arrays.

The structure of a term is resolved once, in :mod:`ncd.circuit.elaborate`. Drawing, run,
source, cost and autograd walk the cells of the circuit and share their ids: ``v3`` is an array,
``n2`` an op, ``f1`` a fence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from ncd.errors import UnknownNameError
from ncd.language.axes import Array, Axis, Type
from ncd.language.cached_property import lazy_property
from ncd.language.number_formats import PLAIN_FORMATS, SHORT_NAMES, Formats
from ncd.language.op import Glyph, InitialValue, Op, Site
from ncd.language.terms import Term
from ncd.language.torch_code import Arg, Call, TorchExpr

# --- The parts of a circuit: arrays, ops at their places, and fences

T = TypeVar("T")


@dataclass(frozen=True)
class Value:
    """An array in a circuit, from the op that makes it to the ops that take it.

    Inside a block with local names the same array has other names for its axes, but the same id.

    Args:
        id: Its id, such as ``v3``.
        array: Its axes.

    Source: Notebook, section 2.3: columns of data.

    >>> from ncd import elaborate
    >>> from ncd.ops import Softmax
    >>> elaborate(Softmax("x:3")).inputs
    (Value(id='v0', array=Array.parse('x:3')),)
    """

    id: str
    array: Array


Boundary = tuple[Value, ...]


@dataclass(frozen=True)
class Cell:
    """An op in a circuit, with the arrays that it takes and gives.

    Args:
        id: Its id, such as ``n2``.
        op: The op.
        site: The op's own axes and whole arrays, with sizes.
        inputs: The arrays that it takes.
        outputs: The arrays that it gives.
        name: The name of its layer in its submodule; empty if it has none.
        fences: The ids of the fences around it, from the outermost.
        module_path: The submodules around its layer, such as ``("encoder", "0", "self_attn")``.
        run_count: How often it runs in one forward pass.

    Source: Notebook, section 2.3: columns of operations.

    >>> from ncd import elaborate
    >>> from ncd.ops import Linear
    >>> cell = elaborate(Linear("m:3 -> k:2", "Q")).cells[0]
    >>> cell.id, cell.path, cell.description
    ('n0', 'Q', 'learned linear map Q, m to k')
    """

    id: str
    op: Op
    site: Site
    inputs: Boundary
    outputs: Boundary
    name: str
    fences: tuple[str, ...] = ()
    module_path: tuple[str, ...] = ()
    run_count: int = 1

    @property
    def path(self) -> str:
        """The layer's name in the compiled module, such as ``Q`` or ``layers.0.conv``."""
        return ".".join((*self.module_path, self.name))

    @property
    def flops(self) -> int:
        """The floating-point operations of all its runs in one forward pass."""
        return self.run_count * self._ask_op("flops")

    @lazy_property
    def glyph(self) -> Glyph:
        """The drawing of the op, as marks on its wires."""
        return self._ask_op("glyph")

    @lazy_property
    def description(self) -> str:
        """The description of the op, in words that read well aloud."""
        return self._ask_op("description")

    @lazy_property
    def torch_code(self) -> TorchExpr | tuple[TorchExpr, ...]:
        """Its torch code: one expression, or one for each output."""
        return self._ask_op("torch_code")

    @property
    def expressions(self) -> tuple[TorchExpr, ...]:
        """The expressions of its torch code."""
        return self.torch_code if isinstance(self.torch_code, tuple) else (self.torch_code,)

    @property
    def passes_arrays_on(self) -> bool:
        """Whether it gives out its inputs as they are, perhaps under other names or copied."""
        return all(isinstance(expr, Arg) for expr in self.expressions)

    @lazy_property
    def layer(self) -> Call | None:
        """The call that makes its layer; None if it has none."""
        return self._ask_op("layer_call")

    @lazy_property
    def initial_values(self) -> Mapping[str, InitialValue]:
        """The initial value of each of its parameters and buffers."""
        return self._ask_op("initial_values")

    def remember_result(self, name: Hashable, ask: Callable[[Cell], T]) -> T:
        """Returns ``ask(self)``, under a name, which cells share that have the same op and site.

        Equal layers have both in common, so nothing is computed again for each of them.
        """
        op, told = self.site.__dict__.setdefault("_told", (self.op, {}))
        if op is not self.op:
            return ask(self)
        if name not in told:
            told[name] = ask(self)
        known: T = told[name]
        return known

    def _ask_op(self, what: str) -> Any:
        return self.remember_result(what, lambda cell: getattr(cell.op, what)(cell.site))


@dataclass(frozen=True)
class Fence:
    """A block or a loop in a circuit, with the arrays inside it at each of its states.

    Args:
        id: Its id, such as ``f1``.
        title: The title.
        role: The role that chooses its colour.
        first_state: The index of its first state in its circuit.
        states: The arrays inside it at each state.
        parent: The id of the fence around it; empty for none.
        repeats: The number of bodies of a repetition; 0 for others.
        term: The block or loop.
        scope: The path of its submodule; empty for none.

    Source: Notebook, figure 20 and later: fenced regions with titles.

    >>> from ncd import elaborate
    >>> from ncd import Block
    >>> from ncd.ops import Softmax
    >>> (fence,) = elaborate(Block(Softmax("x:3"), "Weights")).fences
    >>> fence.id, fence.title, fence.first_state, fence.last_state
    ('f0', 'Weights', 0, 1)
    """

    id: str
    title: str
    role: str
    first_state: int
    states: tuple[Boundary, ...] = field(repr=False)
    parent: str = ""
    repeats: int = 0
    term: Term | None = field(default=None, repr=False)
    scope: tuple[str, ...] = ()

    @property
    def last_state(self) -> int:
        """The index of its last state in its circuit."""
        return self.first_state + len(self.states) - 1


# --- The axes of a softmax's output: which holds the queries, the keys, the heads


def attention_axes(array: Array, own: Axis) -> tuple[int | None, int, list[int]]:
    """Returns the positions of queries, keys and heads in an array of weights.

    The softmax's ``own`` axis holds the keys; the nearest other axis before it, of its kind if
    there is one, holds the queries.
    """
    at = array.names.index(own.name)
    others = [*range(at - 1, -1, -1), *range(at + 1, len(array))]
    alike = [i for i in others if _kind(array[i]) == _kind(own)]
    before = next(iter(alike or others), None)
    return before, at, [i for i in range(len(array)) if i not in (at, before)]


def _kind(axis: Axis) -> tuple[bool, bool]:
    return axis.sequence, axis.spatial


# --- The circuit of a term: its arrays, cells and fences, in columns


@dataclass(frozen=True)
class Loop:
    """A repetition or a scan in a circuit, with a circuit for each body.

    Args:
        id: The id of its fence, such as ``f1``.
        term: The ``Repeat`` or ``Scan``.
        inputs: The arrays that it takes.
        outputs: The arrays that it gives.
        bodies: The circuit of each body.
        name: The name of its submodule; empty if it has none.
        fences: The ids of the fences around it, from the outermost.
        scope: The submodules around it.

    Source: Notebook, figures 26 and 27, for repetitions.

    >>> from ncd import elaborate
    >>> from ncd import Repeat
    >>> from ncd.ops import Linear
    >>> (loop,) = elaborate(Repeat((Linear("m:2 -> m", "L"),) * 3)).loops
    >>> loop.kind, [cell.path for body in loop.bodies for cell in body.cells]
    ('repeat', ['layers.0.L', 'layers.1.L', 'layers.2.L'])
    """

    kind: ClassVar[Literal["repeat", "scan"]]
    id: str
    term: Term = field(repr=False)
    inputs: Boundary
    outputs: Boundary
    bodies: tuple[Circuit, ...] = field(repr=False)
    name: str
    fences: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()


@dataclass(frozen=True)
class RepeatLoop(Loop):
    """A repetition: each body takes the outputs of the one before, and arrays that are left.

    All bodies have the same weights if it is ``shared``, and all take its last ``memory`` inputs.
    """

    kind: ClassVar = "repeat"
    shared: bool = False
    memory: int = 0


@dataclass(frozen=True)
class ScanLoop(Loop):
    """A scan: its one body has the arrays of one position along ``axis``, after its states."""

    kind: ClassVar = "scan"
    axis: str = ""
    states: int = 0


Unit = Cell | RepeatLoop | ScanLoop


@dataclass(frozen=True)
class Circuit:
    """Columns of states (arrays from the top) and of steps (cells between two states).

    Args:
        term: The term, with all sizes that are known.
        states: The arrays of each state, one state more than steps.
        columns: The cells and loops of each step.
        own_fences: The fences of this circuit, without those inside loops.

    Raises:
        UnknownNameError: From :meth:`cell`, for an id that does not exist.

    Source: Notebook, section 2.3: columns of data alternate with columns of operations.

    >>> from ncd import elaborate
    >>> from ncd.ops import Linear, Softmax
    >>> circuit = elaborate(Linear("m:3 -> k:2", "Q") >> Softmax("k"))
    >>> [cell.op.display_name for cell in circuit.cells], list(circuit.values)
    (['Linear Q', 'Softmax'], ['v0', 'v1', 'v2'])
    """

    term: Term
    states: tuple[Boundary, ...]
    columns: tuple[tuple[Unit, ...], ...]
    own_fences: tuple[Fence, ...]

    def __repr__(self) -> str:
        return f"<Circuit: {self.term.dom} -> {self.term.cod}; {len(self.cells)} ops>"

    @property
    def inputs(self) -> Boundary:
        """The arrays that it takes."""
        return self.states[0]

    @property
    def outputs(self) -> Boundary:
        """The arrays that it gives."""
        return self.states[-1]

    @lazy_property
    def units(self) -> tuple[Unit, ...]:
        """The cells and loops of this circuit, each after those it depends on."""
        return tuple([unit for step in self.columns for unit in step])

    @lazy_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, also inside loops, each after those it depends on."""
        cells: list[Cell] = []
        for unit in self.units:
            if isinstance(unit, Loop):
                cells += [cell for body in unit.bodies for cell in body.cells]
            else:
                cells.append(unit)
        return tuple(cells)

    @lazy_property
    def loops(self) -> tuple[RepeatLoop | ScanLoop, ...]:
        """All loops, outer ones before inner ones."""
        loops: list[RepeatLoop | ScanLoop] = []
        for unit in self.units:
            if isinstance(unit, Loop):
                loops += [unit, *(loop for body in unit.bodies for loop in body.loops)]
        return tuple(loops)

    @lazy_property
    def scans(self) -> tuple[ScanLoop, ...]:
        """All scans, outer ones before inner ones."""
        return tuple([loop for loop in self.loops if isinstance(loop, ScanLoop)])

    @lazy_property
    def run_order(self) -> tuple[Cell | ScanLoop, ...]:
        """The cells and scans in running order, also those inside repetitions."""
        found: list[Cell | ScanLoop] = []
        for unit in self.units:
            if isinstance(unit, Cell | ScanLoop):
                found.append(unit)
            else:
                found += [inner for body in unit.bodies for inner in body.run_order]
        return tuple(found)

    @lazy_property
    def fences(self) -> tuple[Fence, ...]:
        """All fences, also inside loops, outer ones before inner ones."""
        inner = (f for loop in self.loops for body in loop.bodies for f in body.own_fences)
        every = (*self.own_fences, *inner)
        return tuple(sorted(every, key=lambda fence: int(fence.id[1:])))

    @lazy_property
    def values(self) -> dict[str, Value]:
        """All arrays by their ids, with the names of axes where they are made."""
        values = {value.id: value for value in self.inputs}
        for unit in self.units:
            if isinstance(unit, Loop):
                for body in unit.bodies:
                    for id, value in body.values.items():
                        values.setdefault(id, value)
            for value in unit.outputs:
                values.setdefault(value.id, value)
        return values

    @lazy_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all arrays, with repetitions, and those that bound whole numbers."""
        return Type(value.array for value in self.values.values()).axes

    @lazy_property
    def cells_by_id(self) -> dict[str, Cell]:
        """All cells by their ids."""
        return {cell.id: cell for cell in self.cells}

    def cell(self, id: str) -> Cell:
        """Returns the cell of this id; raises UnknownNameError if there is none."""
        if id not in self.cells_by_id:
            raise UnknownNameError(f"there is no op {id!r}", cure="an id such as n0")
        return self.cells_by_id[id]

    @lazy_property
    def cell_ids_by_fence(self) -> dict[str, tuple[str, ...]]:
        """The ids of the cells within each fence, also within inner ones, by the fence's id."""
        found: dict[str, list[str]] = {}
        for cell in self.cells:
            for fence in cell.fences:
                found.setdefault(fence, []).append(cell.id)
        return {fence: tuple(ids) for fence, ids in found.items()}

    @lazy_property
    def consumers(self) -> dict[str, Cell]:
        """The cell that takes each array, by the array's id."""
        return {value.id: cell for cell in reversed(self.cells) for value in cell.inputs}

    @lazy_property
    def producers(self) -> dict[str, Cell]:
        """The cell that makes each array, by the array's id."""
        return {value.id: cell for cell in reversed(self.cells) for value in cell.outputs}


# --- The number format of every array of a circuit, and where it changes


def array_formats(circuit: Circuit, formats: Formats) -> dict[str, str]:
    """Returns the format of every array of real numbers, by its id.

    What comes in is cast to the format of the activations. An op that makes no new array passes its
    format on; a weight has its own.
    """
    found = {v.id: formats.activations for v in circuit.inputs if v.array.below is None}
    for cell in circuit.cells:
        codes = cell.expressions
        for i, value in enumerate(cell.outputs):
            code = codes[i] if i < len(codes) else None
            if value.array.below is not None:
                continue
            passed = cell.inputs[code.index].id if isinstance(code, Arg) else ""
            found[value.id] = found.get(passed, "") or _output_format(cell, formats)
    return found


def _output_format(cell: Cell, formats: Formats) -> str:
    """Returns the format of the array that an op makes."""
    if cell.initial_values and not cell.inputs:
        return formats.weights if len(cell.outputs[0].array) > 1 else formats.vector_format
    return formats.activation_format(cell.path)


def cast_formats(circuit: Circuit, formats: Formats) -> Mapping[str, str]:
    """Returns the short names of the formats to which arrays are cast, by the ids of the arrays.

    A cast is where an array has another format than all that it was made from; what comes in is
    float32, and so is a weight before it is stored.

    >>> import ncd
    >>> term = ncd.Id("y:5 m:3") >> ncd.Linear("m -> k:2", "K") >> ncd.Softmax("k")
    >>> circuit = ncd.elaborate(term)
    >>> cast_formats(circuit, ncd.Formats(activations="bfloat16", cache="int8", cached=("K",)))
    {'v0': 'bf16', 'v1': 'i8', 'v2': 'bf16'}
    """
    if formats.is_float32:
        return {}
    every = array_formats(circuit, formats)
    given = {v.id for v in circuit.inputs}
    before = {id: {PLAIN_FORMATS} for id in given}
    for cell in circuit.cells:
        came = {every[v.id] for v in cell.inputs if v.id in every}
        for value in cell.outputs:
            before[value.id] = came or {PLAIN_FORMATS}
    return {
        id: SHORT_NAMES[name]
        for id, name in every.items()
        if id in before and name not in before[id]
    }


# --- Names for the arrays of a circuit, to distinguish arrays of the same axes

ROLE_ADJECTIVES = {"scale": "scaled", "mask": "masked"}  # by the role of the op


def array_names(circuit: Circuit) -> Mapping[str, str]:
    """Returns names of arrays by their ids, as given by the ops that make them: "scores", "q".

    A copy has the name of the original. An op that changes one array adds a word to its name. Other
    arrays have the name of the layer that makes them.

    >>> from ncd import elaborate
    >>> from ncd.ops import Elementwise, Linear, Scale, Softmax
    >>> term = Linear("m:2 -> k:3", "Q") >> Scale("2") >> Elementwise("relu") >> Softmax("k")
    >>> array_names(elaborate(term))
    {'v1': 'q', 'v2': 'scaled q', 'v3': 'scaled q after relu', 'v4': 'weights'}
    """
    names: dict[str, str] = {}
    for cell in circuit.cells:
        words = cell.op.result_name(cell.site).split(",")
        for n, value in enumerate(cell.outputs):
            name = words[n].strip() if n < len(words) else ""
            name = name if name not in ("", "x") else _derived_name(cell, n, names) or cell.name
            if name:
                names[value.id] = name
    return names


def _derived_name(cell: Cell, output: int, names: Mapping[str, str]) -> str:
    """Returns a name made of that of the cell's only input, if the output has the same axes."""
    if len(cell.inputs) != 1 or cell.inputs[0].array.names != cell.outputs[output].array.names:
        return ""
    name = names.get(cell.inputs[0].id, "")
    if not name or cell.op.role == "copy":
        return name
    if cell.op.role in ROLE_ADJECTIVES:
        return f"{ROLE_ADJECTIVES[cell.op.role]} {name}"
    return f"{name.partition(' after ')[0]} after {cell.op.display_name.split()[-1]}"


def input_names(circuit: Circuit) -> Mapping[str, str]:
    """Returns the names of inputs by their ids, for inputs that a ``Named`` takes.

    >>> from ncd import elaborate
    >>> from ncd.ops import Named, Softmax
    >>> input_names(elaborate((Named("m:2", "x") >> Softmax("m")) @ Softmax("k:3")))
    {'v0': 'x'}
    """
    takers = {value.id: circuit.consumers.get(value.id) for value in circuit.inputs}
    return {
        id: cell.op.result_name(cell.site)
        for id, cell in takers.items()
        if cell is not None and len(cell.outputs) == 1 and cell.torch_code == (Arg(0),)
    }
