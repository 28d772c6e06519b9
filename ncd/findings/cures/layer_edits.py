"""Cures that change an argument of a layer or a call, or that add a layer."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import combinations
from math import prod
from typing import Any, TypeGuard

from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from ncd.findings.cures.candidate import (
    SIZE_METHODS,
    Candidate,
    arrays_of_model_call,
    function_name,
    insertion_edit,
    maker_calls,
    method_edits,
    operands,
    replacement_edit,
)
from ncd.findings.cures.shape_edits import JOINING_CALLS
from ncd.findings.failures.call_reasons import LOSSES, PAIRS
from ncd.findings.failures.failure import TAKES, Failure, equation, flattened_sizes
from ncd.findings.failures.layer_reasons import norm_ranks
from ncd.findings.failures.masks import wrong_mask
from ncd.findings.reading.batch_signs import text_signs
from ncd.findings.reading.finding import Edit, further_argument
from ncd.findings.reading.source_text import SourceText
from ncd.read.python_source.interpreter import SETTINGS, SourceModule

# --- Cures that change an argument of the layer or of the call that failed

GIVES = ("out_features", "out_channels", "hidden_size")
LONGEST = 60  # letters of a product that may stand in several places
TWINS = 8  # equal products that are changed together
LEAST_SIZE = 64
FIXED_SWITCHES = (
    "bias",
    "inplace",
    "device",
    "affine",
    "elementwise_affine",
    "track_running_stats",
)
STEPS_FIRST_LAYERS = (
    *("RNN", "LSTM", "GRU", "MultiheadAttention"),
    *("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"),
)


def argument_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields other expressions for the arguments: ``hidden_units`` → ``hidden_units * 7 * 7``."""
    found = equation(failure)
    calls = [failure.constructor_call] if failure.constructor_call is not None else []
    shaped = failure.call is not None and failure.call.name in SIZE_METHODS
    if isinstance(failure.node, ast.Call) and failure.layer is None and shaped:
        calls.append(failure.node)
    equal = found is not None and found[0] == "equal"
    wanted = _possible_sizes(failure) + (
        [failure.value(n) for n in found[1:]] if found and equal else []
    )
    products = _products(failure.trace.tree) if calls else {}
    for call in calls:
        if call is failure.node and any(isinstance(one, ast.UnaryOp) for one in call.args):
            wanted = wanted[:1]  # beside -1, other sizes would take the batch apart
        for argument in (*call.args, *(word.value for word in call.keywords)):
            if isinstance(argument, ast.Name | ast.BinOp | ast.Attribute) or (
                call is failure.node and _is_size(argument)
            ):
                twins = products.get(ast.unparse(argument), [])
                for value in dict.fromkeys(wanted):
                    yield from _other_sizes(failure, argument, twins, value)


def _other_sizes(
    failure: Failure, argument: ast.expr, twins: list[ast.expr], value: int
) -> Iterator[Candidate]:
    """Yields an argument as a size, alone and with the equal ones of the text, its twins."""
    text = failure.trace.text
    for rank, words in enumerate(_expressions(failure, argument, value)):
        cost = 0.1 * rank + failure.has_misplaced_axis
        edit = replacement_edit(text, argument, words)
        if edit is not None:
            yield Candidate((edit,), 0.9 + cost, "argument")
        if 1 < len(twins) <= TWINS:
            edits = (replacement_edit(text, one, words) for one in twins)
            yield Candidate(tuple(filter(None, edits)), 0.85 + cost, "argument")


def _is_size(node: ast.AST) -> TypeGuard[ast.Constant]:
    """Returns whether a node is a number that is hardly equal to another one by chance."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= LEAST_SIZE


def _products(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Returns the products, sums and sizes of a text by their words: equal ones may go along."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.BinOp) or _is_size(node)) or node.end_lineno != node.lineno:
            continue
        if (node.end_col_offset or 0) - node.col_offset <= LONGEST:
            found.setdefault(ast.unparse(node), []).append(node)
    return found


def swap_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the layer with its first two sizes exchanged: ``nn.LSTM(hidden, embedding)``."""
    made, text = failure.constructor_call, failure.trace.text
    if made is None or failure.layer is None or len(made.args) < 2:
        return
    first, second = made.args[:2]
    words = [ast.get_source_segment(text, one) or "" for one in (first, second)]
    edits = (replacement_edit(text, first, words[1]), replacement_edit(text, second, words[0]))
    if words[0] != words[1] and edits[0] is not None and edits[1] is not None:
        gives = max(int(getattr(failure.layer, name, 0)) for name in GIVES)
        if gives in failure.values()[1:]:
            yield Candidate((edits[0], edits[1]), 0.7, "argument")


def parameter_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a parameter that is added to an array with as many rows as this has."""
    call, text = failure.call, failure.trace.text
    if call is None or call.name not in PAIRS or len(call.shapes) != 2:
        return
    arrays = [*operands(failure)]
    for node, own, other in zip(arrays, call.shapes, call.shapes[::-1], strict=False):
        made = _parameter_call(failure.trace.tree, ast.unparse(node))
        if made is None or len(own) != len(made.args) or len(own) != len(other):
            continue
        for argument, size, wanted in zip(made.args, own, other, strict=True):
            has, takes = failure.value(size), failure.value(wanted)
            if has == takes or 1 in (has, takes):
                continue
            source = ast.get_source_segment(text, argument) or ""
            written = [str(takes)]
            if abs(takes - has) < 3:
                written.insert(0, f"{source} {'+' if takes > has else '-'} {abs(takes - has)}")
            for rank, words in enumerate(written):
                edit = replacement_edit(text, argument, words)
                if edit is not None and not isinstance(argument, ast.Constant):
                    yield Candidate((edit,), 0.7 + 0.1 * rank, "argument")


def _parameter_call(tree: ast.AST, name: str) -> ast.Call | None:
    """Returns the call that makes the numbers of a parameter: ``torch.zeros(1, n, d)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            value = node.value
            if (
                isinstance(value, ast.Call)
                and value.args
                and "Parameter" in ast.unparse(value.func)
            ):
                value = value.args[0]
            return value if isinstance(value, ast.Call) else None
    return None


def _possible_sizes(failure: Failure) -> list[int]:
    values = failure.values()
    rest = [prod(values[1:]), *values[-1:], *values[1:2]] if len(values) > 1 else []
    return [n for n in rest if n > 0]


def _expressions(failure: Failure, argument: ast.expr, value: int) -> list[str]:
    """Returns ways to write a size, the one that says how it comes about first."""
    words = [str(value)]
    takes = max(int(getattr(failure.layer, name, 0)) for name in TAKES)
    if 0 < takes < value and value % takes == 0 and isinstance(argument, ast.Name | ast.Attribute):
        words.insert(0, f"{value // takes} * {ast.unparse(argument)}")
    for array in failure.arrays[:1]:
        flat = flattened_sizes(failure, array)
        sizes = flat[0] if flat else failure.values()[1:]
        if len(sizes) < 2 or prod(sizes) != value:
            continue
        words.insert(0, " * ".join(map(str, sizes)))
        name = argument.id if isinstance(argument, ast.Name) else _first_name(argument)
        if name:
            words.insert(0, " * ".join([name, *map(str, sizes[1:])]))
    return words


def _first_name(node: ast.expr) -> str:
    """Returns the name with which a product begins, such as ``h`` of ``h * 4 * 4``."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        node = node.left
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def switch_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the switches of a layer, turned: ``batch_first=True``."""
    call, layer, text = failure.constructor_call, failure.layer, failure.trace.text
    if call is None or layer is None:
        return
    takes = dict(inspect.signature(type(layer).__init__).parameters)
    names = [n for n, p in takes.items() if isinstance(p.default, bool)]
    names += ["batch_first"] if isinstance(layer, nn.RNNBase) else []
    if isinstance(layer, nn.MultiheadAttention) and len(failure.arrays) > 2:
        key, value = (failure.values(i)[-1] for i in (1, 2))
        if (key, value) != (layer.kdim, layer.vdim):
            edit = further_argument(text, call, f"kdim={key}, vdim={value}")
            yield Candidate((edit,), 0.4, "switch")
    for name in names:
        if name in FIXED_SWITCHES:
            continue
        cost = 0.5 if name == "batch_first" else 4.5
        word = next((one for one in call.keywords if one.arg == name), None)
        if word is None:
            default = takes[name].default if name in takes else False
            edit = further_argument(text, call, f"{name}={not default}")
            yield Candidate((edit,), cost, "switch")
        elif isinstance(word.value, ast.Constant):
            turned = replacement_edit(text, word.value, str(not word.value.value))
            if turned is not None:
                yield Candidate((turned,), cost + 0.1, "switch")


def batch_first_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields ``batch_first=True`` for all layers that take steps first, if the batch comes first.

    The source has to say so, in a remark or by its names: then what else would make the shapes
    meet hides that the samples mix.
    """
    trace = failure.trace
    source = SourceText(trace.text, trace.tree)
    makers = [
        node
        for node in source.nodes
        if isinstance(node, ast.Call)
        and function_name(node) in STEPS_FIRST_LAYERS
        and all(word.arg != "batch_first" for word in node.keywords)
    ]
    signs = [*text_signs(source)] if makers else []
    wrong = wrong_mask(failure)
    if wrong is not None and wrong.is_padding and wrong.shape == wrong.padding[::-1]:
        signs.append(True)  # such a mask has its batch first in either order
    if signs and all(signs):
        edits = (further_argument(trace.text, node, "batch_first=True") for node in makers)
        yield Candidate(tuple(edits), 0.2, "order")


def direction_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields one direction for a recurrent layer whose state one in a single direction takes."""
    layer, text = failure.layer, failure.trace.text
    if not isinstance(layer, nn.RNNBase) or layer.bidirectional or "hidden" not in failure.message:
        return
    for node in ast.walk(failure.trace.tree):
        both = node.value if isinstance(node, ast.keyword) and node.arg == "bidirectional" else None
        if isinstance(both, ast.Constant) and both.value is True:
            edit = replacement_edit(text, both, "False")
            if edit is not None:
                yield Candidate((edit,), 1.0, "switch")


def group_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a convolution that gives as many channels as it has groups: one of each channel."""
    made, found = failure.constructor_call, equation(failure)
    if made is None or failure.layer is not None or found is None or found[0] != "divisible":
        return
    groups, channels = _setting(made, 6, "groups"), _setting(made, 1, "out_channels")
    first = _setting(made, 0, "in_channels")
    if groups is None or channels is None or first is None:
        return
    words = ast.unparse(groups)
    edit = replacement_edit(failure.trace.text, channels, words)
    if edit is not None and ast.unparse(first) == words != ast.unparse(channels):
        yield Candidate((edit,), 0.6, "argument")


# --- Cures that add a layer, or choose evaluation: a shortcut for a sum, and ``eval()``


def shortcut_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a 1 × 1 convolution, or a linear map, for the branch of a sum that does not fit."""
    call, layers = failure.call, failure.trace.recorder.layers
    owner = next((x.module for x in reversed(layers) if isinstance(x.module, SourceModule)), None)
    if call is None or PAIRS.get(call.name) != "+" or owner is None or len(call.shapes) != 2:
        return
    first, second = call.shapes
    init = _init(failure.trace.tree, type(owner).__name__)
    if init is None or len(first) != len(second) or len(first) not in (3, 4):
        return
    node = failure.node
    pairs = [(getattr(node, "value", None), second, first)]
    if isinstance(node, ast.BinOp):
        pairs = [(node.right, second, first), (node.left, first, second)]
    names = _sizes(failure, owner)
    for branch, has, wanted in pairs:
        if isinstance(branch, ast.Name):
            yield from _shortcut(failure, init, branch, (has, wanted), names)


def _shortcut(
    failure: Failure, init: ast.FunctionDef, branch: ast.Name, shapes: Any, names: dict[str, Any]
) -> Iterator[Candidate]:
    has, wanted = shapes
    makers = [failure.trace.recorder.maker(array) for array in failure.arrays]
    if len(has) == 3 and any(one is not None and "conv" in one.name for one in makers):
        return  # what differs is the length of a sequence, not its features
    axis = 1 if len(has) == 4 else 2
    into, out = (_size_expression(failure, one[axis], names) for one in (has, wanted))
    made = f"nn.Linear({into}, {out})"
    if len(has) == 4:
        small = max(1, failure.value(wanted[2]))
        ratio = max(1, -(-failure.value(has[2]) // small))
        stride = _stride(failure, ratio, names)
        made = f"nn.Conv2d({into}, {out}, 1{stride})"
    yield from _new_layer_edits(failure, init, branch, ("shortcut", made), 0.4)


def projection_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a linear map to the width that attention takes, before the layer that fails."""
    recorder, layer = failure.trace.recorder, failure.layer
    owner = next((x.module for x in recorder.layers if isinstance(x.module, SourceModule)), None)
    if not isinstance(layer, nn.MultiheadAttention) or owner is None:
        return
    init = _init(failure.trace.tree, type(owner).__name__)
    width = failure.shapes[0][-1]
    if init is None or failure.value(width) == layer.embed_dim:
        return
    names = _sizes(failure, owner)
    sizes = (width, failure.trace.table.expr(layer.embed_dim))
    into, out = (_size_expression(failure, size, names) for size in sizes)
    for branch in operands(failure):
        if isinstance(branch, ast.Name):
            made = f"nn.Linear({into}, {out})"
            yield from _new_layer_edits(failure, init, branch, ("projection", made), 1.4)


def _new_layer_edits(
    failure: Failure, init: ast.FunctionDef, array: ast.Name, layer: tuple[str, str], cost: float
) -> Iterator[Candidate]:
    """Yields a further layer of the class, made at the end of ``__init__``, around an array."""
    text, (name, made) = failure.trace.text, layer
    last = init.body[-1]
    row = text.split("\n")[(last.end_lineno or 1) - 1]
    line = f"\n{' ' * init.body[0].col_offset}self.{name} = {made}"
    called = replacement_edit(text, array, f"self.{name}({array.id})")
    if called is not None:
        end = insertion_edit(text, last.end_lineno or 1, len(row.encode()), line)
        yield Candidate((called, end), cost, "layer")


def _stride(failure: Failure, ratio: int, names: dict[str, Any]) -> str:
    if ratio == 1:
        name = next((n for n in names if "stride" in n), "")
        return f", stride={name}" if name else ""
    name = next((n for n, e in names.items() if "stride" in n and failure.value(e) == ratio), "")
    return f", stride={name or ratio}"


def _init(tree: ast.AST, name: str) -> ast.FunctionDef | None:
    """Returns the ``__init__`` of a class of the text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    return part
    return None


def _sizes(failure: Failure, owner: nn.Module) -> dict[str, Any]:
    """Returns the whole numbers that a module was made with, by their names."""
    made = owner.__dict__.get(SETTINGS, {})
    whole = {n: v for n, v in made.items() if isinstance(v, int) and not isinstance(v, bool)}
    return {name: failure.trace.table.expr(value) for name, value in whole.items()}


def _size_expression(failure: Failure, size: Any, names: dict[str, Any]) -> str:
    """Returns a size in the names of a scope: the same expression, a multiple, else its value."""
    value = failure.value(size)
    same = [n for n, expr in names.items() if expr == size and not size.is_number]
    same += [n for n, expr in names.items() if failure.value(expr) == value and value > 1]
    if same:
        return same[0]
    for name, expr in names.items():
        own = failure.value(expr)
        if own > 1 and value % own == 0 and "stride" not in name and size.has(*expr.free_symbols):
            return f"{name} * {value // own}"
    return str(value)


def mode_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields ``eval()`` for a batch norm that gets one value a channel."""
    if not isinstance(failure.layer, _NormBase) or "more than 1" not in failure.message:
        return
    for edit in _evaluation_edits(failure):
        yield Candidate((edit,), 6.0, "mode", "meaning")


def _evaluation_edits(failure: Failure) -> Iterator[Edit]:
    """Yields ``eval()`` where the text calls a module."""
    text = failure.trace.text
    for node in failure.trace.tree.body:
        call = getattr(node, "value", None)
        if not isinstance(call, ast.Call):
            continue
        made = call.func
        if isinstance(made, ast.Call) and made.end_col_offset:
            yield insertion_edit(text, made.end_lineno or 1, made.end_col_offset, ".eval()")
        elif isinstance(made, ast.Name) and isinstance(failure.trace.model, nn.Module):
            yield insertion_edit(text, made.lineno, made.end_col_offset or 0, ".eval()")


def norm_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the norm of as many axes as its array has, or a batch where that is what lacks."""
    made, layer, values = failure.constructor_call, failure.layer, failure.values()
    ranks = norm_ranks(layer) if layer is not None else ()
    if not ranks or len(values) in ranks or not values or made is None:
        return
    text, channels = failure.trace.text, getattr(layer, "num_features", 0)
    if len(values) == min(ranks) - 1 and values[0] == channels:
        yield from _batch_edits(failure)
    sides = max(1, len(values) - 2)
    if len(values) in (2, 3, 4, 5) and values[1] == channels:
        name = ast.unparse(made.func)
        edit = replacement_edit(text, made.func, f"{name[:-2]}{sides}d")
        if edit is not None:
            yield Candidate((edit,), 0.35, "norm")


def _batch_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the one example as a batch, or a batch of two where the text makes it.

    In training a batch norm takes no batch of one that has nothing but channels.
    """
    text, single = failure.trace.text, len(failure.values()) == 1
    for node in operands(failure):
        yield Candidate(method_edits(text, node, ".unsqueeze(0)"), 0.3, "norm")
    for node in dict.fromkeys([*arrays_of_model_call(failure), *operands(failure)]):
        for edit in _evaluation_edits(failure) if single else ():
            both = (*method_edits(text, node, ".unsqueeze(0)"), edit)
            yield Candidate(both, 3.0, "mode", "meaning")
        for made in maker_calls(failure, node) if single else ():
            if function_name(made) in ("randn", "rand", "ones", "zeros") and made.args:
                start = made.args[0]
                edit = insertion_edit(text, start.lineno, start.col_offset, "2, ")
                yield Candidate((edit,), 0.4, "norm", "input")


# --- Cures that give convolutions another padding or stride, so that two arrays meet

MEETING = (*PAIRS, *JOINING_CALLS, *LOSSES, "stack")
MAX_TRANSPOSED_CONVOLUTIONS = 4  # transposed convolutions whose combinations are tried
SIDES = ("1d", "2d", "3d")


def padding_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields convolutions with a padding that keeps the size, or gives back what rounding took."""
    if failure.constructor_call is not None and failure.layer is None:
        yield from _numeric_padding_edits(failure, failure.constructor_call)
    if failure.call is None or failure.call.name not in MEETING:
        return
    calls = [node for node in ast.walk(failure.trace.tree) if isinstance(node, ast.Call)]
    for node in calls:
        kernel, size = _setting(node, 2, "kernel_size"), 0
        if _is(node, "Conv") and isinstance(kernel, ast.Constant):
            size = kernel.value if type(kernel.value) is int else 0
        padding = _setting(node, 4, "padding")
        halved = isinstance(padding, ast.Name) or isinstance(getattr(padding, "op", 0), ast.Mult)
        if _is(node, "Conv") and padding is not None and halved:
            line, end = padding.end_lineno or node.lineno, padding.end_col_offset or 0
            edit = insertion_edit(failure.trace.text, line, end, " // 2")
            yield Candidate((edit,), 0.9, "padding")
        if size > 1 and size % 2 and padding is None:
            edit = further_argument(failure.trace.text, node, f"padding={size // 2}")
            yield Candidate((edit,), 0.8, "padding")
    yield from _output_padding_edits(
        failure, [node for node in calls if _is(node, "ConvTranspose")]
    )


def _output_padding_edits(failure: Failure, calls: list[ast.Call]) -> Iterator[Candidate]:
    """Yields transposed convolutions with the rows that the strides of others dropped."""
    edits = []
    for node in calls[:MAX_TRANSPOSED_CONVOLUTIONS]:
        stride = _setting(node, 3, "stride")
        if _setting(node, 5, "output_padding") is None and stride is not None:
            number = stride.value if isinstance(stride, ast.Constant) else 2
            if type(number) is int and number > 1:
                edits.append(
                    further_argument(failure.trace.text, node, f"output_padding={number - 1}")
                )
    assert failure.call is not None
    cost = 0.6 if failure.call.name in LOSSES else 1.6  # a skip wants it for odd sizes alone
    for count in range(len(edits), 0, -1):
        for some in combinations(edits, count):
            yield Candidate(some, cost, "padding")


def _numeric_padding_edits(failure: Failure, made: ast.Call) -> Iterator[Candidate]:
    """Yields a padding in numbers for a convolution with strides, which cannot keep the size."""
    padding, kernel = _setting(made, 4, "padding"), _setting(made, 2, "kernel_size")
    if not isinstance(padding, ast.Constant) or padding.value != "same" or kernel is None:
        return
    source = ast.get_source_segment(failure.trace.text, kernel) or ""
    written = isinstance(kernel, ast.Constant) and type(kernel.value) is int
    new = f"{kernel.value // 2}" if written else f"{source} // 2"  # type: ignore[attr-defined]
    edit = replacement_edit(failure.trace.text, padding, new)
    if edit is not None:
        yield Candidate((edit,), 0.3, "padding")


def stride_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields a convolution with the stride of the branch beside it, where a sum does not meet.

    The stride is written as its neighbours in the class write theirs, so that it holds in each
    block of a network: ``nn.Conv2d(c_in, c_out, 1, stride=stride)``.
    """
    call, layers = failure.call, failure.trace.recorder.layers
    owner = next((x.module for x in reversed(layers) if isinstance(x.module, SourceModule)), None)
    init = _init(failure.trace.tree, type(owner).__name__) if owner is not None else None
    ratio = _side_ratio(failure) if call is not None and call.name in JOINING_CALLS else 0
    if init is None or ratio < 2:
        return
    made = [one for one in ast.walk(init) if isinstance(one, ast.Call) and _is(one, "Conv")]
    strides = [one for node in made if (one := _setting(node, 3, "stride")) is not None]
    words = next((ast.unparse(one) for one in strides if isinstance(one, ast.Name)), str(ratio))
    for node in made:
        if _setting(node, 3, "stride") is None:
            kernel = _setting(node, 2, "kernel_size")
            point = isinstance(kernel, ast.Constant) and kernel.value == 1
            edit = further_argument(failure.trace.text, node, f"stride={words}")
            yield Candidate((edit,), 0.5 if point else 1.0, "stride")


def _side_ratio(failure: Failure) -> int:
    """Returns how many times as long all sides of one of two feature maps are, about; else 0."""
    shapes = failure.call.shapes if failure.call is not None else ()
    if len(shapes) != 2 or len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 3:
        return 0
    sides = [tuple(map(failure.value, one[2:])) for one in shapes]
    small, large = sorted(sides, key=prod)
    ratios = {round(long / max(1, short)) for short, long in zip(small, large, strict=True)}
    return ratios.pop() if len(ratios) == 1 else 0


def _is(node: ast.Call, kind: str) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in {f"{kind}{sides}" for sides in SIDES}


def _setting(node: ast.Call, place: int, name: str) -> ast.expr | None:
    """Returns an argument of a layer, by its place or its name."""
    if len(node.args) > place:
        return node.args[place]
    return next((word.value for word in node.keywords if word.arg == name), None)
