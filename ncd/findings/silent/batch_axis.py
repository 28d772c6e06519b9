"""Attention, softmax and means that run over the batch, so that samples mix."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from ncd.findings.silent.batch_order import MEANS, batch_first, usual_order
from ncd.findings.silent.calls import Call, arrays_of
from ncd.findings.silent.source import Attempt, Fault, Source
from ncd.findings.silent.source_text import called_name

WHOLE = (nn.TransformerEncoder, nn.TransformerDecoder, nn.Transformer)
SOFTMAXES = ("softmax", "log_softmax")


def attention_over_batch(source: Source) -> Iterator[Fault]:
    """Yields the layers that take steps first and are given a batch first."""
    run = source.run
    steps_first = [x for x in run.layers if _steps_first(x)] if run else []
    other = source.changed(0) if steps_first else None
    if run is None or other is None:
        return
    sizes = run.inputs[0][0], other.inputs[0][0]
    seen: list[str] = []
    for call, again in zip(run.layers, other.layers, strict=True):
        layer = call.layer
        if not _steps_first(call) or (call.shapes[0][0], again.shapes[0][0]) != sizes:
            continue
        path = _whole(source, call.path)
        if any(path == one or path.startswith(f"{one}.") for one in seen):
            continue
        order = batch_first(source)
        sure = order or (
            order is None and not isinstance(layer, nn.RNNBase) and usual_order(source)
        )
        if sure:
            seen.append(path)
            yield _over_batch(source, call, path, order is True)


def _steps_first(call: Call) -> bool:
    """Returns whether a layer takes the steps of a sequence before the batch."""
    first = getattr(call.layer, "batch_first", True) is False
    return first and bool(call.shapes) and len(call.shapes[0]) == 3


def _whole(source: Source, path: str) -> str:
    """Returns the path of the whole transformer that a layer is part of."""
    found = path
    while path:
        path = path.rpartition(".")[0]
        if isinstance(source.model.get_submodule(path), WHOLE):
            found = path
    return found


def _over_batch(source: Source, call: Call, path: str, known: bool) -> Fault:
    layer = call.layer
    whole = source.model.get_submodule(path)
    name = f"{path} ({type(whole).__name__})" if path else type(whole).__name__
    shape = " × ".join(map(str, call.shapes[0]))
    verb = "steps along" if isinstance(layer, nn.RNNBase) else "attends over"
    if known:
        where = f"axis 0 of its input ({shape}), which is the batch"
        what = "the samples mix"
    else:
        where = f"axis 0 of its input ({shape}), as batch_first is False"
        what = "if axis 0 is the batch, the samples mix"
    says = (
        f"{name} {verb} {where}: {what}, and the {call.shapes[0][1]} places of axis 1 never meet."
    )
    text = source.source
    kinds = {"MultiheadAttention"} if isinstance(layer, nn.MultiheadAttention) else set()
    inner = call.path
    while len(inner) >= len(path):  # from the layer up to the whole
        kinds.add(type(source.model.get_submodule(inner)).__name__)
        if not inner:
            break
        inner = inner.rpartition(".")[0]
    makers = [
        one
        for one in text.nodes
        if isinstance(one, ast.Call)
        and called_name(one) in kinds
        and called_name(one) not in ("TransformerEncoder", "TransformerDecoder")
    ]
    edits = tuple(edit for one in makers for edit in text.argument(one, "batch_first", "True"))
    line = makers[0].lineno if makers else source.line_of(layer, call.node)
    return Fault(line, path, says, (Attempt(edits),) if edits else ())


def softmax_over_batch(source: Source) -> Iterator[Fault]:
    """Yields the softmaxes that run over the samples of a batch."""
    run = source.run
    if run is None or not any(call.name in SOFTMAXES for call in run.calls):
        return
    other = source.changed(0)
    if other is None:
        return
    sizes = run.inputs[0][0], other.inputs[0][0]
    results = {id(x) for x in arrays_of(run.output)}
    for call, again in zip(run.calls, other.calls, strict=True):
        if call.name not in SOFTMAXES or not call.shapes:
            continue
        pairs = list(zip(call.shapes[0], again.shapes[0], strict=True))
        rank, dim = len(pairs), call.argument(1, "dim")
        implied = dim is None
        dim = (0 if rank in (0, 1, 3) else 1) if dim is None else dim % rank
        if (
            rank < 2
            or pairs[dim] != sizes
            or [i for i, n in enumerate(pairs) if n == sizes] != [dim]
        ):
            continue
        if len(run.inputs[0]) == 2 and not any(id(x) in results for x in call.results):
            continue  # the rows of one bag or graph may be weighed against each other
        order = batch_first(source)
        if order or (implied and order is None):
            yield _softmax(source, call, dim, implied)


def _softmax(source: Source, call: Call, dim: int, implied: bool) -> Fault:
    shape = " × ".join(map(str, call.shapes[0]))
    node = source.machine.places.get(id(call.layer)) if call.path else None
    maker = node if isinstance(call.layer, nn.Softmax | nn.LogSoftmax) else call.node
    reason = ", which torch takes where no dim is given" if implied else ""
    says = (
        f"{call.name} runs over axis {dim} of {shape}{reason}, which is the batch: the numbers of "
        "different samples add up to 1, not those of one."
    )
    attempts: tuple[Attempt, ...] = ()
    if isinstance(maker, ast.Call):
        text = source.source
        made = isinstance(call.layer, nn.Softmax | nn.LogSoftmax)
        place = 0 if made else 1 - (_is_method(source, maker))
        if len(maker.args) > place:
            attempts = (Attempt(text.replaced(maker.args[place], "-1")),)
        else:
            attempts = (Attempt(text.argument(maker, "dim", "-1")),)
    return Fault(getattr(maker, "lineno", 0), call.path, says, attempts)


def _is_method(source: Source, node: ast.Call) -> bool:
    """Returns whether a call is that of an array's method: ``x.softmax(0)``."""
    home = node.func.value if isinstance(node.func, ast.Attribute) else None
    return home is not None and source.source.letters(home) not in (
        *("F", "torch", "nn.functional", "torch.nn.functional", "functional"),
    )


def mean_over_batch(source: Source) -> Iterator[Fault]:
    """Yields the means over the samples of a batch, after which no axis is the batch."""
    run = source.run
    if run is None or not any(
        call.name in MEANS and call.argument(1, "dim") == 0 for call in run.calls
    ):
        return
    other = source.changed(0)
    if other is None or len(run.inputs[0]) < 3 or not batch_first(source, means=False):
        return
    sizes = run.inputs[0][0], other.inputs[0][0]
    results = zip(arrays_of(run.output), arrays_of(other.output), strict=False)
    shapes = [(tuple(a.shape), tuple(b.shape)) for a, b in results]
    if len(shapes) != 1 or not shapes[0][0] or shapes[0][0] != shapes[0][1]:
        return
    for call, again in zip(run.calls, other.calls, strict=True):
        dim = call.argument(1, "dim")
        if call.name not in MEANS or dim != 0 or not call.shapes or len(call.shapes[0]) < 2:
            continue
        if (call.shapes[0][0], again.shapes[0][0]) == sizes:
            shape = " × ".join(map(str, call.shapes[0]))
            says = (
                f"{call.name} goes over axis 0 of {shape}, which is the batch: all samples become "
                "one, and the result has no axis for them."
            )
            yield Fault(getattr(call.node, "lineno", 0), call.path, says, _other_axis(source, call))


def _other_axis(source: Source, call: Call) -> tuple[Attempt, ...]:
    """Returns the edit that takes axis 1 in place of axis 0."""
    node = call.node
    if not isinstance(node, ast.Call):
        return ()
    places = [*node.args[:2], *(word.value for word in node.keywords if word.arg == "dim")]
    zeros = [one for one in places if isinstance(one, ast.Constant) and one.value == 0]
    return tuple(Attempt(source.source.replaced(one, "1")) for one in zeros[-1:])
