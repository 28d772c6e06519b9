"""The guard: counts the memory and FLOPs of a run before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from threading import Lock

import torch
from cachetools import LRUCache

from ncd.costs import BYTES, WHOLE, Cost, OpCost, cost_of, learned
from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import LimitError, NCDError
from ncd.lang.formats import Formats
from ncd.lang.formulas.expr import Arg, Const, Contract, Size, Tuple
from ncd.lang.terms.rewrite import rewrite
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Axis
from ncd.run.base.device import free_bytes
from ncd.run.base.limits import Limits, check_free, checked_limits, weight
from ncd.run.execution.evaluate import NEW
from ncd.run.execution.program import expressions
from ncd.run.execution.tensor_ops import multiplied
from ncd.run.limits import gpu_scratch, kernel_scratch
from ncd.run.limits.call_check import check_calls
from ncd.run.limits.run_memory import NUMBER, stated_peak

FLOAT32 = Formats()
STEPS = 50_000  # of one run: a scan takes its body's once for each position
SEARCHED = 200  # cells of a term for which a size that fits is looked for
TRIED = 4  # axes that are tried then
SAVED = 16 * NUMBER  # bytes of the numbers that a node of an expression keeps on its way
# The bytes of the last runs that keep every array: others of these terms need no more.
_WATCHED: LRUCache[tuple[Term, Formats, str], tuple[int, int]] = LRUCache(256)  # with their threads
_LOCK = Lock()


def peak(
    circuit: Circuit, *, watched: bool = False, formats: Formats = FLOAT32, device: str = "cpu"
) -> int:
    """Returns the most bytes that a run forward and backward holds at once, without running it.

    Weights, inputs, their gradients and all intermediate arrays count. ``watched``: every array is
    kept to be looked at, as :func:`ncd.run.trace` does. With ``formats`` the numbers are rounded,
    but held in float32. On a GPU, ``device="cuda"``, its libraries take some 70 MB more.

    >>> from ncd.lang.terms.terms import Id
    >>> peak(elaborate(Id("y:250"))) >= 2 * 1000  # the input and its gradient
    True
    """
    try:
        return stated_peak(circuit.term, watched, formats, device).backward
    except (RuntimeError, TypeError, OverflowError):  # more numbers than torch can count
        return _least(circuit)


def check(
    circuit: Circuit,
    limits: Limits | None = None,
    *,
    suggest: bool = False,
    watched: bool = False,
    formats: Formats = FLOAT32,
    device: str = "cpu",
) -> Cost:
    """Returns the cost of a circuit; raises LimitError, naming limit and need, if it is too high.

    Raises MismatchError for a call by name that torch refuses. With ``suggest`` the error also
    names the nearest size that fits, which takes a search.
    """
    limits = checked_limits(limits)
    cost = cost_of(circuit)
    check_calls(circuit)
    try:
        _check_steps(circuit)
        _check(circuit, cost, limits, watched, formats, device)
    except LimitError as error:
        search = suggest and len(circuit.cells) <= SEARCHED
        error.cure = (_nearest(circuit, limits, watched) if search else "") or error.cure
        raise
    return cost


def check_room(circuit: Circuit, device: str, formats: Formats = FLOAT32) -> None:
    """Raises LimitError if a device has less memory left than a run needs."""
    free = free_bytes(device)
    if free is None or (formats.plain and _bound(circuit, device) <= free):
        return
    large = len(circuit.cells) > SEARCHED
    need = _least(circuit) if large else peak(circuit, formats=formats, device=device)
    check_free(need, device)


def _bound(circuit: Circuit, device: str) -> int:
    """Returns an upper bound of :func:`peak` on a device, by arithmetic alone."""
    most = peak_bound(circuit)
    return most if torch.device(device).type != "cuda" else 2 * most + gpu_scratch.LIBRARIES


def fits(circuit: Circuit, limits: Limits | None = None, *, watched: bool = False) -> bool:
    """Returns whether :func:`check` accepts a circuit; clear cases need arithmetic alone."""
    limits = checked_limits(limits)
    if _steps(circuit) > STEPS or cost_of(circuit).flops > limits.flops:
        return False
    if _least(circuit) > limits.bytes:
        return False
    return peak_bound(circuit) <= limits.bytes or peak(circuit, watched=watched) <= limits.bytes


def _steps(circuit: Circuit) -> int:
    return sum(cell.times for cell in circuit.cells)


def _check(
    circuit: Circuit, cost: Cost, limits: Limits, watched: bool, formats: Formats, device: str
) -> None:
    if cost.flops > limits.flops:
        raise _over(circuit, cost, cost.flops, "floating-point operations", limits.flops)
    if formats.plain and _bound(circuit, device) <= limits.bytes:
        return
    large = len(circuit.cells) > SEARCHED  # their peak takes seconds to find
    if large and (least := _least(circuit)) > limits.bytes:
        raise _over(circuit, cost, least, "bytes of memory", limits.bytes, "at least ")
    key, threads = (circuit.term, formats, device), torch.get_num_threads()
    with _LOCK:
        held, most = _WATCHED.get(key, (0, 0))
    if held >= threads and most <= limits.bytes:
        return
    need = peak(circuit, watched=watched, formats=formats, device=device)
    if need > limits.bytes:
        raise _over(circuit, cost, need, "bytes of memory", limits.bytes)
    if watched:
        with _LOCK:
            _WATCHED[key] = threads, need


def _over(
    circuit: Circuit, cost: Cost, need: int, unit: str, limit: int, bound: str = ""
) -> LimitError:
    memory = "bytes" in unit

    def heavy(op: OpCost) -> int:
        return op.bytes + 4 * op.parameters if memory else op.flops

    cell: Cell | None = circuit.cell(max(cost.ops, key=heavy).node) if cost.ops else None
    error = LimitError(
        f"the run needs {bound}{need:,} {unit}, "
        f"and the limit {'NCD_MAX_BYTES' if memory else 'NCD_MAX_FLOPS'} is {limit:,}",
        where=cell.op.label if cell else "Input",
        bound=cell.site.axes if cell else circuit.term.dom.axes,
        cure="smaller sizes",
    )
    error.op = cell.op if cell else None
    error.need, error.limit = need, limit
    return error


def _check_steps(circuit: Circuit) -> None:
    steps = _steps(circuit)
    if steps > STEPS:
        scan = max(circuit.loops, key=lambda loop: loop.kind == "scan")
        raise LimitError(
            f"the run has {steps:,} steps, at most {STEPS:,} can be",
            where=f"Scan {scan.axis}",
            bound=[axis for value in scan.inputs for axis in value.array],
            cure=f"a smaller {scan.axis}",
        )


# --- arithmetic that needs no run ----------------------------------------------------------------


def _least(circuit: Circuit) -> int:
    """Returns a lower bound: weights and inputs, and their gradients."""
    given = sum(weight(value.array) for value in circuit.inputs)
    return 2 * (_weights(circuit) + given)


def _weights(circuit: Circuit) -> int:
    seen: set[str] = set()
    return sum(4 * initial.array.numel for cell in circuit.cells for initial in learned(cell, seen))


def peak_bound(circuit: Circuit, batch: int = 1) -> int:
    """Returns an upper bound of :func:`peak`, as if nothing inside an op were ever freed.

    ``batch`` is the number of examples that one run takes together.

    It needs arithmetic alone. Each node of an expression is taken to leave four tensors behind:
    itself, its gradient, and a copy of either in another order. One kernel at a time has memory of
    its own beside them.

    >>> import ncd
    >>> circuit = elaborate(ncd.catalogue["lenet"].build())
    >>> peak(circuit) <= peak_bound(circuit)
    True
    """
    return _peak_bound(circuit.term, batch)


@lru_cache(maxsize=256)
def _peak_bound(term: Term, batch: int) -> int:
    circuit = elaborate(term)
    made = sum(cell.times * cell.shared("left", _left) for cell in circuit.cells)
    ends = sum(weight(value.array) for value in (*circuit.inputs, *circuit.outputs))
    scratch = "scratch", torch.get_num_threads(), batch
    scratches = partial(kernel_scratch.most, batch=batch)
    most = (cell.shared(scratch, scratches) for cell in circuit.cells)
    beside = max(most, default=kernel_scratch.SCALARS)
    return batch * (made + 4 * ends) + 3 * _weights(circuit) + beside


def _left(cell: Cell) -> int:
    site, said = cell.site, [node for expr in expressions(cell) for node in expr.walk()]
    own = () if cell.layer is not None else (i.array for i in cell.initial.values())
    arrays = (*site.ins, *site.outs, *own)  # a layer reads its weights where they are
    largest = max(array.numel for array in arrays) if arrays else 1
    for node in said:
        if isinstance(node, Contract) and multiplied(node) is None:
            dims = {dim for group in node.before for dim in group}
            largest = max(largest, prod(dim.size for dim in dims))
    nodes = 1 + sum(not isinstance(node, Arg | Const | Size | Tuple) for node in said)
    whole = any(array.below for array in arrays) or any(isinstance(n, NEW) for n in said)
    return nodes * (4 * largest * (WHOLE if whole else BYTES) + SAVED)


# --- what would fit ------------------------------------------------------------------------------


def nearest_fit(
    fits: Callable[[int], bool], above: int, least: int = 1, step: int = 1
) -> int | None:
    """Returns the largest value below ``above`` that fits, in steps from ``least``, or None.

    A smaller value than one that fits is assumed to fit as well, so bisection finds it.

    >>> nearest_fit(lambda n: n * n < 50, 100), nearest_fit(lambda n: n < 0, 100)
    (7, None)
    """
    low, high = 0, (above - least + step - 1) // step  # in steps above the least
    if high < 1 or not fits(least):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(least + middle * step) else (low, middle)
    return least + low * step


def _nearest(circuit: Circuit, limits: Limits, watched: bool) -> str:
    """Returns the largest size of one axis, the longest possible, with which the run fits."""
    axes = {axis.name: axis for axis in circuit.term.dom.axes}
    for cell in circuit.cells:
        axes |= cell.site.every
    plain = [axis for axis in axes.values() if isinstance(axis.size, int)]
    for axis in sorted(plain, key=lambda axis: -axis.numel)[:TRIED]:
        size = nearest_fit(partial(_fits, circuit.term, axis.name, limits, watched), axis.numel)
        if size is not None:
            return f"{axis.name} = {size}"
    return ""


def _fits(term: Term, name: str, limits: Limits, watched: bool, size: int) -> bool:
    def change(axis: Axis) -> Axis:
        return replace(axis, size=size) if axis.name == name and axis.size else axis

    try:
        return fits(elaborate(rewrite(term, change)), limits, watched=watched)
    except NCDError:
        return False
