"""The steps of one method, by names that a person would choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ncd.code.expressions import Writer
from ncd.code.layout import LEVELS, SUM, WIDTH, Code, called, method
from ncd.code.names import TAKEN, Allotted, attribute, plain, unique, variable
from ncd.code.scopes import Body, Outline, Part, Scope, cells, common
from ncd.code.simplify import Steps, heavy_parts, used
from ncd.lang.axes import Axis
from ncd.lang.circuit import Cell, State, Value
from ncd.lang.expr import Arg, Expr, Infix

AMBIGUOUS = frozenset("lOI")  # letters that look like others
GENERIC = ("", "x")


@dataclass(frozen=True)
class Statement:
    """``target = code``, and the ids of its ops; without a target the code stands alone."""

    target: str
    code: Code
    nodes: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    indent: int = 0

    @property
    def whole(self) -> Code:
        if not self.target or self.target == "return":
            return self.code.before("return ") if self.target else self.code
        return self.code.before(f"{self.target} = ")


class Owner(Protocol):
    """The class that a method belongs to."""

    outline: Outline
    scope: Scope
    einops: bool
    dims: Allotted
    imports: set[str]

    def size(self, axis: Axis, fences: Sequence[str], *, stored: bool) -> Code: ...
    def steps(self, cell: Cell) -> Steps: ...
    def layer(self, cell: Cell) -> str: ...
    def method_of(self, body: Body) -> str: ...
    def weight(self) -> str: ...
    def like(self) -> str: ...
    def batched(self, value: Value) -> bool: ...


class Forward:
    """Writes the statements of one body."""

    def __init__(self, owner: Owner, body: Body) -> None:
        self.owner, self.body = owner, body
        self.names: dict[str, str] = {}  # of values, by their ids
        self.busy: dict[str, int] = {}  # names, and when what they hold is last needed
        self.real: dict[str, bool] = {}  # names, and whether they hold real numbers
        self.opened: set[str] = set()
        self.numbers: dict[str, int] = {}
        self.statements: list[Statement] = []
        self._look_ahead()
        self._name_inputs()
        for unit, time in zip(body.units, self.times, strict=True):
            if isinstance(unit, Cell):
                self._cell(unit, time)
            else:
                {"block": self._block, "repeat": self._repeat, "scan": self._scan}[unit.kind](
                    unit, time
                )
        self._return()

    # what is known before -------------------------------------------------------------------------

    def _look_ahead(self) -> None:
        """When each array is last needed, and what it is called by a name that is put on it."""
        self.roots: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self.last: dict[str, int] = {}
        self.times: list[int] = []
        now = 0
        for unit in self.body.units:
            self.times.append(now)
            self.last.update((self._root(value), now) for value in unit.inputs)
            if isinstance(unit, Cell):
                self._alias(unit)
            elif unit.kind == "repeat":  # each body has a time of its own
                for body in unit.bodies:
                    self.last.update((self._root(value), now) for value in body.inputs)
                    now += 1
            now += 1
        self.last.update((self._root(value), now) for value in self.body.outputs)
        coded = [self._fences(unit) for unit in self.body.units if self._coded(unit)]
        self.opened.update(common(coded))

    def _root(self, value: Value) -> str:
        return self.roots.get(value.id, value.id)

    def _alias(self, cell: Cell) -> None:
        steps = self.owner.steps(cell)
        for value, source in steps.aliases(cell):
            self.roots[value.id] = self._root(source)
        name = cell.op.out(cell.site) if not steps.coded else ""
        if name and len(cell.outputs) == 1:
            self.given.setdefault(self._root(cell.outputs[0]), variable(name.lower()))

    def _fences(self, unit: Cell | Part) -> tuple[str, ...]:
        return unit.fences[self.body.skip :]

    def _coded(self, unit: Cell | Part) -> bool:
        return isinstance(unit, Part) or self.owner.steps(unit).coded

    def _name_inputs(self) -> None:
        several = len(self.body.inputs) > 1
        for value in self.body.inputs:
            axes = value.array if several else ()
            wanted = self._by_axis(axes[0]) if axes else "x"
            self._hold(value, self._choose([self.given.get(value.id, wanted)], -1))
            name = self.names[value.id]
            self.busy[name] = max(self.busy[name], 0)  # two inputs have two names
        self.arguments = tuple(self.names[value.id] for value in self.body.inputs)

    def _by_axis(self, axis: Axis) -> str:
        name = self.owner.dims.of((axis.name, 0), plain(axis.name))
        return f"{name}_" if name in TAKEN else name

    # names ----------------------------------------------------------------------------------------

    def _choose(self, wanted: Sequence[str], time: int, block: Iterable[str] = ()) -> str:
        """The first name that is free, or the first with a number."""
        blocked = set(block)
        for name in wanted:
            if self._free(name, time, blocked):
                return name
        base = unique(wanted[0], {wanted[0]}).rpartition("_")[0]
        count = self.numbers.get(base, 2)
        count = count if count > 50 else 2  # not to try them all again where there are so many
        while not self._free(f"{base}_{count}", time, blocked):
            count += 1
        self.numbers[base] = count
        return f"{base}_{count}"

    def _free(self, name: str, time: int, blocked: set[str]) -> bool:
        return name not in TAKEN and name not in blocked and self.busy.get(name, -1) <= time

    def _hold(self, value: Value, name: str) -> None:
        self.names[value.id] = name
        self.busy[name] = self.last.get(self._root(value), -1)
        self.real[name] = value.array.below is None

    def _wanted(self, cell: Cell, place: int) -> list[str]:
        """What the result could be called, the best first."""
        value, op = cell.outputs[place], cell.op
        given = self.given.get(self._root(value))
        if given:
            return [given]
        words = [word.strip() for word in op.out(cell.site).split(",")]
        out = words[place] if place < len(words) else ""
        more = [variable(name.lower()) for name in (cell.name, type(op).__name__) if name]
        more = [name for name in more if name not in AMBIGUOUS]
        if out not in GENERIC:
            return [variable(out), *more]
        if len(cell.outputs) > 1:
            known = {name for array in cell.site.dom for name in array.names}
            new = [axis for axis in cell.site.cod[place] if axis.name not in known]
            return [*map(self._by_axis, new[:1]), "x", *more]
        same = cell.inputs and cell.site.ins[0].names == cell.site.outs[0].names
        return [*([self.names[cell.inputs[0].id]] if same else []), "x", "out", *more]

    # statements -----------------------------------------------------------------------------------

    def _titles(self, unit: Cell | Part) -> tuple[str, ...]:
        """The titles of the blocks that begin here, without those that hold all of the body."""
        new = [id for id in self._fences(unit) if id not in self.opened]
        self.opened.update(new)
        titles = (self.owner.outline.fences[id].title for id in new)
        return tuple(title for title in titles if title.strip())

    def _say(
        self, target: str, code: Code, nodes: tuple[str, ...], titles: tuple[str, ...] = (),
        indent: int = 0,
    ) -> None:  # fmt: skip
        self.statements.append(Statement(target, code, nodes, titles, indent))

    def _cell(self, cell: Cell, time: int) -> None:
        steps = self.owner.steps(cell)
        if steps.coded:
            writer, titles = self._writer(cell), self._titles(cell)
            start = len(self.statements)
            if steps.together is not None:
                self._together(cell, steps.together, writer, time)
            else:
                self._each(cell, steps, writer, time)
            first = self.statements[start]
            self.statements[start] = Statement(first.target, first.code, first.nodes, titles)
        for value, source in steps.aliases(cell):
            self.names[value.id] = self.names[source.id]

    def _writer(self, cell: Cell) -> Writer:
        args = tuple(self.names[value.id] for value in cell.inputs)
        reals = [n for n, v in zip(args, cell.inputs, strict=True) if v.array.below is None]
        like = near = ""
        if self.owner.steps(cell).new:
            reals += [name for name, real in self.real.items() if real and not args]
            like = next(iter(reals), "") or self.owner.weight()
            like = like or next((name for name, real in self.real.items() if real), "")
            if not like and self.owner.steps(cell).real:
                like = self.owner.like()
            near = like or next(iter((*args, *self.real)), "")
        owner, fences = self.owner, self._fences(cell)
        return Writer(
            lambda axis: owner.size(axis, fences, stored=True),
            owner.dims,
            owner.imports,
            owner.einops,
            args,
            tuple(map(owner.batched, cell.inputs)),
            tuple(len(value.array.dims) for value in cell.inputs),
            owner.layer(cell),
            like,
            near,
        )

    def _together(self, cell: Cell, expr: Expr, writer: Writer, time: int) -> None:
        """All outputs at once, as a tuple."""
        names: list[str] = []
        code = self._short(expr, writer, cell, time, [])
        for place, value in enumerate(cell.outputs):
            names.append(self._choose(self._wanted(cell, place), time, names))
            self._hold(value, names[-1])
        self._say(", ".join(names), code, (cell.id,))

    def _each(self, cell: Cell, steps: Steps, writer: Writer, time: int) -> None:
        waiting = [(i, e) for i, e in enumerate(steps.exprs) if not isinstance(e, Arg)]
        every = [expr for _, expr in waiting]
        for expr in steps.repeated:
            self._hoist(expr, writer, cell, time, every)
        while waiting:
            (place, expr), *waiting = waiting
            later = [other for _, other in waiting]
            code = self._short(expr, writer, cell, time, later)
            block = self._needed(writer, later, steps)
            name = self._choose(self._wanted(cell, place), time, block)
            self._hold(cell.outputs[place], name)
            self._say(name, code, (cell.id,))

    def _needed(self, writer: Writer, later: Sequence[Expr], steps: Steps) -> set[str]:
        """The names that later expressions, and outputs that are an input again, still need."""
        names = {writer.args[e.index] for e in steps.exprs if isinstance(e, Arg)}
        bound = writer.bound
        for expr in later:
            args, parts = used(expr, bound)
            names |= {writer.args[i] for i in args} | {bound[part] for part in parts}
        if later and writer.near:
            names |= {writer.like, writer.near}
        return names

    def _hoist(
        self, expr: Expr, writer: Writer, cell: Cell, time: int, every: Sequence[Expr]
    ) -> None:
        """Gives a part of an expression a line and a variable of its own."""
        code = self._short(expr, writer, cell, time, every)
        args, _ = used(expr, {})
        truth = isinstance(expr, Infix) and LEVELS[expr.sign] < SUM
        wanted = [*(writer.args[i] for i in args[:1] if not truth), "mask" if truth else "part"]
        after = {**writer.bound, expr: ""}
        needed = {name for name in (writer.like, writer.near) if name}
        for other in every:
            rest, parts = used(other, after)
            needed |= {writer.args[i] for i in rest} | {writer.bound.get(p, "") for p in parts}
        block = needed | self._needed(writer, (), self.owner.steps(cell))
        name = self._choose(wanted, time, block)
        writer.bound[expr] = name
        self.busy[name] = max(self.busy.get(name, -1), time)
        self.real.pop(name, None)
        self._say(name, code, (cell.id,))

    def _short(
        self, expr: Expr, writer: Writer, cell: Cell, time: int, later: Sequence[Expr]
    ) -> Code:
        """The code; where it is too long, parts of it are given lines of their own."""
        while True:
            code = writer.write(expr)
            target = 12 if expr not in writer.bound else 0
            if len(code.text) + 8 + target <= WIDTH:
                return code
            parts = [p for p in heavy_parts(expr) if p not in writer.bound]
            sizes = {part: len(writer.write(part).text) for part in parts}
            long = [part for part in parts if sizes[part] > 15]
            if not long:
                return code
            self._hoist(max(long, key=lambda p: sizes[p]), writer, cell, time, (expr, *later))

    def _return(self) -> None:
        result = ", ".join(self.names[value.id] for value in self.body.outputs) or "()"
        last = self.statements[-1] if self.statements else None
        if last and last.target == result and not last.indent:
            self.statements[-1] = Statement("return", last.code, last.nodes, last.titles)
        else:
            self._say("return", Code(result), ())

    # parts ----------------------------------------------------------------------------------------

    def _called(self, body: Body, on: str | None = None) -> str:
        """What is called to run a body: a submodule, or a method of one."""
        name = self.owner.method_of(body)
        if on is None:
            on = _access(self.owner.outline, self.owner.scope, body.scope)
        return on if name == "forward" and on != "self" else f"{on}.{name}"

    def _call(self, head: str, inputs: Iterable[str]) -> Code:
        return called(f"{head}(", map(Code, inputs)) if inputs else Code(f"{head}()")

    def _block(self, part: Part, time: int) -> None:
        (body,) = part.bodies
        titles = self._titles(part)
        self._single(body, part.inputs, part.outputs, time, titles)

    def _single(
        self, body: Body, inputs: State, outputs: State, time: int, titles: tuple[str, ...],
        more: str = "",
    ) -> None:  # fmt: skip
        """One call of a body."""
        ins = [self.names[value.id] for value in inputs]
        name = variable(more or body.scope.name)
        outs: list[str] = []
        for place, value in enumerate(outputs):
            wanted = [*ins[place : place + 1], "x", name]
            if more and place >= len(ins):
                wanted = [more]
            given = self.given.get(self._root(value))
            outs.append(self._choose([given] if given else wanted, time, outs))
        for value, target in zip(outputs, outs, strict=True):
            self._hold(value, target)
        code = self._call(self._called(body), ins)
        self._say(", ".join(outs), code, _ids(body), titles)

    def _repeat(self, part: Part, time: int) -> None:
        loop, titles = part.loop, self._titles(part)
        assert loop is not None
        if len(part.bodies) > 1 and self._even(part):
            self._for(part, time, titles)
            return
        for i, body in enumerate(part.bodies):
            self._single(body, body.inputs, body.outputs, time + i, titles, "skip")
            titles = ()

    def _even(self, part: Part) -> bool:
        """Whether every body takes all the arrays that there are, and one loop runs them all."""
        assert part.loop is not None
        count = len(part.inputs) - part.loop.memory
        ends = {(len(body.inputs), len(body.outputs)) for body in part.bodies}
        methods = {self.owner.method_of(body) for body in part.bodies}
        if len(methods) > 1 or ends != {(len(part.inputs), count)} or len(part.outputs) != count:
            return False
        home = self.owner.outline.scopes[part.bodies[0].scope.path[:-1]]
        return part.loop.shared or (home.listed and len(home.children) == len(part.bodies))

    def _for(self, part: Part, time: int, titles: tuple[str, ...]) -> None:
        loop, nodes = part.loop, _ids(*part.bodies)
        assert loop is not None
        time += len(part.bodies) - 1  # what the last body takes is free after it
        split = len(part.inputs) - loop.memory
        memory = [self.names[value.id] for value in part.inputs[split:]]
        targets, titles = self._states(part.inputs[:split], memory, nodes, time, titles)
        first = part.bodies[0]
        block = {*targets, *memory}
        if loop.shared:
            item, over = "_", f"range({len(part.bodies)})"
            head = self._called(first)
        else:
            single = variable(loop.name.removesuffix("s") or loop.name)
            item = self._choose([single], time, block)
            over = _access(self.owner.outline, self.owner.scope, first.scope, up=1)
            head = self._called(first, item)
        self._say("", Code(f"for {item} in {over}:"), nodes, titles)
        self._say(", ".join(targets), self._call(head, [*targets, *memory]), nodes, (), 1)
        for value, name in zip(part.outputs, targets, strict=True):
            self._hold(value, name)

    def _states(
        self, inputs: State, others: Sequence[str], nodes: tuple[str, ...], time: int,
        titles: tuple[str, ...],
    ) -> tuple[list[str], tuple[str, ...]]:  # fmt: skip
        """Variables that a loop may change: the old ones, or new ones where those are needed."""
        ins, targets = [self.names[value.id] for value in inputs], list[str]()
        for name in ins:
            new = name
            if not self._free(name, time, {*targets, *others}):
                new = self._choose([name], time, {*targets, *others, *ins})
                self._say(new, Code(name), nodes, titles)
                titles = ()
            targets.append(new)
        return targets, titles

    def _scan(self, part: Part, time: int) -> None:
        loop, nodes, (body,) = part.loop, _ids(*part.bodies), part.bodies
        assert loop is not None
        n, titles = loop.states, self._titles(part)
        sequences = [self.names[value.id] for value in part.inputs[n:]]
        targets, titles = self._states(part.inputs[:n], sequences, nodes, time, titles)
        block = {*targets, *sequences}
        along = plain(loop.axis) or "t"
        items = [f"{'x' if name == along else name}_{along}" for name in sequences]
        items = self._new(items, time, block)
        outs = self._new(["out"] * (len(part.outputs) - n), time, block | {*items})
        lists = self._new([f"{out}s" for out in outs], time, block | {*items, *outs})
        for name in lists:
            self._say(name, Code("[]"), nodes, titles)
            titles = ()
        self._say("", self._along(part, items, sequences), nodes, titles)
        call = self._call(self._called(body), [*targets, *items])
        self._say(", ".join([*targets, *outs]), call, nodes, (), 1)
        for name, out in zip(lists, outs, strict=True):
            self._say("", Code(f"{name}.append({out})"), nodes, (), 1)
        for value, name in zip(part.outputs[:n], targets, strict=True):
            self._hold(value, name)
        self._stacked(part, lists, time, nodes)

    def _new(self, wanted: Sequence[str], time: int, block: set[str]) -> list[str]:
        found: list[str] = []
        for name in wanted:
            found.append(self._choose([variable(name)], time, {*block, *found}))
        return found

    def _along(self, part: Part, items: Sequence[str], sequences: Sequence[str]) -> Code:
        """The head of the loop over positions."""
        assert part.loop is not None
        parts = []
        given = part.inputs[part.loop.states :]
        for name, value in zip(sequences, given, strict=True):
            dims, on = value.array.position(part.loop.axis), Code(name)
            if len(dims) > 1:
                on = method(on, "flatten", (Code(str(dims[0])), Code(str(dims[-1]))))
            parts.append(method(on, "unbind", (Code(str(dims[-1])),)))
        over = parts[0] if len(parts) == 1 else called("zip(", (*parts, Code("strict=True")))
        return over.before(f"for {', '.join(items)} in ").after(":")

    def _stacked(self, part: Part, lists: list[str], time: int, nodes: tuple[str, ...]) -> None:
        """The outputs of all positions put together."""
        assert part.loop is not None
        for i, (name, value) in enumerate(zip(lists, part.outputs[part.loop.states :], strict=True)):
            dims = value.array.position(part.loop.axis)
            self.owner.imports.add("import torch")
            code = Code(f"torch.stack({name}, dim={dims[-1]})")
            if len(dims) > 1:
                axis = value.array[value.array.names.index(part.loop.axis)]
                code = method(code, "unflatten", (Code(str(dims[-1])), Code(str(axis.shape))))
            given = self.given.get(self._root(value), "x")
            target = self._choose([given, "y"], time, lists[i + 1 :])
            self._hold(value, target)
            self._say(target, code, nodes)


def _access(outline: Outline, here: Scope, scope: Scope, up: int = 0) -> str:
    """How a submodule is read from here; with ``up``, the one that many levels around it."""
    path = scope.path[: len(scope.path) - up]
    on, home = "self", here
    for name in path[len(here.path) :]:
        on = f"{on}[{name}]" if home.listed else attribute(on, name)
        home = outline.scopes[(*home.path, name)]
    return on


def _ids(*bodies: Body) -> tuple[str, ...]:
    return tuple(cell.id for body in bodies for cell in cells(body.units))

