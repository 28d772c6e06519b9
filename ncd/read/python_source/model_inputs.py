"""The inputs that a module needs, by the names of its sizes and by its first layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from time import process_time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._pytree import tree_map_only

from ncd.notation.term_reader import TextError
from ncd.read.python_source.first_layers import first_layers
from ncd.read.python_source.folding import is_large
from ncd.read.python_source.input_search import InputSearch, has_batch, try_run, ways_in
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
    of_told_rank,
    rank_of_first_part,
    sequences_first,
)
from ncd.read.python_source.interpreter import Interpreter, PlainObject, SourceFunction
from ncd.read.python_source.other_files import ExternalModule
from ncd.read.python_source.structured_inputs import (
    ADJACENCY,
    NUMBER_MARK,
    NUMBERS,
    TOKENS,
    Attributes,
    Guess,
    Ways,
    alongside,
    attributes_of,
    dictionary_input,
    fits,
    guess_of,
    hinted_list,
    index_inputs,
    inputs_from_arrays,
    lists,
    of_pattern,
    optional,
    required_inputs,
    settings_of,
    spread,
    tuple_input,
    usual_ways,
    width_of,
)
from ncd.read.python_source.usual_sizes import PLAIN_TYPES
from ncd.read.torch_module.from_torch import example_tensors

# --- The inputs of a module: given by the source, by a line of shapes, or guessed

MAX_SHAPES = 4  # shapes of the arrays in a dictionary or a tuple
SECONDS = 1.5  # in which inputs of a module are tried
FALLBACK_SHAPES = (  # of a module without layers
    *("1x16x64", "1x3x64x64", "8x64", "1x3x8x16x16", "1x16#10", "16"),
)
GRAPHS = rf"edge_index|edge_weight|adj_t|{ADJACENCY}"
SIZE_OF_ROWS = re.compile(r"out of bounds for dimension \d+ with size (\d+)")
FIXED_ROWS = re.compile(r"shape '\[-1, \d+\]' is invalid")
CURE = "a last line with its shape, such as 1x3x224x224, or 8x64#50257 for tokens"


class NoInput(TextError):
    """A module of which nothing says what it takes."""


class NoArray(NoInput):
    """A module that takes an object of another library."""


def inputs_of_shapes(shapes: str, line: int) -> tuple[Tensor, ...]:
    """Returns inputs of the given shapes; raises TextError if they are too large."""
    for each in shapes.split(","):
        if prod(int(n) for n in each.partition("#")[0].strip().split("x")) > NUMBERS:
            raise TextError(
                f"an input has more than {NUMBERS:,} numbers", line, 1, cure="1x3x64x64"
            )
    return example_tensors(shapes)


def guess_input(machine: Interpreter, model: nn.Module) -> Guess:
    """Returns an input that a module accepts; the likeliest one if none is found.

    Raises TextError for a module of which nothing says what it takes.
    """
    names = required_inputs(model)
    if not names:
        return Guess((), "")
    forward, settings = forward_node(machine, model), settings_of(model)
    features = lists(names, settings, forward) or alongside(forward, names, model)
    if features is not None:
        return guess_of(names, (features,))
    attributes = attributes_of(forward, names)
    if len(names) > 1 or attributes:
        return _several_inputs(machine, model, names, attributes)
    return _single_input(machine, model, names[0])


def other_input(
    machine: Interpreter, model: nn.Module, failed: Guess, error: str = ""
) -> Guess | None:
    """Returns an input that a module accepts, and boxes' results; None if none is found.

    Args:
        machine: The interpretation, whose ``box_fits`` get the results of boxes.
        model: The module.
        failed: An input with which it has stopped.
        error: The error, if it runs where only shapes count.
    """
    names, first = required_inputs(model), ways_in(failed.inputs, failed.words)
    starts = [first]
    if len(names) == 1 and isinstance(first[0], str | list):
        starts += [(one,) for one in _shapes(machine, model, names[0])]
    search = _search(machine, model, names, bool(FIXED_ROWS.search(error)))
    runs = error and can_run(machine, model, failed.inputs, {})
    return search.from_starts(iter(starts), error=error if runs else "")


def in_bounds(guess: Guess, error: str) -> Guess | None:
    """Returns an input whose whole numbers are below the size of which an error speaks; else None.

    >>> said = "index 4 is out of bounds for dimension 0 with size 4"
    >>> found = in_bounds(guess_of(["i"], ("3#10",)), said)
    >>> found.words, int(found.inputs[0].max()) < 4
    ('3#4', True)
    """
    told = SIZE_OF_ROWS.search(error)
    size = int(told[1]) if told else 0
    words = re.sub(r"#(\d+)", lambda own: f"#{min(int(own[1]), size)}", guess.words)
    if size < 1 or words == guess.words:
        return None

    def clamp(x: Tensor) -> Tensor:
        return x if x.is_floating_point() or x.dtype == torch.bool else x.clamp(max=size - 1)

    return Guess(tree_map_only(Tensor, clamp, guess.inputs), words)


def fits_boxes(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> bool:
    """Returns whether a module runs on given inputs if results of boxes have other shapes."""
    search = InputSearch(machine, model, required_inputs(model), None)
    return search.from_starts(iter([inputs]), named) is not None


def _search(
    machine: Interpreter, model: nn.Module, names: list[str], keeps_batch: bool = False
) -> InputSearch:
    """Returns a search for inputs of a module, which knows what is usual for their names."""
    settings = settings_of(model)

    def usual(name: str, main: str) -> list[str]:
        return usual_ways(name, main, settings)

    rank = rank_of_first_part(model, _all_settings(machine, model))
    return InputSearch(machine, model, names, usual, rank, keeps_batch)


def _shapes(machine: Interpreter, model: nn.Module, name: str) -> list[str]:
    """Returns shapes that a module which takes one input may accept, the likeliest first."""
    shapes = [*of_tokens(model, name), *_candidates(machine, model)]
    usual = _with_larger_batches(model, _sort_by_source(machine, model, name, shapes))
    found = [one for one in dict.fromkeys(usual) if fits(one)]
    return of_told_rank(model, _all_settings(machine, model), found)


def _single_input(machine: Interpreter, model: nn.Module, name: str) -> Guess:
    """Returns an input for a module that takes one; the likeliest if none is accepted."""
    shapes = _shapes(machine, model, name)
    parts = _in_parts(machine, model, name, (*shapes, FALLBACK_SHAPES[1]))
    starts: list[Ways] = [(way,) for way in parts or shapes or FALLBACK_SHAPES]
    if not parts and shapes and not is_large(model) and likely(machine, model):
        return guess_of([name], starts[0])
    end = process_time() + SECONDS
    first = None
    for ways in starts:
        guess = guess_of([name], ways)
        if (sizes := results(machine, model, guess.inputs, {})) is not None:
            first = first or guess
            x = guess.inputs[0]
            if parts or x.dim() < 4 or has_batch(guess.inputs, sizes):
                return guess  # a wrong side may go into the batch
        if process_time() > end:
            break
    usual = guess_of([name], starts[0])
    error = str(try_run(machine, model, usual.inputs, {}).error)
    if first is None and (more := _inputs_in_error(model, error)):
        return _several_inputs(machine, model, [name, *more], {})
    if first is not None and FIXED_ROWS.search(error):
        return _search(machine, model, [name], True).from_starts(iter(starts)) or usual
    search = _search(machine, model, [name])
    found = first or search.from_starts(iter(starts[:MAX_SHAPES]))
    if found is None and search.error is not None:
        raise search.error
    if found is None and not (parts or shapes):
        fact = f"no shape of an input of {type(model).__name__} is given"
        raise NoInput(fact, 1, 1, cure=CURE)
    return found or usual


def _inputs_in_error(model: nn.Module, error: str) -> list[str]:
    """Returns the inputs up to an optional one of which an error speaks; else none."""
    names = next(reversed([*optional(model)]), [])
    spoken = [name for name in names if re.search(rf"\b{re.escape(name)}\b", error)]
    return names[: names.index(spoken[-1]) + 1] if spoken else []


def _in_parts(
    machine: Interpreter, model: nn.Module, name: str, shapes: tuple[str, ...]
) -> list[Ways]:
    """Returns dictionaries, tuples or lists for an input that a module takes apart."""
    settings, node = settings_of(model), forward_node(machine, model)
    tried = (
        dictionary_input(node, name, one, settings, _of_uses(machine, model, [name], one))
        or tuple_input(node, name, one)
        or hinted_list(node, name, one)
        for one in shapes[:MAX_SHAPES]
    )
    return [ways for ways in tried if ways]


def _of_uses(
    machine: Interpreter, model: nn.Module, names: list[str], shape: str
) -> dict[str, str]:
    """Returns the shapes of inputs and their parts that the first layer fixes which takes them.

    Their batch is that of the main shape.
    """
    found, (batch, *rest) = {}, shape.partition("#")[0].split("x")
    for name, layer in first_layers(forward_node(machine, model), names, model).items():
        own = [*of_first(machine, model, layer)]
        if isinstance(layer, nn.Linear):  # which is given rows here, and hardly a picture
            own = [f"1x{layer.in_features}", f"1x16x{layer.in_features}"]
        ranks = [one for one in own if one.count("x") == len(rest)]
        for one in (*ranks, *own)[:1]:
            found[name] = f"{batch}{one[1:]}"
    return found


def _sort_by_source(
    machine: Interpreter, model: nn.Module, name: str, shapes: list[str]
) -> list[str]:
    """Returns shapes, those first that have as many sizes as the source tells of an input.

    Behind them stands what it tells, as they are fixed by a layer or a setting.
    """
    told = _of_words(machine, model, [name]).get(name, "")
    alike = [one for one in shapes if one.count("x") == told.count("x")]
    if not told:
        return shapes
    if shapes[:1] == alike[:1] != []:
        return [*shapes, told]
    if not can_run(machine, model, example_tensors(told), {}):
        return shapes
    return [*alike, told, *(one for one in shapes if one not in alike)]


def _of_words(machine: Interpreter, model: nn.Module, names: list[str]) -> dict[str, str]:
    """Returns the shapes of inputs that a source takes apart, or that its comments tell."""
    table = next((part for part in model.modules() if isinstance(part, nn.Embedding)), None)
    below = f"#{table.num_embeddings if table else 10}"
    forward, found = forward_node(machine, model), {}
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


def forward_node(machine: Interpreter, model: nn.Module) -> ast.AST:
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
) -> Guess:
    """Returns inputs that a module accepts, by their names; none for its masks."""
    search = _search(machine, model, names)
    for more in ([], *optional(model)):
        starts = _starts(machine, model, [*names, *more], attributes)
        if (found := search.from_starts(starts)) is not None:
            return found
        if search.error is not None:
            raise search.error
    for name, read in attributes.items():
        raise _no_array(forward_node(machine, model), type(model).__name__, name, read)
    fact = f"{type(model).__name__} takes inputs ({', '.join(names)}), of which no shape is given"
    raise NoInput(fact, 1, 1, cure="a last line with their shapes, such as 1x16x64, 1x16x64")


def _starts(
    machine: Interpreter, model: nn.Module, names: list[str], attributes: Attributes
) -> Iterator[Ways]:
    """Yields inputs of a module that takes several, around main shapes, and what is told of them.

    Those that it needs come first among the names, then optional ones, of which it may ask for one.
    """
    settings, forward = settings_of(model), forward_node(machine, model)
    arrays = spread(names, attributes)
    graph = any(re.fullmatch(GRAPHS, name.rpartition(".")[2]) for name in arrays)
    nodes = [f"10x{width_of(settings) or _width(model) or 16}"] if graph else []
    told = {
        **index_inputs(forward, names),
        **_of_words(machine, model, arrays),
        **_integer_inputs(forward),
    }
    first = [told[name] for name in arrays[:1] if name in told]
    usual = (one for one in FALLBACK_SHAPES if "#" not in one)
    mains = dict.fromkeys((*nodes, *first, *_candidates(machine, model), *usual))
    for shape in of_told_rank(model, _all_settings(machine, model), [*filter(fits, mains)]):
        own = {**told, **_of_uses(machine, model, names, shape)}
        ways = [
            own.get(name)
            or dictionary_input(forward, name, shape, settings, own)
            or hinted_list(forward, name, shape)
            or usual_ways(name, shape, settings, first=i == 0)[0]
            for i, name in enumerate(arrays)
        ]
        yield (*inputs_from_arrays(names, attributes, ways),)


def _integer_inputs(forward: ast.AST) -> dict[str, str]:
    """Returns the inputs that are whole numbers, by their type hints."""
    given = forward.args.args if isinstance(forward, ast.FunctionDef) else []
    hints = {one.arg: ast.unparse(one.annotation) for one in given if one.annotation}
    return {name: f"{NUMBER_MARK}4" for name, hint in hints.items() if hint == "int"}


def _all_settings(machine: Interpreter, model: nn.Module) -> dict[str, Any]:
    return {**settings_of(model), **_assumed_arguments(machine, model)}


def _assumed_arguments(machine: Interpreter, model: nn.Module) -> dict[str, Any]:
    """Returns what is assumed for a module: settings, and arguments with which it is made."""
    assumed = {name: x for own in machine.assumed_settings.values() for name, x in own.items()}
    chosen = machine.maker is not None and machine.maker[0] is model
    return {**assumed, **(machine.maker[2] if chosen and machine.maker is not None else {})}


def _candidates(machine: Interpreter, model: nn.Module) -> Iterator[str]:
    """Yields shapes that a module may accept, the likeliest first."""
    ours = type(model).__module__.startswith("torch.nn.")
    settings = _all_settings(machine, model)
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
    done = try_run(machine, model, inputs, named)
    if isinstance(done.error, TextError):
        raise done.error
    return done.shapes


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
