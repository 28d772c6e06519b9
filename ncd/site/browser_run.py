"""The run of a system in the visitor's browser: model, example, sizes, steps.

The page writes the text at its sizes and reads it as JSON: a letter stands for each number that
follows from sizes (:mod:`ncd.site.live_texts`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from onnx import ValueInfoProto

from ncd.circuit.circuit import Cell, Circuit, Value, array_names, attention_axes, input_names
from ncd.circuit.costs import cost_of
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.formulas.formula import Application, Formula, Name, leaves
from ncd.formulas.traced_sizes import FILL, FIRST, LAST, is_symbolic
from ncd.language.op import InitialValue
from ncd.ops import Add, Conv, Einsum, Elementwise, Linear, Scale
from ncd.ops.sliding_window import side
from ncd.run.guard import compile
from ncd.run.seeding import example_inputs, generator
from ncd.site import markup
from ncd.site.entry_page import of_entry
from ncd.site.forward_steps import Stop, by_side, scanned_ids, step_words, stops
from ncd.site.live_texts import FormulaTable
from ncd.site.markup import MAP_COLOURS
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import RANDOM, InputSpec, opening_inputs, origin
from ncd.systems.training.sequence_data import SEQUENCES
from ncd.systems.training.trained_weights import (
    LONGEST,
    TrainedWeights,
    WeightSource,
    proofreading,
    read_weights,
    shipped_weights,
)
from ncd.write.onnx.onnx_model import STRUCTURE, ModelGraph, open_graph, symbol_of

# --- The facts of an op with which a page writes out how one of its numbers came about


def terms(cell: Cell) -> dict[str, str]:
    """Returns the kind of an op, and the axes and weights of its products; empty if it has none.

    >>> import ncd
    >>> term = ncd.Axes(m=8, k=4)(ncd.ops.Linear("m -> k", "Q", bias=True))
    >>> terms(ncd.elaborate(term).cells[0])
    {'kind': 'linear', 'from': 'm', 'to': 'k', 'weights': 'Q.weight Q.bias'}
    """
    op, site = cell.op, cell.site
    if isinstance(op, Einsum):
        return {"kind": "einsum"}
    if isinstance(op, Add | Scale | Elementwise):
        return {"kind": "same"}
    if op.role == "softmax":
        return {"kind": f"softmax {site.own_outputs[0][0].name}"}
    if not isinstance(op, Linear | Conv):
        return {}
    learned = (f"{cell.path}.{name}" for name in ("weight", "bias")[: 1 + op.bias])
    old, new = site.own_inputs[0].names, site.own_outputs[0].names
    if isinstance(op, Linear):
        found = {"kind": "linear", "from": " ".join(old), "to": " ".join(new)}
        return {**found, "weights": " ".join(learned)}
    return {
        "kind": "conv",
        "from": " ".join(old[:-1]),
        "to": " ".join(new[:-1]),
        "weights": " ".join(learned),
        "places": f"{old[-1]} {new[-1]}",
        "slid": cell.id,
    }


def renamed_axes(cell: Cell, circuit: Circuit) -> list[dict[str, str]]:
    """Returns the axes of each input that another block names otherwise, with the op's own names.

    >>> import ncd
    >>> circuit = ncd.elaborate(ncd.catalogue["encoder-block"].build())
    >>> renamed_axes(next(cell for cell in circuit.cells if cell.name == "q"), circuit)
    [{'t': 'y'}]
    """
    return [
        {
            there.name: here.name
            for there, here in zip(circuit.values[value.id].array, value.array, strict=True)
            if there.name != here.name
        }
        for value in cell.inputs
    ]


# --- The weights and the example that the page of a system opens on

SEED = 0


@dataclass(frozen=True)
class Example:
    """The example of one system.

    ``largest`` are the sizes up to which it holds, as settings; ``numbers`` the inputs that are not
    random, at these sizes, by their places.
    """

    feed: InputSpec
    trained_weights: TrainedWeights | None
    largest: Mapping[str, int]
    numbers: Mapping[int, torch.Tensor] = field(default_factory=dict)

    @staticmethod
    def from_entry(entry: Entry, weights_of: WeightSource = shipped_weights) -> Example:
        """Returns the example with which the app opens.

        >>> import ncd
        >>> found = Example.from_entry(ncd.catalogue["multi-head-attention"])
        >>> found.largest["x"], {i: tuple(x.shape) for i, x in found.numbers.items()}
        (24, {0: (24, 128), 1: (24, 128)})
        """
        settings = entry.settings({})
        feed = opening_inputs(entry, entry.build(), settings, SEED)
        weights = weights_of(entry, settings)
        if feed.trained:  # the words of the sentence follow its sizes
            weights = proofreading(settings["h"], SEED)
            settings |= dict.fromkeys(feed.words, LONGEST)
            feed = opening_inputs(entry, entry.build(**settings), settings, SEED)
        if feed.key == RANDOM:
            return Example(feed, weights, settings)
        term = entry.build(**settings)
        pairs = zip(feed.tensors(term, SEED, "cpu"), example_inputs(term, SEED), strict=True)
        own = {i: given for i, (given, random) in enumerate(pairs) if not given.equal(random)}
        return Example(feed, weights, settings, own)

    @property
    def file(self) -> bytes:
        """The inputs that are not random, one after the other, as float32."""
        return b"".join(map(_bytes, self.numbers.values()))

    def arrays(self, circuit: Circuit) -> dict[str, bytes]:
        """Returns the bytes of the inputs that are not random, by their ids."""
        return {circuit.inputs[i].id: _bytes(x) for i, x in self.numbers.items()}

    def facts(self, entry: Entry, circuit: Circuit, graph: ModelGraph) -> dict[str, Any]:
        """Returns what the page has to know.

        The example holds ``within`` the sizes of the first axes of its inputs, and ``exactly`` with
        the other sizes that it has; what was learned, with all others.
        """
        inputs = [graph.circuit.inputs[i] for i in self.numbers]
        shapes = [value.array.shape for value in inputs]
        first = {name for shape in shapes for size in shape[:1] if (name := symbol_of(size))}
        rest = [shape[1:] if any(map(symbol_of, shape[:1])) else shape for shape in shapes]
        if self.trained_weights:
            rest += [tensor.shape for tensor in graph.weights.values()]
        others = {name for shape in rest for size in shape for name in _read(graph, size)}
        if self.trained_weights:
            others |= graph.trace.sizes.keys() - first
        others -= graph.fixing_ops.keys()
        return {
            "kept": [value.id for value in inputs],
            "learned": self.trained_weights is not None,
            "pictures": [circuit.inputs[i].id for i in self.numbers if self.feed.pictures],
            "within": {n: size for n, size in self.largest.items() if n in first - others},
            "exactly": {n: size for n, size in self.largest.items() if n in others},
            "said": self._origin_texts(circuit),
            "words": self._words(entry, circuit),
        }

    def _origin_texts(self, circuit: Circuit) -> list[str]:
        """Returns where the numbers come from, with the example and without it."""
        learns = any(cell.name for cell in circuit.cells)
        trained = self.trained_weights.summary if self.trained_weights else ""
        return [origin(self.feed, trained, learns, SEED), origin(InputSpec(), "", learns, SEED)]

    def _words(self, entry: Entry, circuit: Circuit) -> dict[str, tuple[str, ...]]:
        """Returns the words along axes by name, also for copies of the axis in attention."""
        words = {name: self.feed.axis_words(name) for name in self.feed.words}
        if not self.feed.numbers:
            return words
        if entry.name not in SEQUENCES:
            return words
        ((own, line),) = words.items()
        (size,) = (value.array.shape[0] for value in circuit.inputs)
        for cell in circuit.cells:
            if cell.op.role == "softmax":
                array = cell.outputs[0].array
                rows, columns, _ = attention_axes(array, cell.site.own_outputs[0][0])
                alike = [array[i] for i in (rows, columns) if i is not None]
                words |= {axis.name: line for axis in alike if axis.size == size}
        symbols = SEQUENCES[entry.name].symbols(self.largest["v"])
        return {**words, own: line, circuit.outputs[0].array[-1].name: tuple(symbols)}


def _bytes(x: torch.Tensor) -> bytes:
    data: bytes = x.to(torch.float32).contiguous().numpy().astype("<f4").tobytes()
    return data


def _read(graph: ModelGraph, size: Any) -> Iterator[str]:
    """Yields the names of the open sizes in a size."""
    if is_symbolic(size):
        yield from graph.trace.read(size.total)


# --- The part of a page that runs its system: what goes in, a button, and the steps of the run

WALK = """<div class="walk" hidden><div class="strip">
<div class="turns" role="group" aria-label="Steps"></div>
<button type="button" class="plain end">End the steps</button></div>
<div data-live="walk"></div><div class="figures"></div></div>"""
SCAN_NOTE = " This is done at every position of a scan, and its numbers are not kept here."


def run_section(said: str) -> Callable[[Circuit], str]:
    """Returns the writer of the part; ``said`` tells where the numbers of the run come from.

    Sizes of inputs, and those in the words of steps, follow the sizes of the page.
    """

    def part(circuit: Circuit) -> str:
        items = ", ".join(
            f'<span data-input="{value.id}">{markup.shapes([value.array])}</span>'
            for value in circuit.inputs
        )
        given = f' <span class="muted">Goes in: {items}.</span>' if items else ""
        return (
            '<section class="run" aria-label="Run" data-live="run"><h2>Run here</h2>'
            f'<p><span class="origin">{markup.text(said)}</span>{given}</p>'
            '<p><button class="go" type="button">Run here</button> '
            '<button class="begin" type="button" hidden>Step by step</button> '
            '<span class="ran" role="status"></span></p>'
            f'{WALK}<div class="results"></div></section>'
        )

    return part


def without_model(why: str) -> Callable[[Circuit], str]:
    """Returns the part of a page whose system does not run in a browser, which says why."""
    said = f"<p>It does not run in a browser: {markup.text(why)}. The app runs it.</p>"
    return lambda circuit: f'<section class="run"><h2>Run here</h2>{said}</section>'


def walk(circuit: Circuit) -> str:
    """Returns each step: what is lit in the diagram, what it takes and makes, and its words."""
    return "".join(_stops(circuit))


def _stops(circuit: Circuit) -> Iterator[str]:
    side, scanned = by_side(circuit), scanned_ids(circuit)
    for stop in stops(circuit):
        title, words = step_words(stop, side, scanned, SCAN_NOTE, None)
        taken = stop.unit.inputs if isinstance(stop.unit, Cell) else ()
        yield (
            f'<article data-ids="{" ".join(stop.ids)}" data-takes="{_ids(taken)}" '
            f'data-makes="{_ids(stop.arrays)}"'
            f"{_copy_attribute(stop)}{_terms(stop, circuit)} hidden>"
            f"<h3>{title}</h3>{words}</article>"
        )


def _ids(values: Iterable[Value]) -> str:
    return " ".join(value.id for value in values)


def _copy_attribute(stop: Stop) -> str:
    """Returns the mark of a step that makes several arrays of the same numbers."""
    return ' data-same="1"' if isinstance(stop.unit, Cell) and stop.unit.op.role == "copy" else ""


def _terms(stop: Stop, circuit: Circuit) -> str:
    """Returns what the page needs to say how one number of the step came about."""
    found = terms(stop.unit) if isinstance(stop.unit, Cell) else {}
    if found and isinstance(stop.unit, Cell) and any(names := renamed_axes(stop.unit, circuit)):
        found["renamed"] = json.dumps(names)
    return "".join(f' data-{name}="{markup.text(said)}"' for name, said in found.items())


# --- The inputs and the cost of a run at any sizes, as a text with formulas

MASK = 2**32 - 1
LETTER = re.compile(f'"([{chr(FIRST)}-{chr(LAST)}])"')
StoredInputs = Mapping[str, tuple[str, int]]


def run_sizes(graph: ModelGraph, settings: Mapping[str, int], kept: StoredInputs) -> dict[str, Any]:
    """Returns the text of a run with its formulas, and the conditions of the model.

    Those of the diagram are not among them: the page shows no sizes for which it is another one.
    ``inputs`` of the text are the model's: with the file and the place where its numbers begin, if
    they are ``kept`` in one; else with the seed and what is drawn from it. ``windows`` are those of
    convolutions. ``bytes`` and ``flops`` are those of a run.
    """
    trace = graph.trace
    facts = {"holds": [fact for fact in trace.holds if fact not in graph.circuit_facts]}
    with trace.without_facts():
        total = cost_of(graph.circuit)
        said = {
            "inputs": [*_input_arrays(graph, kept), *_weight_arrays(graph, kept), *_sizes(graph)],
            "windows": {c.id: _window(c) for c in graph.circuit.cells if isinstance(c.op, Conv)},
            "bytes": _number(total.bytes + 4 * total.parameters),
            "flops": _number(total.flops),
        }
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        fixed = {name: size for name, size in settings.items() if name not in trace.sizes}
        table = FormulaTable().build_table(trace, facts)
    return {"text": LETTER.sub(r"\1", text), "fixed": fixed, "also": [], **table}


def _number(size: Any) -> Any:
    """Returns a size as JSON can hold it: a traced one as its letter."""
    return f"{size}".replace(FILL, "") if is_symbolic(size) else size


def _input_arrays(graph: ModelGraph, kept: StoredInputs) -> Iterator[dict[str, Any]]:
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


def _weight_arrays(graph: ModelGraph, kept: StoredInputs) -> Iterator[dict[str, Any]]:
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
        size = _number(graph.trace.symbolic_sizes[name])
        yield {"name": f"size.{name}", "kind": "int64", "dims": [1], "data": [size]}


def _seed(purpose: str) -> int:
    """Returns the part of a seed that torch's generator uses."""
    return generator(SEED, purpose).initial_seed() & MASK


def _place(name: str, kept: StoredInputs) -> dict[str, Any]:
    return {"kept": kept[name]} if name in kept else {}


def _start(initial: InitialValue) -> dict[str, Any]:
    """Returns the formula of a weight, with its axes if it speaks of them."""
    axes = {axis.identifier: axis.numel for axis in initial.array}
    names = {leaf.text for leaf in leaves(initial.formula) if isinstance(leaf, Name)}
    found: dict[str, Any] = {"start": [*initial.numbers] or _tree(initial.formula)}
    if names & {*axes, *(f"n_{name}" for name in axes)}:
        found["axes"] = [[name, _number(size)] for name, size in axes.items()]
    return found


def _tree(formula: Formula) -> Any:
    """Returns a formula as nested lists: an operation, then its parts."""
    if isinstance(formula, Application):
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
    along = range(op.spatial_rank(cell.site))
    window = [[_number(side(each, i)) for each in settings] for i in along]
    return {"window": window, "groups": _number(op.groups)}


# --- The ONNX model of a system, which its page runs in the visitor's browser

LARGEST = 4_000_000  # bytes of a file
EXAMPLE, TRAINED = "example.bin", "trained.bin"


@dataclass(frozen=True)
class EntryModel:
    """Files by name and what their page has to know of them, or the reason why there are none."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    facts: Mapping[str, Any] | None = None
    reason: str = ""


def entry_model(entry: Entry, weights_of: WeightSource = shipped_weights) -> EntryModel:
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
    circuit, example = elaborate(entry.build()), Example.from_entry(entry, weights_of)
    graph = open_graph(of_entry(entry, entry.settings({})))
    try:
        model = graph.build_model()
    except NCDError as error:
        return EntryModel(reason=f"{error}".rstrip("."))
    trained = dict(_trained_weights(entry, graph, example))
    files = {f"{entry.name}.onnx": b"", TRAINED: b"".join(trained.values()), EXAMPLE: example.file}
    made = {name for node in model.graph.node for name in node.output}
    maps = [each for each in _maps(circuit) if each["value"] in made]
    model.graph.output.extend(ValueInfoProto(name=each["value"]) for each in maps)
    files[f"{entry.name}.onnx"] = model.SerializeToString()
    size = max(map(len, files.values()))
    if size > LARGEST:
        return EntryModel(reason=f"a file of it takes {size:,} bytes, and {LARGEST:,} are the most")
    kept = {**dict(_places(EXAMPLE, example.arrays(circuit))), **dict(_places(TRAINED, trained))}
    facts = {
        "file": f"{entry.name}.onnx",
        "run": run_sizes(graph, entry.settings({}), kept),
        "stays": {name: why for name, why in graph.fixing_ops.items() if why != STRUCTURE},
        "inputs": [value.id for value in circuit.inputs],
        "outputs": [value.id for value in circuit.outputs],
        "maps": maps,
        "arrays": dict(_value_axes(circuit, made)),
        "weights": sorted(_weight_names(circuit) & graph.weights.keys()),
        "colours": MAP_COLOURS,
        **example.facts(entry, circuit, graph),
    }
    return EntryModel({name: data for name, data in files.items() if data}, facts)


def _trained_weights(
    entry: Entry, graph: ModelGraph, example: Example
) -> Iterator[tuple[str, bytes]]:
    """Yields the bytes of each trained weight, in the order of the model's inputs."""
    if example.trained_weights is None:
        return
    module = read_weights(compile(entry.build(), SEED), example.trained_weights.weights)
    state = module.state_dict()
    for name in graph.weights:
        yield name, state[name].float().contiguous().numpy().astype("<f4").tobytes()


def _places(file: str, parts: Mapping[str, bytes]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yields the file of each part and its place in it, counted in numbers."""
    at = 0
    for name, data in parts.items():
        yield name, (file, at // 4)
        at += len(data)


def _value_axes(circuit: Circuit, made: set[str]) -> Iterator[tuple[str, Any]]:
    """Yields the name and the axes of each array of which a run has the values."""
    names = {**array_names(circuit), **input_names(circuit)}
    inputs = {value.id for value in circuit.inputs}
    for id, value in circuit.values.items():
        if id in made or id in inputs:
            yield id, [names.get(id, ""), *_axes(value)]


def _weight_names(circuit: Circuit) -> set[str]:
    """Returns the names of the weights of which the steps write out products."""
    return {name for cell in circuit.cells for name in terms(cell).get("weights", "").split()}


def _axes(value: Value) -> Iterator[Any]:
    """Yields the name of each axis, with its label and number of dimensions if they are unusual."""
    for axis in value.array:
        plain = axis.display_name == axis.name and not axis.spatial
        yield axis.name if plain else [axis.name, axis.display_name, len(axis.shape)]


def _maps(circuit: Circuit) -> Iterator[dict[str, Any]]:
    """Yields each softmax's array with the dimensions of its queries, keys and heads."""
    for cell in circuit.cells:
        if cell.op.role != "softmax":
            continue
        array = cell.outputs[0].array
        rows, columns, heads = attention_axes(array, cell.site.own_outputs[0][0])
        starts = [sum(len(axis.shape) for axis in array[:i]) for i in range(len(array) + 1)]
        dims = [list(range(a, b)) for a, b in pairwise(starts)]
        yield {
            "value": cell.outputs[0].id,
            "title": cell.path.rstrip(".") or cell.op.display_name,
            "rows": [] if rows is None else dims[rows],
            "columns": dims[columns],
            "heads": [dim for i in heads for dim in dims[i]],
            "names": [
                "" if rows is None else array[rows].name,
                array[columns].name,
                ", ".join(array[i].name for i in heads),
            ],
        }
