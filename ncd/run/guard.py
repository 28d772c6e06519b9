"""Counts memory and FLOPs and checks calls before anything is allocated, then compiles."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from threading import Lock

import torch
from cachetools import LRUCache

from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import BYTES, INTEGER_BYTES, Cost, OpCost, cost_of, own_parameters
from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError, MismatchError, NCDError
from ncd.language.arguments import check_formats, check_names, check_seed, check_term
from ncd.language.axes import Array, Axis
from ncd.language.number_formats import Formats
from ncd.language.terms import Term, rewrite_axes
from ncd.language.torch_code import Arg, Const, Contract, Size, Tuple
from ncd.ops.opaque_call import CLOSED_SPACE, EXTERNAL_SPACE, FOLDED_SPACE
from ncd.run.device import device as find_device
from ncd.run.device import free_bytes
from ncd.run.evaluate import CREATING_NODES, TensorOptions, matrix_product
from ncd.run.limits import Limits, check_free, checked_limits, weight
from ncd.run.module import CircuitModule, with_recompute, with_rounding
from ncd.run.program import part
from ncd.run.run_memory import LIBRARIES, NUMBER, SCALARS, most_kernel_bytes, predicted_peak

# --- Checks the calls of torch's functions by their names, before anything is allocated

META = torch.device("meta")


class ValuesEnd(NCDError):
    """A box that is drawn with its shapes, of a function that not everyone may run."""


def check_calls(circuit: Circuit) -> None:
    """Raises MismatchError for a call that torch rejects, or whose result has another shape.

    Raises ValuesEnd for a box that is only drawn.
    """
    for cell in circuit.cells:
        if cell.op.torch_function.startswith(f"{CLOSED_SPACE}."):
            name = cell.op.torch_function.split(".")[1]
            fact = f"values end here: {name} of torch is drawn, and not run"
            raise ValuesEnd(
                fact, cure="ncd.from_torch on your own machine, which runs it"
            ).with_context(op=cell.op)
        if cell.op.torch_function.startswith(f"{EXTERNAL_SPACE}."):
            fact = "values end here: it comes from another file, and only its shapes are known"
            raise ValuesEnd(fact, cure="its class in the text").with_context(op=cell.op)
        if cell.op.torch_function.startswith(f"{FOLDED_SPACE}."):
            fact = "values end here: it is folded, as the whole model is large"
            raise ValuesEnd(fact, cure="a last line with the name of its class").with_context(
                op=cell.op
            )
        fault = _fault(cell) if cell.op.torch_function else ""
        if fault:
            fact, cure = f"torch refuses it: {fault}", "a pattern of the shapes that it gives"
            where = cell.op.display_name
            raise MismatchError(fact, where=where, cure=cure).with_context(
                bound=cell.site.axes, op=cell.op
            )


@lru_cache(256)
def _fault(cell: Cell) -> str:
    """Returns torch's message for a call on tensors without data; empty if it is right."""
    given = [_meta_tensor(array) for array in cell.site.inputs]
    try:
        _check_functional(cell.op.torch_function)
        made = part(cell).run(given, None, TensorOptions(META, torch.float32))
    except Exception as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    found = made if isinstance(made, tuple) else (made,)
    shapes = [tuple(x.shape) for x in found]
    wanted = [array.shape for array in cell.site.outputs]
    return "" if shapes == wanted else f"it gives {shapes}, not {wanted}"


def _check_functional(function: str) -> None:
    """Raises ValueError for a name that is not a function, or that changes its inputs."""
    space, name = function.split(".")[:2]
    schemas = torch._C._jit_get_schemas_for_operator(f"{space}::{name}")
    if not schemas:
        raise ValueError(f"there is no function {function}")
    if all(schema.is_mutable for schema in schemas) or name.endswith("_"):
        raise ValueError(f"{function} changes its inputs")


def _meta_tensor(array: Array) -> torch.Tensor:
    kind = torch.float32 if array.below is None else torch.int64
    return torch.empty(array.shape, dtype=kind, device=META)


# --- The guard: counts the memory and FLOPs of a run before anything is allocated

FLOAT32 = Formats()
STEPS = 50_000  # of one run: a scan takes its body's once for each position
MAX_SEARCHED_CELLS = 200  # cells of a term for which a size that fits is looked for
MAX_TRIED_AXES = 4  # axes that are tried then
NODE_BYTES = 16 * NUMBER  # bytes of the numbers that a node of an expression keeps on its way
# The bytes of the last runs that keep every array: others of these terms need no more.
_WATCHED_BYTES: LRUCache[tuple[Term, Formats, str], tuple[int, int]] = LRUCache(
    256
)  # with their threads
_LOCK = Lock()


def peak(
    circuit: Circuit, *, watched: bool = False, formats: Formats = FLOAT32, device: str = "cpu"
) -> int:
    """Returns the most bytes that a run forward and backward holds at once, without running it.

    Weights, inputs, their gradients and all intermediate arrays count. ``watched``: every array is
    kept to be looked at, as :func:`ncd.trace` does. With ``formats`` the numbers are rounded,
    but held in float32. On a GPU, ``device="cuda"``, its libraries take some 70 MB more.

    >>> from ncd import Id
    >>> peak(elaborate(Id("y:250"))) >= 2 * 1000  # the input and its gradient
    True
    """
    try:
        return predicted_peak(circuit.term, watched, formats, device).backward
    except (RuntimeError, TypeError, OverflowError):  # more numbers than torch can count
        return _lower_bound(circuit)


def check_run(
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
        search = suggest and len(circuit.cells) <= MAX_SEARCHED_CELLS
        error.cure = (_nearest(circuit, limits, watched) if search else "") or error.cure
        raise
    return cost


def check_room(circuit: Circuit, device: str, formats: Formats = FLOAT32) -> None:
    """Raises LimitError if a device has less memory left than a run needs."""
    free = free_bytes(device)
    if free is None or (formats.is_float32 and _upper_bound(circuit, device) <= free):
        return
    large = len(circuit.cells) > MAX_SEARCHED_CELLS
    need = _lower_bound(circuit) if large else peak(circuit, formats=formats, device=device)
    check_free(need, device)


def _upper_bound(circuit: Circuit, device: str) -> int:
    """Returns an upper bound of :func:`peak` on a device, by arithmetic alone."""
    most = peak_bound(circuit)
    return most if torch.device(device).type != "cuda" else 2 * most + LIBRARIES


def fits(circuit: Circuit, limits: Limits | None = None, *, watched: bool = False) -> bool:
    """Returns whether :func:`check_run` accepts a circuit; clear cases need arithmetic alone."""
    limits = checked_limits(limits)
    if _steps(circuit) > STEPS or cost_of(circuit).flops > limits.flops:
        return False
    if _lower_bound(circuit) > limits.bytes:
        return False
    return peak_bound(circuit) <= limits.bytes or peak(circuit, watched=watched) <= limits.bytes


def _steps(circuit: Circuit) -> int:
    return sum(cell.run_count for cell in circuit.cells)


def _check(
    circuit: Circuit, cost: Cost, limits: Limits, watched: bool, formats: Formats, device: str
) -> None:
    if cost.flops > limits.flops:
        raise _limit_error(circuit, cost, cost.flops, "floating-point operations", limits.flops)
    if formats.is_float32 and _upper_bound(circuit, device) <= limits.bytes:
        return
    large = len(circuit.cells) > MAX_SEARCHED_CELLS  # their peak takes seconds to find
    if large and (least := _lower_bound(circuit)) > limits.bytes:
        raise _limit_error(circuit, cost, least, "bytes of memory", limits.bytes, "at least ")
    key, threads = (circuit.term, formats, device), torch.get_num_threads()
    with _LOCK:
        held, most = _WATCHED_BYTES.get(key, (0, 0))
    if held >= threads and most <= limits.bytes:
        return
    need = peak(circuit, watched=watched, formats=formats, device=device)
    if need > limits.bytes:
        raise _limit_error(circuit, cost, need, "bytes of memory", limits.bytes)
    if watched:
        with _LOCK:
            _WATCHED_BYTES[key] = threads, need


def _limit_error(
    circuit: Circuit, cost: Cost, need: int, unit: str, limit: int, bound: str = ""
) -> LimitError:
    memory = "bytes" in unit

    def heavy(op: OpCost) -> int:
        return op.bytes + 4 * op.parameters if memory else op.flops

    cell: Cell | None = circuit.cell(max(cost.ops, key=heavy).node) if cost.ops else None
    error = LimitError(
        f"the run needs {bound}{need:,} {unit}, "
        f"and the limit {'NCD_MAX_BYTES' if memory else 'NCD_MAX_FLOPS'} is {limit:,}",
        where=cell.op.display_name if cell else "Input",
        bound=cell.site.axes if cell else circuit.term.dom.axes,
        cure="smaller sizes",
    )
    error.op = cell.op if cell else None
    error.need, error.limit = need, limit
    return error


def _check_steps(circuit: Circuit) -> None:
    steps = _steps(circuit)
    if steps > STEPS:
        scan = circuit.scans[0]
        raise LimitError(
            f"the run has {steps:,} steps, at most {STEPS:,} can be",
            where=f"Scan {scan.axis}",
            bound=[axis for value in scan.inputs for axis in value.array],
            cure=f"a smaller {scan.axis}",
        )


# --- arithmetic that needs no run ----------------------------------------------------------------


def _lower_bound(circuit: Circuit) -> int:
    """Returns a lower bound: weights and inputs, and their gradients."""
    given = sum(weight(value.array) for value in circuit.inputs)
    return 2 * (_weights(circuit) + given)


def _weights(circuit: Circuit) -> int:
    seen: set[str] = set()
    return sum(
        4 * initial.array.numel for cell in circuit.cells for initial in own_parameters(cell, seen)
    )


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
    made = sum(
        cell.run_count * cell.remember_result("left", _cell_bytes_bound) for cell in circuit.cells
    )
    ends = sum(weight(value.array) for value in (*circuit.inputs, *circuit.outputs))
    scratch = "scratch", torch.get_num_threads(), batch
    scratches = partial(most_kernel_bytes, batch=batch)
    most = (cell.remember_result(scratch, scratches) for cell in circuit.cells)
    beside = max(most, default=SCALARS)
    return batch * (made + 4 * ends) + 3 * _weights(circuit) + beside


def _cell_bytes_bound(cell: Cell) -> int:
    site, said = cell.site, [node for expr in cell.expressions for node in expr.walk()]
    own = () if cell.layer is not None else (i.array for i in cell.initial_values.values())
    arrays = (*site.inputs, *site.outputs, *own)  # a layer reads its weights where they are
    largest = max(array.numel for array in arrays) if arrays else 1
    for node in said:
        if isinstance(node, Contract) and matrix_product(node) is None:
            dims = {dim for group in node.source_dims for dim in group}
            largest = max(largest, prod(dim.size for dim in dims))
    nodes = 1 + sum(not isinstance(node, Arg | Const | Size | Tuple) for node in said)
    whole = any(array.below for array in arrays) or any(isinstance(n, CREATING_NODES) for n in said)
    return nodes * (4 * largest * (INTEGER_BYTES if whole else BYTES) + NODE_BYTES)


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
        axes |= cell.site.axes_by_name
    plain = [axis for axis in axes.values() if isinstance(axis.size, int)]
    for axis in sorted(plain, key=lambda axis: -axis.numel)[:MAX_TRIED_AXES]:
        size = nearest_fit(partial(_fits, circuit.term, axis.name, limits, watched), axis.numel)
        if size is not None:
            return f"{axis.name} = {size}"
    return ""


def _fits(term: Term, name: str, limits: Limits, watched: bool, size: int) -> bool:
    def change(axis: Axis) -> Axis:
        return replace(axis, size=size) if axis.name == name and axis.size else axis

    try:
        return fits(elaborate(rewrite_axes(term, change)), limits, watched=watched)
    except NCDError:
        return False


# --- Compiles a term to a module, once the guard has accepted it


def compile(
    term: Term,
    seed: int = 0,
    device: str | torch.device = "cpu",
    limits: Limits | None = None,
    formats: Formats | None = None,
    recompute: Collection[str] = (),
) -> CircuitModule:
    """Compiles a term to a ``torch.nn.Module`` with weights drawn from a seed.

    Learned parts are submodules named as in the diagram; a repetition is a ``ModuleList``.

    Args:
        term: The system; all its axes need sizes.
        seed: The seed of the weights; torch's global state is not used.
        device: The device of the weights: "cpu", "cuda" or "mps".
        limits: The memory and FLOPs allowed; by default those of the environment.
        formats: The number formats to which weights and arrays are rounded; float32 by default.
        recompute: Ids or titles of blocks whose arrays are not saved for the backward pass, but
            calculated again there. A block in a repetition stands for that of every body, and a
            repetition for each of its bodies. ``"layers.2"`` is one body of ``module.layers``, and
            ``"layers.0:3"`` the first three together, as :func:`ncd.checkpoints` gives them.

    Returns:
        A :class:`CircuitModule`. It takes a tensor for each array of ``term.dom``, all with the
        same batch axes in front.

    Raises:
        LimitError: If a run would exceed the limits; it names the nearest size that fits. Or if a
            GPU has less memory left than the run needs.
        SizeError: If an axis has no size.
        UnknownNameError: If the machine lacks the device, or ``recompute`` names no block or layer.
        ParseError: For an argument of another kind.

    Source: the modules of the notebook, such as figure 21's multi-head attention;
    ``torch.utils.checkpoint`` and Chen et al. 2016, arXiv 1604.06174, for ``recompute``.

    >>> from ncd import Id
    >>> from ncd.ops import Linear
    >>> compile(Id("y:5 m:3") >> Linear("m -> k:2", "Q")).Q
    Linear(in_features=3, out_features=2, bias=False)
    """
    check_term(term, "compile")
    check_seed(seed, "compile")
    check_formats(formats, "compile")
    check_names(recompute, "recompute", "compile", "several ids and titles", "f1")
    target = find_device(device)
    circuit = elaborate(term)
    used = formats or Formats()
    check_run(circuit, limits, suggest=True, formats=used, device=str(target))
    if target.type == "cuda":
        check_room(circuit, str(target), used)
    module = with_recompute(with_rounding(CircuitModule(circuit, seed), used), recompute)
    return module if target.type == "cpu" else module.to(target)
