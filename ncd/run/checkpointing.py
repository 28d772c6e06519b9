"""The arrays saved for the backward pass, and which to recompute for a budget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from ncd.circuit.circuit import Cell, Circuit, Loop, RepeatLoop, Value
from ncd.circuit.costs import INTEGER_BYTES, in_bytes
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.errors import LimitError, short_repr
from ncd.language.arguments import check_formats, check_names, check_term, positive
from ncd.language.axes import Array, Axis
from ncd.language.number_formats import Formats
from ncd.language.terms import Term
from ncd.run.module import CircuitModule, with_recompute
from ncd.run.program import path, segments
from ncd.run.run_memory import blank_run, meta_inputs, scalar_of_outputs

# --- The arrays that are saved for the backward pass: stated without a run, or measured


@dataclass(frozen=True)
class SavedArray:
    """An array that the backward pass needs.

    Args:
        node: The id of the first op that needs it.
        array: The id of the array in the circuit; empty for what the op keeps for itself, such as
            the deviations of a norm.
        shape: Its sizes.
        formula: Its size as a product of axes, such as ``y·m``.
        bytes: Its bytes, in the format of the array.

    Source: ``torch.autograd.graph.saved_tensors_hooks``.

    >>> import ncd
    >>> ncd.saved(ncd.Softmax("x:3")).arrays
    (SavedArray(node='n0', array='v1', shape=(3,), formula='x', bytes=12),)
    """

    node: str
    array: str
    shape: tuple[int, ...]
    formula: str
    bytes: int


@dataclass(frozen=True)
class Saved:
    """The arrays that wait between the forward and the backward pass.

    Args:
        arrays: Each array once, in the order in which they are saved; weights are left out, as they
            stay anyway.
        flops: The FLOPs of the ops that are calculated again, at most: torch stops as soon as it
            has what it needs.

    Source: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174.

    >>> import ncd
    >>> kept: Saved = ncd.saved(ncd.Softmax("x:3"))
    >>> kept.bytes, kept.flops
    (12, 0)
    """

    arrays: tuple[SavedArray, ...]
    flops: int = 0

    @property
    def bytes(self) -> int:
        """The bytes of all arrays together."""
        return sum(one.bytes for one in self.arrays)


def saved(term: Term, recompute: Collection[str] = (), formats: Formats | None = None) -> Saved:
    """Returns the arrays that a run saves for its backward pass, without running it.

    They follow from torch's rules for each function, on arrays without numbers. Attention counts
    as it is drawn, with its scores; fused attention saves less.

    Args:
        term: The term, with sizes.
        recompute: Ids or titles of blocks that are calculated again, as in :func:`ncd.compile`.
        formats: The number formats in which bytes are counted; float32 by default.

    Returns:
        A :class:`Saved`.

    Raises:
        SizeError: For an axis without a size.
        UnknownNameError: If ``recompute`` names no block.
        ParseError: For ``recompute`` or ``formats`` of another kind.

    Source: ``torch.autograd.graph.saved_tensors_hooks``, ``torch.utils.checkpoint``.

    >>> import ncd
    >>> term = ncd.catalogue["gpt-2"].build()
    >>> ncd.saved(term).bytes > ncd.saved(term, recompute=["Feed-Forward"]).bytes
    True
    """
    check_term(term, "saved")
    check_formats(formats, "saved")
    check_names(recompute, "recompute", "saved", "several ids and titles", "f1")
    require_sizes(elaborate(term))
    return _predict_saved(term, tuple(recompute), formats or Formats())


@lru_cache(maxsize=256)
def _predict_saved(term: Term, recompute: tuple[str, ...], formats: Formats) -> Saved:
    circuit = elaborate(term)
    again = {id for segment in segments(circuit, recompute) for id in segment}
    module = with_recompute(CircuitModule(circuit, seed=None), recompute)
    with blank_run():
        found = _WatchedRun(module, formats)
        arrays = found.run(meta_inputs(module))
    scans = (loop for loop in circuit.loops if loop.id in again)
    again |= {cell.id for loop in scans for body in loop.bodies for cell in body.cells}
    cells = (cell for cell in circuit.cells if cell.id in again)
    return Saved(arrays, sum(cell.flops for cell in cells))


def training_flops(term: Term) -> int:
    """Returns the FLOPs of a forward and a backward pass, without numbers.

    The forward ones are those of :func:`ncd.cost`; torch's counter gives the backward ones.
    """
    module = CircuitModule(elaborate(term), seed=None)
    with blank_run(), FlopCounterMode(display=False) as counted:
        total = scalar_of_outputs(
            module.execute(meta_inputs(module), watch=lambda cell, given, made: None)
        )
        forward = counted.get_total_flops()
        if total.requires_grad:
            total.backward()
        back = counted.get_total_flops() - forward
    return sum(cell.flops for cell in module.circuit.cells) + back


def measured_saved(module: CircuitModule, inputs: tuple[Tensor, ...]) -> Saved:
    """Runs a module forward; returns what it really saved for the backward pass."""
    given = tuple(x.detach().requires_grad_(x.is_floating_point()) for x in inputs)
    return Saved(_WatchedRun(module, Formats()).run(given))


class _WatchedRun:
    """A run that is watched for what it saves."""

    def __init__(self, module: CircuitModule, formats: Formats) -> None:
        self.module, self.formats = module, formats
        self.new: list[Tensor] = []  # saved since the last step
        self.alive: list[Tensor] = []  # so that no address is used twice
        self.values: dict[int, str] = {}  # the array in each storage
        self.first: dict[int, tuple[Cell | None, Tensor]] = {}

    def run(self, inputs: tuple[Tensor, ...]) -> tuple[SavedArray, ...]:
        circuit, module = self.module.circuit, self.module
        weights = {_key(x) for x in (*module.parameters(), *module.buffers())}
        for value, x in zip(circuit.inputs, inputs, strict=True):
            self._call(value.id, x)
        with torch.enable_grad(), saved_tensors_hooks(self._pack, lambda x: x):
            outputs = module.execute(inputs, watch=self._watch)
        self._take(None)
        found = [
            self._array(circuit, key, *pair)
            for key, pair in self.first.items()
            if key not in weights
        ]
        del outputs
        return tuple(found)

    def _call(self, id: str, x: Tensor) -> None:
        self.values.setdefault(_key(x), id)
        self.alive.append(x)

    def _pack(self, x: Tensor) -> Tensor:
        self.new.append(x)
        self.alive.append(x)
        return x

    def _watch(self, cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]) -> None:
        for value, x in zip(cell.outputs, made, strict=True):
            self._call(value.id, x)
        self._take(cell)

    def _take(self, cell: Cell | None) -> None:
        for x in self.new:
            if x.untyped_storage().nbytes():
                self.first.setdefault(_key(x), (cell, x))
        self.new.clear()

    def _array(self, circuit: Circuit, key: int, cell: Cell | None, x: Tensor) -> SavedArray:
        id, bytes = self.values.get(key, ""), x.untyped_storage().nbytes()
        if x.is_floating_point():
            name = self.formats.activation_format(cell.path if cell else "")
            bytes = in_bytes(bytes // x.element_size(), name)
        value = circuit.values.get(id)
        if value is not None:
            shape, formula = value.array.shape, _formula(value.array)
            if prod(shape) * x.element_size() == x.untyped_storage().nbytes():
                return SavedArray(cell.id if cell else "", id, shape, formula, bytes)
        shape = tuple(map(int, x.shape))
        axes = [axis for v in (*cell.inputs, *cell.outputs) for axis in v.array] if cell else []
        return SavedArray(cell.id if cell else "", id, shape, _named_shape(shape, axes), bytes)


def _key(x: Tensor) -> int:
    found: int = x.untyped_storage()._cdata
    return found


def _formula(array: Array) -> str:
    return "·".join(axis.name for axis in array) or "1"


def _named_shape(shape: tuple[int, ...], axes: list[Axis]) -> str:
    """Returns sizes as names of axes where only one axis has the size, else as numbers.

    A size that occurs twice is a number too: the two may be of different axes.

    >>> axes = [Axis("b", 1), Axis("y", 4), Axis("x", 4), Axis("m", 3)]
    >>> [_named_shape(shape, axes) for shape in ((1, 3, 4), (3, 3, 2), (1, 1))]
    ['m·4', '3·3·2', '1']
    """
    names: dict[int, set[str]] = {}
    for axis in axes:
        names.setdefault(axis.numel, set()).add(axis.name)
    parts = []
    for size in shape:
        known = names.get(size, set())
        named = len(known) == 1 and size > 1 and shape.count(size) == 1
        parts.append(min(known) if named else str(size))
    return "·".join(part for part in parts if part != "1") or "1"


# --- Choices of layers to save and to calculate again, so that the saved bytes fit a budget

MAX_CHAIN_CHOICES = (
    300  # the choices for the rest of a chain that are followed; of more, every second or third
)


@dataclass(frozen=True)
class Checkpoints:
    """The layers of a term that are calculated again, and what that takes.

    Args:
        recompute: Layers and groups of layers, for :func:`ncd.compile`; the others are saved.
        bytes: The most bytes saved at one time: between the passes, or while a group is calculated
            again, with all that was saved before it.
        flops: The FLOPs of what is calculated again, at most.
        bytes_between_passes: The bytes saved between the forward and the backward pass.

    Source: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174.

    >>> import ncd
    >>> plan: Checkpoints = ncd.checkpoints(ncd.Softmax("x:3"), 12)
    >>> plan
    Checkpoints(recompute=(), bytes=12, flops=0, bytes_between_passes=12)
    """

    recompute: tuple[str, ...]
    bytes: int
    flops: int
    bytes_between_passes: int


def checkpoints(term: Term, budget: float, formats: Formats | None = None) -> Checkpoints:
    """Returns which layers to save and which to calculate again under a budget of bytes.

    Among all ways to save layers of a repetition or to calculate groups of neighbours again, it is
    one with the least FLOPs, and among those one with the fewest bytes. Weights and gradients are
    not counted.

    Args:
        term: The term, with sizes. Only its repetitions that are not inside a loop are divided.
        budget: The most bytes that may be saved at one time.
        formats: The number formats in which bytes are counted; float32 by default.

    Returns:
        A :class:`Checkpoints`; its ``recompute`` is for :func:`ncd.compile`.

    Raises:
        SizeError: For an axis without a size.
        LimitError: If no choice fits; it names the fewest bytes possible.
        ParseError: For formats of another kind.

    Source: Chen et al. 2016, arXiv 1604.06174, whose √n equal groups it includes.

    >>> import ncd
    >>> term = ncd.catalogue["gpt-2"].build(n=6)
    >>> plan = ncd.checkpoints(term, budget=200_000)
    >>> plan.recompute, plan.bytes  # instead of 354,048
    (('h.0:3',), 183312)
    >>> module = ncd.compile(term, recompute=plan.recompute)
    """
    check_term(term, "checkpoints")
    check_formats(formats, "checkpoints")
    if not positive(budget):
        fact = f"the budget is {short_repr(budget)}, but it is a number of bytes over 0"
        raise LimitError(fact, where="checkpoints", cure="budget=1_000_000")
    every = plans(term, formats)
    fitting = [plan for plan in every if plan.bytes <= budget]
    if not fitting:
        least = every[-1].bytes
        fact = f"no choice of layers saves at most {budget:,} bytes: the fewest are {least:,}"
        raise LimitError(fact, where="checkpoints", cure=f"budget={least}", nearest=least)
    return fitting[0]


def plans(term: Term, formats: Formats | None = None) -> tuple[Checkpoints, ...]:
    """Returns the best choices: each has fewer bytes and more FLOPs than the one before it.

    The first saves every layer. Raises SizeError for an axis without a size.
    """
    require_sizes(elaborate(term))
    return _plans(term, formats or Formats())


@lru_cache(maxsize=256)
def _plans(term: Term, formats: Formats) -> tuple[Checkpoints, ...]:
    chain = layers(term, formats)
    return tuple(
        Checkpoints(_names(chain, plan.groups), plan.peak, plan.flops, plan.bytes_between_passes)
        for plan in pareto_choices(chain)
    )


# --- the chain of layers -------------------------------------------------------------------------


class LayerBytes(NamedTuple):
    """A layer, or an op between stacks: the bytes of its arrays, and its FLOPs.

    ``stack`` is the name of its repetition, and empty for ops outside; ``stack_index`` is its place
    there. ``input_bytes`` are the bytes that it takes from the layer before, and
    ``saved_input_bytes`` those of them that it saves; ``skip_input_bytes`` are those that it takes
    from elsewhere, such as skip connections, and ``saved_skip_bytes`` those of them that it saves.
    ``saved_own_bytes`` are those that it saves of its own arrays, without ``output_bytes``, those
    that the next layer takes: what is taken counts for the taker.
    """

    stack: str
    stack_index: int
    input_bytes: int
    saved_input_bytes: int
    skip_input_bytes: int
    saved_skip_bytes: int
    saved_own_bytes: int
    output_bytes: int
    flops: int

    @property
    def saved_bytes(self) -> int:
        """The bytes that it saves unless it is calculated again."""
        return self.saved_input_bytes + self.saved_skip_bytes + self.saved_own_bytes


def layers(term: Term, formats: Formats) -> list[LayerBytes]:
    """Returns the layers of all stacks and the ops around them, in the order in which they run."""
    circuit = elaborate(term)
    arrays: dict[str, list[SavedArray]] = {}
    for one in saved(term, formats=formats).arrays:
        arrays.setdefault(one.node, []).append(one)
    paths = [path(loop) for loop in circuit.loops]
    seen: set[str] = set()  # what an earlier layer has taken, such as the memory of a decoder
    found = []
    for unit in circuit.units:
        if isinstance(unit, RepeatLoop):
            name = path(unit) if paths.count(path(unit)) == 1 else unit.id
            found += _stack(unit, name, arrays, seen, formats)
        else:
            cells = (
                (cell for body in unit.bodies for cell in body.cells)
                if isinstance(unit, Loop)
                else (unit,)
            )
            bytes = sum(one.bytes for cell in cells for one in arrays.get(cell.id, ()))
            found.append(LayerBytes("", 0, 0, 0, 0, 0, bytes, 0, 0))
    return found


def _stack(
    loop: RepeatLoop,
    name: str,
    arrays: Mapping[str, Sequence[SavedArray]],
    seen: set[str],
    formats: Formats,
) -> list[LayerBytes]:
    found = []
    taken = [_layer_inputs(body) for body in loop.bodies]
    passed, before = {*taken[0]}, list[SavedArray]()  # from the layer before, and saved there
    for at, (body, own) in enumerate(zip(loop.bodies, taken, strict=True)):
        kept = [*before, *(one for cell in body.cells for one in arrays.get(cell.id, ()))]
        made = {value.id for unit in body.run_order for value in unit.outputs}
        following = made & {*taken[at + 1]} if at + 1 < len(taken) else set()
        before = [one for one in kept if one.array in following]
        left = sum(one.bytes for one in before)
        held = sum(one.bytes for one in kept if one.array in passed)
        needed = sum(one.bytes for one in kept if one.array in {*own} - passed)
        sizes = {id: _bytes(value, formats) for id, value in own.items() if id not in seen}
        enter = sum(size for id, size in sizes.items() if id in passed)
        inside = sum(one.bytes for one in kept if one.array not in {*own} | following)
        flops = sum(cell.flops for cell in body.cells)
        others = sum(sizes.values()) - enter
        found.append(LayerBytes(name, at, enter, held, others, needed, inside, left, flops))
        seen.update(own)
        passed = following
    return found


def _layer_inputs(body: Circuit) -> dict[str, Value]:
    """Returns the arrays that the ops of a layer take from outside it."""
    made = {value.id for unit in body.run_order for value in unit.outputs}
    taken = {value.id: value for unit in body.run_order for value in unit.inputs}
    return {id: value for id, value in taken.items() if id not in made}


def _bytes(value: Value, formats: Formats) -> int:
    whole = value.array.below is not None
    return (
        value.array.numel * INTEGER_BYTES
        if whole
        else in_bytes(value.array.numel, formats.activations)
    )


# --- the best choices ----------------------------------------------------------------------------

Groups = tuple[tuple[int, int], "Groups"] | tuple[()]  # first and last + 1 of each, then the rest


class CheckpointCost(NamedTuple):
    """The cost of a choice of groups, from a layer to the end of the chain."""

    peak: int
    flops: int
    bytes_between_passes: int
    groups: Groups = ()


def pareto_choices(chain: Sequence[LayerBytes]) -> list[CheckpointCost]:
    """Returns the choices that no other one beats in bytes and in FLOPs, from the most bytes.

    The chain is walked from its end: what is saved of a layer lies beneath all later peaks, and
    while a group is calculated again everything after it is already free.

    >>> layer = LayerBytes("h", 0, 1, 1, 0, 0, 9, 0, 5)
    >>> [choice[:3] for choice in pareto_choices([layer, layer])]
    [(20, 0, 20), (11, 5, 11)]
    """
    found = [[CheckpointCost(0, 0, 0)]]
    for at in reversed(range(len(chain))):
        found.insert(0, _pareto_front(_choices_from(chain, at, found)))
    return found[0]


def _choices_from(
    chain: Sequence[LayerBytes], at: int, later: list[list[CheckpointCost]]
) -> Iterator[CheckpointCost]:
    """Yields the choices from a layer on; ``later`` are those from each of the next places."""
    first = chain[at]
    for peak, flops, kept, groups in later[0]:
        yield CheckpointCost(first.saved_bytes + peak, flops, first.saved_bytes + kept, groups)
    enter, once, again = first.input_bytes, -first.saved_input_bytes, 0
    for end in range(at + 1, len(chain) + 1):
        layer = chain[end - 1]
        if not first.stack or layer.stack != first.stack:
            return
        enter += layer.skip_input_bytes
        once += layer.saved_input_bytes + layer.saved_own_bytes
        again += layer.flops
        for peak, flops, kept, groups in later[end - at - 1]:
            most = enter + max(once + layer.output_bytes, peak)
            yield CheckpointCost(most, again + flops, enter + kept, ((at, end), groups))


def _pareto_front(choices: Iterable[CheckpointCost]) -> list[CheckpointCost]:
    found: list[CheckpointCost] = []
    for choice in sorted(choices, key=lambda choice: choice[:3]):
        if not found or choice.flops < found[-1].flops:
            found.append(choice)
    every = -(-len(found) // MAX_CHAIN_CHOICES)
    return [*found[:-1:every], found[-1]][::-1]


def _names(chain: Sequence[LayerBytes], groups: Groups) -> tuple[str, ...]:
    found = []
    while groups:
        (first, end), groups = groups
        layer = chain[first]
        places = (
            f"{layer.stack_index}:{layer.stack_index + end - first}"
            if end - first > 1
            else f"{layer.stack_index}"
        )
        found.append(f"{layer.stack}.{places}")
    return tuple(found)
