"""The writer of one class of the source: its layers, and the steps of ``forward``."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap

from torch import nn

from ncd.axes import Type
from ncd.circuit import Cell, Circuit, Value
from ncd.ops.wiring import Named
from ncd.source_parts import Body, Loop, units
from ncd.source_text import (
    IMPORTED,
    WIDTH,
    SourceLine,
    Statement,
    assigned,
    attribute,
    class_name,
    comment,
    docstring,
    laid,
    tuple_of,
    unique,
    variable,
    written_out,
)

MODULE = frozenset(dir(nn.Module()))  # attributes that a size must not hide


@dataclass(frozen=True)
class Class:
    """A class of the file that repetitions make instances of."""

    name: str
    body: Body
    sizes: tuple[tuple[str, str], ...]  # what it takes: an axis, and the parameter for its size
    lines: tuple[SourceLine, ...]


@dataclass
class File:
    """What the file has so far: the classes of repetitions, and what they import."""

    circuit: Circuit
    classes: list[Class] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)

    def instance(self, body: Body, name: str) -> tuple[Class, tuple[int, ...]]:
        """The class for a body, one that is there already if it serves, and the sizes it takes."""
        for known in self.classes:
            trial = File(self.circuit, list(self.classes), set(self.imports))
            writer = Writer(trial, body.like(known.body))
            written = writer.written(known.name)
            if [line.text for line in written] == [line.text for line in known.lines]:
                both = zip(known.lines, written, strict=True)
                merged = tuple(SourceLine(a.text, _joined(a.nodes, b.nodes)) for a, b in both)
                place = next(i for i, c in enumerate(trial.classes) if c.name == known.name)
                trial.classes[place] = replace(known, lines=merged)
                self.classes = trial.classes
                return trial.classes[place], tuple(size for _, size in writer.sizes)
        writer = Writer(self, body)
        free = unique(class_name(body.title or name), {*IMPORTED, *(c.name for c in self.classes)})
        sizes = tuple((identifier, param) for (identifier, _), param in writer.sizes.items())
        made = Class(free, body, sizes, writer.written(free))
        self.classes.append(made)
        return made, tuple(size for _, size in writer.sizes)


class Writer:
    """Writes one class: first the layers, then the steps of ``forward``."""

    def __init__(self, file: File, body: Body) -> None:
        self.file, self.body = file, body
        self.units = list(units(file.circuit, body))
        self.sizes: dict[tuple[str, int], str] = {}  # what __init__ takes: axis and size, and name
        self.stored: set[str] = set()
        self.layers: list[Statement] = []
        self.forward: list[Statement] = []
        self.names: dict[str, str] = {}
        self.opened: set[str] = set()
        file.imports.add("from torch import nn")
        for unit in self.units:
            self._make_loop(unit) if isinstance(unit, Loop) else self._make_layer(unit)
        self._name_inputs()
        for index, unit in enumerate(self.units):
            self._call_loop(unit, index) if isinstance(unit, Loop) else self._step(unit, index)

    # layers ---------------------------------------------------------------------------------------

    def size(self, identifier: str, count: int) -> str:
        """The parameter for an axis; a second size of the same name gets a name of its own."""
        depth = self.body.depth
        cells = self.body.cells
        layers = {c.scope[depth][0] if len(c.scope) > depth else c.name for c in cells}
        taken = {*IMPORTED, *MODULE, *layers, *self.sizes.values()}
        if (identifier, count) not in self.sizes:
            self.sizes[identifier, count] = unique(identifier, taken)
        return self.sizes[identifier, count]

    def _make_layer(self, cell: Cell) -> None:
        layer = cell.op.code(cell.site).layer
        known = _known_sizes(cell)
        if layer:
            text = re.sub(
                r"(?<![.\w=])[^\W\d]\w*\b(?!\s*[=.(])",
                lambda m: self.size(m[0], known[m[0]]) if m[0] in known else m[0],
                layer,
            )
            self.layers.append(Statement("", assigned(cell.name, text), (cell.id,)))

    def _make_loop(self, loop: Loop) -> None:
        made = [self.file.instance(body, loop.single) for body in loop.bodies]
        text = assigned(loop.name, f"nn.ModuleList({self._instances(made)})")
        self.layers.append(Statement("", text, _ids(loop)))

    def _instances(self, made: list[tuple[Class, tuple[int, ...]]]) -> str:
        kind = made[0][0]
        listed = ", ".join(f"{k.name}({', '.join(map(str, values))})" for k, values in made)
        if any(known.name != kind.name for known, _ in made):
            return f"[{listed}]"
        columns = list(zip(*(values for _, values in made), strict=True))
        pairs = list(zip(kind.sizes, columns, strict=False))
        vary = {param: column for (_, param), column in pairs if len(set(column)) > 1}
        args = [p if p in vary else self._shared(i, c[0], vary) for (i, p), c in pairs]
        call = f"{kind.name}({', '.join(args)})"
        if len(made) == 1:
            return f"[{call}]"
        if not vary:
            return f"{call} for _ in range({len(made)})"
        rows = [tuple(map(str, row)) for row in zip(*vary.values(), strict=True)]
        values = tuple_of(tuple_of(row) if len(vary) > 1 else row[0] for row in rows)
        text = f"{call} for {', '.join(vary)} in {values}"
        return text if len(text) <= WIDTH - 12 else f"[{listed}]"

    def _shared(self, identifier: str, count: int, hidden: Container[str]) -> str:
        """A size that all bodies share, by its name unless the comprehension hides that."""
        name = self.size(identifier, count)
        return str(count) if name in hidden else name

    # forward --------------------------------------------------------------------------------------

    def _name_inputs(self) -> None:
        self.last = {v.id: i for i, unit in enumerate(self.units) for v in unit.inputs}
        self.last.update((v.id, len(self.units)) for v in self.body.outputs)
        cells = [unit for unit in self.units if isinstance(unit, Cell)]
        self.given = {
            c.inputs[0].id: variable(c.op.text).lower() for c in cells if isinstance(c.op, Named)
        }
        for value in self.body.inputs:
            axes = value.array.identifiers
            wanted = variable(axes[0]) if axes and len(self.body.inputs) > 1 else "x"
            wanted = self.given.get(value.id, wanted)
            self.names[value.id] = unique(wanted, {*IMPORTED, *self.names.values()})
        self.arguments = tuple(self.names[value.id] for value in self.body.inputs)

    def _live(self, index: int, besides: Iterable[Value] = ()) -> frozenset[str]:
        """The names of values that a later step needs."""
        gone = {value.id for value in besides}
        names = self.names.items()
        return frozenset(n for id, n in names if self.last.get(id, -1) > index and id not in gone)

    def _step(self, cell: Cell, index: int) -> None:
        code = cell.op.code(cell.site)
        ins = [self.names[value.id] for value in cell.inputs]
        if not code.expression:  # a copy or a name is the array itself
            for i, value in enumerate(cell.outputs):
                self.names[value.id] = ins[(cell.op.origins(i) or (0,))[0]]
            return
        known, live = _known_sizes(cell), self._live(index)
        text = re.sub(r"self\.(\w+)", lambda m: self._stored(m[1], known[m[1]]), code.expression)
        for i, name in enumerate(ins):
            text = text.replace(f"{{{i}}}", name)
        self.file.imports.update(code.imports)
        if "torch." in text:
            self.file.imports.add("import torch")
        (out,) = cell.outputs
        wanted = self.given.get(out.id, variable(code.out))
        if wanted == "x" and cell.site.ins == cell.site.outs and ins[0] not in live:
            wanted = ins[0]  # scores stay scores when they are scaled
        self.names[out.id] = unique(wanted, IMPORTED | live)
        text = text.replace("{layer}", attribute(cell.name))
        titles = self._titles(cell.fences)
        self.forward.append(Statement(self.names[out.id], text, (cell.id,), titles, live))

    def _stored(self, identifier: str, count: int) -> str:
        name = self.size(identifier, count)
        self.stored.add(name)
        return f"self.{name}"

    def _titles(self, fences: Sequence[str]) -> tuple[str, ...]:
        """The titles of the blocks that begin here, without those that hold the whole class."""
        whole = [set(c.fences) for c in self.body.cells if c.op.code(c.site).expression]
        new = [f for f in fences if f not in self.opened and not all(f in w for w in whole)]
        self.opened.update(new)
        titles = {fence.id: fence.title for fence in self.file.circuit.fences}
        return tuple(titles[f] for f in new if titles[f].strip())

    def _call_loop(self, loop: Loop, index: int) -> None:
        live = self._live(index, loop.inputs)
        outer = loop.cells[0].fences
        titles = self._titles(outer[: outer.index(loop.fence.id)])
        if len(loop.bodies) > 1 and loop.even:
            self._for(loop, live, titles)
            return
        state = loop.inputs
        for i, body in enumerate(loop.bodies):
            rest = state[len(body.inputs) :]
            busy = live | {self.names[value.id] for value in rest}
            ins = [self.names[value.id] for value in body.inputs]
            outs: list[str] = []
            for j in range(len(body.outputs)):
                wanted = re.sub(r"_\d+$", "", ins[j]) if j < len(ins) else "skip"
                outs.append(unique(wanted, {*IMPORTED, *busy, *outs}))
            self.names.update((v.id, n) for v, n in zip(body.outputs, outs, strict=True))
            text = f"{attribute(loop.name)}[{i}]({', '.join(ins)})"
            nodes = tuple(cell.id for cell in body.cells)
            self.forward.append(Statement(", ".join(outs), text, nodes, titles if i == 0 else ()))
            state = (*body.outputs, *rest)

    def _for(self, loop: Loop, live: frozenset[str], titles: tuple[str, ...]) -> None:
        nodes, targets = _ids(loop), list[str]()
        ins = [self.names[value.id] for value in loop.inputs]
        for name in ins:
            new = name
            if name in live or name in targets:  # the old value is needed beside the new one
                new = unique(re.sub(r"_\d+$", "", name), {*IMPORTED, *live, *targets, *ins})
                self.forward.append(Statement(new, name, nodes, titles))
                titles = ()
            targets.append(new)
        item = unique(variable(loop.single), {*IMPORTED, *live, *targets})
        text = f"for {item} in {attribute(loop.name)}:"
        self.forward.append(Statement("", text, nodes, titles))
        call = f"{item}({', '.join(targets)})"
        self.forward.append(Statement("", f"    {', '.join(targets)} = {call}", nodes))
        self.names.update((v.id, n) for v, n in zip(loop.outputs, targets, strict=True))

    # the class ------------------------------------------------------------------------------------

    def written(self, name: str, *, defaults: bool = False) -> tuple[SourceLine, ...]:
        """The lines of the class, under this name."""
        ins, outs = (Type(v.array for v in vs) for vs in (self.body.inputs, self.body.outputs))
        doc = wrap(f'"""{ins} -> {outs}'.replace('""" ', '"""'), WIDTH - 8)
        found = [SourceLine(f"class {name}(nn.Module):"), *docstring(doc, '"""'), SourceLine("")]
        if self.sizes or self.layers:
            found += [*self._init(defaults), SourceLine("")]
        return (*found, *self._forward())

    def _init(self, defaults: bool) -> list[SourceLine]:
        sizes = self.sizes.items()
        takes = [f"{n}: int = {count}" if defaults else f"{n}: int" for (_, count), n in sizes]
        head = f"def __init__({', '.join(['self', *takes])}):"
        found = [*laid(head, 4), SourceLine("        super().__init__()")]
        stored = [name for name in self.sizes.values() if name in self.stored]
        both = f"{', '.join(f'self.{n}' for n in stored)} = {', '.join(stored)}"
        each = [both] if len(both) <= WIDTH - 8 else [f"self.{n} = {n}" for n in stored]
        for text in each if stored else ():
            found += laid(text, 8)
        for layer in self.layers:
            found += laid(layer.text, 8, layer.nodes)
        return found

    def _forward(self) -> list[SourceLine]:
        count = len(self.body.outputs)
        kinds = ", ".join(["Tensor"] * count) if count < 4 else "Tensor, ..."
        kind = "Tensor" if count == 1 else f"tuple[{kinds or '()'}]"
        if count or self.arguments:
            self.file.imports.add("from torch import Tensor")
        takes = ["self", *(f"{name}: Tensor" for name in self.arguments)]
        found = laid(f"def forward({', '.join(takes)}) -> {kind}:", 4)
        result = ", ".join(self.names[value.id] for value in self.body.outputs) or "()"
        steps = list(self.forward)
        if steps and steps[-1].target == result:
            steps[-1] = replace(steps[-1], target="return")
        else:
            steps.append(Statement("return", result, ()))
        for i, step in enumerate(steps):
            for title in step.titles:
                gap = [SourceLine("")] if i and title == step.titles[0] else []
                found += [*gap, SourceLine(f"        # {comment(title)}", step.nodes)]
            found += written_out(step)
        return found


def _known_sizes(cell: Cell) -> dict[str, int]:
    return {axis.identifier: axis.numel for axis in (*cell.site.axes, *cell.op.reads)}


def _ids(loop: Loop) -> tuple[str, ...]:
    return tuple(cell.id for cell in loop.cells)


def _joined(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *two)))
