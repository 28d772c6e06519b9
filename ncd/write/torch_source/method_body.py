"""The statements of a method: ops, calls of blocks, loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ncd.circuit.circuit import Boundary, Cell, RepeatLoop, ScanLoop, Value
from ncd.language.axes import Axis
from ncd.language.torch_code import Arg, Infix, Position, TorchExpr, Weight
from ncd.write.torch_source.expression_writer import Writer
from ncd.write.torch_source.identifiers import (
    UniqueNames,
    VariableNames,
    ascii_identifier,
    attribute,
    variable,
)
from ncd.write.torch_source.line_breaking import LEVELS, SUM, WIDTH, Code, bracketed_code, method
from ncd.write.torch_source.scopes import (
    CellCode,
    MethodBody,
    ModuleTree,
    SourcePart,
    Submodule,
    common,
    heavy_parts,
    used_parts,
)

# --- Statements of a method, and what they require of its class


@dataclass(frozen=True)
class Statement:
    """``target = code``, and the ids of its ops; without a target the code stands alone."""

    target: str
    code: Code
    nodes: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    indent: int = 0

    @property
    def full_code(self) -> Code:
        if not self.target or self.target == "return":
            return self.code.with_prefix("return ") if self.target else self.code
        return self.code.with_prefix(f"{self.target} = ")


class ClassContext(Protocol):
    """The interface of the class that a method belongs to."""

    outline: ModuleTree
    scope: Submodule
    einops: bool
    dims: UniqueNames
    imports: set[str]

    def size(self, axis: Axis, fences: Sequence[str], *, stored: bool) -> Code: ...
    def steps(self, cell: Cell) -> CellCode: ...
    def layer(self, cell: Cell) -> str: ...
    def method_of(self, body: MethodBody) -> str: ...
    def weight(self) -> str: ...
    def like(self) -> str: ...
    def has_batch_axes(self, value: Value) -> bool: ...


# --- The statements of parts: calls of blocks, and the loops of repetitions and scans

Ids = tuple[str, ...]


class BlockStatements:
    """Writes the parts of one method, one at a time."""

    def __init__(self, owner: ClassContext, naming: VariableNames) -> None:
        self.owner, self.naming = owner, naming

    def statements(self, part: SourcePart, time: int) -> list[Statement]:
        """Writes the statements of parts."""
        self.found: list[Statement] = []
        if isinstance(part.loop, ScanLoop):
            self._scan(part, part.loop, time)
        elif isinstance(part.loop, RepeatLoop):
            self._repeat(part, part.loop, time)
        else:
            self._write_call(part.bodies[0], part.inputs, part.outputs, time)
        return self.found

    def _say(self, target: str, code: Code, nodes: Ids, indent: int = 0) -> None:
        self.found.append(Statement(target, code, nodes, (), indent))

    def _variable_names(self, values: Boundary) -> list[str]:
        return [self.naming.names[value.id] for value in values]

    # one call -------------------------------------------------------------------------------------

    def _write_call(
        self, body: MethodBody, inputs: Boundary, outputs: Boundary, time: int, more: str = ""
    ) -> None:
        """Writes one call of a body; ``more`` is the variable for its additional output."""
        ins, outs = self._variable_names(inputs), list[str]()
        name = next((n for n in reversed(body.scope.path) if not n.isdecimal()), "out")
        for place, value in enumerate(outputs):
            wanted = [*ins[place : place + 1], "x", variable(name)]
            if more and place >= len(ins):
                wanted = [more]
            given = self.naming.given.get(self.naming.root(value))
            outs.append(self.naming.choose([given] if given else wanted, time, outs))
        for value, target in zip(outputs, outs, strict=True):
            self.naming.reserve(value, target)
        self._say(", ".join(outs), _call(self._callee(body), ins), _ids(body))

    def _callee(self, body: MethodBody, on: str = "") -> str:
        """Returns the code that is called to run a body: a submodule, or a method of one."""
        name = self.owner.method_of(body)
        on = on or access(self.owner.outline, self.owner.scope, body.scope)
        return on if name == "forward" and on != "self" else f"{on}.{name}"

    # repetitions ----------------------------------------------------------------------------------

    def _repeat(self, part: SourcePart, loop: RepeatLoop, time: int) -> None:
        if len(part.bodies) > 1 and self._even(part, loop):
            self._write_for_loop(
                part, loop, time + len(part.bodies) - 1
            )  # the time of the last body
            return
        for i, body in enumerate(part.bodies):
            self._write_call(body, body.inputs, body.outputs, time + i, "skip")

    def _even(self, part: SourcePart, loop: RepeatLoop) -> bool:
        """Returns whether one loop can run all bodies, as each takes all arrays."""
        count = len(part.inputs) - loop.memory
        ends = {(len(body.inputs), len(body.outputs)) for body in part.bodies}
        methods = {self.owner.method_of(body) for body in part.bodies}
        if len(methods) > 1 or ends != {(len(part.inputs), count)} or len(part.outputs) != count:
            return False
        home = self.owner.outline.scopes[part.bodies[0].scope.path[:-1]]
        return loop.shared or (home.is_module_list and len(home.children) == len(part.bodies))

    def _write_for_loop(self, part: SourcePart, loop: RepeatLoop, time: int) -> None:
        nodes, first = _ids(*part.bodies), part.bodies[0]
        split = len(part.inputs) - loop.memory
        memory = self._variable_names(part.inputs[split:])
        targets = self._states(part.inputs[:split], memory, nodes, time)
        if loop.shared:
            item, over = "_", f"range({len(part.bodies)})"
            head = self._callee(first)
        else:
            single = variable(loop.name.removesuffix("s") or loop.name)
            item = self.naming.choose([single], time, {*targets, *memory})
            over = access(self.owner.outline, self.owner.scope, first.scope, up=1)
            head = self._callee(first, item)
        self._say("", Code(f"for {item} in {over}:"), nodes)
        self._say(", ".join(targets), _call(head, [*targets, *memory]), nodes, 1)
        for value, name in zip(part.outputs, targets, strict=True):
            self.naming.reserve(value, name)

    def _states(self, inputs: Boundary, others: Sequence[str], nodes: Ids, time: int) -> list[str]:
        """Variables that a loop may change: the old ones, or new ones where those are needed."""
        ins, targets = self._variable_names(inputs), list[str]()
        for name in ins:
            new, blocked = name, {*targets, *others}
            if not name.isidentifier() or not self.naming.is_free(name, time, blocked):
                new = self.naming.choose([name], time, {*blocked, *ins})
                self._say(new, Code(name), nodes)
            targets.append(new)
        return targets

    # scans ----------------------------------------------------------------------------------------

    def _scan(self, part: SourcePart, loop: ScanLoop, time: int) -> None:
        nodes, (body,) = _ids(*part.bodies), part.bodies
        n, along = loop.states, ascii_identifier(loop.axis) or "t"
        sequences = self._variable_names(part.inputs[n:])
        targets = self._states(part.inputs[:n], sequences, nodes, time)
        block = {*targets, *sequences}
        items = [
            f"{'x' if name == along else ascii_identifier(name)}_{along}" for name in sequences
        ]
        items = self._choose_names(items, time, block)
        outs = self._choose_names(["out"] * (len(part.outputs) - n), time, {*block, *items})
        lists = self._choose_names(["outs"] * len(outs), time, {*block, *items, *outs})
        for name in lists:
            self._say(name, Code("[]"), nodes)
        self._say("", self._loop_header(loop, items, sequences), nodes)
        call = _call(self._callee(body), [*targets, *items])
        self._say(", ".join([*targets, *outs]), call, nodes, 1)
        for name, out in zip(lists, outs, strict=True):
            self._say("", Code(f"{name}.append({out})"), nodes, 1)
        for value, name in zip(part.outputs[:n], targets, strict=True):
            self.naming.reserve(value, name)
        self._stack_outputs(loop, lists, time, nodes)

    def _choose_names(self, wanted: Iterable[str], time: int, block: Collection[str]) -> list[str]:
        found: list[str] = []
        for name in wanted:
            found.append(self.naming.choose([variable(name)], time, {*block, *found}))
        return found

    def _loop_header(self, loop: ScanLoop, items: Sequence[str], sequences: Sequence[str]) -> Code:
        """Returns the first line of the loop over positions."""
        parts = []
        given = loop.inputs[loop.states :]
        for name, value in zip(sequences, given, strict=True):
            dims, on = value.array.position(loop.axis), Code(name)
            if len(dims) > 1:
                on = method(on, "flatten", (Code(str(dims[0])), Code(str(dims[-1]))))
            parts.append(method(on, "unbind", (Code(str(dims[-1])),)))
        over = (
            parts[0] if len(parts) == 1 else bracketed_code("zip(", (*parts, Code("strict=True")))
        )
        return over.with_prefix(f"for {', '.join(items)} in ").with_suffix(":")

    def _stack_outputs(self, loop: ScanLoop, lists: list[str], time: int, nodes: Ids) -> None:
        """Writes the code that stacks the outputs of all positions."""
        outputs = loop.outputs[loop.states :]
        for i, (name, value) in enumerate(zip(lists, outputs, strict=True)):
            dims = value.array.position(loop.axis)
            self.owner.imports.add("import torch")
            code = Code(f"torch.stack({name}, dim={dims[-1]})")
            if len(dims) > 1:
                axis = value.array[value.array.names.index(loop.axis)]
                code = method(code, "unflatten", (Code(str(dims[-1])), Code(str(axis.shape))))
            given = self.naming.given.get(self.naming.root(value), "x")
            target = self.naming.choose([given, "y"], time, lists[i + 1 :])
            self.naming.reserve(value, target)
            self._say(target, code, nodes)


def access(outline: ModuleTree, here: Submodule, scope: Submodule, up: int = 0) -> str:
    """Returns code that reads a submodule from here, or the one ``up`` levels around it."""
    path = scope.path[: len(scope.path) - up]
    on, home = "self", here
    for name in path[len(here.path) :]:
        on = f"{on}[{name}]" if home.is_module_list else attribute(on, name)
        home = outline.scopes[(*home.path, name)]
    return on


def _call(head: str, inputs: Sequence[str]) -> Code:
    return bracketed_code(f"{head}(", map(Code, inputs))


def _ids(*bodies: MethodBody) -> Ids:
    return tuple(id for body in bodies for id in body.nodes)


# --- Writes the statements of single ops


class OpStatements:
    """Writes the cells of one method, one at a time."""

    def __init__(self, owner: ClassContext, naming: VariableNames, skip: int) -> None:
        self.owner, self.naming, self.skip = owner, naming, skip

    def statements(self, cell: Cell, time: int) -> list[Statement]:
        """Returns a cell's statements; none if all its outputs exist already."""
        self.found: list[Statement] = []
        steps, names = self.owner.steps(cell), self.naming.names
        if steps.needs_statement:
            writer = self._writer(cell)
            if steps.tuple_expr is not None:
                self._together(cell, steps.tuple_expr, writer, time)
            else:
                self._write_exprs(cell, steps, writer, time)
        for value, source in steps.aliases(cell):
            names[value.id] = names[source.id]
        for value, expr in zip(cell.outputs, steps.exprs, strict=False):
            if isinstance(expr, Weight):
                names[value.id] = self.owner.layer(cell)
        return self.found

    def _writer(self, cell: Cell) -> Writer:
        args = tuple(self.naming.names[value.id] for value in cell.inputs)
        reals = [n for n, v in zip(args, cell.inputs, strict=True) if v.array.below is None]
        like = near = ""
        if self.owner.steps(cell).creates_tensor:
            reals += [name for name, real in self.naming.real.items() if real and not args]
            like = next(iter(reals), "") or self.owner.weight()
            like = like or next((name for name, real in self.naming.real.items() if real), "")
            if not like and self.owner.steps(cell).creates_real:
                like = self.owner.like()
            near = like or next(iter((*args, *self.naming.real)), "")
        owner, fences = self.owner, cell.fences[self.skip :]
        return Writer(
            lambda axis: owner.size(axis, fences, stored=True),
            owner.dims,
            owner.imports,
            owner.einops,
            args,
            tuple(map(owner.has_batch_axes, cell.inputs)),
            tuple(len(value.array.dims) for value in cell.inputs),
            owner.layer(cell),
            like,
            near,
        )

    def _together(self, cell: Cell, expr: TorchExpr, writer: Writer, time: int) -> None:
        """Writes an assignment of all outputs at once, as a tuple."""
        names: list[str] = []
        code = self._fitting_code(expr, writer, cell, time, [])
        for place, value in enumerate(cell.outputs):
            names.append(self.naming.choose(self.naming.name_candidates(cell, place), time, names))
            self.naming.reserve(value, names[-1])
        self.found.append(Statement(", ".join(names), code, (cell.id,)))

    def _write_exprs(self, cell: Cell, steps: CellCode, writer: Writer, time: int) -> None:
        waiting = [(i, e) for i, e in enumerate(steps.exprs) if not isinstance(e, Arg | Weight)]
        every = [expr for _, expr in waiting]
        for expr in steps.repeated_parts:
            self._hoist(expr, writer, cell, time, every)
        while waiting:
            (place, expr), *waiting = waiting
            later = [other for _, other in waiting]
            code = self._fitting_code(expr, writer, cell, time, later)
            block = self._needed_names(writer, later, steps)
            value, name = cell.outputs[place], "_"
            if self.naming.root(value) in self.naming.last:  # else nothing needs it
                name = self.naming.choose(self.naming.name_candidates(cell, place), time, block)
            self.naming.reserve(value, name)
            self.found.append(Statement(name, code, (cell.id,)))

    def _needed_names(
        self, writer: Writer, later: Sequence[TorchExpr], steps: CellCode
    ) -> set[str]:
        """Returns the names that later expressions and outputs still need."""
        names = {writer.args[e.index] for e in steps.exprs if isinstance(e, Arg)}
        bound = writer.bound_variables
        for expr in later:
            args, parts = used_parts(expr, bound)
            names |= {writer.args[i] for i in args} | {bound[part] for part in parts}
        if later and writer.device_tensor:
            names |= {writer.reference_tensor, writer.device_tensor}
        return names

    def _hoist(
        self, expr: TorchExpr, writer: Writer, cell: Cell, time: int, every: Sequence[TorchExpr]
    ) -> None:
        """Gives a part of an expression a line and a variable of its own."""
        code = self._fitting_code(expr, writer, cell, time, every)
        args, _ = used_parts(expr, {})
        wanted = [*(writer.args[i] for i in args[:1]), "part"]
        if isinstance(expr, Infix) and LEVELS[expr.sign] < SUM:
            wanted = ["mask"]
        elif isinstance(expr, Position):
            wanted = [f"{writer.dims.dim(expr.dim)}_pos"]
        after = {**writer.bound_variables, expr: ""}
        needed = {name for name in (writer.reference_tensor, writer.device_tensor) if name}
        for other in every:
            rest, parts = used_parts(other, after)
            needed |= {writer.args[i] for i in rest} | {
                writer.bound_variables.get(p, "") for p in parts
            }
        block = needed | self._needed_names(writer, (), self.owner.steps(cell))
        name = self.naming.choose(wanted, time, block)
        writer.bound_variables[expr] = name
        self.naming.busy[name] = max(self.naming.busy.get(name, -1), time)
        self.found.append(Statement(name, code, (cell.id,)))

    def _fitting_code(
        self, expr: TorchExpr, writer: Writer, cell: Cell, time: int, later: Sequence[TorchExpr]
    ) -> Code:
        """Returns the code; if it is too long, parts of it get lines of their own."""
        while True:
            code = writer.write(expr)
            target = 12 if expr not in writer.bound_variables else 0
            if len(code.text) + 8 + target <= WIDTH:
                return code
            long = _longest(expr, writer)
            if long is None:
                return code
            self._hoist(long, writer, cell, time, (expr, *later))


def _longest(expr: TorchExpr, writer: Writer) -> TorchExpr | None:
    """Returns the part of a long expression that should get a line of its own."""
    for parts in heavy_parts(expr, writer.bound_variables):
        sizes = {p: len(writer.write(p).text) for p in parts}
        if sizes and max(sizes.values()) > 15:
            return max(sizes, key=lambda part: sizes[part])
    return None


# --- The statements of one method, in order, under the titles of their blocks


class MethodWriter:
    """A method: its arguments, and its statements."""

    def __init__(self, owner: ClassContext, body: MethodBody) -> None:
        self.owner, self.body = owner, body
        self.naming = VariableNames(owner, body)
        names = self.naming.names
        self.arguments = tuple(names[value.id] for value in body.inputs)
        self.statements: list[Statement] = []
        stated = [unit for unit in body.units if self.naming.has_statement(unit)]
        self.opened = set(common(unit.fences[body.skip :] for unit in stated))
        cells, parts = (
            OpStatements(owner, self.naming, body.skip),
            BlockStatements(owner, self.naming),
        )
        for unit, time in zip(body.units, self.naming.times, strict=True):
            if isinstance(unit, Cell):
                found = cells.statements(unit, time)
            else:
                found = parts.statements(unit, time)
            if found:
                found[0] = replace(found[0], titles=self._titles(unit))
            self.statements += found
        self._return()

    def _titles(self, unit: Cell | SourcePart) -> tuple[str, ...]:
        """Returns the titles of the blocks that begin here, except those around the whole body."""
        new = [id for id in unit.fences[self.body.skip :] if id not in self.opened]
        self.opened.update(new)
        titles = (self.owner.outline.fences[id].title for id in new)
        return tuple(title for title in titles if title.strip())

    def _return(self) -> None:
        result = ", ".join(self.naming.names[value.id] for value in self.body.outputs) or "()"
        last = self.statements[-1] if self.statements else None
        if last and last.target == result and not last.indent:
            self.statements[-1] = replace(last, target="return")
        else:
            self.statements.append(Statement("return", Code(result)))
