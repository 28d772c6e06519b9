"""The weights and the example that the page of a system opens on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ncd.inputs.number_origin import origin
from ncd.inputs.opening_inputs import opening_inputs
from ncd.inputs.run_inputs import RANDOM, Feed
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.formulas.traced_sizes import traced
from ncd.models import Entry
from ncd.onnx_model.model_graph import ModelGraph, symbol_of
from ncd.run import example_inputs
from ncd.run.explain.attention_axes import attention_axes
from ncd.train import proofreader_weights
from ncd.train.learned_weights import Learned, proofreading, shipped_weights
from ncd.train.symbol_sequences import SEQUENCES

SEED = 0


@dataclass(frozen=True)
class Example:
    """The example of one system.

    ``largest`` are the sizes up to which it holds, as settings; ``numbers`` the inputs that are not
    random, at these sizes, by their places.
    """

    feed: Feed
    learned: Learned | None
    largest: Mapping[str, int]
    numbers: Mapping[int, torch.Tensor] = field(default_factory=dict)

    @staticmethod
    def of(entry: Entry) -> Example:
        """Returns the example with which the app opens.

        >>> import ncd
        >>> found = Example.of(ncd.catalogue["multi-head-attention"])
        >>> found.largest["x"], {i: tuple(x.shape) for i, x in found.numbers.items()}
        (24, {0: (24, 128), 1: (24, 128)})
        """
        settings = entry.settings({})
        feed = opening_inputs(entry, entry.build(), settings, SEED)
        learned = shipped_weights(entry, settings)
        if feed.trained:  # the words of the sentence follow its sizes
            learned = proofreading(settings["h"], SEED)
            settings |= dict.fromkeys(feed.words, proofreader_weights.LONGEST)
            feed = opening_inputs(entry, entry.build(**settings), settings, SEED)
        if feed.key == RANDOM:
            return Example(feed, learned, settings)
        term = entry.build(**settings)
        pairs = zip(feed.tensors(term, SEED, "cpu"), example_inputs(term, SEED), strict=True)
        own = {i: given for i, (given, random) in enumerate(pairs) if not given.equal(random)}
        return Example(feed, learned, settings, own)

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
        if self.learned:
            rest += [tensor.shape for tensor in graph.weights.values()]
        others = {name for shape in rest for size in shape for name in _read(graph, size)}
        if self.learned:
            others |= graph.trace.sizes.keys() - first
        others -= graph.fixed.keys()
        return {
            "kept": [value.id for value in inputs],
            "learned": self.learned is not None,
            "pictures": [circuit.inputs[i].id for i in self.numbers if self.feed.pictures],
            "within": {n: size for n, size in self.largest.items() if n in first - others},
            "exactly": {n: size for n, size in self.largest.items() if n in others},
            "said": self._said(circuit),
            "words": self._words(entry, circuit),
        }

    def _said(self, circuit: Circuit) -> list[str]:
        """Returns where the numbers come from, with the example and without it."""
        learns = any(cell.name for cell in circuit.cells)
        trained = self.learned.said if self.learned else ""
        return [origin(self.feed, trained, learns, SEED), origin(Feed(), "", learns, SEED)]

    def _words(self, entry: Entry, circuit: Circuit) -> dict[str, tuple[str, ...]]:
        """Returns the words along axes by name, also for copies of the axis in attention."""
        words = {name: self.feed.shown(name) for name in self.feed.words}
        if not self.feed.numbers:
            return words
        ((own, line),) = words.items()
        (size,) = (value.array.shape[0] for value in circuit.inputs)
        for cell in circuit.cells:
            if cell.op.role == "softmax":
                array = cell.outputs[0].array
                rows, columns, _ = attention_axes(array, cell.site.cod[0][0])
                alike = [array[i] for i in (rows, columns) if i is not None]
                words |= {axis.name: line for axis in alike if axis.size == size}
        symbols = SEQUENCES[entry.name].symbols(self.largest["v"])
        return {**words, own: line, circuit.outputs[0].array[-1].name: tuple(symbols)}


def _bytes(x: torch.Tensor) -> bytes:
    data: bytes = x.to(torch.float32).contiguous().numpy().astype("<f4").tobytes()
    return data


def _read(graph: ModelGraph, size: Any) -> Iterator[str]:
    """Yields the names of the open sizes in a size."""
    if traced(size):
        yield from graph.trace.read(size.total)
