"""The arrays that are saved for the backward pass: stated without a run, or measured."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from ncd.costs import in_bytes
from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.circuits.elaborate import elaborate, require_sizes
from ncd.lang.formats import Formats
from ncd.lang.terms.arguments import check_formats, check_names, check_term
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Axis
from ncd.run.execution.module import CircuitModule, recomputing
from ncd.run.execution.recompute import segments
from ncd.run.limits.run_memory import blank_run, blanks, summed


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
    return _stated(term, tuple(recompute), formats or Formats())


@lru_cache(maxsize=256)
def _stated(term: Term, recompute: tuple[str, ...], formats: Formats) -> Saved:
    circuit = elaborate(term)
    again = {id for segment in segments(circuit, recompute) for id in segment}
    module = recomputing(CircuitModule(circuit, seed=None), recompute)
    with blank_run():
        found = _Watched(module, formats)
        arrays = found.run(blanks(module))
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
        total = summed(module.execute(blanks(module), watch=lambda cell, given, made: None))
        forward = counted.get_total_flops()
        if total.requires_grad:
            total.backward()
        back = counted.get_total_flops() - forward
    return sum(cell.flops for cell in module.circuit.cells) + back


def measured_saved(module: CircuitModule, inputs: tuple[Tensor, ...]) -> Saved:
    """Runs a module forward; returns what it really saved for the backward pass."""
    given = tuple(x.detach().requires_grad_(x.is_floating_point()) for x in inputs)
    return Saved(_Watched(module, Formats()).run(given))


class _Watched:
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
            name = self.formats.made_by(cell.path if cell else "")
            bytes = in_bytes(bytes // x.element_size(), name)
        value = circuit.values.get(id)
        if value is not None:
            shape, formula = value.array.shape, _formula(value.array)
            if prod(shape) * x.element_size() == x.untyped_storage().nbytes():
                return SavedArray(cell.id if cell else "", id, shape, formula, bytes)
        shape = tuple(map(int, x.shape))
        axes = [axis for v in (*cell.inputs, *cell.outputs) for axis in v.array] if cell else []
        return SavedArray(cell.id if cell else "", id, shape, _matched(shape, axes), bytes)


def _key(x: Tensor) -> int:
    found: int = x.untyped_storage()._cdata
    return found


def _formula(array: Array) -> str:
    return "·".join(axis.name for axis in array) or "1"


def _matched(shape: tuple[int, ...], axes: list[Axis]) -> str:
    """Returns sizes as names of axes where only one axis has the size, else as numbers.

    A size that occurs twice is a number too: the two may be of different axes.
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
