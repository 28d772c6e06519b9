"""The ONNX model of a system, which its page runs in the visitor's browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from onnx import ModelProto, ValueInfoProto

from ncd.costs import cost
from ncd.export import markup
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.models import Entry
from ncd.onnx_model import onnx
from ncd.run.base.seeding import generator
from ncd.run.explain.attention_axes import attention_axes
from ncd.run.limits.compiling import compile
from ncd.train.weight_files import read_weights, shipped

LARGEST = 4_000_000  # bytes of a model
SEED = 0
MASK = 2**32 - 1


@dataclass(frozen=True)
class EntryModel:
    """A model's file, what its page has to know of it, or the reason why there is none."""

    file: bytes = b""
    facts: Mapping[str, Any] | None = None
    why: str = ""


def entry_model(entry: Entry) -> EntryModel:
    """Returns the model of a system at its defaults, with its attention maps as outputs.

    >>> import ncd
    >>> found = entry_model(ncd.catalogue["multi-head-attention"])
    >>> found.facts["free"], [each["value"] for each in found.facts["maps"]]
    (['y', 'x'], ['v9'])
    """
    term = entry.build()
    circuit = elaborate(term)
    weights = 4 * cost(term).parameters
    if weights > LARGEST:
        return EntryModel(why=f"its weights take {weights:,} bytes, and {LARGEST:,} are the most")
    trained = shipped(entry, {})
    try:
        module = compile(term, SEED)
        numbers = (read_weights(module, trained) if trained else module).state_dict()
        model = onnx(term, numbers)
    except NCDError as error:
        return EntryModel(why=f"{error}".rstrip("."))
    made = {name for node in model.graph.node for name in node.output}
    maps = [each for each in _maps(circuit) if each["value"] in made]
    model.graph.output.extend(ValueInfoProto(name=each["value"]) for each in maps)
    file = model.SerializeToString()
    if len(file) > LARGEST:
        return EntryModel(why=f"its model takes {len(file):,} bytes, and {LARGEST:,} are the most")
    return EntryModel(file, _facts(entry, circuit, model, maps, trained is not None))


def _facts(
    entry: Entry, circuit: Circuit, model: ModelProto, maps: list[Any], trained: bool
) -> dict[str, Any]:
    shapes = [given.type.tensor_type.shape.dim for given in model.graph.input]
    symbols = {dim.dim_param for shape in shapes for dim in shape if dim.dim_param}
    inputs = [
        {
            "name": value.id,
            "below": None if value.array.below is None else value.array.below.numel,
            "seed": generator(SEED, f"input {i}").initial_seed() & MASK,
        }
        for i, value in enumerate(circuit.inputs)
    ]
    return {
        "file": f"{entry.name}.onnx",
        "free": [knob.name for knob in entry.knobs if knob.name in symbols],
        "fixed": model.doc_string,
        "inputs": inputs,
        "outputs": [
            {"value": f"out{i}", "name": str(value.array)}
            for i, value in enumerate(circuit.outputs)
        ],
        "maps": maps,
        "trained": trained,
    }


def _maps(circuit: Circuit) -> Iterator[dict[str, Any]]:
    """Yields each softmax's array with the dimensions of its queries, keys and heads."""
    for cell in circuit.cells:
        if cell.op.role != "softmax":
            continue
        array = cell.outputs[0].array
        rows, columns, heads = attention_axes(array, cell.site.cod[0][0])
        starts = [sum(len(axis.shape) for axis in array[:i]) for i in range(len(array) + 1)]
        dims = [list(range(a, b)) for a, b in pairwise(starts)]
        yield {
            "value": cell.outputs[0].id,
            "title": cell.path.rstrip(".") or cell.op.label,
            "rows": [] if rows is None else dims[rows],
            "columns": dims[columns],
            "heads": [dim for i in heads for dim in dims[i]],
            "names": [
                "" if rows is None else array[rows].name,
                array[columns].name,
                ", ".join(array[i].name for i in heads),
            ],
        }


def run_part(circuit: Circuit) -> str:
    """Returns the part of a page that runs its system; the sizes of the inputs follow."""
    items = (
        f'<span data-input="{value.id}">{markup.shapes([value.array])}</span>'
        for value in circuit.inputs
    )
    said = f"<p>Random inputs of seed {SEED}: {', '.join(items)}.</p>" if circuit.inputs else ""
    return (
        '<section class="run" aria-label="Run" data-live="run"><h2>Run here</h2>'
        f'{said}<p><button class="go" type="button">Run here</button> '
        '<span class="ran" role="status"></span></p><div class="results"></div></section>'
    )


def without_model(why: str) -> Callable[[Circuit], str]:
    """Returns the part of a page whose system does not run in a browser, which says why."""
    said = f"<p>It does not run in a browser: {markup.text(why)}. The app runs it.</p>"
    return lambda circuit: f'<section class="run"><h2>Run here</h2>{said}</section>'
