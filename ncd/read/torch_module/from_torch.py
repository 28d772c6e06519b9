"""A torch module, also one named `model.py:Net`, as a term with its weights."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd.errors import short_repr, unknown_name_error
from ncd.language.terms import Term
from ncd.read.torch_calls.import_recorder import ImportedConstant, ImportFailed, RejectedSteps
from ncd.read.torch_module.axis_names import annotated_axes
from ncd.read.torch_module.comparison import (
    TorchRefuses,
    compare_with_module,
    copy_weights,
    largest_difference,
    refusals,
    state_dict,
    tensors_for_term,
)
from ncd.read.torch_module.graph_reader import record_module
from ncd.read.torch_module.idioms import idioms
from ncd.read.torch_module.term_building import build_term
from ncd.read.torch_module.torch_export import ExportedModule, export_module
from ncd.run.guard import compile as compiled
from ncd.run.limits import Limits
from ncd.run.module import CircuitModule
from ncd.words import nearest_name

# --- Checks of what is given to an import before torch traces it


def check_arguments(module: Any, inputs: Any, axes: Any) -> None:
    """Raises ImportFailed for what is no module, no array that a term can take, or no axes."""
    if not isinstance(module, nn.Module):
        _refuse_module(module)
    tensors = [x for x in tree_leaves(inputs) if isinstance(x, Tensor)]
    for i, x in enumerate(tensors, start=1):
        which = f"input {i}" if len(tensors) > 1 else "the input"
        if x.layout is not torch.strided:
            layout = str(x.layout).removeprefix("torch.")
            raise ImportFailed(f"{which} has the layout {layout}", cure="x.to_dense()")
        if x.is_complex():
            raise ImportFailed(f"{which} holds complex numbers", cure="torch.view_as_real(x)")
    if axes is not None:
        _check_axes(axes)


def check_input_names(axes: Iterable[str], inputs: Collection[str]) -> None:
    """Raises ImportFailed for axes of an input that the module does not have."""
    for name in axes:
        if name not in inputs:
            cure = nearest_name(name, inputs) if inputs else "no axes, as it takes no tensors"
            raise ImportFailed(f"there is no input {short_repr(name)}", where="axes", cure=cure)


def _refuse_module(found: Any) -> None:
    """Raises ImportFailed for what is no module."""
    if isinstance(found, type) and issubclass(found, nn.Module):
        name = found.__name__
        raise ImportFailed(f"{name} is the class of a module", cure=f"a module, such as {name}(…)")
    name = getattr(found, "__name__", "") if callable(found) else ""
    cure = "a class of nn.Module that calls it in its forward" if name else "nn.Linear(8, 3)"
    raise ImportFailed(f"{name or short_repr(found)} is no nn.Module", cure=cure)


def _check_axes(axes: Any) -> None:
    """Raises ImportFailed for axes that are not texts by the names of inputs."""
    if not isinstance(axes, Mapping):
        text = axes if isinstance(axes, str) else "b t"
        raise ImportFailed(
            f"axes is {short_repr(axes)}, but it is a dict by the names of inputs",
            cure=f'axes={{"x": "{text}"}}',
        )
    for name, value in axes.items():
        if not isinstance(name, str):
            raise ImportFailed(
                f"{short_repr(name)} is no name of an input", cure='axes={"x": "b t"}'
            )
        if not isinstance(value, str):
            words = value if isinstance(value, list | tuple) else ()
            text = " ".join(words) if all(isinstance(word, str) for word in words) else ""
            raise ImportFailed(
                f"the axes of the input {name} are {short_repr(value)}, but they are text",
                cure=f'axes={{"{name}": "{text or "b t"}"}}',
            )


# --- A torch module as a term, for its diagram, shapes and costs

TRIES = 80  # passes, in each of which more calls become boxes
RANDOM_NUMBERS_NOTE = "It keeps random numbers that torch draws anew in each run."
PRECISION_NOTE = "It casts numbers to {}, with fewer digits; the term keeps all digits."
NO_LIMITS = Limits(bytes=2**62, flops=2**62)  # the module is the caller's own


@dataclass(frozen=True)
class Box:
    """A call that has no op of its own, and is drawn as a box.

    Args:
        function: The function of torch, such as ``roll``.
        node: Its name in torch's graph.
        reason: The reason.

    Source: ``torch.export``, whose graphs call these functions.

    >>> class Largest(nn.Module):
    ...     def forward(self, x):
    ...         return x.cummax(1).values
    >>> found = from_torch(Largest(), torch.ones(2, 3))
    >>> found.boxes[0].function, found.boxes[0].reason
    ('cummax', 'cummax has no op of its own')
    """

    function: str
    node: str
    reason: str


@dataclass(frozen=True, eq=False)
class Imported:
    """A torch module as a term.

    Args:
        term: The term; its axes have the sizes of the inputs that were given.
        boxes: The calls that stayed opaque.
        failure: The error with which the module itself stopped; empty if it runs. The term goes
            up to the call that failed, and gives what that call was given; it is whole where the
            error depends on the numbers, as only a run tells.
        exported_module: The module's graph, and its inputs.
        weights: The module's tensors in the order of the term's parameters.
        notes: Where the term is not the module, in sentences: outputs of another shape or kind, or
            that are not close, as both were run once; parameters that it lacks; norms that use
            the statistics that they keep; casts to a format with fewer digits.
        nodes: The node of torch's graph for which each op of the term was made, in their order;
            empty for wires.
        failure_text: The node at which a run stops; empty if it runs, or has no graph up to there.

    Source: ``torch.export``, whose graph is read.

    >>> found: Imported = from_torch(nn.Linear(8, 3), torch.ones(2, 8))
    >>> str(found.term.cod), found.difference < 1e-6, [*found.state_dict()]
    ('b d', True, ['weight', 'bias'])
    """

    term: Term
    boxes: tuple[Box, ...]
    failure: str
    exported_module: ExportedModule
    weights: tuple[ImportedConstant, ...]
    notes: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    failure_text: str = ""

    def __repr__(self) -> str:
        told = (f"it stops: {self.failure}" if self.failure else "", *self.notes)
        return "\n".join((f"<Imported: {self.term.dom} -> {self.term.cod}>", *filter(None, told)))

    def module(self) -> CircuitModule:
        """Returns the compiled term with the weights of the module, in its mode."""
        made = compiled(self.term, limits=NO_LIMITS)
        copy_weights(made, self.weights)
        return made.train(self.exported_module.module.training)

    def state_dict(self, module: CircuitModule | None = None) -> dict[str, Tensor]:
        """Returns the weights of a compiled module under the names of the torch module.

        Args:
            module: A module of the term, such as one that has been trained; by default one with the
                weights that were imported.
        """
        return state_dict(module or self.module(), self.weights, self.exported_module.module)

    @property
    def difference(self) -> float:
        """The largest difference between the two modules' outputs, on the inputs given.

        It is infinite for outputs of another shape, or of real numbers in place of whole ones.

        Both run in evaluation mode, so that nothing is dropped at random. Raises ImportFailed where
        torch itself stops on these inputs.
        """
        mine = self.module().eval()
        given = tensors_for_term(self.term, self.exported_module.inputs)
        try:
            with torch.no_grad(), refusals():
                theirs = self.exported_module.run()
        except TorchRefuses as error:
            where = type(self.exported_module.module).__name__
            raise ImportFailed(f"torch itself refuses this: {error}", where=where) from None
        with torch.no_grad():
            ours = mine(*given)
        ours = ours if isinstance(ours, tuple) else (ours,)
        pairs = zip(ours, theirs, strict=True)
        return max((largest_difference(one, two) for one, two in pairs), default=0.0)


def from_torch(
    module: nn.Module, *inputs: Any, axes: Mapping[str, str] | None = None, **named: Any
) -> Imported:
    """Returns a torch module as a term.

    Args:
        module: The module; it is not changed.
        *inputs: The arguments of its ``forward``: tensors, or anything else that it accepts.
        axes: The axes of its inputs by their names in ``forward``, such as ``{"x": "b t m"}``; by
            default they are those of the annotations, such as ``Float[Tensor, "b t m"]``, or
            follow from the number of dimensions. An axis ``_`` gets a usual name.
        **named: Further arguments of ``forward``, by name.

    Returns:
        The term, with the module's weights. A call for which the language has no op is a named box.
        Of a module that fails, the part up to the call that fails. It has been run once beside
        torch, unless that takes long: ``notes`` tell where the two differ.

    Raises:
        ImportFailed: For a module that ``torch.export`` refuses, or a call that cannot even be a
            box, such as one whose result has a size that depends on the numbers. Also for what is
            no module, for inputs that are sparse or complex, and for axes that are no texts, or
            that name no input.

    Source: ``torch.export``.

    >>> found = from_torch(nn.Sequential(nn.Linear(8, 4), nn.ReLU()), torch.ones(2, 8))
    >>> found.term
    Id('b:2 m:8') >> Linear('m:8 -> d:4', 'n0', True) >> Elementwise('relu')
    """
    check_arguments(module, (inputs, named), axes)
    made = export_module(module, inputs, named)
    forced: dict[str, str] = {}
    names = {**annotated_axes(module, inputs, named), **(axes or {})}
    written_out = idioms(made.program)
    for _ in range(TRIES):
        walked = record_module(made, forced, names, written_out)
        check_input_names(axes or {}, walked.inputs)
        try:
            term, weights, nodes = build_term(walked)
        except RejectedSteps as error:
            if dropped := error.reasons.keys() & written_out:
                for node in dropped:
                    del written_out[node]
                continue
            for node, why in error.reasons.items():
                if node in forced or node == "output":
                    raise ImportFailed(why, where=node) from None
            forced |= error.reasons
            continue
        boxes = (Box(name, node, why) for node, (name, why) in walked.builder.boxes.items())
        builder = walked.builder
        notes, failure, at = compare_with_module(
            term, weights, made, [*builder.boxes, *builder.random_calls]
        )
        notes += (RANDOM_NUMBERS_NOTE,) if builder.random_calls else ()
        notes += tuple(PRECISION_NOTE.format(name) for name in dict.fromkeys(builder.narrowed))
        return Imported(term, tuple(boxes), failure, made, weights, notes, nodes, at)
    raise ImportFailed("too many of its calls have no op", cure="a smaller module")


# --- Loads modules from the user's files, by names such as ``model.py:Net``

_SHAPE = re.compile(r"(\d{1,9}(?:x\d{1,9})*)?(?:#(\d{1,9}))?")
TOKENS = 16  # of the input of a language model, if none is given


def example_tensor(text: str) -> Tensor:
    """Returns an input of a shape such as ``2x3x32x32``, or of whole numbers: ``8#50257``.

    >>> example_tensor("2x3").shape, int(example_tensor("4#10").max()) < 10
    (torch.Size([2, 3]), True)

    Raises ImportFailed for text that is no shape.
    """
    found = _SHAPE.fullmatch(text.strip())
    if not found or not text.strip():
        raise ImportFailed(
            f"{short_repr(text)} is no shape", cure="2x3x32x32, or 8#50257 for tokens"
        )
    shape = [int(n) for n in found[1].split("x")] if found[1] else []
    random = torch.Generator().manual_seed(0)
    if found[2]:
        return torch.randint(max(1, int(found[2])), shape, generator=random)
    return torch.randn(shape, generator=random)


def example_tensors(text: str) -> tuple[Tensor, ...]:
    """Returns the inputs of some shapes: ``2x8x128, 2x8#50257``."""
    return tuple(map(example_tensor, text.split(","))) if text.strip() else ()


def imported_file(place: str, inputs: str = "") -> Imported:
    """Imports a Python file of the user's.

    Args:
        place: A file and a name in it, ``model.py:Net``: a module, or a class or function that
            makes one without arguments. With ``hf:config.json`` it is a model of the library
            `transformers`.
        inputs: The shapes of its inputs, such as ``"2x8#50257"``.

    Raises:
        ImportFailed: For a file or name that does not exist, or is no module.
    """
    if place.startswith("hf:"):
        return _import_transformers_model(Path(place[3:]), inputs)
    module = module_at(place)
    given = example_tensors(inputs)
    if not given:
        names = ", ".join(inspect.signature(module.forward).parameters)
        raise ImportFailed(
            f"{place} takes inputs ({names}), of which no shape is given", cure='--inputs "2x8x128"'
        )
    try:
        found = from_torch(module, *given)
    except ImportFailed as error:
        _ask_for_ids(error.fact, inputs)
        raise
    _ask_for_ids(found.failure, inputs)
    return found


def _ask_for_ids(message: str, inputs: str) -> None:
    """Raises ImportFailed if a module looks up its inputs, and none is of whole numbers."""
    if "types: Long, Int" in message and "#" not in inputs:
        raise ImportFailed(
            f"it looks up whole numbers, and {inputs} are real ones",
            cure=f'--inputs "{inputs}#100", of whole numbers below 100',
        )


def module_at(place: str) -> nn.Module:
    """Returns the module of a file and a name, ``model.py:Net``; runs the file."""
    file, _, name = place.rpartition(":")
    path = Path(file)
    if not file or not path.is_file():
        raise ImportFailed(f"there is no file {short_repr(file or place)}", cure="model.py:Net")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made  # so that its classes can be found by their names
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(made)
    except Exception as error:  # the user's own lines, such as a call that fails
        raise _stopped_file(path, error) from error
    finally:
        sys.path.remove(str(path.parent))
    if not hasattr(made, name):
        kinds = (key for key, value in vars(made).items() if _makes_module(value))
        raise unknown_name_error("module", name, [*kinds], where=path.name)
    return _instance(getattr(made, name), f"{path.name}:{name}")


def _stopped_file(path: Path, error: Exception) -> ImportFailed:
    """Returns what is said of a file that stops while it is run, with its line."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in extract_tb(error.__traceback__):
        line = frame.lineno if Path(frame.filename) == path.absolute() else line
    words = (str(error).splitlines() or [""])[0]
    fact = f"it stops in line {line}: {type(error).__name__}: {words}"
    return ImportFailed(
        fact, cure=f"ncd ask {path}, which reads it and runs nothing", where=path.name
    )


def _makes_module(value: object) -> bool:
    return isinstance(value, nn.Module) or (
        inspect.isclass(value) and issubclass(value, nn.Module) and value is not nn.Module
    )


def _instance(value: Any, place: str) -> nn.Module:
    if callable(value) and not isinstance(value, nn.Module):
        try:
            value = value()
        except TypeError as error:
            raise ImportFailed(f"{place} needs arguments: {error}", cure="a function") from None
    if not isinstance(value, nn.Module):
        raise ImportFailed(
            f"{place} is {short_repr(value)}, which is no module", cure="an nn.Module"
        )
    return value


def _import_transformers_model(path: Path, inputs: str) -> Imported:
    """Returns a model of `transformers` from its configuration, with random weights."""
    try:
        import transformers
    except ModuleNotFoundError:
        raise ImportFailed("hf: needs a library", cure="pip install transformers") from None
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ImportFailed(f"{path} cannot be read: {error}", cure="a config.json") from None
    kind = data.pop("model_type", "") if isinstance(data, dict) else ""
    try:
        config = transformers.AutoConfig.for_model(kind, **data)
    except ValueError:
        raise ImportFailed(f"{path} names no model type", cure='"model_type": "llama"') from None
    model = transformers.AutoModel.from_config(config).eval()
    given = example_tensors(inputs) or _typical_input(config)
    return from_torch(_FirstOutput(model), *given)


def _typical_input(config: Any) -> Sequence[Tensor]:
    """Returns a typical input for a model: tokens, or a picture."""
    size = getattr(config, "image_size", None)
    if isinstance(size, int):
        return (example_tensor(f"1x{getattr(config, 'num_channels', 3)}x{size}x{size}"),)
    return (example_tensor(f"1x{TOKENS}#{config.vocab_size}"),)


class _FirstOutput(nn.Module):
    """A wrapper of a model that returns only its first output."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Any:
        takes = inspect.signature(self.model.forward).parameters
        more = {"use_cache": False} if "use_cache" in takes else {}
        return self.model(x, **more)[0]
