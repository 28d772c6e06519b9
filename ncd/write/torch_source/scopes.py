"""The parts of a circuit that become classes and methods, and the expressions that are shared.

A *scope* is a submodule and becomes a class or, with only numbered children, a list of modules. A
*body* is a computation of a scope and becomes a method, usually ``forward``. A scope has several
bodies if an equation or a repetition uses it in different ways, or if an unnamed scan has a step.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ncd.circuit.circuit import Boundary, Cell, Circuit, Fence, Loop, RepeatLoop, Unit, Value
from ncd.language import torch_code as ex
from ncd.language.axes import Axis, Type
from ncd.language.blocks import Block
from ncd.language.cached_property import lazy_property
from ncd.language.terms import Term

# --- Scopes and bodies: the parts of a circuit that become classes and methods


@dataclass(eq=False)
class Submodule:
    """A submodule: its path, its parent, and its bodies."""

    path: tuple[str, ...]
    bodies: list[MethodBody] = field(default_factory=list)
    children: dict[str, Submodule] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else ""

    @property
    def is_module_list(self) -> bool:
        """Whether it is a list of modules."""
        return not self.bodies

    @lazy_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of all bodies, including those within parts."""
        return tuple(cell for body in self.bodies for cell in body.cells)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The ids of its cells."""
        return tuple(cell.id for cell in self.cells)


@dataclass(eq=False)
class MethodBody:
    """The computation of one method; ``skip`` counts the fences around it, ``title`` names it."""

    scope: Submodule
    term: Term
    units: list[Cell | SourcePart]
    inputs: Boundary
    outputs: Boundary
    skip: int = 0
    title: str = ""
    is_scan_step: bool = False  # of a scan without a name
    circuit: Circuit | None = None  # if it is that of a loop's body

    @lazy_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cells(self.units))

    @property
    def nodes(self) -> tuple[str, ...]:
        """The ids of its cells."""
        return tuple(cell.id for cell in self.cells)


@dataclass(eq=False)
class SourcePart:
    """A call of other bodies: one of a block, several of a repetition, or the step of a scan."""

    id: str  # of its fence
    bodies: tuple[MethodBody, ...]
    inputs: Boundary
    outputs: Boundary
    fences: tuple[str, ...]
    loop: Loop | None = None  # None for a block


def cells(units: Iterable[Cell | SourcePart]) -> Iterator[Cell]:
    """Yields all cells, including those within parts."""
    waiting = list(units)[::-1]
    while waiting:
        unit = waiting.pop()
        if isinstance(unit, Cell):
            yield unit
        else:
            waiting += [u for body in unit.bodies[::-1] for u in body.units[::-1]]


class ModuleTree:
    """The scopes of a circuit, the outermost first."""

    def __init__(self, circuit: Circuit) -> None:
        self.fences = {fence.id: fence for fence in circuit.fences}
        self.root = Submodule(())
        self.scopes: dict[tuple[str, ...], Submodule] = {(): self.root}
        self._waiting: list[tuple[MethodBody, Sequence[Unit]]] = []
        self._body(self.root, circuit.term, circuit.units, circuit.inputs, circuit.outputs)
        while self._waiting:
            body, units = self._waiting.pop()
            body.units += self._group_units(units, body)
        self.local = {id: names for id, f in self.fences.items() if (names := _names(f))}

    def after_children(self) -> Iterator[Submodule]:
        """Yields every scope after the scopes within it."""
        waiting = [(self.root, False)]
        while waiting:
            scope, ready = waiting.pop()
            if ready:
                yield scope
            else:
                waiting.append((scope, True))
                waiting += [(child, False) for child in reversed(scope.children.values())]

    def outer(self, axis: Axis, fences: Sequence[str]) -> Axis:
        """Returns an axis with its name outside these fences."""
        for id in reversed(fences) if self.local else ():
            found = self.local.get(id, {}).get(axis.name, axis)
            axis = found if found.size == axis.size else axis
        return axis

    def _scope(self, path: tuple[str, ...]) -> Submodule:
        if path not in self.scopes:
            parent = self._scope(path[:-1])
            self.scopes[path] = parent.children[path[-1]] = Submodule(path)
        return self.scopes[path]

    def _body(
        self,
        scope: Submodule,
        term: Term,
        units: Sequence[Unit],
        inputs: Boundary,
        outputs: Boundary,
        skip: int = 0,
        title: str = "",
    ) -> MethodBody:
        body = MethodBody(scope, term, [], inputs, outputs, skip, title)
        scope.bodies.append(body)
        self._waiting.append((body, units))
        return body

    def _group_units(self, units: Sequence[Unit], body: MethodBody) -> list[Cell | SourcePart]:
        """Returns the units in written order, those of a named block together."""
        groups: dict[str, list[Unit]] = {}
        for unit in units:
            inner = (id for id in unit.fences[body.skip :] if self._is_named_block(id))
            groups.setdefault(next(inner, unit.id), []).append(unit)
        made = _Order(units)
        order = sorted(groups, key=lambda id: made.order_key(groups[id]))
        found: list[Cell | SourcePart] = []
        for id in order:
            first = groups[id][0]
            if id != first.id:
                found.append(self._block(self.fences[id], groups[id]))
            else:
                found.append(self._loop(first, body) if isinstance(first, Loop) else first)
        return found

    def _is_named_block(self, id: str) -> bool:
        fence = self.fences[id]
        return bool(fence.scope) and isinstance(fence.term, Block)

    def _block(self, fence: Fence, units: list[Unit]) -> SourcePart:
        taken = {value.id for unit in units for value in unit.inputs}
        given = {value.id for value in fence.states[0]}
        inputs = tuple(value for value in fence.states[0] if value.id in taken)
        outputs = tuple(value for value in fence.states[-1] if value.id not in given)
        skip = units[0].fences.index(fence.id)
        assert isinstance(fence.term, Block)
        ends = _local_inputs(fence.term, inputs, fence.states[0]), _source_outputs(units, outputs)
        title = fence.title if fence.title.strip() else fence.scope[-1]
        scope = self._scope(fence.scope)
        body = self._body(scope, fence.term, units, *ends, skip + 1, title)
        return SourcePart(fence.id, (body,), inputs, outputs, units[0].fences[:skip])

    def _loop(self, loop: Loop, around: MethodBody) -> SourcePart:
        bodies = []
        for index, circuit in enumerate(loop.bodies):
            scope, title = around.scope, ""
            if loop.name:
                path = (*loop.scope, loop.name)
                numbered = isinstance(loop, RepeatLoop) and not loop.shared
                scope = self._scope((*path, str(index)) if numbered else path)
                title = loop.name.removesuffix("s") if numbered else loop.name
            if isinstance(circuit.term, Block) and circuit.term.title.strip():
                title = circuit.term.title
            skip = len(loop.fences) + 1
            ends = circuit.inputs, circuit.outputs
            made = self._body(scope, circuit.term, circuit.units, *ends, skip, title or loop.name)
            made.is_scan_step = not loop.name
            bodies.append(made)
        return SourcePart(loop.id, tuple(bodies), loop.inputs, loop.outputs, loop.fences, loop)


class _Order:
    """The order in which units were written, by their first cells.

    A loop without cells comes after its inputs.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self.first: dict[str, int] = {}
        self.makers: dict[str, int] = {}
        self.bare: set[str] = set()
        for unit in units:
            inside = (unit,) if isinstance(unit, Cell) else _body_cells(unit)
            numbers = [int(cell.id[1:]) for cell in inside]
            if not numbers:
                self.bare.add(unit.id)
            before = (self.makers.get(value.id, -1) for value in unit.inputs)
            self.first[unit.id] = min(numbers) if numbers else max(before, default=-1)
            last = max(numbers, default=self.first[unit.id])
            self.makers.update((value.id, last) for value in unit.outputs)

    def order_key(self, units: list[Unit]) -> int:
        real = [self.first[unit.id] for unit in units if unit.id not in self.bare]
        return min(real) if real else max(self.first[unit.id] for unit in units)


def _body_cells(loop: Loop) -> tuple[Cell, ...]:
    return tuple(cell for body in loop.bodies for cell in body.cells)


def _local_inputs(term: Block, inputs: Boundary, given: Boundary) -> Boundary:
    """Returns the inputs with the block's local axis names."""
    if not term.local:
        return inputs
    arrays = term.to_local(Type(value.array for value in given))[0]
    known = {value.id: array for value, array in zip(given, arrays, strict=True)}
    return tuple(Value(value.id, known[value.id]) for value in inputs)


def _source_outputs(units: Sequence[Unit], outputs: Boundary) -> Boundary:
    """Returns the outputs with the names they have where they are made."""
    known = {value.id: value for unit in units for value in unit.outputs}
    return tuple(known.get(value.id, value) for value in outputs)


def _names(fence: Fence) -> dict[str, Axis]:
    """Returns what the local axis names of a block stand for outside."""
    term = fence.term
    if not (isinstance(term, Block) and term.local):
        return {}
    return term.to_local(Type(value.array for value in fence.states[0]))[1]


def common(paths: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Returns the fences that contain all of these paths, the outermost first."""
    found: Sequence[str] | None = None
    for path in paths:
        if found is None:
            found = path
        pairs = enumerate(zip(found, path, strict=False))
        end = min(len(found), len(path))
        found = found[: next((i for i, (a, b) in pairs if a != b), end)]
    return tuple(found or ())


# --- Analyses an op's expressions before they are written: new, shared or existing parts

MAX_REPEATED_PARTS = 5  # parts of an operation that may be written twice
HEAVY = (ex.Call, ex.Contract, ex.Layer, ex.Method, ex.Rearrange)


@dataclass(frozen=True)
class CellCode:
    """The computation of a cell: an expression for each output, or one for all (``tuple_expr``)."""

    exprs: tuple[ex.TorchExpr, ...] = ()
    tuple_expr: ex.TorchExpr | None = None

    @staticmethod
    def from_cell(cell: Cell) -> CellCode:
        """Returns the op's expressions; those that unpack one tuple become that tuple."""
        found = cell.torch_code
        if isinstance(found, ex.TorchExpr):
            count = len(cell.outputs)
            return CellCode((found,)) if count == 1 else CellCode(tuple_expr=found)
        first = found[0] if found else None
        if isinstance(first, ex.Item) and len(found) > 1:
            whole = tuple(ex.Item(first.operand, i) for i in range(len(found)))
            if found == whole:
                return CellCode(tuple_expr=first.operand)
        return CellCode(found)

    @property
    def all_exprs(self) -> tuple[ex.TorchExpr, ...]:
        return self.exprs if self.tuple_expr is None else (self.tuple_expr,)

    @lazy_property
    def needs_code(self) -> bool:
        """Whether it needs code; a copy does not."""
        return any(not isinstance(expr, ex.Arg) for expr in self.all_exprs)

    @lazy_property
    def needs_statement(self) -> bool:
        """Whether it needs a statement; a parameter is read where it is used."""
        return any(not isinstance(expr, ex.Arg | ex.Weight) for expr in self.all_exprs)

    @property
    def reshapes(self) -> bool:
        """Whether it only splits, merges or permutes dimensions."""
        return all(
            isinstance(e, ex.Rearrange) and isinstance(e.operand, ex.Arg) for e in self.all_exprs
        )

    @lazy_property
    def creates_tensor(self) -> bool:
        """Whether it creates a tensor that must be on the device of another."""
        return self.creates_real or any(isinstance(part, ex.Position) for part in self._parts())

    @lazy_property
    def creates_real(self) -> bool:
        """Whether it creates numbers that must have the dtype of others."""
        parts = (p for p in self._parts() if isinstance(p, ex.Filled | ex.Cast))
        return any(isinstance(part, ex.Filled) or part.target_kind == "real" for part in parts)

    def _parts(self) -> Iterator[ex.TorchExpr]:
        return (part for expr in self.all_exprs for part in expr.walk())

    @lazy_property
    def repeated_parts(self) -> tuple[ex.TorchExpr, ...]:
        """Parts that occur more than once, inner ones first."""
        seen: set[ex.TorchExpr] = set()
        found: dict[ex.TorchExpr, None] = {}
        waiting = list(reversed(self.exprs))
        while waiting:
            part = waiting.pop()
            if part in seen:
                found[part] = None
                continue
            large = isinstance(part, ex.Infix) and sum(1 for _ in part.walk()) > MAX_REPEATED_PARTS
            if (large or isinstance(part, (*HEAVY, ex.Position))) and not _is_plain_number(part):
                seen.add(part)
            waiting += reversed([*part.parts()])
        return tuple(sorted(found, key=lambda part: sum(1 for _ in part.walk())))

    def aliases(self, cell: Cell) -> Iterator[tuple[Value, Value]]:
        """Yields outputs that equal an input, each with that input."""
        for value, expr in zip(cell.outputs, self.exprs, strict=False):
            if isinstance(expr, ex.Arg):
                yield value, cell.inputs[expr.index]


def _is_plain_number(expr: ex.TorchExpr) -> bool:
    """Returns whether an expression is a plain number."""
    return not any(isinstance(p, ex.Arg | ex.Layer | ex.Position | ex.Filled) for p in expr.walk())


def heavy_parts(
    expr: ex.TorchExpr, bound: Container[ex.TorchExpr] = ()
) -> Iterator[list[ex.TorchExpr]]:
    """Yields the parts of an expression that could get a line of their own, the best first.

    Those in ``bound`` have a variable already. Positions come first, then the outermost calls, then
    operations on tensors.
    """
    for kinds in ((ex.Position,), HEAVY, (ex.Infix, ex.Cast)):
        yield list(_outermost(expr, kinds, bound))


def _outermost(
    expr: ex.TorchExpr, kinds: tuple[type[ex.TorchExpr], ...], bound: Container[ex.TorchExpr]
) -> Iterator[ex.TorchExpr]:
    for part in expr.parts():
        if part in bound:
            continue
        if isinstance(part, kinds) and not _is_plain_number(part):
            yield part
        else:
            yield from _outermost(part, kinds, bound)


def used_parts(
    expr: ex.TorchExpr, bound: Container[ex.TorchExpr]
) -> tuple[list[int], list[ex.TorchExpr]]:
    """Returns the arguments that an expression reads, and its parts that have a variable."""
    args, parts = list[int](), list[ex.TorchExpr]()
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if part in bound:
            parts.append(part)
        elif isinstance(part, ex.Arg):
            args.append(part.index)
        else:
            waiting += reversed([*part.parts()])
    return args, parts
