"""A failure: its place, its layer, its arrays, and where their sizes come from, in words."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from typing import Any

import sympy
from torch import Tensor, nn
from torch.nn.modules.loss import _Loss

from ncd.findings.reading.size_table import Test
from ncd.findings.reading.source_trace import SourceTrace, TracedCall, makes_layer
from ncd.findings.reading.traced_numbers import SourceNumber
from ncd.read.python_source.interpreter import SourceModule

# --- The failure of a reading: its place, its layer, its arrays, and the test that came out wrong

SAME_SHAPE_CALLS = (
    "relu",
    "dropout",
    "gelu",
    "silu",
    "tanh",
    "sigmoid",
    "contiguous",
    "relu_",
    "leaky_relu",
)
TAKES = ("in_features", "in_channels", "input_size", "num_features")  # of layers
INEQUALITIES = ("StrictLessThan", "LessThan", "StrictGreaterThan", "GreaterThan")
FLAT = ("flatten", "view", "reshape", "rearrange")


@dataclass(frozen=True)
class Failure:
    """The place and the reason at which a reading stopped.

    ``node`` is where it stands in the source; ``layer`` the layer of torch that stopped, or None;
    ``constructor_call`` the call that made it, ``arrays`` what it was given, ``test`` the last test
    of sizes before the error.
    """

    trace: SourceTrace
    node: ast.AST
    path: str
    layer: nn.Module | None
    constructor_call: ast.Call | None
    call: TracedCall | None
    arrays: tuple[Tensor, ...]
    test: Test | None

    @property
    def line(self) -> int:
        """The line where the layer is made if that is known; else, and of a loss, of the call."""
        made = None if isinstance(self.layer, _Loss) else self.constructor_call
        return getattr(made, "lineno", 0) or getattr(self.node, "lineno", 0) or 1

    @property
    def shapes(self) -> tuple[tuple[Any, ...], ...]:
        """The sizes of the arrays, as expressions."""
        return tuple(map(self.trace.recorder.shape, self.arrays))

    def value(self, expr: Any) -> int:
        """Returns the value of a size."""
        return self.trace.table.value(expr)

    def values(self, index: int = 0) -> tuple[int, ...]:
        """Returns the sizes of an array; of one that is not there, none."""
        shapes = self.shapes
        return tuple(map(self.value, shapes[index])) if index < len(shapes) else ()

    @property
    def has_misplaced_axis(self) -> bool:
        """Whether an axis of the input has the size that the layer takes, but not the right one."""
        norm = getattr(self.layer, "normalized_shape", (0,))
        takes = max([int(getattr(self.layer, name, 0)) for name in TAKES] + [int(norm[-1])])
        return takes > 1 and takes in self.values()[1:]

    @property
    def message(self) -> str:
        """The words of the error, which are shown to nobody."""
        return str(self.trace.error)

    @property
    def source(self) -> str:
        """The source of the call that failed, shortened."""
        return source_of(self.trace.text, self.node)


def source_of(text: str, node: ast.AST, most: int = 60) -> str:
    """Returns the source of a node in one line."""
    words = " ".join((ast.get_source_segment(text, node) or "").split())
    return words if len(words) <= most else words[: most - 1] + "…"


def failure_of(trace: SourceTrace) -> Failure | None:
    """Returns the failure of a reading; None if it has none."""
    if trace.error is None or trace.node is None:
        return None
    layers, call = trace.recorder.layers, trace.call
    inner = layers[-1] if layers else None
    layer = inner.module if inner and not isinstance(inner.module, SourceModule) else None
    made = _place(trace) if layer is not None else None
    arrays = inner.arrays if inner and layer is not None else call.takes if call else ()
    path = inner.path if inner else ""
    if inner is None and isinstance(trace.node, ast.Call) and makes_layer(trace.node):
        made, path = trace.node, _name_of(trace.tree, trace.node)
    tests = trace.table.tests
    if call is not None:
        tests = [one for one in tests if one.call == call.number]
    last = _reason(tests) if call is not None else (None, *tests)[-1]
    place = made if isinstance(made, ast.Call) else None
    return Failure(trace, trace.node, path, layer, place, call, arrays, last)


def _reason(tests: list[Test]) -> Test | None:
    """Returns the test that came out wrong: the last one, or of several inequalities a true one.

    A window is compared with its input along each side, and only then refused.
    """
    if not tests:
        return None
    kind = type(tests[-1].expr).__name__
    if kind in INEQUALITIES and not tests[-1].holds:
        for test in tests[:-4:-1]:
            if type(test.expr).__name__ == kind and test.holds:
                return test
    return tests[-1]


def _place(trace: SourceTrace) -> ast.AST | None:
    """Returns where the innermost layer is made whose place is in the text."""
    for each in reversed(trace.recorder.layers):
        if isinstance(each.module, SourceModule):
            return None
        if (place := trace.machine.places.get(id(each.module))) is not None:
            return place
    return None


def _name_of(tree: ast.AST, call: ast.Call) -> str:
    """Returns the name of the attribute or variable that a layer becomes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(part is call for part in ast.walk(node.value)):
            target = node.targets[0]
            if isinstance(target, ast.Attribute):
                return target.attr
            return target.id if isinstance(target, ast.Name) else ""
    return ""


def flattened_sizes(failure: Failure, array: Tensor) -> tuple[tuple[int, ...], TracedCall] | None:
    """Returns the sizes that became the last axis of an array, and the call that joined them."""
    recorder, call = failure.trace.recorder, failure.trace.recorder.maker(array)
    while call is not None and call.name in SAME_SHAPE_CALLS and call.takes:
        call = recorder.maker(call.takes[0])
    if call is None or call.name not in FLAT or not call.shapes or not call.gives:
        return None
    before = recorder.values(call.shapes[0])
    last = recorder.values(recorder.shape(call.gives[0]))[-1:]
    product, start = 1, len(before)
    while start > 0 and product < (last[0] if last else 0):
        start -= 1
        product *= before[start]
    return (
        (before[start:], call) if last and product == last[0] and start + 1 < len(before) else None
    )


def flattening_call(failure: Failure) -> TracedCall | None:
    """Returns the call that joined all axes of the failing array, its batch among them, into one.

    What had three axes may also be a single picture.
    """
    joined = flattened_sizes(failure, failure.arrays[0]) if len(failure.values()) == 1 else None
    return joined[1] if joined and len(joined[1].shapes[0]) == len(joined[0]) else None


def history(failure: Failure, array: Tensor, axis: int, most: int = 12) -> list[int]:
    """Returns how the size of an axis came about, from the input on: 49, 24, 12, 6, 3, 1."""
    recorder = failure.trace.recorder
    rank, found = array.dim(), [failure.value(recorder.shape(array)[axis])]
    for _ in range(200):
        call = recorder.maker(array)
        if call is None or not call.takes or call.takes[0].dim() != rank:
            break
        array = call.takes[0]
        if (size := failure.value(recorder.shape(array)[axis])) != found[0]:
            found.insert(0, size)
    return found[-most:]


# --- Sizes in words, with the places in the text that they come from

SINGULAR = {"channels": "channel", "features": "feature"}
FRONT = SourceNumber(0, 0, 0, 0)  # before all others
AXES = {
    2: ("batch", "channels"),
    3: ("batch", "channels", "length"),
    4: ("batch", "channels", "height", "width"),
    5: ("batch", "channels", "depth", "height", "width"),
}


def shape_words(sizes: tuple[int, ...]) -> str:
    """Returns a shape in words.

    >>> shape_words((2, 3)), shape_words(())
    ('2 × 3', 'a single number')
    """
    return " × ".join(map(str, sizes)) or "a single number"


def size_words(failure: Failure, expr: Any, noun: str = "") -> str:
    """Returns a size with its origin: ``10 channels (hidden_units, line 4)``."""
    table = failure.trace.table
    while expr in table.windows:
        expr = table.windows[expr]
    count = table.value(expr)
    value = f"{count} {SINGULAR.get(noun, noun) if count == 1 else noun}".strip()
    if expr in table.places:
        place = table.places[expr]
        if place.is_input:
            where = f"line {place.line}" if place.line else "which is assumed"
            return f"{value} (the {place.name or 'size'} of the input, {where})"
        name = f"{place.name}, " if place.name else ""
        return f"{value} ({name}line {place.line})"
    if getattr(expr, "is_Mul", False) and all(a.is_Symbol or a.is_Integer for a in expr.args):
        parts = [part_words(failure, part) for part in _ordered_factors(failure, expr)]
        return f"{value} ({' · '.join(parts)})"
    names = sorted({(table.places[s].line, table.places[s].name) for s in table.numbers(expr)})
    words = [f"{name}, line {line}" if name else f"line {line}" for line, name in names if line]
    return f"{value} (from {'; '.join(words[:2])})" if 0 < len(words) <= 2 else str(value)


def _ordered_factors(failure: Failure, product: Any) -> list[Any]:
    places = failure.trace.table.places
    return sorted(product.args, key=lambda one: (places.get(one, FRONT), str(one)))


def part_words(failure: Failure, expr: Any) -> str:
    """Returns a factor of a size: its name if it has one, and its value."""
    place = failure.trace.table.places.get(expr)
    value = str(failure.value(expr))
    return f"{place.name} {value}" if place is not None and place.name else value


def features_words(failure: Failure, array: Tensor) -> str:
    """Returns the last axis of an array: ``490 features: 10 channels · 7 · 7, flattened …``."""
    expr = failure.trace.recorder.shape(array)[-1]
    flat = flattened_sizes(failure, array)
    if flat is None:
        return size_words(failure, expr, "features")
    sizes, call = flat
    named = [str(n) for n in sizes]
    if len(call.shapes[0]) in (3, 4, 5) and len(sizes) == len(call.shapes[0]) - 1:
        named[0] += " channels"
    line = getattr(call.node, "lineno", 0)
    by = f"`{source_of(failure.trace.text, call.node, 40)}` on line {line}"
    if call.layer is not None and isinstance(call.layer.module, nn.Flatten):
        by = "the Flatten before it"
    return f"{failure.value(expr)} features: {' · '.join(named)}, flattened by {by}"


def equation(failure: Failure) -> tuple[str, Any, Any] | None:
    """Returns what had to hold: ``equal``, ``divisible`` or ``at most``, and both sides."""
    test = failure.test
    if test is None:
        return None
    expr, holds = test.expr, test.holds
    if isinstance(expr, sympy.Or):
        expr, holds = expr.args[-1], False
    if isinstance(expr, sympy.Ne):
        expr, holds = sympy.Eq(*expr.args, evaluate=False), not holds
    if isinstance(expr, sympy.Eq) and not holds:
        a, b = expr.args
        for one, other in ((a, b), (b, a)):
            if type(one).__name__ in ("Mod", "PythonMod") and other == 0:
                return "divisible", one.args[0], one.args[1]
            if (parts := _rounding_parts(one)) is not None and parts[0] == other:
                return "divisible", *parts
        return ("equal", *_without_shared_factors(a, b))
    less = {"StrictLessThan": (0, 1), "LessThan": (0, 1)}
    less |= {"StrictGreaterThan": (1, 0), "GreaterThan": (1, 0)}
    order = less.get(type(expr).__name__)
    if order is not None and len(expr.args) == 2:
        small, large = (expr.args[i] for i in order)
        return ("at most", large, small) if holds else ("at most", small, large)
    return None


def _rounding_parts(expr: Any) -> tuple[Any, Any] | None:
    """Returns the number and the divisor of ``width // heads * heads``."""
    if not expr.is_Mul or len(expr.args) != 2:
        return None
    for one, other in (expr.args, expr.args[::-1]):
        if type(one).__name__ == "FloorDiv" and one.args[1] == other:
            return one.args[0], other
    return None


def _without_shared_factors(a: Any, b: Any) -> tuple[Any, Any]:
    """Returns both sides of an equation without the factors that they share."""
    if a.is_Mul or b.is_Mul:
        left, right = set(sympy.Mul.make_args(a)), set(sympy.Mul.make_args(b))
        shared = {one for one in left & right if not one.is_number}
        if shared and left - shared and right - shared:
            return sympy.Mul(*(left - shared)), sympy.Mul(*(right - shared))
    return a, b


def equation_words(failure: Failure) -> str:
    """Returns what does not hold, in words; empty if no test of sizes says it."""
    found = equation(failure)
    if found is None:
        return ""
    kind, a, b = found
    left, right = size_words(failure, a), size_words(failure, b)
    values = failure.value(a), failure.value(b)
    if max(map(abs, values)) >= sys.maxsize:
        return ""  # torch itself asks whether a number fits into 64 bits
    if values[0] == values[1]:
        strict = failure.test is not None and type(failure.test.expr).__name__.startswith("Strict")
        return f"{right} is not more than {left}" if kind == "at most" and strict else ""
    if kind == "divisible":
        return f"{left} is not divisible by {right}"
    return (
        f"{left} and {right} must be equal" if kind == "equal" else f"{left} is more than {right}"
    )
