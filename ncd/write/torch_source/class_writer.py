"""One class: attributes, layers, initial weights, methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Protocol

from ncd.circuit.circuit import Cell, RepeatLoop, Value
from ncd.language.axes import Array, Axis, Type
from ncd.language.op import MODULE, InitialValue
from ncd.language.torch_code import Call, Const, Infix, Position, Size, TorchExpr, Tuple
from ncd.ops.formula_lowering import LoweredFormula, broadcast_to, constant, lower
from ncd.write.torch_source.expression_writer import Writer
from ncd.write.torch_source.identifiers import (
    AMBIGUOUS,
    EINOPS,
    TAKEN_NAMES,
    UniqueNames,
    assignment_code,
    attribute,
    comment,
    unique,
)
from ncd.write.torch_source.line_breaking import WIDTH, Code, bracketed_code, break_lines
from ncd.write.torch_source.method_body import MethodWriter, Statement
from ncd.write.torch_source.scopes import CellCode, MethodBody, ModuleTree, SourcePart, Submodule

# --- The names of attributes and methods of a submodule's class


class AttributeNames:
    """Chooses names for layers and methods, including those without a name of their own.

    ``layers`` are by the ids of their cells, ``methods`` by the identity of their bodies;
    ``bodies`` are those that have a method each, ``keys`` say what their code depends on.
    """

    def __init__(self, scope: Submodule, batched: Callable[[Value], bool]) -> None:
        cells = [u for body in scope.bodies for u in body.units if isinstance(u, Cell)]
        self.taken = {*scope.children, *(cell.name for cell in cells)}
        self.layers = {cell.id: self._layer(cell) for cell in cells}
        self.methods: dict[int, str] = {}
        self.bodies: list[MethodBody] = []
        self.keys: dict[object, str] = {}
        for body in scope.bodies:
            key = _key(body, batched)
            if key not in self.keys:
                self.keys[key] = self._method(body)
                self.bodies.append(body)
            self.methods[id(body)] = self.keys[key]

    def _layer(self, cell: Cell) -> str:
        if cell.name or cell.layer is None:
            return cell.name
        name = unique(type(cell.op).__name__.lower(), self.taken | TAKEN_NAMES | MODULE)
        self.taken.add(name)
        return name

    def _method(self, body: MethodBody) -> str:
        if not body.is_scan_step and "forward" not in self.keys.values():
            return "forward"
        name = unique("step" if body.is_scan_step else "forward", self.taken | MODULE)
        self.taken.add(name)
        return name


def _key(body: MethodBody, batched: Callable[[Value], bool]) -> object:
    """Returns a key; bodies with equal keys have equal code."""
    arrays = Type(value.array for value in body.inputs)
    layers = tuple(cell.name for cell in body.cells)
    return body.term, arrays, layers, tuple(map(batched, body.inputs))


# --- Classes of the file, and the calls that create instances of them


@dataclass(frozen=True)
class Instance:
    """A class as one submodule uses it: the axes whose sizes it gets, and its methods' names."""

    name: str
    sizes: tuple[Axis, ...]
    methods: Mapping[int, str]  # by the identity of the bodies

    def call(self, sizes: Sequence[Code]) -> Code:
        return bracketed_code(f"{self.name}(", sizes) if sizes else Code(f"{self.name}()")


def module_list(made: Sequence[Instance], size: Callable[[Axis], Code]) -> Code:
    """Returns ``nn.ModuleList`` of these; a comprehension where all are made by the same call.

    Sizes are written by their names, so that a class made at other sizes still fits together.
    """
    every = [instance.call([size(axis) for axis in instance.sizes]) for instance in made]
    if len(made) > 1 and len({call.text for call in every}) == 1:
        return bracketed_code(
            "nn.ModuleList(", (every[0].with_suffix(f" for _ in range({len(made)})"),)
        )
    return bracketed_code("nn.ModuleList(", (bracketed_code("[", every, "]"),))


# --- Writes the initial values of parameters, in torch


def initial_tensor(initial: InitialValue) -> TorchExpr:
    """Returns a tensor of the parameter's shape, by its formula.

    >>> from ncd.formulas.formula import parse
    >>> initial_tensor(InitialValue(Array.parse("v:3"), parse("normal"))).function
    'torch.randn'
    """
    if initial.numbers:
        return _literal_tensor(initial)
    names = {"pi": constant(math.pi, Const(math.pi)), "e": constant(math.e)}
    names |= {"inf": constant(math.inf)}
    names |= {axis.identifier: _position(axis, initial.array) for axis in initial.array}
    for axis in initial.array:
        names[f"n_{axis.identifier}"] = constant(axis.numel, Size((axis,)))
    every = frozenset(dim.key for dim in initial.array.dims)
    sizes = _sizes(initial.array)
    names["normal"] = LoweredFormula(Call("torch.randn", sizes), "real", every)
    twice = Infix("*", Const(2), Call("torch.rand", sizes))
    names["uniform"] = LoweredFormula(Infix("-", twice, Const(1)), "real", every)
    part = lower(initial.formula, (), names)
    if part.value == 1 and sizes != (Tuple(()),):
        return Call("torch.ones", sizes)
    return broadcast_to(part, initial.array.dims, None)


def _sizes(array: Array) -> tuple[TorchExpr, ...]:
    """Returns the sizes of a tensor's dimensions as code."""
    sizes: list[TorchExpr] = []
    for axis in array:
        sides = map(Const, axis.shape)
        sizes += sides if axis.spatial else [Size((axis,))]
    return tuple(sizes) or (Tuple(()),)


def _position(axis: Axis, array: Array) -> LoweredFormula:
    """Returns the position along an axis; in a group positions are counted row by row."""
    found: TorchExpr | None = None
    for dim in axis.dims:
        place = Position(dim, array.dims)
        found = place if found is None else Infix("+", Infix("*", found, Const(dim.size)), place)
    assert found is not None
    return LoweredFormula(found, "whole", frozenset(dim.key for dim in axis.dims))


def _literal_tensor(initial: InitialValue) -> TorchExpr:
    """Returns a tensor of numbers that are written out, row by row."""
    whole = initial.array.below is not None
    rows: list[TorchExpr] = [Const(int(n) if whole else n) for n in initial.numbers]
    for size in reversed(initial.array.shape):
        rows = [Tuple(tuple(rows[i : i + size])) for i in range(0, len(rows), size)]
    return Call("torch.tensor", tuple(rows))


# --- Writes one class: its layers and submodules in ``__init__``, and its methods

Line = tuple[str, tuple[str, ...]]  # its text, and the ids of the ops whose code it is


class FileContext(Protocol):
    """The parts of the file that a class refers to."""

    outline: ModuleTree
    einops: bool
    imports: set[str]
    instances: dict[tuple[str, ...], Instance]

    def steps(self, cell: Cell) -> CellCode: ...
    def has_batch_axes(self, value: Value) -> bool: ...


@dataclass(frozen=True)
class _InitStatement:
    """A statement of ``__init__``."""

    code: Code
    nodes: tuple[str, ...]
    item_nodes: tuple[tuple[str, ...], ...] = ()  # the nodes of each item, if it is a list

    def lines(self) -> list[Line]:
        """Returns its lines; in a list with a line for each item, each line has its own ops."""
        texts = break_lines(self.code, 8)
        if len(texts) != len(self.item_nodes) + 4:  # two before the items, two behind
            return [(text, self.nodes) for text in texts]
        nodes = (self.nodes, self.nodes, *self.item_nodes, self.nodes, self.nodes)
        return list(zip(texts, nodes, strict=True))


class ClassWriter:
    """Writes the class of a scope; an anonymous one has no names derived from axes.

    Two scopes whose anonymous classes have equal text share a class.
    """

    def __init__(self, file: FileContext, scope: Submodule, anonymous: bool = False) -> None:
        self.file, self.scope, self.outline = file, scope, file.outline
        self.einops, self.imports = file.einops, file.imports
        self.anonymous = anonymous
        self.attributes = AttributeNames(scope, file.has_batch_axes)
        self.dims = UniqueNames(EINOPS, anonymous)
        self.sizes = UniqueNames(MODULE | AMBIGUOUS | self.attributes.taken, anonymous)
        self.stored: dict[str, None] = {}
        self.made: dict[str, _InitStatement] = {}
        self.imports.add("from torch import nn")
        for body in self.attributes.bodies:
            for unit in body.units:
                self._make_cell(unit, body) if isinstance(unit, Cell) else self._make(unit, body)
        for child in scope.children.values():  # beside a list of modules that has a body as well
            if child.name.isdecimal():
                self._keep(child.name, self._instance(child, ()), "module", ())
        self.forwards = [MethodWriter(self, body) for body in self.attributes.bodies]

    # what methods ask -----------------------------------------------------------------------------

    def size(self, axis: Axis, fences: Sequence[str], *, stored: bool) -> Code:
        """Returns an axis' size as code: a parameter of ``__init__``, or a number for a group."""
        axis = self.outline.outer(axis, fences)
        if axis.spatial or axis.name.isdecimal():
            return Code(str(axis.numel))
        name = self.sizes.name_for((axis.name, axis.numel), axis.name)
        if not stored:
            return Code(name)
        self.stored[name] = None
        return Code(f"self.{name}")

    def steps(self, cell: Cell) -> CellCode:
        return self.file.steps(cell)

    def has_batch_axes(self, value: Value) -> bool:
        return self.file.has_batch_axes(value)

    def layer(self, cell: Cell) -> str:
        name = self.attributes.layers[cell.id]
        return attribute("self", name) if name else ""

    def method_of(self, body: MethodBody) -> str:
        if body.scope is self.scope:
            return self.attributes.methods[id(body)]
        return self.file.instances[body.scope.path].methods[id(body)]

    def weight(self) -> str:
        """Returns a parameter of this class that new tensors can imitate; empty if it has none."""
        for body in self.scope.bodies:
            for cell in body.units:
                if isinstance(cell, Cell) and self.attributes.layers[cell.id]:
                    learned = [n for n, i in cell.initial_values.items() if i.is_learned]
                    if learned and cell.layer is None:
                        return self.layer(cell)
                    if "weight" in learned:
                        return f"{self.layer(cell)}.weight"
        return ""

    def like(self) -> str:
        """Returns an empty buffer that new tensors imitate, for a class without parameters."""
        if "" not in self.made:
            name = unique("like", self.attributes.taken | MODULE)
            self.attributes.taken.add(name)
            self.imports.add("import torch")
            text = f'self.register_buffer("{name}", torch.empty(0), persistent=False)'
            self.made[""] = _InitStatement(Code(text), ())
            self._like = f"self.{name}"
        return self._like

    # __init__ -------------------------------------------------------------------------------------

    def _writer(self, fences: Sequence[str]) -> Writer:
        return Writer(
            lambda axis: self.size(axis, fences, stored=False), self.dims, self.imports, self.einops
        )

    def _make_cell(self, cell: Cell, body: MethodBody) -> None:
        name = self.attributes.layers[cell.id]
        if not name:
            return
        layer = cell.layer
        writer = self._writer(cell.fences[body.skip :])
        if layer is not None:
            self._keep(name, writer.write(layer), "module", (cell.id,))
            return
        for initial in cell.initial_values.values():
            value = writer.write(initial_tensor(initial))
            if initial.is_learned:
                value = bracketed_code("nn.Parameter(", (value,))
            self._keep(name, value, "parameter" if initial.is_learned else "buffer", (cell.id,))

    def _keep(
        self,
        name: str,
        value: Code,
        kind: str,
        nodes: tuple[str, ...],
        each: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        if name not in self.made:
            before, after = assignment_code(name, kind)
            self.made[name] = _InitStatement(
                value.with_prefix(before).with_suffix(after), nodes, each
            )

    def _make(self, part: SourcePart, body: MethodBody) -> None:
        """Writes the submodule, or the list of submodules, that a part runs."""
        loop, scope = part.loop, part.bodies[0].scope
        if scope is self.scope:
            return
        fences = (*part.fences[body.skip :], part.id)
        nodes = tuple(id for inner in part.bodies for id in inner.nodes)
        if not isinstance(loop, RepeatLoop) or loop.shared:
            self._keep(scope.name, self._instance(scope, fences), "module", nodes)
            return
        home = self.outline.scopes[scope.path[:-1]]
        if home.is_module_list:
            every = [self.file.instances[child.path] for child in home.children.values()]
            value = module_list(every, lambda axis: self.size(axis, fences, stored=False))
            each = tuple(child.nodes for child in home.children.values())
            self._keep(home.name, value, "module", nodes, each)
        else:
            self._keep(home.name, self._instance(home, fences), "module", nodes)

    def _instance(self, scope: Submodule, fences: Sequence[str]) -> Code:
        found = self.file.instances[scope.path]
        args = (self.size(axis, fences, stored=False) for axis in found.sizes)
        return found.call(list(args))

    # the text -------------------------------------------------------------------------------------

    def class_lines(self, name: str, *, defaults: bool = False) -> list[Line]:
        """Returns the lines of the class under a name."""
        found: list[Line] = [(f"class {name}(nn.Module):", ())]
        found += self._docstring(self.attributes.bodies[0])
        if self.sizes.names or self.made:
            found += [*self._init(defaults), ("", ())]
        for i, forward in enumerate(self.forwards):
            found += [("", ())] * (i > 0) + self._method(forward)
        return found

    def _docstring(self, body: MethodBody) -> list[Line]:
        if self.anonymous:
            return []
        ins, outs = (Type(v.array for v in vs) for vs in (body.inputs, body.outputs))
        text = f"{ins} -> {outs}".strip()
        if text.endswith("->"):
            text = f"{text} nothing"
        lines = wrap(f'"""{text}', WIDTH - 8, break_long_words=False)
        return [*((f"    {t}", ()) for t in [*lines[:-1], f'{lines[-1]}"""']), ("", ())]

    def _init(self, defaults: bool) -> list[Line]:
        sizes = self.sizes.names.items()
        takes = [Code(f"{n}: int = {key[1]}" if defaults else f"{n}: int") for key, n in sizes]
        head = bracketed_code("def __init__(", (Code("self"), *takes), "):")
        found: list[Line] = [(line, ()) for line in break_lines(head, 4)]
        found.append(("        super().__init__()", ()))
        stored = [name for name in self.sizes.names.values() if name in self.stored]
        both = f"{', '.join(f'self.{n}' for n in stored)} = {', '.join(stored)}"
        each = [both] if len(both) <= WIDTH - 8 else [f"self.{n} = {n}" for n in stored]
        found += [(f"        {text}", ()) for text in each if stored]
        for made in self.made.values():
            found += made.lines()
        return found

    def _method(self, forward: MethodWriter) -> list[Line]:
        count = len(forward.body.outputs)
        kinds = ", ".join(["Tensor"] * count) if count < 4 else "Tensor, ..."
        kind = "Tensor" if count == 1 else f"tuple[{kinds or '()'}]"
        if count or forward.arguments:
            self.imports.add("from torch import Tensor")
        takes = (Code(f"{name}: Tensor") for name in forward.arguments)
        name = self.attributes.methods[id(forward.body)]
        head = bracketed_code(f"def {name}(", (Code("self"), *takes), f") -> {kind}:")
        found: list[Line] = [(line, ()) for line in break_lines(head, 4)]
        for i, statement in enumerate(forward.statements):
            found += self._statement(statement, first=i == 0)
        return found

    def _statement(self, statement: Statement, first: bool) -> list[Line]:
        found: list[Line] = [("", ())] if statement.titles and not first else []
        found += [(f"        # {comment(title)}", statement.nodes) for title in statement.titles]
        indent = 8 + 4 * statement.indent
        return found + [
            (line, statement.nodes) for line in break_lines(statement.full_code, indent)
        ]
