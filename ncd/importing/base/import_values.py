"""Tensors of torch while they are imported: arrays of the term, constants, and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ncd.importing.base.atoms import Atom, Dim, Dims, size
from ncd.lang.errors import NCDError
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array
from ncd.lang.types.axis import LARGEST


class ImportFailed(NCDError):
    """A module that cannot become a term, with the call that stands in the way.

    Args:
        fact: The fault.
        cure: A way around it.
        where: The module at fault.

    Source: the errors of ``torch.export``.

    >>> print(ImportFailed("it fails", where="layers.0"))
    layers.0: it fails.
    """


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
    return int(x.min()) >= 0 and int(x.max()) < LARGEST


Axes = Callable[[Iterable[Atom]], Array]  # the axes of some atoms, once they have names


Make = Callable[[Axes, Sequence[Array]], Term]


Handler = Callable[..., Any]  # reads a call: of the builder and the call's arguments
Path = tuple[tuple[str, str], ...]  # the modules around a step: paths and classes


class CannotImport(Exception):
    """A call that has no op of its own here; it becomes a named box."""


class Refused(Exception):
    """Steps that the language rejects: the nodes of torch's graph, each with the reason."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons = reasons


@dataclass(eq=False)
class Slot:
    """An array of the term: its atoms in any order, and the bound of its whole numbers."""

    atoms: Dim
    kind: Kind = "real"
    below: Atom | None = None

    def on(self, atoms: Dim) -> Slot:
        """Returns an array of the same kind of numbers on other atoms."""
        return Slot(atoms, self.kind, self.below)


@dataclass(eq=False)
class Value:
    """A tensor of torch: its dimensions, and the array that holds its numbers.

    A dimension may have atoms that the array lacks; there its numbers are repeated.
    """

    dims: Dims
    slot: Slot

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(size, self.dims))


@dataclass(eq=False)
class Constant:
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

    def permuted(self, order: Sequence[int]) -> Constant:
        """Returns the same tensor with its dimensions in another order."""
        before = self.order or tuple(range(self.tensor.dim()))
        turned = tuple(before[i] for i in order)
        return Constant(self.tensor.permute(*order), self.name, turned, self.rows)

    @property
    def layer(self) -> str:
        """The name of the parameter, with the place of a part of it."""
        if self.rows is None:
            return self.name
        start, end = self.rows
        name = self.name.removesuffix("_bias").removesuffix(".bias")
        return f"{name.removesuffix('weight').rstrip('_.')}_{start // (end - start) + 1}"


Operand = Value | Constant


@dataclass(frozen=True, eq=False)
class Step:
    """An op of the term: how it is made once the axes have names, and what it takes and gives.

    ``weights`` are the module's tensors for its parameters, in their order.
    """

    make: Make
    takes: tuple[Slot, ...]
    gives: tuple[Slot, ...]
    node: str
    path: Path
    weights: tuple[Constant, ...] = ()
