"""A fused loop over tiles: its stages, the bytes that it moves, the fast memory that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Literal, NamedTuple

from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.circuit.costs import FLOAT32, cost_of
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.errors import (
    LimitError,
    MismatchError,
    ParseError,
    SizeError,
    UnknownNameError,
    short_repr,
    unknown_name_error,
)
from ncd.language.arguments import check_flag, check_formats, check_term
from ncd.language.axes import Array, Axis
from ncd.language.number_formats import BITS, Formats
from ncd.language.op import TilingRule
from ncd.language.terms import Term

# --- Amounts of numbers as formulas in the sizes of axes and of their tiles

Kind = Literal["size", "tile", "tiles"]  # of an axis: its size, a tile of it, how many tiles


class Factor(NamedTuple):
    """A factor of an amount."""

    kind: Kind
    axis: str

    def text(self) -> str:
        if self.kind == "size":
            return self.axis
        tile = f"g_{self.axis}"
        return tile if self.kind == "tile" else f"⌈{self.axis}/{tile}⌉"

    def latex(self) -> str:
        r"""Returns it in LaTeX: what follows "_" in a name is its index.

        >>> Factor("size", "x_2").latex(), Factor("tiles", "y/s").latex()
        ('x_{2}', '\\lceil (y/s) / g_{y/s} \\rceil')
        """
        letter, _, index = self.axis.partition("_")
        name = f"{letter}_{{{index}}}" if index else letter
        tile, size = f"g_{{{name}}}", f"({name})" if "/" in name else name
        if self.kind == "size":
            return size
        return tile if self.kind == "tile" else rf"\lceil {size} / {tile} \rceil"


@dataclass(frozen=True)
class TrafficPolynomial:
    """A sum of products, each with a number in front and the width of its numbers in bits.

    >>> size = Factor("size", "k"), Factor("tile", "y")
    >>> amount = TrafficPolynomial.from_terms([(2, size, 32), (1, size, 32)])
    >>> str(amount), amount.numbers({"k": 4}, {"y": 3}), amount.bytes({"k": 4}, {"y": 3})
    ('3·k·g_y', 36, 144)
    """

    terms: tuple[tuple[int, tuple[Factor, ...], int], ...]

    @staticmethod
    def from_terms(terms: Iterable[tuple[int, tuple[Factor, ...], int]]) -> TrafficPolynomial:
        """Returns the sum, with equal products joined."""
        found: dict[tuple[tuple[Factor, ...], int], int] = {}
        for count, factors, bits in terms:
            key = tuple(sorted(factors, key=lambda f: (f.kind == "tiles", f.axis, f.kind))), bits
            found[key] = found.get(key, 0) + count
        return TrafficPolynomial(tuple((count, *key) for key, count in found.items()))

    def __str__(self) -> str:
        return " + ".join(
            _product(count, [f.text() for f in fs], "·") for count, fs in self._merged_products
        )

    def latex(self) -> str:
        """Returns it in LaTeX, in numbers and not in bytes."""
        every = (
            _product(count, [f.latex() for f in fs], r"\,") for count, fs in self._merged_products
        )
        return " + ".join(every)

    @property
    def _merged_products(self) -> list[tuple[int, tuple[Factor, ...]]]:
        """The products without their widths."""
        found: dict[tuple[Factor, ...], int] = {}
        for count, factors, _ in self.terms:
            found[factors] = found.get(factors, 0) + count
        return [(count, factors) for factors, count in found.items()]

    def numbers(self, sizes: Mapping[str, int], tiles: Mapping[str, int]) -> int:
        """Returns how many numbers it is."""
        return sum(count * _value(factors, sizes, tiles) for count, factors, _ in self.terms)

    def bytes(self, sizes: Mapping[str, int], tiles: Mapping[str, int]) -> int:
        """Returns how many bytes it is; a product is rounded up to whole ones."""
        return sum(
            -(-count * _value(factors, sizes, tiles) * bits // 8)
            for count, factors, bits in self.terms
        )


def _product(count: int, factors: list[str], sign: str) -> str:
    return sign.join([*([str(count)] if count != 1 or not factors else []), *factors])


def _value(factors: tuple[Factor, ...], sizes: Mapping[str, int], tiles: Mapping[str, int]) -> int:
    return prod(
        tiles[axis]
        if kind == "tile"
        else sizes[axis]
        if kind == "size"
        else -(-sizes[axis] // tiles[axis])
        for kind, axis in factors
    )


# --- The stages of a fused loop: ops run before the tiles, for each of them, or behind them


class Stage(IntEnum):
    """A stage of the work on one group of tiles."""

    BEFORE = 0
    TILE = 1
    AFTER = 2


@dataclass(frozen=True)
class WeightStream:
    """A learned array of an op, which is read from slow memory like an input.

    Args:
        id: The name of the parameter in the compiled module.
        name: Its name in the op, such as ``weight``.
        array: Its axes.
    """

    id: str
    name: str
    array: Array


@dataclass(frozen=True)
class ScheduledOp:
    """An op of the loop, with its stage and its rule for the streamed axis.

    Args:
        cell: The op at its place.
        stage: When it runs.
        rule: How it works on tiles of the streamed axis.
        weights: Its learned arrays.
        deferred_inputs: How many parts its input has that wait for the last tile; 0 for none.
        deferred_outputs: How many parts its result has that wait.
    """

    cell: Cell
    stage: Stage
    rule: TilingRule
    weights: tuple[WeightStream, ...]
    deferred_inputs: int = 0
    deferred_outputs: int = 0

    @property
    def totals(self) -> bool:
        """Whether it joins the tiles, so that its result has no streamed axis."""
        return self.stage is Stage.TILE and bool(self.rule.tile_reduction)

    @property
    def bias(self) -> WeightStream | None:
        """The learned array that is added to a product with the first one, if there is one."""
        return self.weights[1] if self.cell.op.tiles_weight and len(self.weights) > 1 else None


@dataclass(frozen=True)
class Schedule:
    """The ops of a fused loop in order, and the arrays that it reads and writes.

    Args:
        ops: The ops, in the order in which they run.
        inputs: The arrays that it reads.
        outputs: The arrays that it writes.
    """

    ops: tuple[ScheduledOp, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


def core(circuit: Circuit, grouped: str, streamed: str) -> tuple[Cell, ...]:
    """Returns the ops that take or give an array with both axes, such as the scores of attention.

    Around them the axes may have other names, and the arrays lie in slow memory. Of several such
    places the first is returned.
    """
    both = {grouped, streamed}
    touched: dict[str, set[str]] = {}  # by each op, the arrays that have both axes
    for cell in circuit.cells:
        pairs = [*zip(cell.inputs, cell.site.inputs, strict=True)]
        pairs += zip(cell.outputs, cell.site.outputs, strict=True)
        here = {value.id for value, array in pairs if both <= set(array.names)}
        if here:
            touched[cell.id] = here
    found, shared = set[str](), set[str]()
    more = set(list(touched)[:1])
    while more:
        found |= more
        shared |= {id for name in more for id in touched[name]}
        more = {name for name, own in touched.items() if own & shared} - found
    return tuple(cell for cell in circuit.cells if cell.id in found)


def schedule_ops(
    circuit: Circuit, cells: Sequence[Cell], grouped: Sequence[str], streamed: str
) -> Schedule:
    """Returns when each op runs.

    Raises:
        MismatchError: For an op that cannot be cut along these axes, with the reason.
        UnknownNameError: For an axis that no op has.
    """
    if len(cells) == len(circuit.cells) and circuit.loops:
        raise MismatchError(
            "a repetition is no single loop over tiles", cure="one of its bodies, as a term"
        )
    _check_axes(cells, (*grouped, *([streamed] if streamed else [])))
    made = {value.id for cell in cells for value in cell.outputs}
    read = _once(value for cell in cells for value in cell.inputs if value.id not in made)
    first = [value.id for value in circuit.inputs]
    inputs = tuple(sorted(read, key=lambda v: first.index(v.id) if v.id in first else len(first)))
    inside = {cell.id for cell in cells}
    wanted = {v.id for v in circuit.outputs}
    wanted |= {v.id for c in circuit.cells if c.id not in inside for v in c.inputs}
    outputs = _once(v for cell in cells for v in cell.outputs if v.id in wanted)
    walked = _Walk(grouped, streamed, inputs).scheduled_ops(cells)
    ops = tuple(sorted(walked, key=lambda op: op.stage))
    _check_outputs(ops, outputs, grouped, streamed)
    return Schedule(ops, inputs, outputs)


def _check_axes(cells: Iterable[Cell], cut: Iterable[str]) -> None:
    """Raises NCDError for an axis of two sizes, and for one to be cut that no array has.

    An axis of two dimensions is not cut either.
    """
    arrays = [array for cell in cells for array in (*cell.site.inputs, *cell.site.outputs)]
    known: dict[str, Axis] = {}
    for axis in (axis for array in arrays for axis in array):
        other = known.setdefault(axis.name, axis)
        if other.shape != axis.shape:
            raise MismatchError(
                f"the axis {axis.name} has size {other.size_text} in one array and "
                f"{axis.size_text} in another",
                where="stream",
                cure="another name for one of them",
            )
    for name in cut:
        if name not in known:
            raise unknown_name_error("axis", name, sorted(known), where="stream")
        if known[name].spatial:
            raise MismatchError(
                f"the axis {name} has {len(known[name].shape)} dimensions "
                f"({known[name].size_text}), and tiles are cut along one",
                where="stream",
                cure=f"an axis for each of them in place of {name}",
            )


def _once(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple({value.id: value for value in values}.values())


class _Walk:
    """Goes through the ops in order, and notes the stage of every array."""

    def __init__(self, grouped: Sequence[str], streamed: str, inputs: Iterable[Value]) -> None:
        self.grouped, self.streamed = grouped, streamed
        self.stages: dict[str, Stage] = {}
        self.waits: dict[str, int] = {}
        self.arrays: dict[str, Array] = {}
        for value in inputs:
            self._keep(value, Stage.TILE if streamed in value.array.names else Stage.BEFORE)

    def _keep(self, value: Value, stage: Stage, waits: int = 0) -> None:
        self.stages[value.id], self.waits[value.id] = stage, waits
        self.arrays[value.id] = value.array

    def scheduled_ops(self, cells: Iterable[Cell]) -> Iterable[ScheduledOp]:
        for cell in cells:
            self._check_names(cell)
            weights = tuple(learned_arrays(cell))
            stage = self._stage(cell, weights)
            self._check_groups(cell)
            rule, waits = TilingRule(), max((self.waits[v.id] for v in cell.inputs), default=0)
            if stage is Stage.TILE:
                rule = cell.op.tiling_rule(cell.site, self.streamed)
                self._check_waits(cell, rule)
            gives = len(rule.parts) or (0 if rule.tile_reduction else waits)
            after = Stage.AFTER if rule.tile_reduction else stage
            for value in cell.outputs:
                self._keep(value, after, 0 if rule.tile_reduction else gives)
            yield ScheduledOp(cell, stage, rule, weights, waits, gives)

    def _stage(self, cell: Cell, weights: Sequence[WeightStream]) -> Stage:
        stages = [self.stages[value.id] for value in cell.inputs]
        arrays = (*cell.site.outputs, *(w.array for w in weights if not cell.inputs))
        if self.streamed and any(self.streamed in array.names for array in arrays):
            stages.append(Stage.TILE)
        if Stage.TILE in stages and Stage.AFTER in stages:
            raise MismatchError(
                f"{cell.op.display_name} needs all tiles of {self.streamed} before it starts again "
                "with the first: that is a second pass",
                cure="two loops, one behind the other",
            )
        return max(stages, default=Stage.BEFORE)

    def _check_names(self, cell: Cell) -> None:
        cut = {*self.grouped, self.streamed}
        for value, array in zip(cell.inputs, cell.site.inputs, strict=True):
            before = self.arrays[value.id].names
            for old, new in zip(before, array.names, strict=True):
                if old != new and {old, new} & cut:
                    raise MismatchError(
                        f"the axis {old} is called {new} from {cell.op.display_name} on, and its "
                        "tiles would have to be cut in two ways",
                        cure="the part of the term in which it has one name",
                    )

    def _check_groups(self, cell: Cell) -> None:
        for name in self.grouped:
            axes = {a.name for a in (*cell.site.inputs.axes, *cell.site.outputs.axes)}
            if name not in axes:
                continue
            rule = cell.op.tiling_rule(cell.site, name)
            if rule.tile_reduction or rule.parts:
                verb = "adds up" if rule.tile_reduction == "sum" else "joins"
                raise MismatchError(
                    f"{cell.op.display_name} {verb} all of {name}, so groups of {name} are not "
                    "apart",
                    cure=f"{name} as the streamed axis",
                )

    def _check_waits(self, cell: Cell, rule: TilingRule) -> None:
        waiting = [i for i, value in enumerate(cell.inputs) if self.waits[value.id]]
        if waiting and (len(waiting) > 1 or waiting[0] not in rule.linear or rule.parts):
            raise MismatchError(
                f"{cell.op.display_name} is not linear in what an op before it only knows after "
                f"the last tile of {self.streamed}",
                cure="another streamed axis, or two loops",
            )
        if waiting and rule.tile_reduction not in ("", "sum"):
            raise MismatchError(
                f"{cell.op.display_name} cannot join tiles that are still to be scaled"
            )


def learned_arrays(cell: Cell) -> Iterator[WeightStream]:
    """Yields the learned arrays of an op, by their names in the compiled module."""
    for name, initial in cell.initial_values.items():
        if initial.is_learned:
            id = f"{cell.path}.{name}" if cell.layer is not None else cell.path
            yield WeightStream(id, name, initial.array)


def _check_outputs(
    ops: Sequence[ScheduledOp], outputs: Sequence[Value], grouped: Sequence[str], streamed: str
) -> None:
    makers = {value.id: op for op in ops for value in op.cell.outputs}
    if not outputs:
        raise UnknownNameError("nothing that the loop makes is used", cure="another axis")
    for value in outputs:
        op = makers[value.id]
        missing = [name for name in grouped if name not in value.array.names]
        if missing:
            raise MismatchError(
                f"the result ({value.array}) has no axis {missing[0]}, so its groups do not give "
                "parts of it",
                cure=f"{missing[0]} as the streamed axis",
            )
        if op.deferred_outputs and not op.rule.tile_reduction:
            raise MismatchError(
                f"the result ({value.array}) is only known after the last tile of {streamed}, when "
                "its first tiles have left the fast memory",
                cure="a sum over it in the same loop, or two loops",
            )


# --- Checks of what a fused loop is asked for


def checked_cuts(
    grouped: object, streamed: object, budget: object, formats: object
) -> tuple[str, int]:
    """Returns the streamed axis and its tile; raises NCDError for what has another form."""
    if not isinstance(grouped, Mapping):
        raise _argument_error(
            "grouped", grouped, "the size of a group for each axis", 'grouped={"y": 4}'
        )
    pair = ("", 1) if streamed is None else streamed
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise _argument_error("streamed", streamed, "an axis and a tile of it", 'streamed=("x", 4)')
    for name, size in (*grouped.items(), pair):
        if not isinstance(name, str):
            raise _argument_error("an axis", name, "text", '"x"')
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            fact = f"a tile of {name} has size {short_repr(size)}"
            raise SizeError(fact, cure=f"{name} = 1", axis=name)
    if pair[0] in grouped:
        fact = f"the axis {pair[0]} is grouped and streamed, and its tiles are cut in one way"
        raise MismatchError(fact, where="stream", cure="one of the two")
    if budget is not None:
        check_budget(budget, "stream")
    check_formats(formats, "stream")
    return pair[0], pair[1]


def check_budget(budget: object, where: str) -> None:
    """Raises SizeError for an amount of fast memory that is no whole number of bytes."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        fact = f"the budget is {short_repr(budget)}, but it is a whole number of bytes"
        raise SizeError(fact, where=where, cure="budget=100_000")


def _argument_error(name: str, value: object, form: str, cure: str) -> ParseError:
    return ParseError(f"{name} is {short_repr(value)}, but it is {form}", where="stream", cure=cure)


# --- The arrays in fast memory at each step of a fused loop: the columns of its diagram

Bits = Callable[[str], int]  # the width of the numbers of an array, by its id
Terms = list[tuple[int, tuple[Factor, ...], int]]


@dataclass(frozen=True)
class MemoryStage:
    """The arrays in fast memory while an op runs, and how many numbers they are.

    Args:
        node: The id of the op.
        resident_ids: The ids of the arrays; what an op keeps from tile to tile has the op's id.
        amount: Their numbers.
    """

    node: str
    resident_ids: tuple[str, ...]
    amount: TrafficPolynomial


@dataclass(frozen=True)
class ResidentArray:
    """An array in fast memory: from its first step to its last, its parts, and its axes."""

    id: str
    array: Array
    first_stage: int
    last_stage: int
    parts: int = 1
    bits: int = 32


def factors(array: Array, cut: Iterable[str]) -> tuple[Factor, ...]:
    """Returns the factors of a tile of an array, of which some axes are cut."""
    known = set(cut)
    return tuple(Factor("tile" if n in known else "size", n) for n in array.names)


def columns(
    schedule: Schedule, grouped: Sequence[str], streamed: str, bits: Bits
) -> list[MemoryStage]:
    """Returns the columns of a loop, one for each op.

    An array is there from the op that makes it, or the first that reads it, to the last that uses
    it. One that is the same for all tiles is read once, and stays until the last of them. An op
    that gives one number for each number that it takes writes over its input, if nothing else
    needs that.
    """
    cut = (*grouped, *([streamed] if streamed else []))
    every = _resident_arrays(schedule, streamed, bits)
    found = []
    for at, op in enumerate(schedule.ops):
        over = _overwritten_input(op, at, every)
        here = [
            h for h in every.values() if h.first_stage <= at <= h.last_stage and h.id not in over
        ]
        terms: Terms = [(h.parts, factors(h.array, cut), h.bits) for h in here]
        found.append(
            MemoryStage(op.cell.id, tuple(h.id for h in here), TrafficPolynomial.from_terms(terms))
        )
    return found


def _overwritten_input(
    op: ScheduledOp, at: int, every: Mapping[str, ResidentArray]
) -> frozenset[str]:
    """Returns the input that an op writes its result over, if it does."""
    ins, outs = op.cell.inputs, op.cell.outputs
    if len(outs) != 1 or op.rule.tile_reduction or op.cell.op.tiles_weight:
        return frozenset()
    out = every[outs[0].id]
    for value in ins:
        held = every[value.id]
        same = set(held.array.names) == set(out.array.names) and held.parts <= out.parts
        if same and held.last_stage == at:
            return frozenset({value.id})
    return frozenset()


def _resident_arrays(schedule: Schedule, streamed: str, bits: Bits) -> dict[str, ResidentArray]:
    """Returns every array, with the steps at which it is in fast memory."""
    ops = schedule.ops
    tiles = [at for at, op in enumerate(ops) if op.stage is Stage.TILE]
    uses: dict[str, list[int]] = {}
    arrays: dict[str, tuple[Array, int]] = {v.id: (v.array, 1) for v in schedule.inputs}
    makers: dict[str, int] = {}
    for at, op in enumerate(ops):
        for weight in op.weights:
            arrays[weight.id] = (weight.array, 1)
            uses.setdefault(weight.id, []).append(at)
        for value in op.cell.inputs:
            uses.setdefault(value.id, []).append(at)
        for value in op.cell.outputs:
            arrays[value.id] = (value.array, op.deferred_outputs or 1)
            makers[value.id] = at
            uses.setdefault(value.id, []).append(at)
    found = {}
    for id, (array, parts) in arrays.items():
        first, last = min(uses[id]), max(uses[id])
        found[id] = ResidentArray(id, array, first, last, parts, bits(id))
        if tiles:
            found[id] = _extend_over_tiles(found[id], ops, tiles, makers.get(id), streamed)
    for op in ops:
        found |= _states(op, tiles, ops, uses, bits)
    return found


def _extend_over_tiles(
    held: ResidentArray,
    ops: Sequence[ScheduledOp],
    tiles: Sequence[int],
    maker: int | None,
    streamed: str,
) -> ResidentArray:
    """Returns an array with the ops of the tiles added for which it stays.

    ``maker`` is the op that makes it; None if it comes from slow memory.
    """
    first, last = min(held.first_stage, tiles[0]), max(held.last_stage, tiles[-1])
    if maker is not None and ops[maker].totals:  # it grows from the first tile to the last
        return replace(
            held, first_stage=tiles[0], last_stage=last, parts=ops[maker].deferred_inputs or 1
        )
    used = any(held.first_stage <= at <= held.last_stage for at in tiles)
    if not used or (maker in tiles if maker is not None else streamed in held.array.names):
        return held
    return replace(held, first_stage=first, last_stage=last)


def _states(
    op: ScheduledOp,
    tiles: Sequence[int],
    ops: Sequence[ScheduledOp],
    uses: Mapping[str, Sequence[int]],
    bits: Bits,
) -> dict[str, ResidentArray]:
    """Returns the numbers that an op keeps from tile to tile, until what waits for them is done."""
    own = {axis.name for axis in op.cell.site.own_inputs.axes}
    (value, *_) = op.cell.outputs
    rest = Array(axis for axis in value.array if axis.name not in own)
    last = max([tiles[-1], *uses[value.id]]) if tiles else 0
    return {
        f"{op.cell.id}.{state.name}": ResidentArray(
            f"{op.cell.id}.{state.name}", rest, tiles[0], last, 1, bits(value.id)
        )
        for state in op.rule.statistics
    }


# --- A fused loop over tiles: the bytes that it moves, and the fast memory that it needs

INTEGER_BITS = 64  # bits of a whole number
NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Transfer:
    """An array that is read from slow memory or written to it.

    Args:
        id: The id of the array, or the name of the parameter.
        array: Its axes.
        kind: ``"read"`` or ``"write"``.
        amount: How many numbers move in all: an array is read once for every group that it is
            not cut by.
    """

    id: str
    array: Array
    kind: str
    amount: TrafficPolynomial


@dataclass(frozen=True)
class Stream:
    """A fused loop of a term over groups of some axes and tiles of one.

    Args:
        circuit: The circuit of the term.
        schedule: Its ops in order, with their stages.
        grouped_axes: The axes that are cut into groups, each done by itself.
        streamed_axis: The axis whose tiles come one after the other; empty for none.
        tiles: The size of a tile of each of these axes.
        formats: The formats in which bytes are counted.

    Source: Abbott and Zardini 2024, *FlashAttention on a Napkin* (arXiv 2412.03317): the transfer
    cost H and the memory M of a diagram with grouped and streamed axes.

    >>> from ncd.ops import Einsum
    >>> product = Einsum("a:64 b:64, b:64 c:64 -> a c")
    >>> loop = stream(product, {"a": 8, "c": 8}, ("b", 1))
    >>> str(loop.moved_numbers), loop.bytes_moved, loop.fast_bytes
    ('a·b·⌈c/g_c⌉ + b·c·⌈a/g_a⌉ + a·c', 278528, 320)
    """

    circuit: Circuit = field(repr=False)
    schedule: Schedule = field(repr=False)
    grouped_axes: tuple[str, ...]
    streamed_axis: str
    tiles: Mapping[str, int] = field(hash=False)
    formats: Formats = FLOAT32

    @property
    def sizes(self) -> dict[str, int]:
        """The size of every axis of the loop."""
        arrays = [
            a
            for op in self.schedule.ops
            for t in (op.cell.site.inputs, op.cell.site.outputs)
            for a in t
        ]
        arrays += [weight.array for op in self.schedule.ops for weight in op.weights]
        return {axis.name: axis.numel for array in arrays for axis in array}

    def bits(self, id: str) -> int:
        """Returns the width of the numbers of an array or a parameter."""
        if any(weight.id == id for op in self.schedule.ops for weight in op.weights):
            return BITS[self.formats.weights]
        value = self.circuit.values.get(id)
        if value is not None and value.array.below is not None:
            return INTEGER_BITS
        maker = self.circuit.producers.get(id)
        return BITS[self.formats.activation_format(maker.path if maker else "")]

    @property
    def moves(self) -> tuple[Transfer, ...]:
        """Every array that is read or written."""
        weights = {w.id: w.array for op in self.schedule.ops for w in op.weights}
        reads = {**{v.id: v.array for v in self.schedule.inputs}, **weights}
        found = [
            Transfer(id, array, "read", self._array_traffic(id, array))
            for id, array in reads.items()
        ]
        for v in self.schedule.outputs:
            found.append(Transfer(v.id, v.array, "write", self._array_traffic(v.id, v.array)))
        return tuple(found)

    def _array_traffic(self, id: str, array: Array) -> TrafficPolynomial:
        whole = tuple(Factor("size", name) for name in array.names)
        again = tuple(
            Factor("tiles", name) for name in self.grouped_axes if name not in array.names
        )
        return TrafficPolynomial.from_terms([(1, (*whole, *again), self.bits(id))])

    @property
    def moved_numbers(self) -> TrafficPolynomial:
        """H: the numbers that move between slow and fast memory."""
        return TrafficPolynomial.from_terms(
            term for move in self.moves for term in move.amount.terms
        )

    @property
    def bytes_moved(self) -> int:
        """H in bytes."""
        return self.moved_numbers.bytes(self.sizes, self.tiles)

    @property
    def columns(self) -> list[MemoryStage]:
        """The arrays in fast memory while each op runs."""
        return columns(self.schedule, self.grouped_axes, self.streamed_axis, self.bits)

    @property
    def widest(self) -> MemoryStage:
        """The op that needs most fast memory."""
        return max(self.columns, key=lambda c: c.amount.bytes(self.sizes, self.tiles))

    @property
    def fast(self) -> TrafficPolynomial:
        """M: the numbers in fast memory where it is fullest."""
        return self.widest.amount

    @property
    def fast_bytes(self) -> int:
        """M in bytes."""
        return self.fast.bytes(self.sizes, self.tiles)

    def fitting(self, budget: int) -> dict[str, int] | None:
        """Returns the tiles that fit in so many bytes of fast memory and move least.

        All groups have one size; sizes are powers of two, or those of whole axes. ``None`` if
        nothing fits, or no axis is cut. Raises SizeError for a budget that is no whole number.

        >>> from ncd.ops import Einsum
        >>> stream(Einsum("a:64 b:64, b:64 c:64 -> a c"), {"a": 8, "c": 8}, ("b", 1)).fitting(4096)
        {'a': 16, 'c': 16, 'b': 16}
        """
        check_budget(budget, "fitting")
        sizes, moved = self.sizes, self.moved_numbers
        kept = [column.amount for column in self.columns]
        most = max((sizes[name] for name in self.tiles), default=1)
        powers = [1 << n for n in range(most.bit_length() + 1)]
        best: tuple[int, int, dict[str, int]] | None = None
        for group, tile in product(powers, powers) if self.tiles else ():
            asked = {name: group if name in self.grouped_axes else tile for name in self.tiles}
            tiles = {name: min(size, sizes[name]) for name, size in asked.items()}
            if max(amount.bytes(sizes, tiles) for amount in kept) > budget:
                continue
            rank = moved.bytes(sizes, tiles), -prod(tiles.values())
            if best is None or rank < best[:2]:
                best = (*rank, tiles)
        return best[2] if best else None

    @property
    def alone(self) -> list[tuple[str, int, int]]:
        """The name of each op that computes, its operations, and the bytes it moves by itself."""
        costs = {op.node: op.flops for op in cost_of(self.circuit).ops}
        found = []
        for op in self.schedule.ops:
            if op.cell.passes_arrays_on:
                continue
            arrays = [(v.id, v.array) for v in (*op.cell.inputs, *op.cell.outputs)]
            arrays += [(weight.id, weight.array) for weight in op.weights]
            moved = sum(-(-array.numel * self.bits(id) // 8) for id, array in arrays)
            found.append((op.cell.op.display_name, costs[op.cell.id], moved))
        return found

    @property
    def apart_bytes(self) -> int:
        """The bytes that move if every op reads its inputs and writes its results by itself."""
        return sum(moved for _, _, moved in self.alone)

    @property
    def flops(self) -> int:
        """The operations of its ops, with those that every group repeats."""
        costs = {op.node: op.flops for op in cost_of(self.circuit).ops}
        return sum(
            costs[op.cell.id] * self._repeat_count(op.cell.site.inputs.axes)
            for op in self.schedule.ops
        )

    def _repeat_count(self, axes: tuple[object, ...]) -> int:
        names = {getattr(axis, "name", "") for axis in axes}
        sizes = self.sizes
        return prod(
            -(-sizes[name] // self.tiles[name])
            for name in self.grouped_axes
            if names and name not in names
        )


def stream(
    term: Term,
    grouped: Mapping[str, int] = NONE,
    streamed: tuple[str, int] | None = None,
    *,
    budget: int | None = None,
    formats: Formats | None = None,
    around: bool = True,
) -> Stream:
    """Returns a term as one loop over tiles, with what it moves and what it keeps.

    Args:
        term: The term, with sizes.
        grouped: The size of a group for each axis that is cut into groups.
        streamed: The axis whose tiles come one after the other, and the size of a tile.
        budget: How many bytes of fast memory there are; unlimited if left out.
        formats: The number formats; float32 by default.
        around: Whether all ops are in the loop; else only those that take or give an array with
            the first grouped axis and the streamed one, such as the scores of attention.

    Raises:
        MismatchError: For an op that cannot be cut in this way, with the reason, and for an axis of
            two dimensions or one that is grouped and streamed.
        SizeError: For an axis without a size, a tile of no size, or a budget that is no number.
        ParseError: For ``grouped``, ``streamed`` or ``formats`` of another form.
        UnknownNameError: For an axis that the term lacks.
        LimitError: If the loop needs more fast memory than the budget.

    Source: Abbott and Zardini 2024, *FlashAttention on a Napkin*; Dao et al. 2022,
    "FlashAttention", algorithm 1.

    >>> from ncd.ops import Einsum
    >>> stream(Einsum("a:64 b:64, b:64 c:64 -> a c"), {"a": 8, "c": 8}, ("b", 4)).bytes_moved
    278528
    """
    check_term(term, "stream")
    circuit = elaborate(term)
    require_sizes(circuit)
    check_flag(around, "around", "stream")
    axis, tile = checked_cuts(grouped, streamed, budget, formats)
    given = {**grouped, **({axis: tile} if axis else {})}
    cells = circuit.cells if around or not grouped else core(circuit, next(iter(grouped)), axis)
    schedule = schedule_ops(circuit, cells, tuple(grouped), axis)
    plan = Stream(circuit, schedule, tuple(grouped), axis, given, formats or FLOAT32)
    sizes = plan.sizes
    fitted = {name: min(size, sizes[name]) for name, size in given.items()}
    plan = Stream(circuit, schedule, tuple(grouped), axis, fitted, formats or FLOAT32)
    if budget is not None and plan.fast_bytes > budget:
        raise too_large(plan, budget, plan.fitting(budget))
    return plan


def too_large(plan: Stream, budget: int, tiles: Mapping[str, int] | None) -> LimitError:
    """Returns the refusal of a loop that needs more fast memory than there is.

    ``tiles`` are those that fit, if there are any.
    """
    where = plan.circuit.cell(plan.widest.node).op.display_name
    fact = (
        f"the loop needs {plan.fast_bytes:,} bytes of fast memory at {where} "
        f"({plan.fast} numbers), and there are {budget:,}"
    )
    cure = ", ".join(f"{name} = {size}" for name, size in tiles.items()) if tiles else ""
    if not cure:
        cure = "more fast memory" if plan.tiles else "tiles of an axis"
    return LimitError(fact, cure=cure)
