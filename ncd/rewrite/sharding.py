"""Shards a term over devices: which part of each array a device holds, and what it sends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.errors import (
    MismatchError,
    NCDError,
    ParseError,
    SizeError,
    short_repr,
    unknown_name_error,
)
from ncd.language.arguments import check_names, check_term
from ncd.language.axes import Array
from ncd.language.op import TilingRule
from ncd.language.terms import Term
from ncd.language.torch_code import Arg
from ncd.rewrite.tile_schedule import ScheduledOp, Stage, WeightStream, learned_arrays

Collective = Literal["all-gather", "all-reduce", "reduce-scatter"]
ROUNDS: Mapping[Collective, int] = {"all-gather": 1, "all-reduce": 2, "reduce-scatter": 1}
PASS = TilingRule()


@dataclass(frozen=True)
class Message:
    """A collective operation: every device sends parts of an array to the others.

    Args:
        collective: Its name in MPI and NCCL.
        array: The whole array that the devices hold afterwards, or hold in parts.
        id: The id of that array, or of a number that an op needs of all devices, such as ``n5.m``.
        axis: The axis along which its parts lie; empty for an all-reduce.

    Source: Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
    workstations", theorem 1: a ring sends each number n - 1 times to gather or to scatter it.

    >>> from ncd import Array
    >>> Message("all-reduce", Array.parse("t:4 m:8"), "v3").numbers_sent(4)
    192
    """

    collective: Collective
    array: Array
    id: str
    axis: str = ""

    def numbers_sent(self, devices: int) -> int:
        """Returns how many numbers all devices together send in a ring."""
        return ROUNDS[self.collective] * (devices - 1) * self.array.numel


@dataclass(frozen=True)
class ShardedOp:
    """An op as every device runs it.

    Args:
        op: The op, with its weights and its rule for a part of the axis.
        axis: The axis of which each device has a part here; empty if each runs all of it.
        new_axis: The axis of the result of which each device has a part then; empty if none is.
        gathers: The inputs that are put together first, and are whole here.
        messages: What is sent before the op, in it, and behind it.
    """

    op: ScheduledOp
    axis: str = ""
    new_axis: str = ""
    gathers: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Sharding:
    """A term on several devices, each with a part of the sharded axes.

    Args:
        circuit: The circuit of the term.
        axes: The names of the sharded axes.
        devices: The number of devices.
        ops: The ops in order, as each device runs them.
        shards: The place of the sharded axis in each array, by its id; an array that is not there
            is whole on every device.

    Source: Shoeybi et al. 2019, "Megatron-LM", section 3, for heads and hidden features; Shazeer
    et al. 2018, "Mesh-TensorFlow", for axes by their names.

    >>> from ncd import Axes, Linear
    >>> layer = Axes(t=4, m=8, d=32)(Linear("m -> d", "up") >> Linear("d -> m", "down"))
    >>> plan = shard(layer, ["d"], 4)
    >>> [(message.collective, str(message.array)) for message in plan.messages]
    [('all-reduce', 'm')]
    >>> plan.weights_held, plan.numbers_sent
    (128, 48)
    """

    circuit: Circuit = field(repr=False)
    axes: tuple[str, ...]
    devices: int
    ops: tuple[ShardedOp, ...] = field(repr=False)
    shards: Mapping[str, int] = field(repr=False, hash=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in the order in which they are sent."""
        return tuple(chain.from_iterable(one.messages for one in self.ops))

    @property
    def numbers_sent(self) -> int:
        """The numbers that all devices together send in one pass."""
        return sum(message.numbers_sent(self.devices) for message in self.messages)

    @property
    def weights_held(self) -> int:
        """The number of weights that one device holds."""
        held = {
            weight.id: self._share(weight.array.numel, one.axis in weight.array.names)
            for one in self.ops
            for weight in one.op.weights
        }
        return sum(held.values())

    @property
    def arrays_held(self) -> int:
        """The numbers that one device holds of all arrays: the inputs, and what each op gives."""
        return sum(
            self._share(value.array.numel, value.id in self.shards)
            for value in self.circuit.values.values()
        )

    @property
    def flops(self) -> int:
        """The floating-point operations of one device."""
        return sum(self._share(one.op.cell.flops, bool(one.axis)) for one in self.ops)

    def shard_axis(self, value: Value) -> str:
        """Returns the axis of an array of which each device holds a part; empty for none."""
        place = self.shards.get(value.id)
        return "" if place is None else value.array.names[place]

    def _share(self, count: int, is_sharded: bool) -> int:
        return count // self.devices if is_sharded else count


def shard(term: Term, axes: Collection[str], devices: int) -> Sharding:
    """Returns a term on several devices, each of which holds a part of some axes.

    An op that only passes over such an axis runs on each part alone. One that sums over it is
    joined by an all-reduce, softmax and the norms send the numbers that they need of all parts, and
    an op that cannot be cut gets its inputs by an all-gather. Where an array has several of the
    axes, the parts are those of one of them.

    Args:
        term: The term, with sizes and without repetitions.
        axes: The names of the axes to shard: heads and hidden features for tensor parallelism, the
            batch for data parallelism, positions for sequence parallelism.
        devices: The number of devices, which divides the size of each of these axes.

    Raises:
        UnknownNameError: For an axis that the term lacks.
        SizeError: For a size that the devices do not divide, and for an axis without a size.
        MismatchError: For an axis of two dimensions, and for a repetition.
        ParseError: For axes or devices of another form.

    Source: Shoeybi et al. 2019, "Megatron-LM", section 3; Li et al. 2020, "PyTorch Distributed",
    for data parallelism.

    >>> from ncd import Axes, Id, Softmax
    >>> plan = shard(Axes(y=2, x=6)(Id("y x") >> Softmax("x")), ["x"], 3)
    >>> [(message.collective, message.id, str(message.array)) for message in plan.messages]
    [('all-reduce', 'n0.m', 'y'), ('all-reduce', 'n0.s', 'y')]
    """
    check_term(term, "shard")
    circuit = elaborate(term)
    require_sizes(circuit)
    _check_arguments(circuit, axes, devices)
    if circuit.loops:
        raise MismatchError(
            "a repetition is not sharded as one", where="shard", cure="one of its bodies, as a term"
        )
    walk = _ShardWalk(tuple(axes), devices)
    for value in circuit.inputs:
        walk.begin(value)
    ops = tuple([walk.sharded_op(cell) for cell in circuit.cells])
    return Sharding(circuit, tuple(axes), devices, ops, walk.shards)


def _check_arguments(circuit: Circuit, axes: Collection[str], devices: object) -> None:
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
        fact = f"the number of devices is {short_repr(devices)}"
        raise ParseError(fact, where="shard", cure="devices=4")
    check_names(axes, "axes", "shard", "several names", "h")
    known = {axis.name: axis for axis in circuit.axes}
    for name in axes:
        if name not in known:
            raise unknown_name_error("axis", name, sorted(known), where="shard")
        if known[name].spatial:
            fact = f"the axis {name} has several dimensions, and devices hold parts of one"
            raise MismatchError(fact, where="shard", cure=f"an axis for each of them, not {name}")
        if known[name].numel % devices:
            fact = f"{devices} devices do not divide {name} = {known[name].numel}"
            size = devices * max(1, known[name].numel // devices)
            raise SizeError(fact, where="shard", cure=f"{name} = {size}", axis=name)


def passed_inputs(cell: Cell) -> list[int]:
    """Returns for each output of an op that passes arrays on which of its inputs it is."""
    return [expr.index for expr in cell.expressions if isinstance(expr, Arg)]


class _ShardWalk:
    """Goes through the ops in order, and notes which part of each array a device holds."""

    def __init__(self, axes: tuple[str, ...], devices: int) -> None:
        self.axes, self.devices = axes, devices
        self.shards: dict[str, int] = {}

    def begin(self, value: Value, axes: Iterable[str] = ()) -> None:
        """Notes that each device holds a part of an array, if it has one of the axes."""
        names = value.array.names
        for axis in (*axes, *self.axes):
            if axis in names:
                self.shards[value.id] = names.index(axis)
                return

    def sharded_op(self, cell: Cell) -> ShardedOp:
        if cell.passes_arrays_on:
            return self._pass_arrays_on(cell)
        weights = tuple(learned_arrays(cell))
        axis, new_axis, rule = self._axis(cell, weights)
        gathers = tuple(self._inputs_to_gather(cell, axis))
        messages = [
            Message("all-gather", cell.site.inputs[i], cell.inputs[i].id, self._name(cell, i))
            for i in gathers
        ]
        if axis:
            messages += self._statistics(cell, rule)
        for value, array in zip(cell.outputs, cell.site.outputs, strict=True):
            if not (axis and rule.tile_reduction):
                self.begin(value, [new_axis] if new_axis else [])
                continue
            self.begin(value)
            place = self.shards.get(value.id)
            if place is None:
                messages.append(Message("all-reduce", array, value.id))
            else:
                messages.append(Message("reduce-scatter", array, value.id, array.names[place]))
        op = ScheduledOp(cell, Stage.TILE if axis else Stage.BEFORE, rule, weights)
        return ShardedOp(op, axis, new_axis, gathers, tuple(messages))

    def _pass_arrays_on(self, cell: Cell) -> ShardedOp:
        """Notes that each output is held like the input that it is, whatever the others are."""
        for value, i in zip(cell.outputs, passed_inputs(cell), strict=True):
            if cell.inputs[i].id in self.shards:
                self.shards[value.id] = self.shards[cell.inputs[i].id]
        return ShardedOp(ScheduledOp(cell, Stage.BEFORE, PASS, ()))

    def _axis(self, cell: Cell, weights: Sequence[WeightStream]) -> tuple[str, str, TilingRule]:
        """Returns the axis that an op is cut along, that of its result, and how it is cut."""
        arrays = (*cell.site.inputs, *cell.site.outputs, *(weight.array for weight in weights))
        held = [self._name(cell, i) for i in range(len(cell.inputs))]
        wanted = [name for name in self.axes if any(name in array.names for array in arrays)]
        for axis in dict.fromkeys([*filter(None, held), *wanted]):
            new = cell.op.continued_axis(cell.site, axis)
            if new and cell.site.size(new) % self.devices == 0:
                return axis, new, PASS
            with suppress(NCDError):
                return axis, axis, cell.op.tiling_rule(cell.site, axis)
        return "", "", PASS

    def _name(self, cell: Cell, i: int) -> str:
        """Returns what the sharded axis of an input is called at an op; empty if it is whole."""
        place = self.shards.get(cell.inputs[i].id)
        return "" if place is None else cell.site.inputs[i].names[place]

    def _inputs_to_gather(self, cell: Cell, axis: str) -> Iterator[int]:
        for i in range(len(cell.inputs)):
            if self._name(cell, i) not in ("", axis):
                yield i

    def _statistics(self, cell: Cell, rule: TilingRule) -> Iterator[Message]:
        """Yields the numbers that an op needs of all parts, for every place that it passes over."""
        for state in rule.statistics:
            yield Message("all-reduce", cell.site.broadcast_axes, f"{cell.id}.{state.name}")
