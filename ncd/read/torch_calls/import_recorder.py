"""Tensors while they are imported, the steps recorded, and changes of their dimensions."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, NoReturn

import torch
from torch import Tensor

from ncd.errors import NCDError
from ncd.formulas.formula import formula_number, parse
from ncd.language.axes import MAX_SIZE, Array, Signature, Type
from ncd.language.terms import Id, Term, Then
from ncd.ops import Einsum, Given, Group, Index, Map, Param, Rename, Split
from ncd.ops.constant_array import MAX_NUMBERS
from ncd.read.torch_calls.dimension_atoms import (
    UNKNOWN_BOUND,
    VAGUE,
    AxisFactor,
    CannotSplit,
    Dim,
    Dims,
    all_atoms,
    group_of,
    make_group,
    new_dim,
    other_hint,
    refine,
    resolved_atoms,
    size,
    unify,
    view_dims,
)

# --- Tensors of torch while they are imported: arrays of the term, constants, and steps


class ImportFailed(NCDError):
    """A module that cannot become a term, with the call that stands in the way.

    Args:
        fact: The fault.
        cure: A way around it.
        where: The module at fault.

    Attributes:
        node: The call in torch's graph, if it is one; None before a graph is there.

    Source: the errors of ``torch.export``.

    >>> print(ImportFailed("it fails", where="layers.0"))
    layers.0: it fails.
    """

    node: Any = None


Kind = Literal["real", "whole", "bool"]


def kind_of(dtype: torch.dtype) -> Kind:
    """Returns the kind of the numbers of a dtype.

    >>> kind_of(torch.int64), kind_of(torch.float16)
    ('whole', 'real')
    """
    if dtype == torch.bool:
        return "bool"
    return "real" if dtype.is_floating_point or dtype.is_complex else "whole"


def are_places(x: Tensor) -> bool:
    """Returns whether whole numbers may be places along an axis: neither below 0 nor huge.

    >>> are_places(torch.tensor([0, 7])), are_places(torch.tensor([-1, 7]))
    (True, False)
    """
    return int(x.min()) >= 0 and int(x.max()) < MAX_SIZE


Axes = Callable[[Iterable[AxisFactor]], Array]  # the axes of some atoms, once they have names


Make = Callable[[Axes, Sequence[Array]], Term]


Handler = Callable[..., Any]  # reads a call: of the builder and the call's arguments
Path = tuple[tuple[str, str], ...]  # the modules around a step: paths and classes


COMPLEX = "complex numbers, which the arrays of a term do not hold"


class CannotImport(Exception):
    """A call that has no op of its own here; it becomes a named box."""


class RejectedSteps(Exception):
    """Steps that the language rejects: the nodes of torch's graph, each with the reason."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons = reasons


@dataclass(eq=False)
class ImportedArray:
    """An array of the term: its atoms in any order, and the bound of its whole numbers."""

    atoms: Dim
    kind: Kind = "real"
    below: AxisFactor | None = None

    def with_atoms(self, atoms: Dim) -> ImportedArray:
        """Returns an array of the same kind of numbers on other atoms."""
        return ImportedArray(atoms, self.kind, self.below)


@dataclass(eq=False)
class ImportedValue:
    """A tensor of torch: its dimensions, and the array that holds its numbers.

    A dimension may have atoms that the array lacks; there its numbers are repeated.
    """

    dims: Dims
    slot: ImportedArray

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(size, self.dims))


@dataclass(eq=False)
class ImportedConstant:
    """A tensor that depends on no input; a learned one has the ``name`` of its parameter.

    ``buffer`` is the name of a tensor that the module keeps, but does not learn.
    ``order`` are the dimensions of the parameter in the order of this tensor, ``rows`` the first
    and last of its rows where it is a part of them.
    """

    tensor: Tensor
    name: str = ""
    order: tuple[int, ...] = ()
    rows: tuple[int, int] | None = None
    buffer: str = ""

    def permute(self, order: Sequence[int]) -> ImportedConstant:
        """Returns the same tensor with its dimensions in another order."""
        before = self.order or tuple(range(self.tensor.dim()))
        turned = tuple(before[i] for i in order)
        return ImportedConstant(self.tensor.permute(*order), self.name, turned, self.rows)

    @property
    def layer(self) -> str:
        """The name of the parameter, with the place of a part of it."""
        if self.rows is None:
            return self.name
        start, end = self.rows
        name = self.name.removesuffix("_bias").removesuffix(".bias")
        return f"{name.removesuffix('weight').rstrip('_.')}_{start // (end - start) + 1}"


Operand = ImportedValue | ImportedConstant


@dataclass(frozen=True, eq=False)
class ImportStep:
    """An op of the term: how it is made once the axes have names, and what it takes and gives.

    ``weights`` are the module's tensors for its parameters, in their order.
    """

    make: Make
    takes: tuple[ImportedArray, ...]
    gives: tuple[ImportedArray, ...]
    node: str
    path: Path
    weights: tuple[ImportedConstant, ...] = ()


# --- Ops that put axes into the order that another op needs, and names for layers

IDENTITY_FORMULA = parse("$1")  # of a Map that gives its numbers as they are


def reordering_op(array: Array, wanted: Array) -> Term:
    """Returns the op that puts the axes of an array into another order."""
    pair = Signature(Type((array,)), Type((wanted.with_axes(wanted),)))
    if array.below is None:
        return Einsum(pair)
    return Map(Signature(Type((array,)), Type((Array(wanted, array.below),))), IDENTITY_FORMULA)


def in_order(array: Array, own: Array, term: Term) -> Term:
    """Returns a term behind an op that puts some axes behind all others, in this order.

    Returns the term itself where the array has these axes side by side in this order.
    """
    at = [array.names.index(name) for name in own.names]
    if at == list(range(at[0], at[0] + len(at))) if at else True:
        return term
    rest = tuple(axis for axis in array if axis.name not in own.names)
    return Then(reordering_op(array, Array((*rest, *own), array.below)), term)


def first_that_fits(arrays: Sequence[Array], wanted: Array, *terms: Callable[[], Term]) -> Term:
    """Returns the first term that takes these arrays and gives just the wanted axes."""
    for make in terms[:-1]:
        try:
            term = make()
            out = (Id(Type(arrays)) >> term).cod
        except NCDError:
            continue
        if len(out) == 1 and out[0].names == wanted.names:
            return term
    return terms[-1]()


def parameter_name(name: str, path: Path) -> str:
    """Returns the name of a parameter in its block.

    >>> parameter_name("h.0.attn.Q.weight", (("h.0.attn", "Attention"),))
    'Q'
    """
    around = path[-1][0] if path else ""
    own = name.removeprefix(f"{around}.") if around else name
    return identifier(own.removesuffix(".weight").removesuffix("_weight"))


def norm_name(name: str, path: Path) -> str:
    """Returns the name of a norm in its block: that of its module, whatever its factor is called.

    >>> norm_name("h.0.ln.gamma", (("h.0", "Block"),)), norm_name("gain", ())
    ('ln', 'gain')
    """
    module = name.rpartition(".")[0]
    inside = module and module != (path[-1][0] if path else "")
    return parameter_name(module if inside else name, path)


def identifier(text: str) -> str:
    """Returns a text as a name for a layer."""
    name = re.sub(r"\W+", "_", text).strip("_") or "layer"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name


# --- The record of an import: steps, and the arrays that constants and parameters become


@dataclass(eq=False)
class ImportRecorder:
    """Records the steps of an import one node of torch's graph after the other.

    ``node``, ``path``, ``shape`` and ``dtype`` are those of the current node; ``shared_parameters``
    are the names of parameters that several nodes use. ``training`` is the mode of the module.
    """

    shared_parameters: frozenset[str] = frozenset()
    steps: list[ImportStep] = field(default_factory=list)
    inputs: list[ImportedArray] = field(default_factory=list)
    boxes: dict[str, tuple[str, str]] = field(default_factory=dict)  # function and reason
    random_calls: list[str] = field(default_factory=list)  # calls whose random numbers are kept
    of_boxes: list[Dims] = field(default_factory=list)  # dimensions that boxes take and give
    narrowed: list[str] = field(default_factory=list)  # formats with fewer digits, of casts
    training: bool = True
    node: str = ""
    path: Path = ()
    shape: tuple[int, ...] = ()
    dtype: torch.dtype = torch.float32
    used_results: frozenset[int] = frozenset()  # which of several results of the current node
    layer_axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by their weights
    heads: Mapping[str, int] = field(default_factory=dict)  # of attention, by modules' paths
    summed_dims: dict[ImportedArray, Dim] = field(
        default_factory=dict
    )  # over which a product has summed
    _places: int = 0
    _params: dict[str, ImportedValue] = field(default_factory=dict)

    # steps ----------------------------------------------------------------------------------------

    def record_cooccurrence(self, atoms: Iterable[AxisFactor]) -> None:
        """Records that these atoms occur in one array, so that they must be different axes."""
        self._places += 1
        for atom in resolved_atoms(atoms):
            atom.step_numbers.add(self._places)

    def slot(
        self, dims: Dims, kind: Kind = "real", below: AxisFactor | None = None
    ) -> ImportedArray:
        return ImportedArray(all_atoms(dims), kind, below)

    def step(
        self,
        make: Make,
        takes: Sequence[ImportedValue],
        gives: Sequence[ImportedArray],
        weights: Sequence[ImportedConstant] = (),
        also: Iterable[AxisFactor] = (),
        path: Path | None = None,
    ) -> None:
        """Adds a step; ``also`` are further atoms that it names."""
        slots = tuple(value.slot for value in takes)
        self.record_cooccurrence(
            [*also, *(atom for slot in (*slots, *gives) for atom in slot.atoms)]
        )
        where = self.path if path is None else path
        self.steps.append(ImportStep(make, slots, tuple(gives), self.node, where, tuple(weights)))

    def op(
        self,
        make: Make,
        takes: Sequence[ImportedValue],
        dims: Dims,
        weights: Sequence[ImportedConstant] = (),
        kind: Kind = "real",
        below: AxisFactor | None = None,
    ) -> ImportedValue:
        """Adds a step with one result, and returns it."""
        slot = self.slot(dims, kind, below)
        self.step(make, takes, [slot], weights, all_atoms(dims))
        return ImportedValue(dims, slot)

    def elementwise_step(self, make: Make, x: ImportedValue) -> ImportedValue:
        """Adds a step on each number of an array; where it is repeated, so is the result."""
        slot = ImportedArray(x.slot.atoms)
        self.step(make, [x], [slot], also=all_atoms(x.dims))
        return ImportedValue(x.dims, slot)

    def first_of(self, x: ImportedValue, gone: set[AxisFactor]) -> ImportedValue:
        """Returns the value at the only place of some axes of size 1."""
        held = [atom for atom in resolved_atoms(x.slot.atoms) if atom in gone]
        dims = tuple(tuple(a for a in resolved_atoms(dim) if a not in gone) for dim in x.dims)
        if not held:
            return ImportedValue(dims, x.slot)
        slot = x.slot.with_atoms(tuple(a for a in resolved_atoms(x.slot.atoms) if a not in gone))

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            (array,), names = arrays, {axes((atom,))[0].name: 0 for atom in held}
            left = array.with_axes(axis for axis in array if axis.name not in names)
            return Index(Signature(Type((array,)), Type((left,))), names)

        self.step(make, [x], [slot])
        return ImportedValue(dims, slot)

    def axis_hint(self, weight: ImportedConstant, at: int, usual: str) -> str:
        """Returns the name that a source gives to a dimension of a layer's weight."""
        names = self.layer_axes.get(weight.name, ())
        return names[at] if at < len(names) and names[at] and weight.rows is None else usual

    def reject_call(self, why: str) -> NoReturn:
        """Raises CannotImport, so that the current node becomes a box."""
        raise CannotImport(why)

    def checkpoint(self) -> tuple[int, dict[str, ImportedValue]]:
        """Returns the present state, for :meth:`back_to`."""
        return len(self.steps), dict(self._params)

    def rollback(self, mark: tuple[int, dict[str, ImportedValue]]) -> None:
        """Drops the steps since a mark."""
        del self.steps[mark[0] :]
        self._params = dict(mark[1])

    @property
    def kind(self) -> Kind:
        """The kind of numbers that the current node gives in torch."""
        return kind_of(self.dtype)

    @staticmethod
    def default_bound(kind: Kind) -> AxisFactor | None:
        """Returns a bound for numbers of a kind of which nothing else is known."""
        return {
            "real": None,
            "whole": AxisFactor(UNKNOWN_BOUND, "whole"),
            "bool": AxisFactor(2, "bit"),
        }[kind]

    # constants ------------------------------------------------------------------------------------

    def value(self, x: Operand) -> ImportedValue:
        """Returns a tensor as an array of the term; a constant one gets a step."""
        if isinstance(x, ImportedValue):
            return x
        if x.name:
            return self._parameter(x)
        tensor = x.tensor
        if tensor.is_complex():
            self.reject_call(COMPLEX)
        if not tensor.numel():
            self.reject_call("an array without numbers")
        dims = tuple(new_dim(n) for n in tensor.shape)
        kind = kind_of(tensor.dtype)
        if kind == "whole" and not are_places(tensor):
            kind = "real"
        if kind == "real" and bool(tensor.isnan().any()):
            self.reject_call("a constant that holds NaN, which has no spelling in a term")
        below = None if kind == "real" else AxisFactor(_upper_bound(tensor), "bound")
        line = _line(tensor) if kind == "whole" and len(all_atoms(dims)) == 1 else None
        numbers = _numbers(tensor)
        if line is None and len(numbers) > MAX_NUMBERS:
            self.reject_call("a constant of more than a million numbers")

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            bound = axes((below,))[0] if below is not None else None
            return _constant(Array(axes(all_atoms(dims)), bound), numbers, line)

        return self.op(make, (), dims, kind=kind, below=below)

    def _parameter(self, x: ImportedConstant) -> ImportedValue:
        """Returns a learned array; one step for all that use it."""
        if x.layer not in self._params:
            order = x.order or tuple(range(x.tensor.dim()))
            back = [order.index(i) for i in range(len(order))]
            own = ImportedConstant(
                x.tensor.permute(*back) if back else x.tensor, x.name, rows=x.rows
            )
            dims = tuple(new_dim(n) for n in own.tensor.shape)
            if not own.tensor.is_floating_point():
                return self.value(ImportedConstant(x.tensor))
            slot = self.slot(dims)
            path = () if x.name in self.shared_parameters else self.path
            name = parameter_name(x.layer, path)

            def make(axes: Axes, arrays: Sequence[Array]) -> Term:
                return Param(axes(all_atoms(dims)), name)

            self.step(make, (), [slot], [own], path=path)
            self._params[x.layer] = ImportedValue(dims, slot)
        found = self._params[x.layer]
        order = x.order or tuple(range(len(found.dims)))
        return ImportedValue(tuple(found.dims[i] for i in order), found.slot)


MAX_COPIED_NUMBERS = 4096  # numbers of a constant
DIGITS = 9  # that tell any two numbers of 32 bits apart


def _numbers(tensor: Tensor) -> tuple[float, ...]:
    """Returns the numbers of a constant: of many with 32 bits as few digits as tell them apart."""
    numbers = tensor.detach().double().reshape(-1).tolist()
    if tensor.dtype is not torch.float32 or len(numbers) <= MAX_COPIED_NUMBERS:
        return tuple(numbers)
    return tuple(float(f"{x:.{DIGITS}g}") for x in numbers)


def _upper_bound(tensor: Tensor) -> int:
    """Returns a number that all whole numbers of a constant are below, at least 2."""
    return max(2, int(tensor.max()) + 1)


def _constant(array: Array, numbers: tuple[float, ...], line: tuple[int, int] | None) -> Term:
    """Returns a constant array: positions by a formula, one number, or all that it holds."""
    pattern = Signature(Type(), Type((array,)))
    if line is not None:
        start, step = line
        name = array[0].identifier
        formula = f"{step} * {name}" if step != 1 else name
        return Map(pattern, parse(f"{formula} + {start}" if start else formula), "positions")
    if array.below is None and len(set(numbers)) == 1 and isfinite(numbers[0]):
        return Map(pattern, parse(formula_number(numbers[0])))
    return Given(array, "constant", numbers)


def _line(tensor: Tensor) -> tuple[int, int] | None:
    """Returns start and step if the numbers are evenly spaced and rising, else None."""
    flat = tensor.reshape(-1)
    if len(flat) < 2:
        return None
    steps = flat[1:] - flat[:-1]
    step = int(steps[0])
    return (int(flat[0]), step) if step > 0 and bool((steps == step).all()) else None


# --- Spatial groups: made of plain atoms, split into them, and kept whole


@dataclass(eq=False)
class GroupChanges(ImportRecorder):
    """Records the steps that make spatial groups, and that split them."""

    def split_partial_groups(self, x: ImportedValue, *parts: Iterable[Dim]) -> ImportedValue:
        """Returns the value with plain atoms for each spatial group that no part has whole."""
        sets = [{*all_atoms(part)} for part in parts]
        held = resolved_atoms(x.slot.atoms)
        for atom in held:
            group = group_of(atom)
            first = group and group[0] is atom and {*group} <= {*held}
            if first and not any({*group} <= some for some in sets):
                x = self.split_group(x, group)
        return x

    def has_part_of_group(self, mark: tuple[int, dict[str, ImportedValue]]) -> bool:
        """Returns whether a step since a mark gives some sides of a spatial group, but not all."""
        slots = (slot for step in self.steps[mark[0] :] for slot in step.gives)
        arrays = (resolved_atoms(slot.atoms) for slot in slots)
        return any({*group_of(atom)} - {*own} for own in arrays for atom in own if atom.group)

    def split_group(self, x: ImportedValue, group: Dim) -> ImportedValue:
        """Returns the value with plain atoms in place of a spatial group."""
        new = tuple(AxisFactor(atom.size, atom.hint) for atom in group)
        pairs = dict(zip(group, new, strict=True))
        dims = tuple(tuple(pairs.get(a, a) for a in resolved_atoms(dim)) for dim in x.dims)
        own = tuple(pairs.get(a, a) for a in resolved_atoms(x.slot.atoms))
        slot = x.slot.with_atoms(own)

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            return Split(Signature(Type((axes(group),)), Type((axes(new),))))

        self.step(make, [x], [slot])
        return ImportedValue(dims, slot)

    def always_together(self, atoms: Dim) -> bool:
        """Returns whether every array so far has all of these atoms or none.

        Inputs and what boxes take and give have them in this order, as torch does. So has an axis
        that has been split since: one of them beside its other parts cannot be a side of a group.
        """
        slots = [slot for step in self.steps for slot in (*step.takes, *step.gives)]
        slots += self.inputs
        if any(_is_part(atoms, whole) for slot in slots for whole in slot.atoms):
            return False
        if any(
            len(set(atoms) & set(resolved_atoms(s.atoms))) not in (0, len(atoms)) for s in slots
        ):
            return False
        given = [resolved_atoms(s.atoms) for s in self.inputs] + [*map(all_atoms, self.of_boxes)]
        ordered = (own[own.index(atoms[0]) :] for own in given if atoms[0] in own)
        return all(own[: len(atoms)] == atoms for own in ordered)

    def new_group(self, x: ImportedValue, group: Dim) -> ImportedValue:
        """Returns the value with a new spatial group in place of some plain atoms."""
        new = tuple(AxisFactor(atom.size, atom.hint) for atom in group)
        make_group(new)
        flat = (AxisFactor(size(group)),)
        pairs = dict(zip(group, new, strict=True))
        dims = tuple(tuple(pairs.get(a, a) for a in resolved_atoms(dim)) for dim in x.dims)
        rest = tuple(a for a in resolved_atoms(x.slot.atoms) if a not in group)

        def merge(axes: Axes, arrays: Sequence[Array]) -> Term:
            own = axes(group)
            term: Term = Group(Signature(Type((own,)), Type((axes(flat),))))
            return in_order(arrays[0], own, term)

        def part(axes: Axes, arrays: Sequence[Array]) -> Term:
            return Split(Signature(Type((axes(flat),)), Type((axes(new),))))

        middle, slot = x.slot.with_atoms((*rest, *flat)), x.slot.with_atoms((*rest, *new))
        self.step(merge, [x], [middle])
        self.step(part, [ImportedValue((), middle)], [slot])
        return ImportedValue(dims, slot)


def _is_part(atoms: Dim, whole: AxisFactor) -> bool:
    """Returns whether an atom has been split into some of these and others."""
    parts = resolved_atoms((whole,))
    inside = any(parts[i : i + len(atoms)] == atoms for i in range(len(parts)))
    return len(parts) > 1 and not inside and bool({*parts} & {*atoms})


def _of_other_groups(one: Dim, two: Dim) -> bool:
    """Returns whether sides of groups of other sizes meet, such as a clip's and a frame's."""
    first, second = (
        {tuple(side.size for side in group_of(atom)) for atom in dim if atom.group}
        for dim in (one, two)
    )
    return bool(first and second) and first != second


# --- Changes of dimensions: renamed, aligned, merged and split


@dataclass(eq=False)
class DimensionBuilder(GroupChanges):
    """Records steps, and changes the dimensions of values where an op needs it."""

    def suggest_name(self, dim: Dim, hint: str) -> None:
        """Suggests a name for the last part of a dimension, unless it has a better one."""
        parts = resolved_atoms(dim)
        if parts and parts[-1].hint in VAGUE:
            parts[-1].hint = hint

    def recall(self, dim: Dim, hint: str) -> None:
        """Suggests another name for the side of an image that turns out to be none."""
        for atom in resolved_atoms(dim)[-1:]:
            if atom.hint in ("h", "w") and not atom.group:
                atom.hint = hint

    def replace_atoms(self, x: ImportedValue, old: Dim, new: Dim) -> ImportedValue:
        """Returns the value with other atoms in place of some."""
        ones = size(old) == 1
        pairs = dict(
            zip(resolved_atoms(old), resolved_atoms(new), strict=False)
            if ones
            else refine(old, new)
        )
        dims = tuple(tuple(pairs.get(leaf, leaf) for leaf in resolved_atoms(dim)) for dim in x.dims)
        own = resolved_atoms(x.slot.atoms)
        if not set(pairs) & set(own):
            return ImportedValue(dims, x.slot)
        slot = x.slot.with_atoms(tuple(pairs.get(a, a) for a in own))
        mine = tuple(atom for atom in pairs if atom in own)
        twin = tuple(pairs[atom] for atom in mine)

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            one, two = axes(mine), axes(twin)
            pattern = Signature(Type((one,)), Type((two,)))
            return Rename(pattern) if len(two) == len(one) else Split(pattern)

        self.step(make, [x], [slot])
        return ImportedValue(dims, slot)

    def with_fresh_atoms(self, x: ImportedValue, dim: Dim) -> ImportedValue:
        """Returns the value with new atoms in place of those of a dimension."""
        new = {atom: AxisFactor(atom.size, other_hint(atom.hint)) for atom in resolved_atoms(dim)}
        for atom in resolved_atoms(dim):
            group = group_of(atom)
            if set(group) - set(new):
                self.reject_call("one side of a group that is renamed")
            if group and group[0] is atom:
                make_group(tuple(new[one] for one in group))
        return self.replace_atoms(x, dim, tuple(new[atom] for atom in resolved_atoms(dim)))

    def unify_dim(self, x: ImportedValue, old: Dim, new: Dim) -> ImportedValue:
        """Returns the value with ``new`` in place of its dimension ``old`` of the same size."""
        at = x.dims.index(old)
        try:
            x = self._with_groups(x, old, new)
            old = x.dims[at]
            return x if unify(new, old) else self.replace_atoms(x, old, new)
        except CannotSplit:
            x = self.split_like(x, at, new)
            old = x.dims[at]
            return x if unify(new, old) else self.replace_atoms(x, old, new)

    def _with_groups(self, x: ImportedValue, old: Dim, new: Dim) -> ImportedValue:
        """Returns the value with a spatial group in a dimension where another one has it whole.

        Plain atoms that are always together stay: they become one when the dimensions are unified.
        """
        pairs = refine(old, new) if size(old) > 1 else []
        mine, other = (tuple(pair[side] for pair in pairs) for side in (0, 1))
        for plain, grouped in ((mine, other), (other, mine)):
            for i, atom in enumerate(grouped):
                group = group_of(atom)
                part, whole = (some[i : i + len(group)] for some in (plain, grouped))
                if not group or whole != group or any(a.group for a in part):
                    continue
                if not self.always_together(part):
                    x = self.materialise(x)
                    x = self.split_group(x, group) if plain is other else self.new_group(x, part)
        return x

    def split_like(self, x: ImportedValue, at: int, like: Dim) -> ImportedValue:
        """Returns the value with a dimension split into the same sizes as another one."""
        wanted = [atom for atom in resolved_atoms(like) if atom.size > 1]
        if len(wanted) == 1 and not wanted[0].group:
            return self.as_one_axis(x, at)
        x = self.as_divisible(x)
        parts = view_dims((x.dims[at],), [atom.size for atom in wanted])
        x = ImportedValue((*x.dims[:at], *parts, *x.dims[at + 1 :]), x.slot)
        for i, part in enumerate(parts):
            if len(resolved_atoms(part)) > 1:
                x = self.as_one_axis(x, at + i)
        own = x.dims[at : at + len(wanted)]
        x = ImportedValue((*x.dims[:at], all_atoms(own), *x.dims[at + len(wanted) :]), x.slot)
        for i, atom in enumerate(wanted):
            group = group_of(atom)
            if group[:1] == (atom,) and tuple(wanted[i : i + len(group)]) == group:
                x = self.new_group(x, resolved_atoms(x.dims[at])[i : i + len(group)])
        return x

    def broadcast_pair(
        self, x: ImportedValue, y: ImportedValue
    ) -> tuple[ImportedValue, ImportedValue, Dims]:
        """Returns two values that are broadcast together, and the dimensions of the result."""
        x, y = self._repeatable(x, y), self._repeatable(y, x)
        x, y = self._without_sides(x, y), self._without_sides(y, x)
        rank = max(len(x.dims), len(y.dims))
        out: list[Dim] = []
        for i in range(-rank, 0):
            one = x.dims[i] if -i <= len(x.dims) else ()
            two = y.dims[i] if -i <= len(y.dims) else ()
            if one and two and size(one) == size(two):
                y = self.unify_dim(y, two, one)
                two = y.dims[i]
            if two and not one and {*resolved_atoms(two)} & {*all_atoms(x.dims)}:
                y = self.with_fresh_atoms(y, two)
                two = y.dims[i]
            out.append(max(one, two, key=lambda dim: (size(dim), len(resolved_atoms(dim)))))
        return x, y, tuple(out)

    def _repeatable(self, x: ImportedValue, y: ImportedValue) -> ImportedValue:
        """Returns the value without the axes of size 1 along which another is longer."""
        longer = {-i for i in range(1, len(y.dims) + 1) if size(y.dims[-i]) > 1}
        ones = [at for at in longer if -at <= len(x.dims) and size(x.dims[at]) == 1]
        return self.without_ones(x, ones)

    def without_ones(self, x: ImportedValue, places: Sequence[int]) -> ImportedValue:
        """Returns the value without the axes of some dimensions, which have size 1."""
        at = [i % len(x.dims) for i in places]
        if any(group_of(atom) for i in at for atom in resolved_atoms(x.dims[i])):
            x = self.without_groups(x)
        return self.first_of(x, {atom for i in at for atom in resolved_atoms(x.dims[i])})

    def without_units(self, x: ImportedValue, kept: set[AxisFactor]) -> ImportedValue:
        """Returns the value without axes of size 1 that share a dimension with others."""
        wide = [resolved_atoms(dim) for dim in x.dims if size(dim) > 1]
        gone = {a for dim in wide for a in dim if a.size == 1 and not a.group} - kept
        return self.first_of(x, gone) if gone else x

    def _without_sides(self, x: ImportedValue, y: ImportedValue) -> ImportedValue:
        """Returns the value without spatial groups of which another has one side by itself."""
        both = range(1, min(len(x.dims), len(y.dims)) + 1)
        plain: Dim = ()  # the atoms that meet sides
        for i in both:
            mine, other = resolved_atoms(x.dims[-i]), resolved_atoms(y.dims[-i])
            part = any({*group_of(atom)} - {*mine} for atom in mine)
            turned = {*other} & {*all_atoms(x.dims)} - {*mine}
            apart = any(atom in turned if atom.group else atom.alone for atom in other)
            if part and (apart or _of_other_groups(mine, other)):
                return self.without_groups(x)
            plain = (*(a for a in other if part and a.size > 1 and not a.group), *plain)
        if plain and not self.always_together(plain):
            return self.without_groups(x)
        long = {-i for i in both if size(x.dims[-i]) == size(y.dims[-i])}
        places = range(-len(x.dims), 0)
        met, rest = ([x.dims[i] for i in places if (i in long) is here] for here in (True, False))
        return self.split_partial_groups(x, met, rest)

    def materialise(self, x: ImportedValue) -> ImportedValue:
        """Returns the value with every atom of its dimensions in its array."""
        own = set(resolved_atoms(x.slot.atoms))
        lacks = tuple(atom for atom in all_atoms(x.dims) if atom not in own)
        if not lacks:
            return x

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            (array,) = arrays
            out = Array((*axes(lacks), *array), array.below)
            return Map(Signature(Type((array,)), Type((out,))), IDENTITY_FORMULA)

        return self.op(make, [x], x.dims, kind=x.slot.kind, below=x.slot.below)

    def as_one_axis(self, x: ImportedValue, at: int, alone: bool = True) -> ImportedValue:
        """Returns the value with one plain atom for a dimension, merged if it has several.

        It is to be named by itself, unless it is not ``alone``.
        """
        x = self.materialise(x)
        at %= len(x.dims)
        if any(
            set(group_of(atom)) - {*resolved_atoms(x.dims[at])}
            for atom in resolved_atoms(x.dims[at])
        ):
            x = self.without_groups(x)
        dim = resolved_atoms(x.dims[at])
        if len(dim) == 1 and not dim[0].group:
            dim[0].is_indivisible, dim[0].alone = True, dim[0].alone or alone
            return x
        if not dim:
            return self._unsqueeze(x, [at], alone)
        places = "m" if any(atom.hint == "c" for atom in dim) else "p"
        hint = dim[0].hint if len(dim) == 1 else places
        new = (AxisFactor(size(dim), hint, is_indivisible=True, alone=alone),)
        dims = (*x.dims[:at], new, *x.dims[at + 1 :])
        rest = tuple(atom for atom in resolved_atoms(x.slot.atoms) if atom not in dim)
        slot = x.slot.with_atoms((*rest, *new))

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            own = axes(dim)
            term: Term = Group(Signature(Type((own,)), Type((axes(new),))))
            return in_order(arrays[0], own, term)

        self.step(make, [x], [slot])
        return ImportedValue(dims, slot)

    def _unsqueeze(
        self, x: ImportedValue, places: Sequence[int], alone: bool = True
    ) -> ImportedValue:
        """Returns the value with an axis of size 1 for some dimensions that have none."""
        new = {at: AxisFactor(1, "one", is_indivisible=True, alone=alone) for at in places}
        dims = tuple((new[i],) if i in new else dim for i, dim in enumerate(x.dims))

        def add(axes: Axes, arrays: Sequence[Array]) -> Term:
            (array,) = arrays
            out = Array((*array, *axes(new.values())), array.below)
            return Map(Signature(Type((array,)), Type((out,))), IDENTITY_FORMULA, "unsqueeze")

        return self.op(add, [x], dims, kind=x.slot.kind, below=x.slot.below)

    def as_shaped(self, x: ImportedValue) -> ImportedValue:
        """Returns the value with one axis for each dimension; those of a spatial group are one."""
        x = self.materialise(x)
        if ones := [at for at, dim in enumerate(x.dims) if not resolved_atoms(dim)]:
            x = self._unsqueeze(x, ones)
        for at in range(len(x.dims)):
            dim = resolved_atoms(x.dims[at])
            group = group_of(dim[0]) if len(dim) == 1 else ()
            i = group.index(dim[0]) if group else 0
            around = x.dims[at - i : at - i + len(group)] if at >= i else ()
            if len(dim) != 1 or all_atoms(around) != group:
                x = self.as_one_axis(x, at)
        return x

    def as_separate_axes(self, x: ImportedValue) -> ImportedValue:
        """Returns the value with an axis by itself for each dimension, in no spatial group."""
        x = self.without_groups(x)
        for at in range(len(x.dims)):
            x = self.as_one_axis(x, at) if resolved_atoms(x.dims[at]) else x
        return x

    def as_divisible(self, x: ImportedValue) -> ImportedValue:
        """Returns the value with atoms that can be split in place of those that cannot."""
        x = self.without_groups(x)
        for atom in resolved_atoms(x.slot.atoms):
            if atom.is_indivisible:
                x = self.replace_atoms(x, (atom,), (AxisFactor(atom.size, atom.hint),))
        return x

    def without_groups(self, x: ImportedValue) -> ImportedValue:
        """Returns the value with plain atoms in place of its spatial groups."""
        x = self.materialise(x)
        for atom in resolved_atoms(x.slot.atoms):
            group = group_of(atom)
            if group and group[0] is atom:
                x = self.split_group(x, group)
        return x

    def as_group(self, x: ImportedValue, places: Sequence[int]) -> ImportedValue:
        """Returns the value with a spatial group for some neighbouring dimensions."""
        atoms = tuple(leaf for at in places for leaf in resolved_atoms(x.dims[at]))
        if atoms and group_of(atoms[0]) == atoms and len(atoms) == len(places):
            return self.materialise(x)
        x = self.without_groups(x)
        for at in places:
            x = self.as_one_axis(x, at, alone=False)
        group = tuple(resolved_atoms(x.dims[at])[0] for at in places)
        if len(set(group)) < len(group):
            self.reject_call("positions that are one and the same axis")
        if self.always_together(group) and not any(atom.alone for atom in group):
            make_group(group)
            return x
        return self.new_group(x, group)
