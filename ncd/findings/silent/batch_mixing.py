"""Attention, softmax and means that run over the batch, so that samples mix."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ncd.findings.reading.batch_signs import text_signs
from ncd.findings.reading.source_text import called_name
from ncd.findings.reading.source_trace import TracedCall, TracedModule
from ncd.findings.silent.model_runs import (
    Attempt,
    SilentFault,
    Source,
    SourceRun,
    argument,
    arrays_of,
    layer_of,
    line_of,
    shapes,
)

# --- The signs in a source of which axis of its input is the batch

MEANS = ("mean", "amax", "max", "sum")
UNSURE = ("src", "tgt", "source", "target", "query", "key", "value", "q", "k", "v", "memory")


def batch_first(source: Source, means: bool = True) -> bool | None:
    """Returns whether axis 0 of the input is the batch; None if nothing says so or else.

    Any sign of the steps before the batch outweighs all others, so that a model which is meant for
    that order is left in peace. Without ``means``, what is averaged is no sign.
    """
    signs = [*text_signs(source.source), *_usage_signs(source, means)]
    if not all(signs):
        return False
    if signs:
        return True
    first = source.run.inputs[0] if source.run and source.run.inputs else ()
    if len(first) >= 4 or (len(first) == 2 and _real(source)):
        return True
    return None


def usual_order(source: Source) -> bool:
    """Returns whether the input, of three axes, is given to a class in the usual order."""
    names = [
        one.arg
        for node in source.source.nodes
        if isinstance(node, ast.FunctionDef) and node.name == "forward"
        for one in node.args.args[1:]
    ]
    return not source.assumed and bool(names) and not any(name in UNSURE for name in names)


def _real(source: Source) -> bool:
    first = next((x for x in (*source.args, *source.named.values())), None)
    return isinstance(first, torch.Tensor) and first.is_floating_point()


def _usage_signs(source: Source, means: bool) -> Iterator[bool]:
    """Yields the signs of how axes are used: ``x[:, -1]`` and ``x.mean(1)`` take a step."""
    run, other = source.run, source.resized_run(0)
    if run is None or other is None or not run.inputs:
        return
    sizes = run.inputs[0][0], other.inputs[0][0]
    kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.modules.batchnorm._BatchNorm)
    for layer in run.layers if len(run.inputs[0]) > 3 else ():
        if (
            isinstance(layer.module, kinds)
            and layer.arrays
            and layer.arrays[0].shape[0] == sizes[0]
        ):
            yield True
    for call, again in zip(run.calls, other.calls, strict=True):
        if not call.takes or call.takes[0].dim() != 3 or (call.name in MEANS and not means):
            continue
        if (call.takes[0].shape[0], again.takes[0].shape[0]) == sizes:
            yield from _call_signs(call.name, argument(call, 1, "dim"))


def _call_signs(name: str, index: object) -> Iterator[bool]:
    """Yields the sign of a call that takes a place of an axis, or goes over all of it."""
    if name == "__getitem__":
        if isinstance(index, int) and not isinstance(index, bool):
            yield False
        elif isinstance(index, tuple) and index[:1] == (slice(None),):
            yield from (True for one in index[1:2] if isinstance(one, int))
    elif name in MEANS:
        if index == 0:
            yield False
        elif index == 1:
            yield True
    elif name == "flatten" and index == 1:
        yield True


# --- Attention, softmax and means that run over the batch, so that samples mix

TRANSFORMER_PARTS = (
    nn.TransformerEncoderLayer,
    nn.TransformerDecoderLayer,
    nn.TransformerEncoder,
    nn.TransformerDecoder,
    nn.Transformer,
)
SOFTMAXES = ("softmax", "log_softmax")


def attention_over_batch(source: Source) -> Iterator[SilentFault]:
    """Yields the layers that take steps first and are given a batch first."""
    run = source.run
    steps_first = [x for x in run.layers if _steps_first(x)] if run else []
    other = source.resized_run(0) if steps_first else None
    if run is None or other is None:
        return
    sizes = _batch(run, other)
    wrong: dict[str, TracedModule] = {}  # by the path of the whole that each is part of
    for layer, again in zip(run.layers, other.layers, strict=True):
        if _steps_first(layer) and _lengths(layer.arrays, again.arrays, 0) == sizes:
            wrong.setdefault(_transformer_path(source, layer.path), layer)
    order = batch_first(source) if wrong else None
    together: dict[object, list[str]] = {}  # layers that one call makes, as in a loop
    for path, layer in wrong.items():
        if order or (
            order is None and not isinstance(layer.module, nn.RNNBase) and usual_order(source)
        ):
            together.setdefault(tuple(_makers(source, layer, path)) or path, []).append(path)
    for first, *more in together.values():
        yield _over_batch(source, wrong[first], first, len(more), order is True)


def _batch(run: SourceRun, other: SourceRun) -> tuple[int, int]:
    """Returns the sizes of the batch in two runs."""
    return run.inputs[0][0], other.inputs[0][0]


def _lengths(one: tuple[Tensor, ...], other: tuple[Tensor, ...], axis: int) -> tuple[int, int]:
    """Returns the sizes of an axis of the first array, in two runs."""
    return one[0].shape[axis], other[0].shape[axis]


def _steps_first(layer: TracedModule) -> bool:
    """Returns whether a layer takes the steps of a sequence before the batch."""
    first = getattr(layer.module, "batch_first", True) is False
    return first and bool(layer.arrays) and layer.arrays[0].dim() == 3


def _transformer_path(source: Source, path: str) -> str:
    """Returns the path of the whole transformer that a layer is part of."""
    found = path
    while path:
        path = path.rpartition(".")[0]
        if isinstance(source.model.get_submodule(path), TRANSFORMER_PARTS):
            found = path
    return found


def _over_batch(
    source: Source, layer: TracedModule, path: str, more: int, known: bool
) -> SilentFault:
    """Returns the fault of a layer, and of so many more that the same call makes."""
    whole = source.model.get_submodule(path)
    name = f"{path} ({type(whole).__name__})" if path else type(whole).__name__
    name += f", like {more} more," if more else ""
    shape = " × ".join(map(str, layer.arrays[0].shape))
    verb = "steps along" if isinstance(layer.module, nn.RNNBase) else "attends over"
    where = f"axis 0 of its input ({shape}), " + (
        "which is the batch" if known else "as batch_first is False"
    )
    what = "the samples mix" if known else "if axis 0 is the batch, the samples mix"
    apart = f"the {layer.arrays[0].shape[1]} places of axis 1 never meet"
    says = f"{name} {verb} {where}: {what}, and {apart}."
    text = source.source
    makers = _makers(source, layer, path)
    edits = tuple(edit for one in makers for edit in text.argument(one, "batch_first", "True"))
    place = makers[0] if makers else source.machine.places.get(id(layer.module))
    return SilentFault(line_of(place), path, says, (Attempt(edits),) if edits else ())


def _makers(source: Source, layer: TracedModule, path: str) -> list[ast.Call]:
    """Returns the calls that make a layer, and those around it that take ``batch_first``."""
    kinds = set()
    inner = layer.path
    while True:  # from the layer up to the whole
        kinds.add(type(source.model.get_submodule(inner)).__name__)
        if inner == path or not inner:
            break
        inner = inner.rpartition(".")[0]
    kinds -= {"TransformerEncoder", "TransformerDecoder", "ModuleList"}
    calls = (one for one in source.source.nodes if isinstance(one, ast.Call))
    return [one for one in calls if called_name(one) in kinds and hasattr(nn, called_name(one))]


def softmax_over_batch(source: Source) -> Iterator[SilentFault]:
    """Yields the softmaxes that run over the samples of a batch."""
    run = source.run
    if run is None or not any(call.name in SOFTMAXES for call in run.calls):
        return
    other = source.resized_run(0)
    if other is None:
        return
    sizes = _batch(run, other)
    results = {id(x) for x in arrays_of(run.output)}
    pairs_of_calls = zip(run.calls, other.calls, strict=True)
    for number, (call, again) in enumerate(pairs_of_calls):
        if call.name not in SOFTMAXES or not call.takes:
            continue
        pairs = list(zip(call.takes[0].shape, again.takes[0].shape, strict=True))
        rank, dim = len(pairs), argument(call, 1, "dim")
        implied = dim is None
        dim = (0 if rank in (0, 1, 3) else 1) if dim is None else dim % max(rank, 1)
        of_batch = [i for i, n in enumerate(pairs) if n == sizes]
        if rank < 2 or dim not in of_batch:
            continue
        if len(run.inputs[0]) == 2 and not any(id(x) in results for x in call.gives):
            continue  # the rows of one bag or graph may be weighed against each other
        order = batch_first(source)
        if of_batch == [dim] and (order or (implied and order is None)):
            yield _softmax(source, call, dim, implied)
        elif len(of_batch) == 2 and rank > 2 and order and _has_second_axis(source, number):
            yield _scores(call, dim)


def _has_second_axis(source: Source, number: int) -> bool:
    """Returns whether axis 1 of the input is one of the array that a call takes."""
    run, other = source.run, source.resized_run(1)
    if run is None or other is None:
        return False
    shapes_of = (one.calls[number].takes[0].shape for one in (run, other))
    return (run.inputs[0][1], other.inputs[0][1]) in set(zip(*shapes_of, strict=True))


def _scores(call: TracedCall, dim: int) -> SilentFault:
    shape = " × ".join(map(str, call.takes[0].shape))
    says = (
        f"{call.name} runs over axis {dim} of {shape}, scores of the batch against itself: each "
        "sample attends to the others, at each place by itself."
    )
    return SilentFault(line_of(call.node), call.path, says)


def _softmax(source: Source, call: TracedCall, dim: int, implied: bool) -> SilentFault:
    shape = " × ".join(map(str, call.takes[0].shape))
    node = source.machine.places.get(id(layer_of(call))) if call.path else None
    maker = node if isinstance(layer_of(call), nn.Softmax | nn.LogSoftmax) else call.node
    reason = ", which torch takes where no dim is given" if implied else ""
    says = (
        f"{call.name} runs over axis {dim} of {shape}{reason}, which is the batch: the numbers of "
        "different samples add up to 1, not those of one."
    )
    attempts: tuple[Attempt, ...] = ()
    if isinstance(maker, ast.Call):
        text = source.source
        made = isinstance(layer_of(call), nn.Softmax | nn.LogSoftmax)
        place = 0 if made else 1 - (_is_method(source, maker))
        if len(maker.args) > place:
            attempts = (Attempt(text.node_edits(maker.args[place], "-1")),)
        else:
            attempts = (Attempt(text.argument(maker, "dim", "-1")),)
    return SilentFault(line_of(maker), call.path, says, attempts)


def _is_method(source: Source, node: ast.Call) -> bool:
    """Returns whether a call is that of an array's method: ``x.softmax(0)``."""
    home = node.func.value if isinstance(node.func, ast.Attribute) else None
    return home is not None and source.source.letters(home) not in (
        *("F", "torch", "nn.functional", "torch.nn.functional", "functional"),
    )


def mean_over_batch(source: Source) -> Iterator[SilentFault]:
    """Yields the means over the samples of a batch, after which no axis is the batch."""
    run = source.run
    if run is None or not any(
        call.name in MEANS and argument(call, 1, "dim") == 0 for call in run.calls
    ):
        return
    other = source.resized_run(0)
    if other is None or len(run.inputs[0]) < 3 or not batch_first(source, means=False):
        return
    sizes = _batch(run, other)
    ends = shapes(tuple(arrays_of(run.output))), shapes(tuple(arrays_of(other.output)))
    if len(ends[0]) != 1 or not ends[0][0] or ends[0] != ends[1]:
        return
    for call, again in zip(run.calls, other.calls, strict=True):
        dim = argument(call, 1, "dim")
        if call.name not in MEANS or dim != 0 or not call.takes or call.takes[0].dim() < 2:
            continue
        if _lengths(call.takes, again.takes, 0) == sizes:
            shape = " × ".join(map(str, call.takes[0].shape))
            says = (
                f"{call.name} goes over axis 0 of {shape}, which is the batch: all samples become "
                "one, and the result has no axis for them."
            )
            yield SilentFault(line_of(call.node), call.path, says, _other_axis(source, call))


def _other_axis(source: Source, call: TracedCall) -> tuple[Attempt, ...]:
    """Returns the edit that takes axis 1 in place of axis 0."""
    node = call.node
    if not isinstance(node, ast.Call):
        return ()
    places = [*node.args[:2], *(word.value for word in node.keywords if word.arg == "dim")]
    zeros = [one for one in places if isinstance(one, ast.Constant) and one.value == 0]
    return tuple(Attempt(source.source.node_edits(one, "1")) for one in zeros[-1:])
