"""The record of an import: steps, and the arrays that constants and parameters become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import NoReturn

import torch
from torch import Tensor

from ncd.importing.base.atoms import WIDE, Atom, Dim, Dims, every, fresh, leaves
from ncd.importing.base.import_values import (
    Axes,
    CannotImport,
    Constant,
    Kind,
    Make,
    Operand,
    Path,
    Slot,
    Step,
    Value,
    are_places,
    kind_of,
)
from ncd.importing.base.op_order import parameter_name
from ncd.lang.formulas.formula import parse
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Given, Index, Map, Param
from ncd.ops.torch_calls.given import MOST


@dataclass(eq=False)
class Recorder:
    """Records the steps of an import, one node of torch's graph after the other.

    ``node``, ``path``, ``shape`` and ``dtype`` are those of the current node; ``shared`` are the
    names of parameters that several nodes use. ``training`` is the mode of the module.
    """

    shared: frozenset[str] = frozenset()
    steps: list[Step] = field(default_factory=list)
    inputs: list[Slot] = field(default_factory=list)
    boxes: dict[str, tuple[str, str]] = field(default_factory=dict)  # function and reason
    drawn: list[str] = field(default_factory=list)  # calls whose random numbers are kept
    training: bool = True
    node: str = ""
    path: Path = ()
    shape: tuple[int, ...] = ()
    dtype: torch.dtype = torch.float32
    used: frozenset[int] = frozenset()  # which of several results of the current node
    layer_axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by their weights
    heads: Mapping[str, int] = field(default_factory=dict)  # of attention, by modules' paths
    summed: dict[Slot, Dim] = field(default_factory=dict)  # over which a product has summed
    _places: int = 0
    _params: dict[str, Value] = field(default_factory=dict)

    # steps ----------------------------------------------------------------------------------------

    def meet(self, atoms: Iterable[Atom]) -> None:
        """Records that these atoms occur in one array, so that they must be different axes."""
        self._places += 1
        for atom in leaves(atoms):
            atom.places.add(self._places)

    def slot(self, dims: Dims, kind: Kind = "real", below: Atom | None = None) -> Slot:
        return Slot(every(dims), kind, below)

    def step(
        self,
        make: Make,
        takes: Sequence[Value],
        gives: Sequence[Slot],
        weights: Sequence[Constant] = (),
        also: Iterable[Atom] = (),
        path: Path | None = None,
    ) -> None:
        """Adds a step; ``also`` are further atoms that it names."""
        slots = tuple(value.slot for value in takes)
        self.meet([*also, *(atom for slot in (*slots, *gives) for atom in slot.atoms)])
        where = self.path if path is None else path
        self.steps.append(Step(make, slots, tuple(gives), self.node, where, tuple(weights)))

    def op(
        self,
        make: Make,
        takes: Sequence[Value],
        dims: Dims,
        weights: Sequence[Constant] = (),
        kind: Kind = "real",
        below: Atom | None = None,
    ) -> Value:
        """Adds a step with one result, and returns it."""
        slot = self.slot(dims, kind, below)
        self.step(make, takes, [slot], weights, every(dims))
        return Value(dims, slot)

    def each(self, make: Make, x: Value) -> Value:
        """Adds a step on each number of an array; where it is repeated, so is the result."""
        slot = Slot(x.slot.atoms)
        self.step(make, [x], [slot], also=every(x.dims))
        return Value(x.dims, slot)

    def first_of(self, x: Value, gone: set[Atom]) -> Value:
        """Returns the value at the only place of some axes of size 1."""
        held = [atom for atom in leaves(x.slot.atoms) if atom in gone]
        dims = tuple(tuple(a for a in leaves(dim) if a not in gone) for dim in x.dims)
        if not held:
            return Value(dims, x.slot)
        slot = x.slot.on(tuple(a for a in leaves(x.slot.atoms) if a not in gone))

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            (array,), names = arrays, {axes((atom,))[0].name: 0 for atom in held}
            left = array.with_axes(axis for axis in array if axis.name not in names)
            return Index(Signature(Type((array,)), Type((left,))), names)

        self.step(make, [x], [slot])
        return Value(dims, slot)

    def axis_hint(self, weight: Constant, at: int, usual: str) -> str:
        """Returns the name that a source gives to a dimension of a layer's weight."""
        names = self.layer_axes.get(weight.name, ())
        return names[at] if at < len(names) and names[at] and weight.rows is None else usual

    def refuse(self, why: str) -> NoReturn:
        """Raises CannotImport, so that the current node becomes a box."""
        raise CannotImport(why)

    def mark(self) -> tuple[int, dict[str, Value]]:
        """Returns the present state, for :meth:`back_to`."""
        return len(self.steps), dict(self._params)

    def back_to(self, mark: tuple[int, dict[str, Value]]) -> None:
        """Drops the steps since a mark."""
        del self.steps[mark[0] :]
        self._params = dict(mark[1])

    @property
    def kind(self) -> Kind:
        """The kind of numbers that the current node gives in torch."""
        return kind_of(self.dtype)

    @staticmethod
    def bound(kind: Kind) -> Atom | None:
        """Returns a bound for numbers of a kind of which nothing else is known."""
        return {"real": None, "whole": Atom(WIDE, "whole"), "bool": Atom(2, "bit")}[kind]

    # constants ------------------------------------------------------------------------------------

    def value(self, x: Operand) -> Value:
        """Returns a tensor as an array of the term; a constant one gets a step."""
        if isinstance(x, Value):
            return x
        if x.name:
            return self._parameter(x)
        tensor = x.tensor
        if not tensor.numel():
            self.refuse("an array without numbers")
        dims = tuple(fresh(n) for n in tensor.shape)
        kind = kind_of(tensor.dtype)
        if kind == "whole" and not are_places(tensor):
            kind = "real"
        if kind == "real" and bool(tensor.isnan().any()):
            self.refuse("a constant that holds NaN, which has no spelling in a term")
        below = None if kind == "real" else Atom(_bound(tensor), "bound")
        line = _line(tensor) if kind == "whole" and len(every(dims)) == 1 else None
        numbers = tuple(tensor.detach().double().reshape(-1).tolist())
        if line is None and len(numbers) > MOST:
            self.refuse("a constant of more than a million numbers")

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            bound = axes((below,))[0] if below is not None else None
            return _constant(Array(axes(every(dims)), bound), numbers, line)

        return self.op(make, (), dims, kind=kind, below=below)

    def _parameter(self, x: Constant) -> Value:
        """Returns a learned array; one step for all that use it."""
        if x.layer not in self._params:
            order = x.order or tuple(range(x.tensor.dim()))
            back = [order.index(i) for i in range(len(order))]
            own = Constant(x.tensor.permute(*back) if back else x.tensor, x.name, rows=x.rows)
            dims = tuple(fresh(n) for n in own.tensor.shape)
            if not own.tensor.is_floating_point():
                return self.value(Constant(x.tensor))
            slot = self.slot(dims)
            path = () if x.name in self.shared else self.path
            name = parameter_name(x.layer, path)

            def make(axes: Axes, arrays: Sequence[Array]) -> Term:
                return Param(axes(every(dims)), name)

            self.step(make, (), [slot], [own], path=path)
            self._params[x.layer] = Value(dims, slot)
        found = self._params[x.layer]
        order = x.order or tuple(range(len(found.dims)))
        return Value(tuple(found.dims[i] for i in order), found.slot)


def _bound(tensor: Tensor) -> int:
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
        return Map(pattern, parse(f"{numbers[0]:.17g}"))
    return Given(array, "constant", numbers)


def _line(tensor: Tensor) -> tuple[int, int] | None:
    """Returns start and step if the numbers are evenly spaced and rising, else None."""
    flat = tensor.reshape(-1)
    if len(flat) < 2:
        return None
    steps = flat[1:] - flat[:-1]
    step = int(steps[0])
    return (int(flat[0]), step) if step > 0 and bool((steps == step).all()) else None
