"""The memory of a model at work, and what fits in a given memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import cost_of, in_bytes
from ncd.language.axes import Array
from ncd.language.number_formats import Formats, is_cached
from ncd.ops import Pad
from ncd.systems.language_models.model_parts import window_size

WEIGHTS = ("float32", "bfloat16", "int8", "int4")  # the formats that are compared
USUAL_FORMAT = "bfloat16"  # of weights, arrays and the cache
MAX_COUNT = 1 << 24  # tokens, and texts


@dataclass(frozen=True)
class ModelMemory:
    """The numbers from which the memory of a model at work follows.

    Args:
        weights: The bytes of the weights in each format. cache_by_window: The numbers that the
        cache keeps of a token, by the window of their layers; 0 for
            layers that see the whole text.
        activations_per_token: The most numbers that an op takes and gives for each token.
        states: The numbers that layers with a state keep of a text, however long it is.

    >>> small = ModelMemory({"bfloat16": 100}, {0: 4, 8: 2}, 3)
    >>> small.cache(10), small.total(10), small.longest(400)
    (112, 272, 19)
    """

    weights: Mapping[str, int]
    cache_by_window: Mapping[int, int]
    activations_per_token: int
    states: int = 0

    def cache(self, tokens: int, texts: int = 1, format: str = USUAL_FORMAT) -> int:
        """Returns the bytes of the cache of some texts of so many tokens each."""
        numbers = sum(
            n * min(tokens, window or tokens) for window, n in self.cache_by_window.items()
        )
        return in_bytes((numbers + self.states) * texts, format)

    def activations(self, tokens: int, texts: int = 1, format: str = USUAL_FORMAT) -> int:
        """Returns the bytes of the arrays of the largest op while the texts are read."""
        return in_bytes(self.activations_per_token * tokens * texts, format)

    def total(
        self, tokens: int, texts: int = 1, weights: str = USUAL_FORMAT, beside: str = USUAL_FORMAT
    ) -> int:
        """Returns the bytes of weights, cache and arrays together.

        Args:
            tokens: The tokens of each text.
            texts: The texts.
            weights: The format of the weights.
            beside: The format of the cache and of arrays.
        """
        held = self.cache(tokens, texts, beside) + self.activations(tokens, texts, beside)
        return self.weights[weights] + held

    def longest(
        self, memory: int, texts: int = 1, weights: str = USUAL_FORMAT, beside: str = USUAL_FORMAT
    ) -> int:
        """Returns how many tokens each text can have in so many bytes; 0 if not one fits."""
        return _largest(lambda n: self.total(n, texts, weights, beside) <= memory)

    def most_texts(
        self, memory: int, tokens: int, weights: str = USUAL_FORMAT, beside: str = USUAL_FORMAT
    ) -> int:
        """Returns how many texts of so many tokens fit in so many bytes."""
        return _largest(lambda n: self.total(tokens, n, weights, beside) <= memory)


def model_memory(circuit: Circuit, cached: tuple[str, ...]) -> ModelMemory:
    """Returns the memory of a model, by the names of the ops whose results it keeps.

    >>> import ncd
    >>> llama = ncd.catalogue["llama"]
    >>> term = llama.build(**llama.preset("llama-3-8b").knobs)
    >>> found = model_memory(ncd.elaborate(term), llama.cached)
    >>> found.cache(1), found.weights["bfloat16"]  # 128 KiB a token, 16 GB
    (131072, 16060522496)
    """
    weights = {
        name: cost_of(circuit, Formats(name, _activation_format(name))).weight_bytes
        for name in WEIGHTS
    }
    kept = cached_numbers_by_window(circuit, cached)
    return ModelMemory(weights, kept, _max_numbers_per_token(circuit), state_number_count(circuit))


def _activation_format(name: str) -> str:
    """Returns the format of arrays beside weights of one."""
    return name if name == "float32" else USUAL_FORMAT


def layer_windows(circuit: Circuit) -> tuple[int, ...]:
    """Returns for each layer's attention how many positions it sees, in order; 0 for all.

    >>> import ncd
    >>> layer_windows(ncd.elaborate(ncd.catalogue["gemma"].build(n=5, w=3)))
    (3, 0, 3, 0, 3)
    """
    found: list[int] = []
    window = 0
    for cell in circuit.cells:
        window = window_size(cell.op) or window
        if _is_attention(cell):
            found.append(window)
            window = 0
    return tuple(found)


def cached_numbers_by_window(circuit: Circuit, cached: tuple[str, ...]) -> dict[int, int]:
    """Returns the numbers that a cache keeps of a token, by the window of their layers."""
    found: dict[int, int] = {}
    numbers = window = 0
    for cell in circuit.cells:
        window = window_size(cell.op) or window
        if is_cached(cell.path, cached):
            numbers += Array(cell.outputs[0].array[1:]).numel
        if _is_attention(cell) and numbers:
            found[window] = found.get(window, 0) + numbers
            numbers = window = 0
    return found


def state_number_count(circuit: Circuit) -> int:
    """Returns the numbers of all states of a text, with the last positions before a convolution.

    >>> import ncd
    >>> three_layers = ncd.catalogue["mamba"].build(n=3, d=32, s=8, w=4)
    >>> state_number_count(ncd.elaborate(three_layers))
    1056
    """
    pads = [c for c in circuit.cells if isinstance(c.op, Pad) and c.site.own_inputs[0][0].sequence]
    before = (c.outputs[0].array.numel - c.inputs[0].array.numel for c in pads)
    return sum(v.array.numel for scan in circuit.scans for v in scan.inputs[: scan.states]) + sum(
        before
    )


def _is_attention(cell: Cell) -> bool:
    return cell.op.role == "softmax" and cell.site.own_outputs[0][0].sequence


def _max_numbers_per_token(circuit: Circuit) -> int:
    """Returns the most numbers that an op takes and gives for each token.

    Tables of scores are left out, which a fused attention never holds, and so are the scores of
    words, of which a text that is written needs those of its last token.
    """
    words = {value.array.below.name for value in circuit.inputs if value.array.below is not None}
    aside = {id for id, value in circuit.values.items() if words.intersection(value.array.names)}
    most = 0
    for cell in circuit.cells:
        if any(len(value.array) > 2 and not _length(value.array) for value in cell.inputs):
            aside |= {value.id for value in cell.outputs}  # copies of the chosen experts' weights
        arrays = {value.id: value.array for value in (*cell.inputs, *cell.outputs)}
        numbers = (array.numel // n for array in arrays.values() if (n := _length(array)))
        most = max(most, sum(numbers) if aside.isdisjoint(arrays) else 0)
    return most


def _length(array: Array) -> int:
    """Returns the positions of an array along its one text; 0 for none, or for a table of two."""
    along = [axis for axis in array if axis.sequence]
    return prod(along[0].shape) if len(along) == 1 and array.below is None else 0


def _largest(fits: Callable[[int], bool]) -> int:
    """Returns the largest number up to ``MAX_COUNT`` that fits, where smaller ones do too."""
    low, high = 0, MAX_COUNT + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
