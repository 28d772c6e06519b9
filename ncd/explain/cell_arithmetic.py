"""The numbers from which an op made one number, by kind of arithmetic.

Numbers are read from the trace of a run, in 64 bits; nothing is computed again. The formula follows
from the op's torch code (:mod:`ncd.language.torch_code`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ncd.circuit.circuit import Cell
from ncd.formulas.formula import FUNCTIONS
from ncd.language import torch_code as ex
from ncd.language.axes import Dim
from ncd.language.torch_code import Call, Group, TorchExpr
from ncd.run.evaluate import TensorOptions, compile_expr, static_value
from ncd.run.module import CircuitModule

# --- Kinds of arithmetic behind one number, and the places of its operands

Index = tuple[int | Tensor, ...]  # a place in a tensor, or several at once
MAX_NUMBERS = 4_000_000  # numbers that are looked at for one
REDUCTIONS = {
    **{"torch.amax": "max", "torch.amin": "min", "torch.mean": "mean", "torch.sum": "sum"},
    "torch.prod": "product",
}


@dataclass(frozen=True)
class IndexSpan:
    """Positions along a dimension: ``count`` of them from ``start``, ``step`` apart.

    A window may reach beyond the edges.
    """

    dim: Dim
    count: int
    start: int = 0
    step: int = 1

    @property
    def positions(self) -> range:
        return range(self.start, self.start + self.step * self.count, self.step)


Spans = tuple[IndexSpan, ...]


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
class SoftmaxArithmetic:
    """The softmax of the score at index ``focus_index`` among all scores along its axis."""

    spans: Spans
    scores: Tensor
    focus_index: int

    @property
    def powers(self) -> Tensor:
        """The exponential of each score minus the largest."""
        return (self.scores - self.scores.max()).exp()

    @property
    def value(self) -> float:
        powers = self.powers
        return float(powers[self.focus_index] / powers.sum())


@dataclass(frozen=True)
class NormArithmetic:
    """A normalised number: minus the mean, over the root of variance plus ε, times γ, plus β.

    Without a ``mean`` nothing is subtracted and the variance is the mean square.
    ``uses_running_statistics`` says that both are running statistics, not those of ``numbers``.
    """

    spans: Spans
    numbers: Tensor
    focus_index: int
    mean: float | None
    variance: float
    eps: float
    weight: float | None
    bias: float | None
    uses_running_statistics: bool = False

    @property
    def normalised_number(self) -> float:
        """The number before γ and β."""
        return (float(self.numbers[self.focus_index]) - (self.mean or 0.0)) / math.sqrt(
            self.variance + self.eps
        )

    @property
    def value(self) -> float:
        scaled = self.normalised_number * (1.0 if self.weight is None else self.weight)
        return scaled + (self.bias or 0.0)


@dataclass(frozen=True)
class ReductionArithmetic:
    """A reduction of numbers: the largest, least, sum, product or mean (``reduction``)."""

    spans: Spans
    numbers: Tensor
    reduction: str
    window: int = 0

    @property
    def value(self) -> float:
        return float(
            getattr(self.numbers, "prod" if self.reduction == "product" else self.reduction)()
        )


@dataclass(frozen=True)
class FormulaArithmetic:
    """A formula of the numbers at one place of the op's inputs.

    ``places`` are the positions along the result's dimensions, ``indices`` those in the inputs.
    """

    expr: TorchExpr
    numbers: tuple[float, ...]
    places: Mapping[tuple[str, int], int]
    indices: tuple[Index, ...]
    value: float


@dataclass(frozen=True)
class CopyArithmetic:
    """The unchanged number of the op's input ``source`` at ``index``."""

    source: int
    index: Index


Arithmetic = Products | SoftmaxArithmetic | NormArithmetic | ReductionArithmetic | FormulaArithmetic


@dataclass(frozen=True)
class NumberOrigin:
    """A number of the array ``id`` at ``index``, with the op that made it, and how, if known.

    ``passed_cells`` are the ops that passed it on, the last one first.
    """

    id: str
    index: tuple[int, ...]
    value: float
    cell: Cell | None = None
    arithmetic: Arithmetic | None = None
    passed_cells: tuple[Cell, ...] = ()


# --- places --------------------------------------------------------------------------------------


def full_spans(dims: Group) -> Spans:
    """Returns all positions of some dimensions."""
    return tuple(IndexSpan(dim, dim.size) for dim in dims)


def place_count(spans: Spans) -> int:
    """Returns the number of places of some spans."""
    return math.prod(span.count for span in spans)


def place(spans: Spans, number: int) -> tuple[int, ...]:
    """Returns the positions of a place, by its number; the last span varies fastest.

    >>> place((IndexSpan(Dim("c", 0, 2), 2), IndexSpan(Dim("x", 0, 9), 3, start=-1, step=2)), 4)
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


def regroup_index(index: Index, before: tuple[Group, ...], after: tuple[Group, ...]) -> Index:
    """Converts an index from dimensions ``before`` to dimensions ``after``.

    >>> k, h = Dim("k", 0, 3), Dim("h", 0, 2)
    >>> regroup_index((5,), ((k, h),), ((h,), (k,)))
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


def flat_index(index: Sequence[int], shape: Sequence[int]) -> int:
    """Returns the flat number of an index in a tensor of this shape."""
    number = 0
    for at, size in zip(index, shape, strict=True):
        number = number * size + int(at)
    return number


# --- numbers -------------------------------------------------------------------------------------


def exact(x: Tensor) -> Tensor:
    """Returns numbers in 64 bits on the CPU."""
    return x.detach().to("cpu", torch.float64)


def numbers_at(x: Tensor, index: Sequence[int | Tensor], spans: Spans) -> Tensor:
    """Returns the numbers of a tensor at each place of the spans."""
    return exact(x[tuple(index)]).expand(place_count(spans))


def window_numbers(x: Tensor, window: Spans, beyond: float) -> Tensor:
    """Returns the numbers of a window over the last dimensions, flat; ``beyond`` past the edges.

    >>> window_numbers(torch.arange(4.0), (IndexSpan(Dim("x", 0, 4), 3, start=-1),), 0.0).tolist()
    [0.0, 0.0, 1.0]
    """
    inside = torch.ones((), dtype=torch.bool)
    for i, span in enumerate(window, start=x.dim() - len(window)):
        at = torch.tensor(span.positions, dtype=torch.int64)
        x = x.index_select(i, at.clamp(0, span.dim.size - 1).to(x.device))
        inside = inside[..., None] & (at >= 0) & (at < span.dim.size)
    return exact(x).where(inside, beyond).flatten()


def reduced_dims(expr: Call) -> tuple[TorchExpr, list[int]]:
    """Returns what a reduction reduces, and its dimensions; a product has a call for each."""
    on: TorchExpr = expr
    dims: list[int] = []
    while isinstance(on, Call) and on.function == expr.function:
        along = static_value(on.kwargs[0][1])
        assert along is not None
        dims += along.value if isinstance(along.value, tuple) else (along.value,)
        (on,) = on.args
    return on, dims


# --- The arithmetic with which torch's layers make one number

Place = tuple[int, ...]


def _linear(layer: nn.Linear, x: Tensor, groups: tuple[Group, ...], index: Place) -> Products:
    *lead, out = index
    factors = Numbers(0, exact(x[tuple(lead)])), Numbers("weight", exact(layer.weight[out]))
    return Products(full_spans(groups[-1]), factors, _parameter_value(layer.bias, out))


def _conv(layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place) -> Products:
    n = len(layer.kernel_size)
    lead, out, at = index[: -n - 1], index[-n - 1], index[-n:]
    few = layer.in_channels // layer.groups
    channels = _channels(groups[-n - 1], layer.groups, out * layer.groups // layer.out_channels)
    first = flat_index([s.start for s in channels], [s.dim.size for s in channels])
    setting = zip(groups[-n:], at, layer.stride, layer.padding, strict=True)
    window = tuple(
        IndexSpan(dim, layer.kernel_size[i], place * stride - pad, layer.dilation[i])
        for i, ((dim,), place, stride, pad) in enumerate(setting)
    )
    numbers = window_numbers(x[lead].narrow(0, first, few), window, 0.0)
    factors = Numbers(0, numbers), Numbers("weight", exact(layer.weight[out]).flatten())
    return Products((*channels, *window), factors, _parameter_value(layer.bias, out), n)


def _channels(dims: Group, parts: int, part: int) -> Spans:
    """Returns the channels of one group, by their own dimensions if possible."""
    if parts == 1:
        return full_spans(dims)
    if dims[0].size % parts:
        dims = (Dim("·".join(dim.name for dim in dims), 0, math.prod(dim.size for dim in dims)),)
    count = dims[0].size // parts
    return IndexSpan(dims[0], count, part * count), *full_spans(dims[1:])


def _transposed_conv(layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place) -> Products:
    """Returns a transposed convolution: the numbers whose windows reach this place."""
    n = len(layer.kernel_size)
    lead, out, at = index[: -n - 1], index[-n - 1], index[-n:]
    window, taps = [], []
    for i, (dim,) in enumerate(groups[-n:]):
        place, stride, gap = at[i] + layer.padding[i], layer.stride[i], layer.dilation[i]
        span = gap * (layer.kernel_size[i] - 1)
        reach = range(max(0, -(-(place - span) // stride)), min(dim.size - 1, place // stride) + 1)
        found = [j for j in reach if (place - stride * j) % gap == 0]
        first, step = (*found, 0)[0], gap // math.gcd(stride, gap)
        window.append(IndexSpan(dim, len(found), first, step))
        taps.append(torch.tensor([(place - stride * j) // gap for j in found]).long())
    weight = exact(layer.weight[:, out])
    for i, tap in enumerate(taps):
        weight = weight.index_select(i + 1, tap)
    factors = (
        Numbers(0, window_numbers(x[lead], tuple(window), 0.0)),
        Numbers("weight", weight.flatten()),
    )
    spans = (*full_spans(groups[-n - 1]), *window)
    return Products(spans, factors, _parameter_value(layer.bias, out), n)


def _layer_norm(layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place) -> NormArithmetic:
    """Returns layer norm, or root-mean-square norm, which has no mean."""
    n = len(layer.normalized_shape)
    lead, own = index[: len(index) - n], index[len(index) - n :]
    spans = tuple(span for group in groups[-n:] for span in full_spans(group))
    numbers = exact(x[lead]).flatten()
    centred = isinstance(layer, nn.LayerNorm)
    mean = float(numbers.mean()) if centred else None
    variance = float((numbers - (mean or 0.0)).square().mean())
    at = flat_index(own, layer.normalized_shape)
    weight, bias = (
        _parameter_value(getattr(layer, name, None), own) for name in ("weight", "bias")
    )
    return NormArithmetic(spans, numbers, at, mean, variance, layer.eps, weight, bias)


def _batch_norm(
    layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place
) -> NormArithmetic | None:
    b, c, *rest = index
    channel = x[:, c]
    if channel.numel() > MAX_NUMBERS:
        return None
    spans = tuple(s for i, group in enumerate(groups) if i != 1 for s in full_spans(group))
    numbers = exact(channel).flatten()
    kept = not layer.training
    mean, variance = numbers.mean(), numbers.var(correction=0)
    if kept:
        mean, variance = layer.running_mean[c], layer.running_var[c]
    at = flat_index((b, *rest), channel.shape)
    weight, bias = _parameter_value(layer.weight, c), _parameter_value(layer.bias, c)
    return NormArithmetic(
        spans, numbers, at, float(mean), float(variance), layer.eps, weight, bias, kept
    )


def _parameter_value(x: Tensor | None, index: int | Place) -> float | None:
    """Returns a number of a parameter, or None if the layer lacks it."""
    return None if x is None else float(x.detach()[index])


LAYERS: Mapping[str, Callable[..., Arithmetic | None]] = {
    "BatchNorm": _batch_norm,
    "Conv": _conv,
    "ConvTranspose": _transposed_conv,
    "LayerNorm": _layer_norm,
    "Linear": _linear,
    "RMSNorm": _layer_norm,
}


# --- The arithmetic of one number: the numbers that an op made it from, and the formula

POINTWISE = (
    ex.Arg,
    ex.Align,
    ex.Call,
    ex.Cast,
    ex.Const,
    ex.Filled,
    ex.Infix,
    ex.Method,
    ex.Position,
    ex.Prefix,
    ex.Size,
)
MULTI_ARGUMENT_FUNCTIONS = {
    "clamp",
    "div",
    "maximum",
    "minimum",
    "where",
}  # functions of more than one number


def number_origin(
    module: CircuitModule, values: Mapping[str, Tensor], id: str, index: Sequence[int]
) -> NumberOrigin:
    """Returns how a number of an array came about: by the last op that did not just pass it on.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> module, inputs = ncd.compile(term), ncd.example_inputs(term)
    >>> values = ncd.trace(module, *inputs).values
    >>> (out,) = module.circuit.outputs
    >>> found = number_origin(module, values, out.id, (3, 5))
    >>> found.cell.op.display_name, len(found.arithmetic.terms)
    ('Linear O', 64)
    >>> abs(found.arithmetic.value - found.value) < 1e-6
    True
    """
    circuit, place = module.circuit, tuple(index)
    through: list[Cell] = []
    value = float(values[id][place].detach())
    while (cell := circuit.producers.get(id)) is not None:
        output = next(n for n, v in enumerate(cell.outputs) if v.id == id)
        found = arithmetic(module, values, cell, output, place)
        if not isinstance(found, CopyArithmetic):
            return NumberOrigin(id, place, value, cell, found, tuple(through))
        through.append(cell)
        id, place = cell.inputs[found.source].id, tuple(map(int, found.index))
    return NumberOrigin(id, place, value, passed_cells=tuple(through))


def arithmetic(
    module: CircuitModule, values: Mapping[str, Tensor], cell: Cell, output: int, index: Index
) -> Arithmetic | CopyArithmetic | None:
    """Returns how an op made one number of an output; None if unknown, as for a parameter."""
    said = cell.expressions
    if len(said) < len(cell.outputs):
        return _piece(output, index, said[0])
    return ArithmeticReader(module, values, cell, index).read(said[output], index)


def _piece(output: int, index: Index, said: ex.TorchExpr) -> CopyArithmetic | None:
    """Returns the place in an array that was cut into pieces."""
    if not isinstance(said, ex.Method) or said.name != "split":
        return None
    sizes, dim = (static_value(part) for part in said.args)
    assert sizes is not None and dim is not None
    place = list(index)
    place[dim.value] += sum(sizes.value[:output])
    return CopyArithmetic(0, tuple(place))


class ArithmeticReader:
    """Reads one number of an expression; one method for each kind that is not a plain formula."""

    def __init__(
        self, module: CircuitModule, values: Mapping[str, Tensor], cell: Cell, index: Index
    ) -> None:
        self.cell, self.index = cell, index
        self.given = [values[value.id].detach() for value in cell.inputs]
        self.made = values[cell.outputs[0].id]
        layer = cell.layer
        self.called = layer.function if layer is not None else ""
        self.own: Any = module.get_submodule(cell.path) if layer is not None else None

    def read(self, expr: ex.TorchExpr, index: Index) -> Arithmetic | CopyArithmetic | None:
        """Returns how the number at ``index`` of an expression came about."""
        reader: Callable[[Any, Index], Arithmetic | CopyArithmetic | None] | None
        reader = getattr(self, type(expr).__name__.lower(), None)
        found = reader(expr, index) if reader is not None else None
        return self._read_pointwise(expr) if found is None else found

    def tensor(self, expr: ex.TorchExpr) -> Tensor:
        """Returns all numbers of an expression."""
        ranks = tuple(len(array.shape) for array in self.cell.site.inputs)
        x: Tensor = compile_expr(expr, ranks)(
            self.given, None, TensorOptions(self.made.device, self.made.dtype)
        )
        return x

    def groups(self, expr: ex.TorchExpr) -> tuple[ex.Group, ...]:
        """Returns the dimensions that each torch dimension of an expression stands for."""
        if isinstance(expr, ex.Rearrange):
            return expr.target_dims
        assert isinstance(expr, ex.Arg), expr
        return tuple((dim,) for dim in self.cell.site.inputs[expr.index].dims)

    # One method a kind of expression ------------------------------------------------------------

    def arg(self, expr: ex.Arg, index: Index) -> CopyArithmetic:
        return CopyArithmetic(expr.index, index)

    def rearrange(self, expr: ex.Rearrange, index: Index) -> Arithmetic | CopyArithmetic | None:
        return self.read(expr.operand, regroup_index(index, expr.target_dims, expr.source_dims))

    def select(self, expr: ex.Select, index: Index) -> Arithmetic | CopyArithmetic | None:
        at = len(index) + 1 + expr.dim
        size = self.tensor(expr.operand).shape[expr.dim]
        return self.read(expr.operand, (*index[:at], expr.index % size, *index[at:]))

    def lookup(self, expr: ex.Lookup, index: Index) -> Arithmetic | CopyArithmetic | None:
        places = self.tensor(expr.index)
        shared, n = places.dim() - expr.index_rank, places.dim()
        place = int(places[index[:n]])
        return self.read(expr.table, (*index[:shared], place, *index[n:]))

    def contract(self, expr: ex.Contract, index: Index) -> Arithmetic | CopyArithmetic | None:
        fixed = {dim.key: at for dim, at in zip(expr.target_dims, index, strict=True)}
        inner = dict.fromkeys(d for group in expr.source_dims for d in group if d.key not in fixed)
        if len(expr.args) == 1 and not inner:  # it only puts the axes in another order
            (dims,) = expr.source_dims
            return self.read(expr.args[0], tuple(fixed[dim.key] for dim in dims))
        spans = full_spans(tuple(inner))
        if place_count(spans) > MAX_NUMBERS:
            return None
        at = fixed | dict(zip((span.dim.key for span in spans), grid(spans), strict=True))
        factors = tuple(
            Numbers(_source(arg), numbers_at(self.tensor(arg), [at[d.key] for d in group], spans))
            for arg, group in zip(expr.args, expr.source_dims, strict=True)
        )
        return Products(spans, factors)

    def method(self, expr: ex.Method, index: Index) -> SoftmaxArithmetic | None:
        if expr.name != "softmax":
            return None
        (dim,) = expr.args
        assert isinstance(dim, ex.Const) and isinstance(dim.value, int)
        x, at = self.tensor(expr.operand), dim.value % len(index)
        spans = full_spans(self.groups(expr.operand)[at])
        scores = exact(x[(*index[:at], slice(None), *index[at + 1 :])])
        return SoftmaxArithmetic(spans, scores, int(index[at]))

    def call(self, expr: ex.Call, index: Index) -> Arithmetic | CopyArithmetic | None:
        if expr.function == "torch.cat":
            return self._read_concatenation(expr, index)
        if expr.function in REDUCTIONS:
            return self._read_reduction(expr, index)
        if expr.function == "torch.cumsum":
            return self._so_far(expr, index)
        if expr.function == "torch.roll":
            return self._read_roll(expr, index)
        if expr.function.startswith("F.max_pool"):
            return self._read_pooling(expr, index)
        return None

    def layer(self, expr: ex.Layer, index: Index) -> Arithmetic | None:
        (on,) = expr.args
        kind = self.called.removeprefix("nn.").rstrip("123d")
        reader = LAYERS.get(kind)
        if reader is None:
            return None
        return reader(self.own, self.tensor(on), self.groups(on), tuple(map(int, index)))

    # What is called -----------------------------------------------------------------------------

    def _read_concatenation(
        self, expr: ex.Call, index: Index
    ) -> Arithmetic | CopyArithmetic | None:
        (arrays,), ((_, dim),) = expr.args, expr.kwargs
        assert (
            isinstance(arrays, ex.Tuple)
            and isinstance(dim, ex.Const)
            and isinstance(dim.value, int)
        )
        place, at = list(index), dim.value % len(index)
        for part in arrays.items:
            size = self.tensor(part).shape[at]
            if place[at] < size:
                return self.read(part, tuple(place))
            place[at] -= size
        return None

    def _read_reduction(self, expr: ex.Call, index: Index) -> ReductionArithmetic | None:
        on, gone = reduced_dims(expr)
        x = self.tensor(on)
        at = sorted(dim % x.dim() for dim in gone)
        if math.prod(x.shape[dim] for dim in at) > MAX_NUMBERS:
            return None
        place: list[Any] = list(index)
        for dim in at:
            place.insert(dim, slice(None))
        spans = full_spans(tuple(dim for i in at for dim in self.groups(on)[i]))
        return ReductionArithmetic(
            spans, exact(x[tuple(place)]).flatten(), REDUCTIONS[expr.function]
        )

    def _so_far(self, expr: ex.Call, index: Index) -> ReductionArithmetic | None:
        (on,), ((_, dim),) = expr.args, expr.kwargs
        along = static_value(dim)
        assert along is not None
        x, at = self.tensor(on), int(along.value) % len(index)
        count = int(index[at]) + 1
        found = exact(x[(*index[:at], slice(count), *index[at + 1 :])])
        (way,) = self.groups(on)[at]
        return ReductionArithmetic((IndexSpan(way, count),), found, "sum")

    def _read_roll(self, expr: ex.Call, index: Index) -> Arithmetic | CopyArithmetic | None:
        (on,), ((_, shifts), (_, dims)) = expr.args, expr.kwargs
        far, along = static_value(shifts), static_value(dims)
        assert far is not None and along is not None
        ways = [
            value if isinstance(value, tuple) else (value,) for value in (far.value, along.value)
        ]
        shape, place = self.tensor(on).shape, list(index)
        for shift, dim in zip(*ways, strict=True):
            place[dim] = (place[dim] - shift) % shape[dim]
        return self.read(on, tuple(place))

    def _read_pooling(self, expr: ex.Call, index: Index) -> ReductionArithmetic:
        on, kernel, stride = expr.args
        size, step = (static_value(part) for part in (kernel, stride))
        pad = static_value(dict(expr.kwargs)["padding"]) if expr.kwargs else None
        assert size is not None and step is not None
        x, n = self.tensor(on), int(expr.function[-2])
        sizes, steps, pads = (_each_side(v.value if v else 0, n) for v in (size, step, pad))
        first = [int(i) * s - p for i, s, p in zip(index[-n:], steps, pads, strict=True)]
        dims = [dim for group in self.groups(on)[-n:] for dim in group]
        spans = tuple(IndexSpan(*each) for each in zip(dims, sizes, first, strict=True))
        lead = index[: len(index) - n]
        return ReductionArithmetic(spans, window_numbers(x[lead], spans, -math.inf), "max", n)

    def _read_pointwise(self, expr: ex.TorchExpr) -> FormulaArithmetic | None:
        """Returns a formula of the numbers at one place, if the expression is one."""
        site = self.cell.site
        alone = not any(
            (*site.own_inputs, *site.own_outputs)
        )  # an op without own axes is broadcast over all
        if not all(isinstance(p, POINTWISE) and (alone or _is_pointwise(p)) for p in expr.walk()):
            return None
        at = {dim.key: i for dim, i in zip(site.outputs[0].dims, self.index, strict=True)}
        indices = tuple(tuple(at[dim.key] for dim in array.dims) for array in site.inputs)
        if any(isinstance(i, Tensor) for i in self.index):
            return FormulaArithmetic(expr, (), {}, indices, math.nan)
        numbers = tuple(float(x[i]) for x, i in zip(self.given, indices, strict=True))
        places = {key: int(i) for key, i in at.items()}
        return FormulaArithmetic(expr, numbers, places, indices, float(self.made[self.index]))


def _each_side(value: Any, n: int) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,) * n


def _source(expr: ex.TorchExpr) -> int | str:
    """Returns the index of the op's input that an expression reads, or "unit"."""
    return next((part.index for part in expr.walk() if isinstance(part, ex.Arg)), "unit")


def _is_pointwise(part: ex.TorchExpr) -> bool:
    """Returns whether a call is known to work number by number."""
    name = part.function.rpartition(".")[2] if isinstance(part, ex.Call) else "abs"
    return (name in FUNCTIONS or name in MULTI_ARGUMENT_FUNCTIONS) and not isinstance(
        part, ex.Method
    )
