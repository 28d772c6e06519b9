"""The inputs and the cost of a run at any sizes, as a text with formulas.

The page writes the text at its sizes and reads it as JSON: a letter stands for each number that
follows from sizes (:mod:`ncd.export.page.traced_texts`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ncd.costs import cost_of
from ncd.export.page.traced_texts import FormulaTable
from ncd.lang.circuits.circuit import Cell
from ncd.lang.formulas.formula import Apply, Formula, Name, leaves
from ncd.lang.formulas.traced_sizes import FILL, FIRST, LAST, traced
from ncd.lang.terms.site import Initial
from ncd.onnx_model.model_graph import ModelGraph
from ncd.ops import Conv
from ncd.ops.windows.window_shapes import side
from ncd.run.base.seeding import generator
from ncd.static_site.runs.entry_example import SEED

MASK = 2**32 - 1
LETTER = re.compile(f'"([{chr(FIRST)}-{chr(LAST)}])"')
Kept = Mapping[str, tuple[str, int]]


def run_sizes(graph: ModelGraph, settings: Mapping[str, int], kept: Kept) -> dict[str, Any]:
    """Returns the text of a run with its formulas, and the conditions of the model.

    Those of the diagram are not among them: the page shows no sizes for which it is another one.
    ``inputs`` of the text are the model's: with the file and the place where its numbers begin, if
    they are ``kept`` in one; else with the seed and what is drawn from it. ``windows`` are those of
    convolutions. ``bytes`` and ``flops`` are those of a run.
    """
    trace = graph.trace
    facts = {"holds": [fact for fact in trace.holds if fact not in graph.known]}
    with trace.asking():
        total = cost_of(graph.circuit)
        said = {
            "inputs": [*_arrays(graph, kept), *_weights(graph, kept), *_sizes(graph)],
            "windows": {c.id: _window(c) for c in graph.circuit.cells if isinstance(c.op, Conv)},
            "bytes": _number(total.bytes + 4 * total.parameters),
            "flops": _number(total.flops),
        }
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        fixed = {name: size for name, size in settings.items() if name not in trace.sizes}
        table = FormulaTable().written(trace, facts)
    return {"text": LETTER.sub(r"\1", text), "fixed": fixed, "also": [], **table}


def _number(size: Any) -> Any:
    """Returns a size as JSON can hold it: a traced one as its letter."""
    return f"{size}".replace(FILL, "") if traced(size) else size


def _arrays(graph: ModelGraph, kept: Kept) -> Iterator[dict[str, Any]]:
    for i, value in enumerate(graph.circuit.inputs):
        below = value.array.below
        yield {
            "name": value.id,
            "kind": "float32" if below is None else "int64",
            "dims": [*map(_number, value.array.shape)],
            "seed": _seed(f"input {i}"),
            **({} if below is None else {"below": _number(below.numel)}),
            **_place(value.id, kept),
        }


def _weights(graph: ModelGraph, kept: Kept) -> Iterator[dict[str, Any]]:
    for name, tensor in graph.weights.items():
        yield {
            "name": name,
            "kind": "float32" if tensor.kind == "real" else "int64",
            "dims": [*map(_number, tensor.shape)],
            "seed": _seed(name),
            **_start(graph.initial[name]),
            **_place(name, kept),
        }


def _sizes(graph: ModelGraph) -> Iterator[dict[str, Any]]:
    for name in graph.sizes:
        size = _number(graph.trace.open[name])
        yield {"name": f"size.{name}", "kind": "int64", "dims": [1], "data": [size]}


def _seed(purpose: str) -> int:
    """Returns the part of a seed that torch's generator uses."""
    return generator(SEED, purpose).initial_seed() & MASK


def _place(name: str, kept: Kept) -> dict[str, Any]:
    return {"kept": kept[name]} if name in kept else {}


def _start(initial: Initial) -> dict[str, Any]:
    """Returns the formula of a weight, with its axes if it speaks of them."""
    axes = {axis.identifier: axis.numel for axis in initial.array}
    names = {leaf.text for leaf in leaves(initial.formula) if isinstance(leaf, Name)}
    found: dict[str, Any] = {"start": [*initial.numbers] or _tree(initial.formula)}
    if names & {*axes, *(f"n_{name}" for name in axes)}:
        found["axes"] = [[name, _number(size)] for name, size in axes.items()]
    return found


def _tree(formula: Formula) -> Any:
    """Returns a formula as nested lists: an operation, then its parts."""
    if isinstance(formula, Apply):
        return [formula.operation, *map(_tree, formula.parts)]
    if isinstance(formula, Name):
        return formula.text
    text = f"{formula}".replace(FILL, "")
    return text if chr(FIRST) <= text <= chr(LAST) else float(text)


def _window(cell: Cell) -> dict[str, Any]:
    """Returns kernel, stride, padding and dilation along each axis of a window, and the groups."""
    op = cell.op
    assert isinstance(op, Conv)
    settings = (op.kernel, op.stride, op.pad, op.dilation)
    along = range(op.flat(cell.site))
    window = [[_number(side(each, i)) for each in settings] for i in along]
    return {"window": window, "groups": _number(op.groups)}
