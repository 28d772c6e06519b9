"""The ONNX model of a system, which its page runs in the visitor's browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from onnx import ValueInfoProto

from ncd.export import palettes
from ncd.lang.circuits.array_names import called, given
from ncd.lang.circuits.circuit import Circuit, Value
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.models import Entry
from ncd.onnx_model.model_graph import STRUCTURE, ModelGraph
from ncd.onnx_model.open_sizes import open_graph
from ncd.run.explain.attention_axes import attention_axes
from ncd.run.limits.compiling import compile
from ncd.static_site.runs.cell_terms import terms
from ncd.static_site.runs.entry_example import SEED, Example
from ncd.static_site.runs.entry_sizes import of_entry
from ncd.static_site.runs.run_sizes import run_sizes
from ncd.train.weight_files import read_weights

LARGEST = 4_000_000  # bytes of a file
EXAMPLE, TRAINED = "example.bin", "trained.bin"


@dataclass(frozen=True)
class EntryModel:
    """Files by name and what their page has to know of them, or the reason why there are none."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    facts: Mapping[str, Any] | None = None
    why: str = ""


def entry_model(entry: Entry) -> EntryModel:
    """Returns the model of a system at all sizes, with its attention maps as outputs.

    Its weights are inputs: the page draws them, or reads those that were trained from a file.

    >>> import ncd
    >>> found = entry_model(ncd.catalogue["multi-head-attention"])
    >>> list(found.files), found.facts["within"], found.facts["exactly"]
    (['multi-head-attention.onnx', 'trained.bin', 'example.bin'], {'y': 24, 'x': 24},
     {'h': 4, 'k': 16, 'm': 128})
    >>> [each["value"] for each in found.facts["maps"]]
    ['v9']
    """
    circuit, example = elaborate(entry.build()), Example.of(entry)
    graph = open_graph(of_entry(entry, entry.settings({})))
    try:
        model = graph.whole()
    except NCDError as error:
        return EntryModel(why=f"{error}".rstrip("."))
    trained = dict(_trained(entry, graph, example))
    files = {f"{entry.name}.onnx": b"", TRAINED: b"".join(trained.values()), EXAMPLE: example.file}
    made = {name for node in model.graph.node for name in node.output}
    maps = [each for each in _maps(circuit) if each["value"] in made]
    model.graph.output.extend(ValueInfoProto(name=each["value"]) for each in maps)
    files[f"{entry.name}.onnx"] = model.SerializeToString()
    size = max(map(len, files.values()))
    if size > LARGEST:
        return EntryModel(why=f"a file of it takes {size:,} bytes, and {LARGEST:,} are the most")
    kept = {**dict(_places(EXAMPLE, example.arrays(circuit))), **dict(_places(TRAINED, trained))}
    facts = {
        "file": f"{entry.name}.onnx",
        "run": run_sizes(graph, entry.settings({}), kept),
        "stays": {name: why for name, why in graph.fixed.items() if why != STRUCTURE},
        "inputs": [value.id for value in circuit.inputs],
        "outputs": [value.id for value in circuit.outputs],
        "maps": maps,
        "arrays": dict(_arrays(circuit, made)),
        "weights": sorted(_weights(circuit) & graph.weights.keys()),
        "colours": [palettes.POSITIVE, palettes.SIGNED, palettes.GREY, palettes.SIGNED_DARK],
        **example.facts(entry, circuit, graph),
    }
    return EntryModel({name: data for name, data in files.items() if data}, facts)


def _trained(entry: Entry, graph: ModelGraph, example: Example) -> Iterator[tuple[str, bytes]]:
    """Yields the bytes of each trained weight, in the order of the model's inputs."""
    if example.learned is None:
        return
    module = read_weights(compile(entry.build(), SEED), example.learned.weights)
    state = module.state_dict()
    for name in graph.weights:
        yield name, state[name].float().contiguous().numpy().astype("<f4").tobytes()


def _places(file: str, parts: Mapping[str, bytes]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yields the file of each part and its place in it, counted in numbers."""
    at = 0
    for name, data in parts.items():
        yield name, (file, at // 4)
        at += len(data)


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
