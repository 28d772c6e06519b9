"""Cures that give convolutions another padding, so that the sizes of two arrays meet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from ncd.findings.cures.candidate import Candidate, inserted, replaced
from ncd.findings.cures.shape_edits import JOINED
from ncd.findings.failures.call_reasons import LOSSES, PAIRS
from ncd.findings.failures.failure import Failure
from ncd.findings.finding import further_argument

MEETING = (*PAIRS, *JOINED, *LOSSES, "stack")
MOST = 4  # transposed convolutions whose combinations are tried
SIDES = ("1d", "2d", "3d")


def padding_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields convolutions with a padding that keeps the size, or gives back what rounding took."""
    if failure.made is not None and failure.layer is None:
        yield from _counted(failure, failure.made)
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
            edit = inserted(failure.trace.text, line, end, " // 2")
            yield Candidate((edit,), 0.9, "padding")
        if size > 1 and size % 2 and padding is None:
            edit = further_argument(failure.trace.text, node, f"padding={size // 2}")
            yield Candidate((edit,), 0.8, "padding")
    yield from _given_back(failure, [node for node in calls if _is(node, "ConvTranspose")])


def _given_back(failure: Failure, calls: list[ast.Call]) -> Iterator[Candidate]:
    """Yields transposed convolutions with the rows that the strides of others dropped."""
    edits = []
    for node in calls[:MOST]:
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


def _counted(failure: Failure, made: ast.Call) -> Iterator[Candidate]:
    """Yields a padding in numbers for a convolution with strides, which cannot keep the size."""
    padding, kernel = _setting(made, 4, "padding"), _setting(made, 2, "kernel_size")
    if not isinstance(padding, ast.Constant) or padding.value != "same" or kernel is None:
        return
    source = ast.get_source_segment(failure.trace.text, kernel) or ""
    written = isinstance(kernel, ast.Constant) and type(kernel.value) is int
    new = f"{kernel.value // 2}" if written else f"{source} // 2"  # type: ignore[attr-defined]
    edit = replaced(failure.trace.text, padding, new)
    if edit is not None:
        yield Candidate((edit,), 0.3, "padding")


def _is(node: ast.Call, kind: str) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in {f"{kind}{sides}" for sides in SIDES}


def _setting(node: ast.Call, place: int, name: str) -> ast.expr | None:
    """Returns an argument of a layer, by its place or its name."""
    if len(node.args) > place:
        return node.args[place]
    return next((word.value for word in node.keywords if word.arg == name), None)
