"""The stages of a fused loop: ops run before the tiles, for each of them, or behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ncd.lang.circuits.circuit import Cell, Circuit, Value
from ncd.lang.errors import MismatchError, UnknownNameError, unknown
from ncd.lang.terms.streaming import Streamed
from ncd.lang.types.axes import Array, Axis


class Stage(IntEnum):
    """A stage of the work on one group of tiles."""

    BEFORE = 0
    TILE = 1
    AFTER = 2


@dataclass(frozen=True)
class Weight:
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
class Planned:
    """An op of the loop, with its stage and its rule for the streamed axis.

    Args:
        cell: The op at its place.
        stage: When it runs.
        rule: How it works on tiles of the streamed axis.
        weights: Its learned arrays.
        waits: How many parts its input has that wait for the last tile; 0 for none.
        gives: How many parts its result has that wait.
    """

    cell: Cell
    stage: Stage
    rule: Streamed
    weights: tuple[Weight, ...]
    waits: int = 0
    gives: int = 0

    @property
    def totals(self) -> bool:
        """Whether it joins the tiles, so that its result has no streamed axis."""
        return self.stage is Stage.TILE and bool(self.rule.merge)


@dataclass(frozen=True)
class Schedule:
    """The ops of a fused loop in order, and the arrays that it reads and writes.

    Args:
        ops: The ops, in the order in which they run.
        inputs: The arrays that it reads.
        outputs: The arrays that it writes.
    """

    ops: tuple[Planned, ...]
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
        pairs = [*zip(cell.inputs, cell.site.ins, strict=True)]
        pairs += zip(cell.outputs, cell.site.outs, strict=True)
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


def scheduled(
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
    walked = _Walk(grouped, streamed, inputs).planned(cells)
    ops = tuple(sorted(walked, key=lambda op: op.stage))
    _check_outputs(ops, outputs, grouped, streamed)
    return Schedule(ops, inputs, outputs)


def _check_axes(cells: Iterable[Cell], cut: Iterable[str]) -> None:
    """Raises NCDError for an axis of two sizes, and for one to be cut that no array has.

    An axis of two dimensions is not cut either.
    """
    arrays = [array for cell in cells for array in (*cell.site.ins, *cell.site.outs)]
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
            raise unknown("axis", name, sorted(known), where="stream")
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

    def planned(self, cells: Iterable[Cell]) -> Iterable[Planned]:
        for cell in cells:
            self._check_names(cell)
            weights = tuple(_weights(cell))
            stage = self._stage(cell, weights)
            self._check_groups(cell)
            rule, waits = Streamed(), max((self.waits[v.id] for v in cell.inputs), default=0)
            if stage is Stage.TILE:
                rule = cell.op.streamed(cell.site, self.streamed)
                self._check_waits(cell, rule)
            gives = len(rule.parts) or (0 if rule.merge else waits)
            after = Stage.AFTER if rule.merge else stage
            for value in cell.outputs:
                self._keep(value, after, 0 if rule.merge else gives)
            yield Planned(cell, stage, rule, weights, waits, gives)

    def _stage(self, cell: Cell, weights: Sequence[Weight]) -> Stage:
        stages = [self.stages[value.id] for value in cell.inputs]
        arrays = (*cell.site.outs, *(w.array for w in weights if not cell.inputs))
        if self.streamed and any(self.streamed in array.names for array in arrays):
            stages.append(Stage.TILE)
        if Stage.TILE in stages and Stage.AFTER in stages:
            raise MismatchError(
                f"{cell.op.label} needs all tiles of {self.streamed} before it starts again with "
                "the first: that is a second pass",
                cure="two loops, one behind the other",
            )
        return max(stages, default=Stage.BEFORE)

    def _check_names(self, cell: Cell) -> None:
        cut = {*self.grouped, self.streamed}
        for value, array in zip(cell.inputs, cell.site.ins, strict=True):
            before = self.arrays[value.id].names
            for old, new in zip(before, array.names, strict=True):
                if old != new and {old, new} & cut:
                    raise MismatchError(
                        f"the axis {old} is called {new} from {cell.op.label} on, and its tiles "
                        "would have to be cut in two ways",
                        cure="the part of the term in which it has one name",
                    )

    def _check_groups(self, cell: Cell) -> None:
        for name in self.grouped:
            axes = {a.name for a in (*cell.site.ins.axes, *cell.site.outs.axes)}
            if name not in axes:
                continue
            rule = cell.op.streamed(cell.site, name)
            if rule.merge or rule.parts:
                verb = "adds up" if rule.merge == "sum" else "joins"
                raise MismatchError(
                    f"{cell.op.label} {verb} all of {name}, so groups of {name} are not apart",
                    cure=f"{name} as the streamed axis",
                )

    def _check_waits(self, cell: Cell, rule: Streamed) -> None:
        waiting = [i for i, value in enumerate(cell.inputs) if self.waits[value.id]]
        if waiting and (len(waiting) > 1 or waiting[0] not in rule.linear or rule.parts):
            raise MismatchError(
                f"{cell.op.label} is not linear in what an op before it only knows after the last "
                f"tile of {self.streamed}",
                cure="another streamed axis, or two loops",
            )
        if waiting and rule.merge not in ("", "sum"):
            raise MismatchError(f"{cell.op.label} cannot join tiles that are still to be scaled")


def _weights(cell: Cell) -> Iterable[Weight]:
    for name, initial in cell.initial.items():
        if initial.learned:
            id = f"{cell.path}.{name}" if cell.layer is not None else cell.path
            yield Weight(id, name, initial.array)


def _check_outputs(
    ops: Sequence[Planned], outputs: Sequence[Value], grouped: Sequence[str], streamed: str
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
        if op.gives and not op.rule.merge:
            raise MismatchError(
                f"the result ({value.array}) is only known after the last tile of {streamed}, when "
                "its first tiles have left the fast memory",
                cure="a sum over it in the same loop, or two loops",
            )
