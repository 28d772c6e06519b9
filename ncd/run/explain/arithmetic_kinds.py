"""Kinds of arithmetic behind one number, and the places of its operands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ncd.lang.circuits.circuit import Cell
from ncd.lang.formulas.expr import Call, Expr, Group
from ncd.lang.types.axes import Dim
from ncd.run.execution.evaluate import known

Index = tuple[int | Tensor, ...]  # a place in a tensor, or several at once
MOST = 4_000_000  # numbers that are looked at for one
REDUCTIONS = {
    **{"torch.amax": "max", "torch.amin": "min", "torch.mean": "mean", "torch.sum": "sum"},
    "torch.prod": "product",
}


@dataclass(frozen=True)
class Span:
    """Positions along a dimension: ``count`` of them from ``first``, ``step`` apart.

    A window may reach beyond the edges.
    """

    dim: Dim
    count: int
    first: int = 0
    step: int = 1

    @property
    def positions(self) -> range:
        return range(self.first, self.first + self.step * self.count, self.step)


Spans = tuple[Span, ...]


@dataclass(frozen=True)
class Numbers:
    """Numbers of the op's input ``source``, or of a parameter: (terms,), 64 bits."""

    source: int | str
    values: Tensor


@dataclass(frozen=True)
class Products:
    """A sum of products, with a term for each place of the spans (the last fastest), and a bias.

    ``window`` is how many of the last spans form a sliding window.
    """

    spans: Spans
    factors: tuple[Numbers, ...]
    bias: float | None = None
    window: int = 0

    @property
    def numbers(self) -> Tensor:
        """The numbers of the first factor: (terms,)."""
        return self.factors[0].values

    @property
    def terms(self) -> Tensor:
        """The products: (terms,)."""
        return torch.stack([factor.values for factor in self.factors]).prod(0)

    @property
    def value(self) -> float:
        return float(self.terms.sum()) + (self.bias or 0.0)


@dataclass(frozen=True)
class Share:
    """The softmax of the score at index ``at`` among all scores along its axis."""

    spans: Spans
    scores: Tensor
    at: int

    @property
    def powers(self) -> Tensor:
        """The exponential of each score minus the largest."""
        return (self.scores - self.scores.max()).exp()

    @property
    def value(self) -> float:
        powers = self.powers
        return float(powers[self.at] / powers.sum())


@dataclass(frozen=True)
class Normed:
    """A normalised number: minus the mean, over the root of variance plus ε, times γ, plus β.

    Without a ``mean`` nothing is subtracted and the variance is the mean square. ``kept`` says that
    both are running statistics, not those of ``numbers``.
    """

    spans: Spans
    numbers: Tensor
    at: int
    mean: float | None
    variance: float
    eps: float
    weight: float | None
    bias: float | None
    kept: bool = False

    @property
    def plain(self) -> float:
        """The number before γ and β."""
        return (float(self.numbers[self.at]) - (self.mean or 0.0)) / math.sqrt(
            self.variance + self.eps
        )

    @property
    def value(self) -> float:
        scaled = self.plain * (1.0 if self.weight is None else self.weight)
        return scaled + (self.bias or 0.0)


@dataclass(frozen=True)
class Chosen:
    """A reduction of numbers: the largest, least, sum, product or mean (``how``)."""

    spans: Spans
    numbers: Tensor
    how: str
    window: int = 0

    @property
    def value(self) -> float:
        return float(getattr(self.numbers, "prod" if self.how == "product" else self.how)())


@dataclass(frozen=True)
class Each:
    """A formula of the numbers at one place of the op's inputs.

    ``places`` are the positions along the result's dimensions, ``indices`` those in the inputs.
    """

    expr: Expr
    numbers: tuple[float, ...]
    places: Mapping[tuple[str, int], int]
    indices: tuple[Index, ...]
    value: float


@dataclass(frozen=True)
class Same:
    """The unchanged number of the op's input ``source`` at ``index``."""

    source: int
    index: Index


How = Products | Share | Normed | Chosen | Each


@dataclass(frozen=True)
class Made:
    """A number of the array ``id`` at ``index``, with the op that made it, and how, if known.

    ``through`` are the ops that passed it on, the last one first.
    """

    id: str
    index: tuple[int, ...]
    value: float
    cell: Cell | None = None
    how: How | None = None
    through: tuple[Cell, ...] = ()


# --- places --------------------------------------------------------------------------------------


def whole(dims: Group) -> Spans:
    """Returns all positions of some dimensions."""
    return tuple(Span(dim, dim.size) for dim in dims)


def counted(spans: Spans) -> int:
    """Returns the number of places of some spans."""
    return math.prod(span.count for span in spans)


def place(spans: Spans, number: int) -> tuple[int, ...]:
    """Returns the positions of a place, by its number; the last span varies fastest.

    >>> place((Span(Dim("c", 0, 2), 2), Span(Dim("x", 0, 9), 3, first=-1, step=2)), 4)
    (1, 1)
    """
    found = []
    for span in reversed(spans):
        number, at = divmod(number, span.count)
        found.append(span.positions[at])
    return tuple(reversed(found))


def grid(spans: Spans) -> tuple[Tensor, ...]:
    """Returns for each span the positions of all places: (places,)."""
    if not spans:
        return ()
    lines = [torch.tensor(span.positions) for span in spans]
    return tuple(x.flatten() for x in torch.meshgrid(*lines, indexing="ij"))


def moved(index: Index, before: tuple[Group, ...], after: tuple[Group, ...]) -> Index:
    """Converts an index from dimensions ``before`` to dimensions ``after``.

    >>> k, h = Dim("k", 0, 3), Dim("h", 0, 2)
    >>> moved((5,), ((k, h),), ((h,), (k,)))
    (1, 2)
    """
    at: dict[tuple[str, int], Any] = {}
    for number, group in zip(index, before, strict=True):
        for dim in reversed(group):
            at[dim.key], number = number % dim.size, number // dim.size
    return tuple(_together(at, group) for group in after)


def _together(at: Mapping[tuple[str, int], Any], group: Group) -> Any:
    number: Any = 0
    for dim in group:
        number = number * dim.size + at[dim.key]
    return number


def ravelled(index: Sequence[int], shape: Sequence[int]) -> int:
    """Returns the flat number of an index in a tensor of this shape."""
    number = 0
    for at, size in zip(index, shape, strict=True):
        number = number * size + int(at)
    return number


# --- numbers -------------------------------------------------------------------------------------


def exact(x: Tensor) -> Tensor:
    """Returns numbers in 64 bits on the CPU."""
    return x.detach().to("cpu", torch.float64)


def taken(x: Tensor, index: Sequence[int | Tensor], spans: Spans) -> Tensor:
    """Returns the numbers of a tensor at each place of the spans."""
    return exact(x[tuple(index)]).expand(counted(spans))


def windowed(x: Tensor, window: Spans, beyond: float) -> Tensor:
    """Returns the numbers of a window over the last dimensions, flat; ``beyond`` past the edges.

    >>> windowed(torch.arange(4.0), (Span(Dim("x", 0, 4), 3, first=-1),), 0.0).tolist()
    [0.0, 0.0, 1.0]
    """
    inside = torch.ones((), dtype=torch.bool)
    for i, span in enumerate(window, start=x.dim() - len(window)):
        at = torch.tensor(span.positions, dtype=torch.int64)
        x = x.index_select(i, at.clamp(0, span.dim.size - 1).to(x.device))
        inside = inside[..., None] & (at >= 0) & (at < span.dim.size)
    return exact(x).where(inside, beyond).flatten()


def reduced_dims(expr: Call) -> tuple[Expr, list[int]]:
    """Returns what a reduction reduces, and its dimensions; a product has a call for each."""
    on: Expr = expr
    dims: list[int] = []
    while isinstance(on, Call) and on.function == expr.function:
        along = known(on.kwargs[0][1])
        assert along is not None
        dims += along.value if isinstance(along.value, tuple) else (along.value,)
        (on,) = on.args
    return on, dims
