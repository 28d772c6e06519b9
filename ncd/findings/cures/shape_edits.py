"""Cures at the call: axes moved, flattened, added or dropped, sizes left open, letters changed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from math import isqrt, prod
from typing import Any

from torch import nn
from torch.nn.modules.conv import _ConvNd

from ncd.findings.cures.candidate import (
    SHAPE_MAKERS,
    Candidate,
    arrays_of_model_call,
    function_name,
    insertion_edit,
    maker_calls,
    method_edits,
    operands,
    replacement_edit,
)
from ncd.findings.failures.call_reasons import CLASSES, LOSSES, PAIRS, is_view
from ncd.findings.failures.failure import Failure, equation, flattening_call
from ncd.findings.reading.axis_range import NoAxis
from ncd.findings.reading.finding import Edit, further_argument

# --- Cures at the call itself: axes moved, memory copied, sizes left open, letters of an einsum


def axis_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields operands with two axes exchanged, and pictures with their channels second."""
    found = equation(failure)
    if failure.call is not None and failure.call.name == "view":
        return  # which stops for its memory or its sizes, and not for the order of its axes
    if isinstance(failure.trace.error, NoAxis):
        yield from _other_axes(failure, failure.trace.error)
        return
    if found is not None and found[0] == "at most":
        return
    shapes = [*failure.shapes, *(failure.call.shapes if failure.call else ())]
    ranks = sorted({len(one) for one in shapes if 1 < len(one) < 6})
    arrays = [*operands(failure)]
    for node in arrays:
        last = 0.05 * (node is not arrays[-1])  # of a product mostly the second is meant
        for rank in ranks:
            for move, cost in _axis_moves(rank, _first_axis_cost(failure)):
                edits = method_edits(failure.trace.text, node, move)
                yield Candidate(edits, cost + last, "axes")


def _other_axes(failure: Failure, error: NoAxis) -> Iterator[Candidate]:
    """Yields the call, or the layer that is made, with the nearest axis that the array has."""
    nearest = error.rank - 1 if error.axis > 0 else -error.rank
    nodes = [
        *ast.walk(failure.node),
        *(ast.walk(failure.constructor_call) if failure.constructor_call else ()),
    ]
    for node in nodes:
        if not isinstance(node, ast.Constant | ast.UnaryOp):
            continue
        if ast.unparse(node) == str(error.axis):
            edit = replacement_edit(failure.trace.text, node, str(nearest))
            yield Candidate((edit,) if edit else (), 0.2, "axes")


def _first_axis_cost(failure: Failure) -> float:
    """Returns what it costs to move the first axis, which is mostly the batch."""
    sequence = isinstance(failure.layer, nn.MultiheadAttention | nn.RNNBase)
    name = failure.call.name if failure.call else ""
    return 0.8 if sequence or name in (*PAIRS, "ctc_loss") else 4.0


def _axis_moves(rank: int, first: float) -> Iterator[tuple[str, float]]:
    if rank == 4:
        yield ".permute(0, 3, 1, 2)", 0.6
        yield ".permute(0, 2, 3, 1)", 0.61
    for i, j in combinations(range(rank), 2):
        last = (i, j) == (rank - 2, rank - 1)
        axes = "-2, -1" if last and rank > 2 else f"{i}, {j}"
        turned = rank == 4 and (i, j) == (1, 3)  # a picture would lie on its side
        cost = 0.6 + 0.02 * (not last) + turned
        yield f".transpose({axes})", cost + first * (i == 0 and rank > 2)


def call_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields other calls in the place of the one that failed."""
    text, node = failure.trace.text, failure.node
    counts = "is invalid for input" in failure.message  # of numbers that differ, as a copy's would
    named = node.func if isinstance(node, ast.Call) and is_view(node) else None
    if isinstance(named, ast.Attribute) and not counts:
        end = named.end_col_offset or 0
        line = named.end_lineno or 1
        start = insertion_edit(text, line, end - 4, "").start
        yield Candidate((Edit(line, start, start + 4, "reshape"),), 0.3, "memory")
    if isinstance(node, ast.Call) and failure.call is not None:
        yield from _open_sizes(failure, node)
        yield from _shared_heads(failure, node)
    if failure.call is not None and failure.call.name == "einsum":
        yield from _letters(failure)
    yield from _kinds(failure)


def _open_sizes(failure: Failure, node: ast.Call) -> Iterator[Candidate]:
    """Yields a view with -1 for one of its sizes: ``k.view(B, -1, h, d)``."""
    call = failure.call
    if call is None or call.name not in ("view", "reshape") or len(node.args) < 2:
        return
    if any(isinstance(size, ast.UnaryOp) for size in node.args):  # one size is open already
        yield from _open_features(failure, node)
        return
    for i, size in enumerate(node.args):
        edit = replacement_edit(failure.trace.text, size, "-1")
        if edit is not None:
            written = isinstance(size, ast.Constant)
            yield Candidate((edit,), 0.7 + 0.6 * (i != 1) + 0.5 * written, "view")


def _open_features(failure: Failure, node: ast.Call) -> Iterator[Candidate]:
    """Yields a view that keeps the batch: ``x.view(x.size(0), -1)`` for ``x.view(-1, 9216)``."""
    subject = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(subject, ast.Name) or len(node.args) != 2 or len(failure.values()) < 3:
        return
    if not isinstance(node.args[0], ast.UnaryOp):
        return
    pairs = zip(node.args, (f"{subject.id}.size(0)", "-1"), strict=True)
    edits = [replacement_edit(failure.trace.text, old, new) for old, new in pairs]
    if all(edits):
        yield Candidate(tuple(one for one in edits if one), 0.6, "view")


def _shared_heads(failure: Failure, node: ast.Call) -> Iterator[Candidate]:
    """Yields an attention whose groups of queries share keys and values."""
    call = failure.call
    if call is None or call.name != "scaled_dot_product_attention" or len(call.shapes) < 2:
        return
    query, key = (failure.value(one[-3]) if len(one) > 3 else 0 for one in call.shapes[:2])
    if key and query != key and query % key == 0:
        edit = further_argument(failure.trace.text, node, "enable_gqa=True")
        yield Candidate((edit,), 0.3, "switch")


def _letters(failure: Failure) -> Iterator[Candidate]:
    """Yields the pattern of an einsum with two letters of an operand exchanged."""
    if not isinstance(failure.node, ast.Call):
        return
    constants = (n for n in ast.walk(failure.node) if isinstance(n, ast.Constant))
    node = next((n for n in constants if isinstance(n.value, str) and "," in n.value), None)
    if node is None:
        return
    source = ast.get_source_segment(failure.trace.text, node) or ""
    spans = [*re.finditer(r"[A-Za-z.]+(?: +[A-Za-z.]+)*", source.partition("->")[0])]
    missing = [*_with_missing_letter(failure, source, spans)]
    for pattern in missing or _with_summed_letter(failure, source, spans):
        edit = replacement_edit(failure.trace.text, node, pattern)
        if edit is not None:
            yield Candidate((edit,), 0.4, "letters")
    for span in spans[::-1]:
        places = [i for i in range(span.start(), span.end()) if source[i].isalpha()]
        for i, j in combinations(places, 2):
            letters = list(source)
            letters[i], letters[j] = letters[j], letters[i]
            edit = replacement_edit(failure.trace.text, node, "".join(letters))
            if edit is not None:
                yield Candidate((edit,), 0.5, "letters")


def _with_missing_letter(
    failure: Failure, source: str, spans: list[re.Match[str]]
) -> Iterator[str]:
    """Yields a pattern whose operand with a letter too few has one of another operand."""
    ranks = [len(shape) for shape in failure.call.shapes] if failure.call else []
    if len(ranks) != len(spans):
        return
    letters = [span[0].replace(" ", "") for span in spans]
    for span, own, rank in zip(spans, letters, ranks, strict=True):
        if len(own) != rank - 1:
            continue
        gap = " " if " " in span[0] else ""
        for other in letters:
            for place, letter in enumerate(other if len(other) == rank else ""):
                if letter not in own:
                    whole = gap.join((*own[:place], letter, *own[place:]))
                    yield f"{source[: span.start()]}{whole}{source[span.end() :]}"


def _with_summed_letter(failure: Failure, source: str, spans: list[re.Match[str]]) -> Iterator[str]:
    """Yields a pattern that sums over a letter of one operand alone, also in another operand.

    In ``bqk,bqd->bqd`` nothing meets k; ``bqk,bkd->bqd`` is meant if the sizes are equal.
    """
    shapes = failure.call.shapes if failure.call else ()
    result = source.partition("->")[2]
    letters = [span[0].replace(" ", "") for span in spans]
    if [*map(len, letters)] != [*map(len, shapes)] or not result:
        return
    counts = Counter("".join(letters))
    lost = [
        (letter, failure.value(shape[place]))
        for own, shape in zip(letters, shapes, strict=True)
        for place, letter in enumerate(own)
        if counts[letter] == 1 and letter not in result
    ]
    for span, own, shape in zip(spans, letters, shapes, strict=True):
        for place, letter in enumerate(own):
            for other, size in lost:
                if other not in own and failure.value(shape[place]) == size:
                    words = span[0].replace(letter, other)
                    yield f"{source[: span.start()]}{words}{source[span.end() :]}"


def _kinds(failure: Failure) -> Iterator[Candidate]:
    """Yields operands as whole or as real numbers."""
    text = failure.trace.text
    words = failure.message.lower()
    if "type" not in words and "long" not in words and "float" not in words:
        return
    inputs = [*_token_input_edits(failure)] if isinstance(failure.layer, nn.Embedding) else []
    yield from inputs
    made = failure.trace.recorder.maker(failure.arrays[0]) if failure.arrays else None
    drawn = made is None or made.name in ("randn", "rand", "empty")  # below 0 too
    for node in operands(failure) if not (inputs and drawn) else ():
        for kind, cost in ((".long()", 0.8), (".float()", 0.9)):
            yield Candidate(method_edits(text, node, kind), cost, "kind")
    if isinstance(failure.layer, nn.MultiheadAttention):  # one array is mostly given three times
        every = [method_edits(text, node, ".float()") for node in [*operands(failure)][:3]]
        yield Candidate(tuple(edit for edits in every for edit in edits), 0.85, "kind")


def _token_input_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields an input of tokens: ``torch.randint`` for ``torch.randn``, ``#100`` at a shape."""
    assert isinstance(failure.layer, nn.Embedding)
    rows = failure.trace.text.rstrip().split("\n")
    last = rows[-1].rstrip()
    if re.fullmatch(r"\d+([x×]\d+)*", last):
        bound = Edit(len(rows), len(last), len(last), f"#{int(failure.layer.num_embeddings)}")
        yield Candidate((bound,), 0.4, "kind", "input")
    for node in ast.walk(failure.trace.tree):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in ("torch.randn", "torch.rand"):
            shape = ", ".join(ast.unparse(one) for one in node.args)
            new = f"torch.randint(0, {int(failure.layer.num_embeddings)}, ({shape},))"
            new = new.replace(",,", ",") if len(node.args) < 2 else new.replace(",))", "))")
            if edit := replacement_edit(failure.trace.text, node, new):
                yield Candidate((edit,), 0.5, "kind", "input")


# --- Cures that give an array the axes that are wanted: flattened, one more, one less, resized

JOINING_CALLS = ("cat", "concat", "concatenate", "add", "__add__", "__radd__", "__iadd__")


def shape_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the array of the failing layer or call with other axes."""
    for number, move, cost in _shape_changes(failure):
        array = _operand(failure, number)
        if array is not None:
            yield Candidate(method_edits(failure.trace.text, array, move), cost, "shape")
    yield from _flatten_layer(failure)
    yield from _resize_edits(failure)
    yield from _cut_table(failure)


def flattening_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a flattening without the batch: ``torch.flatten(x, 1)`` for ``torch.flatten(x)``."""
    call = flattening_call(failure)
    node = call.node if call is not None else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    function = ast.unparse(node.func)
    if node.args and function == "torch.flatten":
        new = f"torch.flatten({ast.unparse(node.args[0])}, 1)"
    else:
        new = f"{function.rpartition('.')[0]}.flatten(1)"
    edit = replacement_edit(failure.trace.text, node, new)
    if edit is not None:
        yield Candidate((edit,), 0.2, "batch")


def _operand(failure: Failure, number: int) -> ast.expr | None:
    """Returns the expression of an array that the failing call takes."""
    found, count = [*operands(failure)], len(failure.arrays)
    found = found[max(0, len(found) - count) :]  # without the module that is called
    return found[number] if number < len(found) else None


def _shape_changes(failure: Failure) -> Iterator[tuple[int, str, float]]:
    """Yields which operand is changed, what is put behind it, and the cost."""
    values, layer = failure.values(), failure.layer
    wanted = _features(failure)
    if wanted:
        for k in range(1, len(values) - 1):
            if prod(values[k:]) == wanted:
                yield 0, f".flatten({k})", 0.3
        if len(values) == 4:
            yield 0, ".flatten(1)", 0.95
    if isinstance(layer, _ConvNd):
        yield from ((0, *move) for move in _picture_moves(values, layer))
    if isinstance(layer, nn.RNNBase) and layer.input_size == 1 and len(values) == 2:
        yield 0, ".unsqueeze(-1)", 0.4
    if isinstance(layer, nn.RNNBase) and len(values) > 3:
        yield from ((0, f".squeeze({i})", 0.4) for i, n in enumerate(values) if n == 1)
    if failure.call is not None and failure.call.name == "gather" and len(failure.call.takes) > 1:
        yield from ((1, f".unsqueeze({i})", 0.4 - 0.1 * i) for i in range(2))
    if failure.call is not None and failure.call.name in LOSSES and len(failure.call.shapes) > 1:
        yield from _target_moves(failure)


def _features(failure: Failure) -> int:
    """Returns how many features a linear map takes; 0 if it is none that failed."""
    if isinstance(failure.layer, nn.Linear):
        return int(failure.layer.in_features)
    call = failure.call
    if failure.layer is None and call is not None and call.name == "linear":
        return failure.value(call.shapes[1][-1]) if len(call.shapes) > 1 else 0
    return 0


def _picture_moves(values: tuple[int, ...], layer: Any) -> Iterator[tuple[str, float]]:
    """Yields what gives an array the axes of a convolution: batch, channels and sides."""
    channels, sides = int(layer.in_channels), len(layer.kernel_size)
    if len(values) == 2 and values[1] == channels:
        yield f"[:, :{', None' * sides}]", 0.4
    if len(values) == sides + 1 and channels == 1:
        yield ".unsqueeze(1)", 0.4
    if len(values) == sides and channels == 1:
        yield "[None, None]", 0.5
    area, rest = divmod(values[-1], channels) if values else (0, 1)
    side = isqrt(area)
    if len(values) == 2 and sides == 2 and not rest and side > 1 and side * side == area:
        yield f".view(-1, {channels}, {side}, {side})", 0.5


def rank_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields an input with the axes that a convolution takes: more, fewer, or turned."""
    layer, values, text = failure.layer, failure.values(), failure.trace.text
    if not isinstance(layer, _ConvNd):
        return
    sides, channels = len(layer.kernel_size), int(layer.in_channels)
    if len(values) == 3 == sides + 1 and values[-1] == channels:  # a single picture
        for node in operands(failure):
            yield Candidate(method_edits(text, node, ".permute(2, 0, 1)"), 0.5, "rank")
    for node in operands(failure) if len(values) > sides + 2 else ():
        for axis, size in enumerate(values[:-sides]):
            if size == 1:
                edits = method_edits(text, node, f".squeeze({axis})")
                yield Candidate(edits, 0.3 + 0.1 * (axis == 0), "rank")
        if values[-sides - 1] == channels:
            last = len(values) - sides - 2
            yield Candidate(method_edits(text, node, f".flatten(0, {last})"), 0.5, "rank")
    if len(values) == sides:
        for node in dict.fromkeys([*arrays_of_model_call(failure), *operands(failure)]):
            for made in maker_calls(failure, node):
                if function_name(made) in SHAPE_MAKERS and made.args:
                    start = _sizes_start(made)
                    edit = insertion_edit(text, *start, f"1, {channels}, ")
                    yield Candidate((edit,), 0.9, "rank", "input")


def _sizes_start(made: ast.Call) -> tuple[int, int]:
    """Returns the line and the place of the first size of a call that makes an array."""
    last = made.args[-1]
    sizes = last.elts if isinstance(last, ast.Tuple | ast.List) and last.elts else made.args
    return sizes[0].lineno, sizes[0].col_offset


def _target_moves(failure: Failure) -> Iterator[tuple[int, str, float]]:
    """Yields what brings the prediction and the target of a loss into one shape."""
    assert failure.call is not None
    scores, target = (tuple(map(failure.value, one)) for one in failure.call.shapes[:2])
    whole = not failure.call.takes[1].is_floating_point()
    classes = failure.call.name in CLASSES
    wanted = (scores[0], *scores[2:]) if classes and len(scores) > 1 else scores
    for axis, size in enumerate(target):
        if size == 1 and (*target[:axis], *target[axis + 1 :]) == wanted:
            yield 1, f".squeeze({axis})", 0.3
    for axis, size in enumerate(wanted):
        if size == 1 and (*wanted[:axis], *wanted[axis + 1 :]) == target:
            yield 1, f".unsqueeze({axis})", 0.3
    if classes and whole and target == scores:
        yield 1, ".argmax(1)", 0.3
    if not classes and whole and target == scores:
        yield 1, ".float()", 0.3


def binary_loss_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a loss of two classes where one score is given for each: ``nn.BCEWithLogitsLoss``."""
    call, text = failure.call, failure.trace.text
    if call is None or call.name != "cross_entropy" or len(call.shapes) < 2:
        return
    scores, target = (tuple(map(failure.value, one)) for one in call.shapes[:2])
    if scores != (*target, 1):
        return
    loss = "BCELoss" if "sigmoid" in text.lower() else "BCEWithLogitsLoss"
    made = [
        node.func
        for node in ast.walk(failure.trace.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("nn.CrossEntropyLoss")
    ]
    array = _operand(failure, 1)
    edits = [replacement_edit(text, node, f"nn.{loss}") for node in made[:1]]
    if array is not None and edits and edits[0] is not None:
        moved = method_edits(text, array, ".float().unsqueeze(1)")
        yield Candidate((edits[0], *moved), 0.3, "loss")


def _flatten_layer(failure: Failure) -> Iterator[Candidate]:
    """Yields a ``nn.Flatten()`` before a linear layer of a ``nn.Sequential``."""
    values, made = failure.values(), failure.constructor_call
    if made is None or not isinstance(failure.layer, nn.Linear) or len(values) < 3:
        return
    for node in ast.walk(failure.trace.tree):
        if isinstance(node, ast.Call) and made in node.args:
            name = ast.unparse(node.func)
            if name.endswith("Sequential"):
                new = f"{name.removesuffix('Sequential')}Flatten(), "
                edit = insertion_edit(failure.trace.text, made.lineno, made.col_offset, new)
                exact = prod(values[1:]) == failure.layer.in_features
                yield Candidate((edit,), 0.2 if exact else 0.8, "shape")


def _resize_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields one of two feature maps resized to the sides of the other."""
    call = failure.call
    if call is None or call.name not in JOINING_CALLS or len(call.shapes) != 2 or failure.layer:
        return
    shapes = [tuple(map(failure.value, one)) for one in call.shapes]
    arrays = [*operands(failure)]
    if len({*map(len, shapes)}) > 1 or len(shapes[0]) not in (4, 5) or len(arrays) != 2:
        return
    space = "F" if "functional as F" in failure.trace.text else "nn.functional"
    smaller = 0 if prod(shapes[0][2:]) < prod(shapes[1][2:]) else 1
    for number in (smaller, 1 - smaller):
        node, other = arrays[number], ast.unparse(arrays[1 - number])
        resized = f"{space}.interpolate({ast.unparse(node)}, size={other}.shape[2:])"
        edit = replacement_edit(failure.trace.text, node, resized)
        if edit is not None:
            yield Candidate((edit,), 1.2 + 0.2 * (number != smaller), "shape")


def _cut_table(failure: Failure) -> Iterator[Candidate]:
    """Yields a table of positions cut to the length of what it is added to.

    It is kept by the class: ``x + self.table[:, :x.size(1)]``.
    """
    call, arrays = failure.call, [*operands(failure)]
    if call is None or call.name not in JOINING_CALLS or (len(call.shapes), len(arrays)) != (2, 2):
        return
    for number, node in enumerate(arrays):
        table, other = (tuple(map(failure.value, call.shapes[i])) for i in (number, 1 - number))
        less = len(other) - len(table)
        if not isinstance(node, ast.Attribute) or less < 0:
            continue
        pairs = zip(table, other[less:], strict=True)
        longer = [axis for axis, (have, take) in enumerate(pairs) if have > take > 1]
        if len(longer) == 1:
            (axis,) = longer
            size = f"{ast.unparse(arrays[1 - number])}.size({axis + less})"
            cut = f"[{':, ' * axis}:{size}]"
            yield Candidate(method_edits(failure.trace.text, node, cut), 0.5, "shape")
