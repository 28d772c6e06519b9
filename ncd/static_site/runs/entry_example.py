"""The weights and the example that the page of a system opens on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ncd.inputs.number_origin import origin
from ncd.inputs.opening_inputs import opening_inputs
from ncd.inputs.run_inputs import RANDOM, Feed
from ncd.lang.circuits.circuit import Circuit
from ncd.models import Entry
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
        tensors = (x.to(torch.float32).contiguous() for x in self.numbers.values())
        return b"".join(x.numpy().astype("<f4").tobytes() for x in tensors)

    def facts(self, entry: Entry, circuit: Circuit, free: list[str]) -> dict[str, Any]:
        """Returns what the page has to know; ``kept`` is where each input begins in the file."""
        places, at = {}, 0
        for i, x in self.numbers.items():
            places[i], at = at, at + x.numel()
        known = self.learned is not None or bool(self.numbers)
        return {
            "kept": [places.get(i, -1) for i in range(len(circuit.inputs))],
            "pictures": [circuit.inputs[i].id for i in self.numbers if self.feed.pictures],
            "within": {name: self.largest[name] for name in free} if known else {},
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
