"""Runs an imported term once beside torch, with its weights, and tells where the two differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.circuit.circuit import Circuit
from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError, NCDError
from ncd.language.axes import MAX_SIZE
from ncd.language.op import InitialValue
from ncd.language.terms import Term
from ncd.read.torch_calls.import_recorder import ImportedConstant, kind_of
from ncd.read.torch_module.torch_export import ExportedModule, in_place, source
from ncd.run.limits import GIGA, Limits, operations, weight
from ncd.run.module import CircuitModule
from ncd.run.seeding import fill_initial

# --- Copies weights between a torch module and the module of its term

BATCH_COUNTER = "num_batches_tracked"


def _places(module: CircuitModule) -> Iterator[tuple[nn.Module, str, InitialValue]]:
    """Yields the part, the name and the first value of all tensors, in the order of the steps."""
    seen: set[str] = set()
    for cell in module.circuit.cells:
        if cell.path in seen or not (cell.layer is not None or cell.initial_values):
            continue
        seen.add(cell.path)
        home = module.get_submodule(".".join(cell.module_path)) if cell.module_path else module
        if cell.layer is None:
            yield home, cell.name, next(iter(cell.initial_values.values()))
            continue
        layer = getattr(home, cell.name)
        yield from ((layer, name, initial) for name, initial in cell.initial_values.items())


def _is_given(name: str, initial: InitialValue) -> bool:
    """Returns whether a tensor is a constant, or only counts batches: no weight of the module."""
    return bool(initial.numbers) or name == BATCH_COUNTER


def _tensors(module: CircuitModule) -> Iterator[Tensor]:
    """Yields the tensors of all ops in the order of the steps, without those of constants."""
    places = _places(module)
    return (getattr(home, name) for home, name, first in places if not _is_given(name, first))


def borrowing(circuit: Circuit, weights: Sequence[ImportedConstant]) -> CircuitModule:
    """Returns a compiled circuit that uses the tensors of a torch module, and copies none."""
    module = CircuitModule(circuit, None)
    given = iter(weights)
    for home, name, initial in _places(module):
        empty = getattr(home, name)
        if _is_given(name, initial):
            tensor = torch.empty(empty.shape, dtype=empty.dtype)
            fill_initial(tensor, initial, 0, name)
        else:
            tensor = next(given).tensor.to("cpu", empty.dtype).reshape(empty.shape)
        if isinstance(empty, nn.Parameter):
            tensor = nn.Parameter(tensor, requires_grad=False)
        setattr(home, name, tensor)
    return module


def copy_weights(module: CircuitModule, weights: Sequence[ImportedConstant]) -> None:
    """Copies the weights of a torch module into the module of its term."""
    with torch.no_grad():
        for mine, given in zip(_tensors(module), weights, strict=True):
            mine.copy_(given.tensor.reshape(mine.shape))


def state_dict(
    module: CircuitModule, weights: Sequence[ImportedConstant], source: nn.Module
) -> dict[str, Tensor]:
    """Returns the tensors of a module under the names of the torch module that it comes from."""
    found = {name: x.detach().clone() for name, x in source.state_dict().items()}
    for mine, given in zip(_tensors(module), weights, strict=True):
        shape = given.tensor.shape
        tensor = mine.detach().reshape(shape)
        if given.order:
            back = [given.order.index(i) for i in range(len(given.order))]
            tensor = tensor.permute(back)
        for name in _names(given.name, source):
            if given.rows is None:
                found[name] = tensor.reshape(found[name].shape).clone()
            else:
                rows = found[name][given.rows[0] : given.rows[1]]
                rows[:] = tensor.reshape(rows.shape)
    return found


def _names(name: str, source: nn.Module) -> list[str]:
    """Returns all names of a tensor, of which tied weights have several."""
    state = source.state_dict()
    return [key for key, x in state.items() if x.data_ptr() == state[name].data_ptr()]


# --- Runs an imported term once beside torch, and tells where the two differ

TOLERANCE = 1e-4  # of the largest number
COMPARISON_LIMITS = Limits(bytes=GIGA, flops=5 * GIGA)  # of a run that is hardly noticed
MODES = {"train": False, "training": False, "dropout_p": 0.0}  # arguments in evaluation mode
BATCH_NORM = re.compile(r"aten\.\w*batch_norm")
PARTLY_USED = "Its outputs use"  # so many of its parameters
EVALUATION_NOTE = (
    "Its batch norms are in evaluation mode: they use the statistics that they keep, not those of "
    "the batch."
)


def _comparison_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float32 else dtype


class TorchRefuses(Exception):
    """An error with which torch's own run stops on the inputs, and the node at which it does."""

    node = ""


def largest_difference(one: Tensor, two: Tensor) -> float:
    """Returns the largest difference of two tensors; infinite for other shapes or kinds.

    >>> largest_difference(torch.ones(2, 1), torch.zeros(2, 1))
    1.0
    >>> largest_difference(torch.ones(2, 1), torch.ones(2))
    inf
    """
    two = two.to(one.device)
    real = (kind_of(one.dtype) == "real", kind_of(two.dtype) == "real")
    if one.shape != two.shape or real[0] != real[1]:
        return float("inf")
    wide = torch.complex128 if one.is_complex() or two.is_complex() else torch.float64
    a, b = one.to(wide), two.to(wide)
    both = torch.isfinite(a) & torch.isfinite(b)
    if not bool(((a == b) | both | (a.isnan() & b.isnan())).all()):
        return float("inf")
    return float((a - b)[both].abs().max()) if bool(both.any()) else 0.0


def tensors_for_term(term: Term, inputs: Sequence[Any]) -> list[Tensor]:
    """Returns the tensors among a module's inputs as the term takes them, on the CPU."""
    tensors = [x.detach().cpu() for x in inputs if isinstance(x, Tensor)]
    pairs = zip(tensors, term.dom, strict=True)
    return [x.float() if array.below is None else x for x, array in pairs]


def compare_with_module(
    term: Term,
    weights: Sequence[ImportedConstant],
    made: ExportedModule,
    boxes: Sequence[str],
) -> tuple[tuple[str, ...], str, str]:
    """Returns in sentences where a term is not the module, an error with which torch stops, and
    the node of its graph at which it does.

    Args:
        term: The term.
        weights: The module's tensors that it has.
        made: The module's graph, and the inputs on which both are run.
        boxes: The nodes of the graph that are boxes, or whose random numbers are kept; outputs
            are not compared if one is random.

    Source: the outputs of the module itself, in evaluation mode.
    """
    if made.failure:
        return (), made.failure, ""
    found = [*_kinds(term, made), *_counts(weights, made.module), *_modes(made)]
    try:
        _check_size(term, made)
        found += _differences(term, weights, made, bool({*_random(made)} & {*boxes}))
    except LimitError as error:
        found.append(f"It is not run beside torch at once: {error.fact}.")
    except TorchRefuses as error:
        return tuple(found), f"torch itself refuses this: {error}", error.node
    except Exception as error:  # whatever either raises for what nobody has thought of
        found.append(f"It could not be run beside torch: {_reason(error)}.")
    return tuple(found), "", ""


def _reason(error: Exception) -> str:
    said = error.fact if isinstance(error, NCDError) else str(error).split("\n")[0]
    return said.rstrip(".") or type(error).__name__


def _differences(
    term: Term, weights: Sequence[ImportedConstant], made: ExportedModule, random: bool
) -> tuple[str, ...]:
    """Returns how outputs differ; not what a run with more digits shows to be rounding."""

    def differences(wide: bool) -> tuple[str, ...]:
        evaluated = _EvaluationRun(made, wide)
        try:
            with refusals():
                theirs = evaluated.outputs()
        except TorchRefuses as error:
            error.node = evaluated.present
            raise
        run, given = borrowing(elaborate(term), weights).eval(), tensors_for_term(term, made.inputs)
        if wide:
            run, given = run.double(), [x.double() if x.is_floating_point() else x for x in given]
        ours: Any = run(*given)
        return tuple(_outputs(ours if isinstance(ours, tuple) else (ours,), theirs, random))

    with torch.no_grad():
        found = differences(wide=False)
        try:
            return found and (found if differences(wide=True) else ())
        except Exception:  # of a call that takes no numbers of this dtype
            return found


@contextmanager
def refusals() -> Iterator[None]:
    """Raises TorchRefuses for an error of torch's that comes of the inputs."""
    try:
        yield
    except (NotImplementedError, torch.OutOfMemoryError):
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        if "allocate memory" in str(error):
            raise
        raise TorchRefuses(_reason(error)) from None


def _outputs(ours: Sequence[Tensor], theirs: Sequence[Tensor], random: bool) -> Iterator[str]:
    """Yields the differences of outputs; not of numbers that are drawn at random."""
    if len(ours) != len(theirs):
        yield f"It gives {len(ours)} arrays, and the module {len(theirs)}."
    for i, (one, two) in enumerate(zip(ours, theirs, strict=False), start=1):
        which = f"Output {i}" if len(ours) > 1 else "The output"
        kinds = ["real" if kind_of(x.dtype) == "real" else "whole" for x in (one, two)]
        far = largest_difference(one, two)
        if one.shape != two.shape:
            yield f"{which} has shape {tuple(one.shape)}, and torch's has {tuple(two.shape)}."
        elif kinds[0] != kinds[1]:
            yield f"{which} holds {kinds[0]} numbers, and torch's {kinds[1]} ones."
        elif not random and far > _rounding(two):
            yield f"{which} is up to {far:.3g} from torch's on the inputs given."


def _rounding(x: Tensor) -> float:
    """Returns a difference that may come from rounding, in the dtype of a tensor."""
    least = 64 * torch.finfo(x.dtype).eps if x.is_floating_point() else 0.0
    sizes = (x if x.is_complex() else x.double()).abs().nan_to_num(0, 0, 0)
    return max(TOLERANCE, least) * max(1.0, float(sizes.max()))


def _kinds(term: Term, made: ExportedModule) -> Iterator[str]:
    """Yields the inputs that the term takes as numbers of another kind than the module does."""
    tensors = [x for x in made.inputs if isinstance(x, Tensor)]
    for i, (array, x) in enumerate(zip(term.dom, tensors, strict=True), start=1):
        if array.below is None and not x.is_floating_point():
            which = f"Input {i}" if len(tensors) > 1 else "The input"
            what = "below 0" if x.min() < 0 else f"of {MAX_SIZE:,} and more"
            yield f"{which} holds whole numbers {what}, and the term takes real ones there."


def _counts(weights: Sequence[ImportedConstant], module: nn.Module) -> Iterator[str]:
    """Yields how many of the parameters are in the term, if not all are."""
    parameters = dict(module.named_parameters())
    total = sum(x.numel() for x in parameters.values())
    own = {(one.name, one.rows): one.tensor.numel() for one in weights if one.name in parameters}
    if sum(own.values()) != total:
        yield f"{PARTLY_USED} {sum(own.values()):,} of the module's {total:,} parameters."


def _modes(made: ExportedModule) -> Iterator[str]:
    """Yields that batch norms use the statistics that they keep, if some do."""
    norms = (node for node in made.program.graph.nodes if BATCH_NORM.match(str(node.target)))
    if not made.module.training and any(node.args[3] is not None for node in norms):
        yield EVALUATION_NOTE


def _check_size(term: Term, made: ExportedModule) -> None:
    """Raises LimitError if a run of the term or of the module takes much time or memory."""
    usual, circuit = Limits.from_environment(), elaborate(term)
    most = min(usual.bytes, COMPARISON_LIMITS.bytes), min(usual.flops, COMPARISON_LIMITS.flops)
    nodes = tree_leaves([node.meta.get("val") for node in made.program.graph.nodes])
    bytes_ = sum(x.numel() * x.element_size() for x in nodes if isinstance(x, Tensor))
    bytes_ += sum(weight(value.array) for value in circuit.values.values())
    needs = (bytes_, "bytes"), (operations(circuit), "FLOP")
    for (need, unit), limit in zip(needs, most, strict=True):
        if need > limit:
            raise LimitError(f"it takes {need:,} {unit}, and the limit is {limit:,}")


def _random(made: ExportedModule) -> Iterator[str]:
    """Yields the nodes whose results are drawn at random."""
    for node in made.program.graph.nodes:
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags:
            yield node.name


class _EvaluationRun(fx.Interpreter):
    """Runs the graph of a module in evaluation mode, without what no output needs.

    No code of the module's own runs, and its buffers stay as they are. A ``wide`` run takes float64
    for all real numbers.
    """

    def __init__(self, made: ExportedModule, wide: bool = False) -> None:
        super().__init__(made.program.graph_module)
        self.made, self.wide, self.present = made, wide, ""
        self.needed: set[fx.Node] = set()
        for node in reversed(made.program.graph.nodes):
            changed = node.op == "call_function" and in_place(node) and source(node)
            if node.op == "output" or node in self.needed or changed in self.needed:
                self.needed |= {node, *node.all_input_nodes}

    def outputs(self) -> tuple[Tensor, ...]:
        """Returns the tensors that the module gives."""
        program = self.made.program
        held = {**program.constants, **program.state_dict}
        signature = program.graph_signature
        learned = signature.inputs_to_parameters  # torch makes it at each call
        names = {
            **learned,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        inputs = iter(self.made.inputs)
        places = [node.name for node in program.graph.nodes if node.op == "placeholder"]
        given = [held[names[name]] if name in names else next(inputs) for name in places]
        for i, name in enumerate(places):  # which may be changed in place
            if isinstance(given[i], Tensor) and name not in learned:
                given[i] = given[i].detach().clone()
            if self.wide and isinstance(given[i], Tensor) and given[i].is_floating_point():
                given[i] = given[i].double()
        found = self.run(*given, enable_io_processing=False)
        specs = zip(found, signature.output_specs, strict=True)
        return tuple(x for x, spec in specs if isinstance(x, Tensor) and not spec.target)

    def run_node(self, n: fx.Node) -> Any:
        self.present = n.name
        return super().run_node(n) if n.op == "placeholder" or n in self.needed else None

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        schema = getattr(target, "_schema", None)
        names = [one.name for one in schema.arguments] if schema is not None else []
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if given.get("running_mean", True) is not None:  # else it has only those of the batch
            args = tuple(MODES.get(n, x) for n, x in zip(names, args, strict=False)) or args
            kwargs = {n: MODES.get(n, x) for n, x in kwargs.items()}
        if self.wide:  # also what is cast on the way
            args, kwargs = tree_map_only(torch.dtype, _comparison_dtype, (args, kwargs))
        return super().call_function(target, args, kwargs)
