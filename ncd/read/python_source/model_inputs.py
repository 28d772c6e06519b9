"""The inputs that a module needs, by the names of its sizes and by its first layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from time import process_time
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.notation.term_reader import TextError
from ncd.read.python_source.first_layers import first_layers, in_format
from ncd.read.python_source.folding import is_large, run
from ncd.read.python_source.input_shapes import (
    IMAGE_SIZE_NAMES,
    LAYERS,
    LENGTHS,
    WIDEST,
    likely,
    of_first,
    of_layer,
    of_names,
    of_settings,
    of_source,
    of_tokens,
    sequences_first,
)
from ncd.read.python_source.interpreter import (
    Interpreter,
    PlainObject,
    SourceException,
    SourceFunction,
)
from ncd.read.python_source.other_files import ExternalModule
from ncd.read.python_source.structured_inputs import (
    ADJACENCY,
    NUMBER_MARK,
    NUMBERS,
    TOKENS,
    Attributes,
    Guess,
    alongside,
    attributes_of,
    by_name,
    combinations,
    dictionary_input,
    fits,
    index_inputs,
    inputs_from_arrays,
    lists,
    of_pattern,
    optional,
    required_inputs,
    settings_of,
    spread,
    tuple_input,
    width_of,
)
from ncd.read.python_source.torch_layers import misfit
from ncd.read.python_source.usual_sizes import PLAIN_TYPES
from ncd.read.torch_module.from_torch import example_tensors
from ncd.read.torch_module.torch_export import quiet

# --- The inputs of a module: given by the source, by a line of shapes, or guessed

MAX_SHAPES = 4  # shapes of the arrays in a dictionary or a tuple
SECONDS = 1.5  # in which inputs of a module are tried
FALLBACK_SHAPES = (  # of a module without layers
    *("1x16x64", "1x3x64x64", "8x64", "1x3x8x16x16", "1x16#10", "16"),
)
GRAPHS = rf"edge_index|edge_weight|adj_t|{ADJACENCY}"
CURE = "a last line with its shape, such as 1x3x224x224, or 8x64#50257 for tokens"


class NoInput(TextError):
    """A module of which nothing says what it takes."""


class NoArray(NoInput):
    """A module that takes an object of another library."""


def given_inputs(shapes: str, line: int) -> tuple[Tensor, ...]:
    """Returns inputs of the given shapes; raises TextError if they are too large."""
    for each in shapes.split(","):
        if prod(int(n) for n in each.partition("#")[0].strip().split("x")) > NUMBERS:
            raise TextError(
                f"an input has more than {NUMBERS:,} numbers", line, 1, cure="1x3x64x64"
            )
    return example_tensors(shapes)


def guess_input(
    machine: Interpreter, model: nn.Module, failed: str = ""
) -> tuple[tuple[Any, ...], str] | None:
    """Returns an input that a module accepts, and its shape; None if no usual one fits.

    A likely shape is not tried, unless it is the one with which the module has ``failed``. Raises
    TextError for a module of which nothing says what it takes.
    """
    names = required_inputs(model)
    if not names:
        return (), ""
    forward = _forward(machine, model)
    features = lists(names, settings_of(model), forward) or alongside(forward, names, model)
    if features is not None and not failed:
        return features.inputs, features.words
    attributes = attributes_of(forward, names)
    if len(names) > 1 or attributes:
        return _several_inputs(machine, model, names, attributes) if not failed else None
    return _single_input(machine, model, names[0], failed)


def _single_input(
    machine: Interpreter, model: nn.Module, name: str, failed: str
) -> tuple[tuple[Any, ...], str] | None:
    """Returns an input for a module that takes one, and its shape; None if no usual one fits."""
    shapes = [*of_tokens(model, name), *_candidates(machine, model)]
    shapes = _with_told(machine, model, name, shapes)
    usual = dict.fromkeys(_with_larger_batches(model, shapes))
    candidates = [one for one in usual if one != failed and fits(one)]
    if not failed and (found := _in_parts(machine, model, name, (*candidates, FALLBACK_SHAPES[1]))):
        return found.inputs, found.words
    if not candidates and not failed:
        candidates = [
            x for x in FALLBACK_SHAPES if can_run(machine, model, example_tensors(x), {})
        ][:1]
    if not candidates and not failed:
        fact = f"no shape of an input of {type(model).__name__} is given"
        raise NoInput(fact, 1, 1, cure=CURE)
    if not failed and not is_large(model) and likely(machine, model):
        return example_tensors(candidates[0]), candidates[0]
    end = process_time() + SECONDS
    first = None
    for shape in candidates:
        inputs = example_tensors(shape)
        if (sizes := results(machine, model, inputs, {})) is not None:
            first = first or (inputs, shape)
            if inputs[0].dim() < 4 or len(inputs[0]) in (one[0] for one in sizes if one):
                return inputs, shape  # a wrong side may go into the batch
        if process_time() > end:
            break
    return first or (None if failed else (example_tensors(candidates[0]), candidates[0]))


def _in_parts(
    machine: Interpreter, model: nn.Module, name: str, shapes: tuple[str, ...]
) -> Guess | None:
    """Returns a dictionary or a tuple for an input that a module takes apart; None for an array."""
    settings, node = settings_of(model), _forward(machine, model)
    tried = (
        dictionary_input(node, name, one, settings, _of_uses(machine, model, [name], one))
        or tuple_input(node, name, one)
        for one in shapes[:MAX_SHAPES]
    )
    guesses = [guess for guess in tried if guess]
    fitting = (one for one in guesses if can_run(machine, model, one.inputs, {}))
    return next(fitting, guesses[0] if guesses else None)


def _of_uses(
    machine: Interpreter, model: nn.Module, names: list[str], shape: str
) -> dict[str, str]:
    """Returns the shapes of inputs and their parts that the first layer fixes which takes them.

    Their batch is that of the main shape.
    """
    found, (batch, *rest) = {}, shape.partition("#")[0].split("x")
    for name, layer in first_layers(_forward(machine, model), names, model).items():
        own = [*of_first(machine, model, layer)]
        if isinstance(layer, nn.Linear):  # which is given rows here, and hardly a picture
            own = [f"1x{layer.in_features}", f"1x16x{layer.in_features}"]
        ranks = [one for one in own if one.count("x") == len(rest)]
        for one in (*ranks, *own)[:1]:
            found[name] = f"{batch}{one[1:]}"
    return found


def _with_told(machine: Interpreter, model: nn.Module, name: str, shapes: list[str]) -> list[str]:
    """Returns shapes, those first that have as many sizes as the source tells of an input.

    Behind them stands what it tells, as they are fixed by a layer or a setting.
    """
    told = _of_words(machine, model, [name]).get(name, "")
    alike = [one for one in shapes if one.count("x") == told.count("x")]
    if not told or shapes[:1] == alike[:1] != []:
        return shapes
    if not can_run(machine, model, example_tensors(told), {}):
        return shapes
    return [*alike, told, *(one for one in shapes if one not in alike)]


def _of_words(machine: Interpreter, model: nn.Module, names: list[str]) -> dict[str, str]:
    """Returns the shapes of inputs that a source takes apart, or that its comments tell."""
    table = next((part for part in model.modules() if isinstance(part, nn.Embedding)), None)
    below = f"#{table.num_embeddings if table else 10}"
    forward, found = _forward(machine, model), {}
    for name in (one for one in names if "." not in one and "mask" not in one):
        shape = next(filter(fits, of_source(machine.text, forward, name, model)), "")
        if shape:
            found[name] = f"{shape}{below if re.fullmatch(TOKENS, name) else ''}"
    return found


def _no_array(node: ast.AST, kind: str, name: str, read: Sequence[str]) -> NoArray:
    """Returns the error for an input that is an object of another library."""
    listed = ", ".join(read)
    fact = f"{kind} reads {listed} of its input {name}, an object that is not known here"
    cure = f"def forward(self, {listed}), and arrays in its place: "
    call = f"{kind}()({', '.join(['torch.randn(…)'] * len(read))})"
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return NoArray(fact, line, column, cure=f"{cure}{call}")


def _with_larger_batches(model: nn.Module, shapes: Iterable[str]) -> Iterator[str]:
    """Yields shapes, each with two examples as well where a batch norm may get one number of one.

    >>> [*_with_larger_batches(nn.BatchNorm1d(3), ["1x3"])]
    ['1x3', '2x3']
    """
    learns = any(isinstance(part, _BatchNorm) and part.training for part in model.modules())
    for shape in shapes:
        yield shape
        if learns and shape.startswith("1x"):
            yield f"2{shape[1:]}"


def _forward(machine: Interpreter, model: nn.Module) -> ast.AST:
    """Returns the source of the ``forward`` of a module; nothing for one of torch."""
    kind = machine.classes.get(type(model))
    forward = kind.names.get("forward") if kind else None
    return forward.node if isinstance(forward, SourceFunction) else ast.Pass()


def _width(model: nn.Module) -> int:
    """Returns the features that the first layer of a module takes; 0 if they are not known."""
    first = next(
        (part for part in model.modules() if isinstance(part, (*LAYERS, ExternalModule))), None
    )
    if isinstance(first, ExternalModule):
        return first.width
    return first.in_features if isinstance(first, nn.Linear) else 0


def _several_inputs(
    machine: Interpreter, model: nn.Module, names: list[str], attributes: Attributes
) -> tuple[tuple[Any, ...], str]:
    """Returns inputs that a module accepts, by their names; None for its masks."""
    settings, end = settings_of(model), process_time() + SECONDS
    arrays = spread(names, attributes)
    graph = any(re.fullmatch(GRAPHS, name.rpartition(".")[2]) for name in arrays)
    nodes = [f"10x{width_of(settings) or _width(model) or 16}"] if graph else []
    forward = _forward(machine, model)
    told = {
        **index_inputs(forward, names),
        **_of_words(machine, model, arrays),
        **_whole_number_inputs(forward),
    }
    first = [told[name] for name in arrays[:1] if name in told]
    shapes = filter(
        fits, dict.fromkeys((*nodes, *first, *_candidates(machine, model), *FALLBACK_SHAPES))
    )
    for more, shape in product(([], *optional(model)), shapes):
        own = {**told, **_of_uses(machine, model, names, shape)}
        for guess in combinations([*arrays, *more], shape, settings, own):
            inputs = (*inputs_from_arrays([*names, *more], attributes, guess.inputs),)
            if can_run(machine, model, inputs, {}):
                return inputs, guess.words
            if process_time() > end:
                break
    for name, read in attributes.items():
        raise _no_array(_forward(machine, model), type(model).__name__, name, read)
    fact = f"{type(model).__name__} takes inputs ({', '.join(names)}), of which no shape is given"
    raise NoInput(fact, 1, 1, cure="a last line with their shapes, such as 1x16x64, 1x16x64")


def _whole_number_inputs(forward: ast.AST) -> dict[str, str]:
    """Returns the inputs that are whole numbers, by their type hints."""
    given = forward.args.args if isinstance(forward, ast.FunctionDef) else []
    hints = {one.arg: ast.unparse(one.annotation) for one in given if one.annotation}
    return {name: f"{NUMBER_MARK}4" for name, hint in hints.items() if hint == "int"}


def _made_with(machine: Interpreter, model: nn.Module) -> dict[str, Any]:
    """Returns what is assumed for a module: settings, and arguments with which it is made."""
    assumed = {name: x for own in machine.assumed_settings.values() for name, x in own.items()}
    chosen = machine.maker is not None and machine.maker[0] is model
    return {**assumed, **(machine.maker[2] if chosen and machine.maker is not None else {})}


def _candidates(machine: Interpreter, model: nn.Module) -> Iterator[str]:
    """Yields shapes that a module may accept, the likeliest first."""
    ours = type(model).__module__.startswith("torch.nn.")
    settings = {**settings_of(model), **_made_with(machine, model)}
    parts = [part for part in model.modules() if isinstance(part, (*LAYERS, ExternalModule))]
    held = [one for part in parts if isinstance(part, ExternalModule) for one in part.holds(LAYERS)]
    first = next((part for part in (*parts, *held) if not isinstance(part, ExternalModule)), None)
    if ours:
        yield from sequences_first(model)
        side = next((n for one in IMAGE_SIZE_NAMES if type(n := settings.get(one)) is int), 64)
        yield from filter(None, [of_pattern(model, settings, side)])
    elif not isinstance(first, nn.Embedding):
        yield from of_names(model, settings)
    if not parts or (parts[0] is not first and first not in held):
        yield from of_settings(settings)
    image = next((part for part in parts if isinstance(part, nn.Conv2d)), None)
    if (
        isinstance(first, nn.Linear)
        and image is not None
        and settings.get("in_channels") == (image.in_channels)
    ):  # the first layer is that of a time or a class
        yield from of_first(machine, model, image)
    yield from of_first(machine, model, first)
    table = next((part for part in model.modules() if isinstance(part, nn.Embedding)), None)
    if table is not None and table is not first:
        yield from (f"1x{n}#{table.num_embeddings}" for n in LENGTHS)
    if 0 < (width := width_of(settings)) < WIDEST:
        yield f"1x{width}x8x8"
    if not ours:
        yield from of_settings(settings)
    if ours:
        yield from of_layer(next(part for part in model.modules() if not [*part.children()]))


def can_run(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> bool:
    """Returns whether a module runs on these inputs, computing shapes only."""
    return results(machine, model, inputs, named) is not None


def results(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> list[torch.Size] | None:
    """Returns the shapes of what a module gives for these inputs; None where it does not run."""
    machine.tracing = True
    inputs, named = (inputs, named) if named else by_name(model, inputs)
    try:
        with quiet(), FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
            given = tree_map_only(Tensor, mode.from_tensor, in_format(model, inputs))
            words = tree_map_only(Tensor, mode.from_tensor, named)
            found = run(machine, model, given, words)
    except (SourceException, RuntimeError, TypeError, ValueError, LookupError, AssertionError):
        return None
    finally:
        machine.tracing, machine.failure = False, None
    return [each.shape for each in tree_leaves(found) if isinstance(each, Tensor)]


# --- The widths of boxes that the layers behind them fix

FITS = 6  # boxes that are tried for a layer


def fits_boxes(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> bool:
    """Returns whether a module runs when the results of boxes have the widths that layers take.

    Of a layer that stops behind boxes one of them gets another width: the last one that helps.
    """
    layers = 0
    while (stopped := _misfit(machine, model, inputs, named)) and layers < FITS:
        if not any(
            _helps(machine, model, inputs, named, key, shape, stopped)
            for key in [*machine.box_calls][: -FITS - 1 : -1]
            for shape in _other_widths([*key[1]], *stopped[1:])
        ):
            break
        layers += 1
    if layers and can_run(machine, model, inputs, named):
        return True
    machine.box_fits.clear()
    return False


def _misfit(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> tuple[nn.Module, int, int] | None:
    machine.box_calls.clear()
    machine.tracing = True
    try:
        return misfit(model, inputs, named)
    finally:
        machine.tracing, machine.failure = False, None


def _helps(
    machine: Interpreter,
    model: nn.Module,
    inputs: tuple[Any, ...],
    named: dict[str, Any],
    key: tuple[str, tuple[int, ...]],
    shape: list[int],
    stopped: tuple[nn.Module, int, int],
) -> bool:
    """Returns whether the layer that stopped goes on with another result of a box."""
    if key in machine.box_fits:
        return False
    machine.box_fits[key] = shape
    found = _misfit(machine, model, inputs, named)
    if found is None and not can_run(machine, model, inputs, named):
        found = stopped
    if found is not None and found[0] is stopped[0]:
        del machine.box_fits[key]
        return False
    return True


def _other_widths(shape: list[int], size: int, wanted: int) -> Iterator[list[int]]:
    """Yields a shape with other widths, for a layer that is given a size and takes another one.

    >>> [*_other_widths([1, 16, 128], 1024, 512)], [*_other_widths([1, 16, 2], 5, 29)]
    ([[1, 16, 64]], [[1, 16, 26]])
    """
    width = shape[-1] if shape else 0
    for new in dict.fromkeys((width * wanted // size, width + wanted - size)):
        exact = new * size == width * wanted or new == width + wanted - size
        if exact and 0 < new < WIDEST:
            yield [*shape[:-1], new]


# --- Arrays and other inputs of a module, as a source makes them


def array_words(sizes: Sequence[str | int], below: str | int = "") -> str:
    """Returns the expression of an array: of whole numbers below one, or else of real numbers.

    >>> array_words((2, 8)), array_words(("4",), 50), array_words(())
    ('torch.randn(2, 8)', 'torch.randint(50, (4,))', 'torch.randn(())')
    """
    listed = ", ".join(map(str, sizes))
    if below:
        return f"torch.randint({below}, ({listed}{',' * (len(sizes) == 1)}))"
    return f"torch.randn({listed or '()'})"


def input_words(x: Any, below: Iterator[str] | None = None) -> str | None:
    """Returns the expression that makes an input; None if it has none.

    ``below`` are the limits of whole numbers; by default one more than the largest.

    >>> input_words([torch.ones(2, 3), None]), input_words(torch.tensor([4, 1]))
    ('[torch.randn(2, 3), None]', 'torch.randint(5, (2,))')
    """
    if type(x) in PLAIN_TYPES:
        return repr(x)
    if isinstance(x, dict):
        values = [input_words(each, below) for each in x.values()]
        pairs = zip(x, values, strict=True)
        return None if None in values else f"{{{', '.join(f'{key!r}: {v}' for key, v in pairs)}}}"
    if isinstance(x, PlainObject):
        named = {key: input_words(each, below) for key, each in x.own.items()}
        words = ", ".join(f"{key}={word}" for key, word in named.items())
        return None if None in named.values() else f"SimpleNamespace({words})"
    if isinstance(x, list | tuple):
        parts = [input_words(each, below) for each in x]
        words = ", ".join(filter(None, parts))
        listed = f"[{words}]" if isinstance(x, list) else f"({words}{',' * (len(x) == 1)})"
        return None if None in parts else listed
    if not isinstance(x, Tensor):
        return None
    if x.dtype == torch.bool:
        return f"torch.zeros({tuple(x.shape)}, dtype=torch.bool)"
    if x.is_floating_point():
        return array_words(x.shape)
    largest = int(x.max()) if x.numel() else 0
    return array_words(x.shape, next(below or iter(()), largest + 1))
