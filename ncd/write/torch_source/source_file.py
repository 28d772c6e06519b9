"""A term as PyTorch source: a class that a person would be glad to have written.

Layers stand in ``__init__`` under the names that the compiled module has for them, so that a
``state_dict`` goes both ways. A named block is a class of its own; a repetition is an
``nn.ModuleList``, or one module that is called many times; a scan is a loop over positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ncd.circuit.circuit import Cell, Circuit, Loop, ScanLoop, Value
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.language.arguments import check_term, check_text
from ncd.language.axes import Axis
from ncd.language.terms import Term
from ncd.language.torch_code import Arg
from ncd.write.torch_source.class_writer import AttributeNames, ClassWriter, Instance, Line
from ncd.write.torch_source.identifiers import TAKEN_NAMES, class_name, unique
from ncd.write.torch_source.scopes import CellCode, MethodBody, ModuleTree, Submodule, common

# --- A term as the lines of a file: its classes, each after those that it needs


@dataclass(frozen=True)
class SourceLine:
    """A line of source, with the ids of the ops whose code it is."""

    text: str
    nodes: tuple[str, ...] = ()


@dataclass
class _Class:
    """A class of the file, and the op ids of each scope that is an instance of it."""

    name: str
    sizes: tuple[Axis, ...]
    lines: list[Line]
    members: list[list[str]] = field(default_factory=list)

    def source(self) -> list[SourceLine]:
        place = {id: i for i, id in enumerate(self.members[0])}
        return [
            SourceLine(
                text,
                tuple(
                    member[i]
                    for member in self.members
                    for i in (place[id] for id in nodes if id in place)
                ),
            )
            for text, nodes in self.lines
        ]


class File:
    """The file under construction: its classes and imports."""

    def __init__(self, circuit: Circuit, einops: bool) -> None:
        self.circuit, self.einops = circuit, einops
        self.outline = ModuleTree(circuit)
        self.imports: set[str] = set()
        self.instances: dict[tuple[str, ...], Instance] = {}
        self.classes: list[_Class] = []
        self._steps: dict[tuple[int, int], CellCode] = {}
        self._batched: set[str] = set()
        self._follow(circuit, {value.id for value in circuit.inputs})
        self._by_term: dict[object, tuple[_Class, tuple[Axis, ...]]] = {}
        self._by_text: dict[tuple[str, ...], _Class] = {}

    def steps(self, cell: Cell) -> CellCode:
        """Returns the computation of a cell, shared by equal cells."""
        key = (id(cell.op), id(cell.site))
        if key not in self._steps:
            self._steps[key] = CellCode.from_cell(cell)
        return self._steps[key]

    def has_batch_axes(self, value: Value) -> bool:
        """Returns whether an array may have batch axes in front: if it depends on an input."""
        return value.id in self._batched

    def _follow(self, circuit: Circuit, found: set[str]) -> None:
        self._batched |= found
        for unit in circuit.units:
            if isinstance(unit, Cell):
                self._follow_cell(unit)
                continue
            for body in unit.bodies:
                self._follow(body, _entering(unit, body, self._batched))
            if isinstance(unit, ScanLoop) and any(
                value.id in self._batched for value in unit.inputs
            ):
                self._batched.update(value.id for value in unit.outputs)

    def _follow_cell(self, cell: Cell) -> None:
        batched = {i for i, value in enumerate(cell.inputs) if value.id in self._batched}
        steps = self.steps(cell)
        exprs = steps.exprs if steps.tuple_expr is None else [steps.tuple_expr] * len(cell.outputs)
        for value, expr in zip(cell.outputs, exprs, strict=True):
            if any(isinstance(part, Arg) and part.index in batched for part in expr.walk()):
                self._batched.add(value.id)

    # classes --------------------------------------------------------------------------------------

    def write(self, name: str | None) -> list[SourceLine]:
        """Returns all lines of the file; the last class is that of the whole term."""
        root = self.outline.root
        wanted = class_name(name or "") or self._title(root.bodies[0])
        title = unique(wanted, TAKEN_NAMES, "")
        self.taken = TAKEN_NAMES | {title}
        scopes = [scope for scope in self.outline.after_children() if not scope.is_module_list]
        alike = Counter(map(_likeness, scopes))
        for scope in scopes[:-1]:
            self._class(scope, alone=alike[_likeness(scope)] == 1)
        writer = ClassWriter(self, root)
        last = writer.class_lines(title, defaults=True)
        found = [SourceLine(text) for text in import_lines(self.imports)]
        found += [
            line
            for known in self.classes
            for line in (SourceLine(""), SourceLine(""), *known.source())
        ]
        found += [SourceLine(""), SourceLine("")]
        return [*found, *(SourceLine(text, tuple(filter(self._says, ns))) for text, ns in last)]

    def _says(self, id: str) -> bool:
        return self.steps(self.circuit.cell(id)).needs_code

    def _class(self, scope: Submodule, alone: bool) -> None:
        """Adds the class of a submodule, or reuses an equal one."""
        attributes = AttributeNames(scope, self.has_batch_axes)
        key = (*attributes.keys.items(), *_list_item_paths(scope))
        if key not in self._by_term:
            self._by_term[key] = self._class_for_scope(scope, alone)
        known, sizes = self._by_term[key]
        known.members.append([cell.id for cell in scope.cells if self.steps(cell).needs_code])
        self.instances[scope.path] = Instance(known.name, sizes, attributes.methods)

    def _class_for_scope(self, scope: Submodule, alone: bool) -> tuple[_Class, tuple[Axis, ...]]:
        """Returns the class for a scope, and the axes whose sizes it gets."""
        if alone or _list_item_paths(scope):
            made = self._new_class(scope)
            return made, made.sizes
        writer = ClassWriter(self, scope, anonymous=True)
        text = tuple(text for text, _ in writer.class_lines("Anonymous"))
        if text not in self._by_text:
            self._by_text[text] = self._new_class(scope)
        return self._by_text[text], _sizes(writer)

    def _new_class(self, scope: Submodule) -> _Class:
        writer = ClassWriter(self, scope)
        wanted = [name for name in self._titles(scope) if name] or ["Part"]
        free = (name for name in wanted if name not in self.taken)
        name = next(free, "") or unique(wanted[0], self.taken, "")
        self.taken |= {name}
        made = _Class(name, _sizes(writer), writer.class_lines(name))
        self.classes.append(made)
        return made

    def _titles(self, scope: Submodule) -> Iterator[str]:
        """Yields names for a submodule's class, the best first: its title, its own name, both."""
        title = class_name(scope.bodies[0].title)
        yield title
        yield class_name(scope.name) if not scope.name.isdecimal() else ""
        around = self.outline.scopes[scope.path[:-1]]
        while around.is_module_list:
            around = self.outline.scopes[around.path[:-1]]
        yield class_name(around.bodies[0].title) + title

    def _title(self, body: MethodBody) -> str:
        """Returns a name for the whole: its outermost block's, or its only op's."""
        coded = [cell for cell in body.cells if self.steps(cell).needs_code]
        blocks = (self.outline.fences[id] for id in common([cell.fences for cell in coded]))
        titles = (class_name(fence.title) for fence in blocks if not fence.scope)
        ops = [class_name(type(cell.op).__name__) for cell in coded]
        return next(filter(None, titles), "") or (ops[0] if len(ops) == 1 else "Net")


def _likeness(scope: Submodule) -> object:
    """Returns a key; scopes with different keys share no class."""
    return tuple(tuple(type(cell.op) for cell in body.cells) for body in scope.bodies)


def _list_item_paths(scope: Submodule) -> tuple[tuple[str, ...], ...]:
    """Returns the paths of modules in a list that is itself a module; these share no class."""
    return tuple(child.path for child in scope.children.values() if child.name.isdecimal())


def _sizes(writer: ClassWriter) -> tuple[Axis, ...]:
    """Returns the axes whose sizes a class gets."""
    return tuple(Axis(name, size) for name, size in writer.sizes.names)


def _entering(loop: Loop, body: Circuit, batched: set[str]) -> set[str]:
    """Returns the arrays of a loop's body that have batch axes."""
    if not isinstance(loop, ScanLoop):
        return set()
    has = [value.id in batched for value in loop.inputs]
    return {
        inner.id for i, inner in enumerate(body.inputs) if has[i] or (i < loop.states and any(has))
    }


def import_lines(needed: Iterable[str]) -> list[str]:
    """Returns import lines in order: the standard library, a blank line, the rest.

    >>> import_lines(["from torch import nn", "import math", "from torch import Tensor"])
    ['import math', '', 'from torch import Tensor, nn']
    """
    plain = sorted({line for line in needed if line.startswith("import ")})
    names: dict[str, set[str]] = {}
    for line in needed:
        if line.startswith("from "):
            _, module, _, name = line.split()
            names.setdefault(module, set()).add(name)
    standard = [line for line in plain if line == "import math"]
    other = [line for line in plain if line not in standard]
    other += [
        f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names)
    ]
    return [*standard, *([""] if standard and other else []), *other]


# --- A term as PyTorch source: a class that a person would be glad to have written

__all__ = ["SourceLine", "lines", "source"]


def source(term: Term, name: str | None = None, einops: bool = True) -> str:
    """Writes a term as a Python file with a class that needs only torch and einops.

    Batch axes may stand in front of the arrays, as for the compiled module; only a layer whose
    batch axis is in the term (a batch norm, a convolution of ``b c x``) takes no further one.

    Args:
        term: The system; all its axes need sizes.
        name: The name of the class; by default that of the block around the whole term.
        einops: Whether the file may use einops; else it needs torch alone.

    Returns:
        The text of the file.

    Raises:
        SizeError: If an axis has no size.

    Source: after the code of the notebook's figures.

    >>> from ncd.ops import Linear
    >>> print(source(Linear("m:8 -> n:4", "L"), "Map"))
    from torch import Tensor, nn
    <BLANKLINE>
    <BLANKLINE>
    class Map(nn.Module):
        \"\"\"m -> n\"\"\"
    <BLANKLINE>
        def __init__(self, m: int = 8, n: int = 4):
            super().__init__()
            self.L = nn.Linear(m, n, bias=False)
    <BLANKLINE>
        def forward(self, x: Tensor) -> Tensor:
            return self.L(x)
    <BLANKLINE>
    """
    return "".join(f"{line.text}\n" for line in lines(term, name, einops))


def lines(term: Term, name: str | None = None, einops: bool = True) -> tuple[SourceLine, ...]:
    """The lines of :func:`source`, each with the ids of the ops (``n3``) whose code it is."""
    check_term(term, "source")
    if name is not None:
        check_text(name, "name", "source")
    circuit = elaborate(term)
    require_sizes(circuit)
    return tuple(File(circuit, einops).write(name))
