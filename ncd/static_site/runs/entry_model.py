"""The ONNX model of a system, which its page runs in the visitor's browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from onnx import ModelProto, ValueInfoProto

from ncd.costs import cost
from ncd.export import palettes
from ncd.lang.circuits.array_names import called, given
from ncd.lang.circuits.circuit import Circuit, Value
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.lang.terms.terms import Term
from ncd.models import Entry
from ncd.onnx_model import onnx
from ncd.run.base.seeding import generator
from ncd.run.explain.attention_axes import attention_axes
from ncd.run.limits.compiling import compile
from ncd.static_site.runs.cell_terms import terms
from ncd.static_site.runs.entry_example import SEED, Example
from ncd.train.weight_files import read_weights

LARGEST = 4_000_000  # bytes of a model
MASK = 2**32 - 1
EXAMPLE, RANDOM = "example.bin", "random.onnx"


@dataclass(frozen=True)
class EntryModel:
    """Files by name and what their page has to know of them, or the reason why there are none."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    facts: Mapping[str, Any] | None = None
    why: str = ""


def entry_model(entry: Entry) -> EntryModel:
    """Returns the model of a system at its defaults, with its attention maps as outputs.

    >>> import ncd
    >>> found = entry_model(ncd.catalogue["multi-head-attention"])
    >>> list(found.files), found.facts["within"]
    (['multi-head-attention.onnx', 'random.onnx', 'example.bin'], {'y': 24, 'x': 24})
    >>> [each["value"] for each in found.facts["maps"]]
    ['v9']
    """
    term = entry.build()
    circuit = elaborate(term)
    weights = 4 * cost(term).parameters
    if weights > LARGEST:
        return EntryModel(why=f"its weights take {weights:,} bytes, and {LARGEST:,} are the most")
    example = Example.of(entry)
    maps = list(_maps(circuit))
    try:
        model = _model(term, maps, example.learned.weights if example.learned else None)
        files = {f"{entry.name}.onnx": model.SerializeToString()}
        facts = _facts(entry, circuit, model, maps, example)
        if example.learned and facts["within"]:
            files[RANDOM] = _model(term, maps, None).SerializeToString()
    except NCDError as error:
        return EntryModel(why=f"{error}".rstrip("."))
    if example.numbers:
        files[EXAMPLE] = example.file
    size = max(map(len, files.values()))
    if size > LARGEST:
        return EntryModel(why=f"its model takes {size:,} bytes, and {LARGEST:,} are the most")
    named = {"random": RANDOM in files, "example": EXAMPLE in files}
    return EntryModel(files, {**facts, **named})


def _model(term: Term, maps: list[dict[str, Any]], weights: bytes | None) -> ModelProto:
    """Returns a model that has those maps as outputs, as far as it makes them."""
    module = compile(term, SEED)
    numbers = (read_weights(module, weights) if weights else module).state_dict()
    model = onnx(term, numbers)
    made = {name for node in model.graph.node for name in node.output}
    maps[:] = [each for each in maps if each["value"] in made]
    model.graph.output.extend(ValueInfoProto(name=each["value"]) for each in maps)
    return model


def _facts(
    entry: Entry, circuit: Circuit, model: ModelProto, maps: list[Any], example: Example
) -> dict[str, Any]:
    shapes = [given.type.tensor_type.shape.dim for given in model.graph.input]
    symbols = {dim.dim_param for shape in shapes for dim in shape if dim.dim_param}
    free = [knob.name for knob in entry.knobs if knob.name in symbols]
    inputs = [
        {
            "name": value.id,
            "below": None if value.array.below is None else value.array.below.numel,
            "seed": generator(SEED, f"input {i}").initial_seed() & MASK,
        }
        for i, value in enumerate(circuit.inputs)
    ]
    made = {name for node in model.graph.node for name in node.output}
    return {
        "file": f"{entry.name}.onnx",
        "free": free,
        "inputs": inputs,
        "outputs": [value.id for value in circuit.outputs],
        "maps": maps,
        "arrays": dict(_arrays(circuit, made)),
        "weights": sorted(_weights(circuit) & {given.name for given in model.graph.initializer}),
        "colours": [palettes.POSITIVE, palettes.SIGNED, palettes.GREY],
        **example.facts(entry, circuit, free),
    }


def _arrays(circuit: Circuit, made: set[str]) -> Iterator[tuple[str, Any]]:
    """Yields the name and the axes of each array of which a run has the values."""
    names = {**called(circuit), **given(circuit)}
    inputs = {value.id for value in circuit.inputs}
    for id, value in circuit.values.items():
        if id in made or id in inputs:
            yield id, [names.get(id, ""), *_axes(value)]


def _weights(circuit: Circuit) -> set[str]:
    """Returns the names of the weights of which the steps write out products."""
    return {name for cell in circuit.cells for name in terms(cell).get("weights", "").split()}


def _axes(value: Value) -> Iterator[Any]:
    """Yields the name of each axis, with its label and number of dimensions if they are unusual."""
    for axis in value.array:
        plain = axis.called == axis.name and not axis.spatial
        yield axis.name if plain else [axis.name, axis.called, len(axis.shape)]


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
