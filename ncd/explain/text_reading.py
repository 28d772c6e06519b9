"""The reading of a text by a language model: its guesses, where its heads look, words to add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.run.head_switches import Head, find_attention
from ncd.run.module import CircuitModule, Trace


@dataclass(frozen=True)
class TextReading:
    """The scores of the next word after each layer (layers, n, v), and the map of each head (n, n).

    The scores after the last layer are those that the model gives.
    """

    layers: Tensor
    maps: Mapping[Head, Tensor]

    @property
    def scores(self) -> Tensor:
        """The scores that the model gives, (n, v)."""
        return self.layers[-1]

    @property
    def probabilities(self) -> Tensor:
        """The probabilities of the next word after each layer, (layers, n, v)."""
        return self.layers.softmax(-1)

    def word_probabilities(self, numbers: Sequence[int]) -> list[float]:
        """Returns the probability of each word but the first, given the words before it."""
        chances = self.scores[: len(numbers) - 1].softmax(-1)
        found: list[float] = chances.gather(1, torch.tensor(numbers[1:])[:, None])[:, 0].tolist()
        return found


@torch.no_grad()
def read_text(module: CircuitModule, trace: Trace, n: int) -> TextReading:
    """Returns what a run says of the first n words of its text.

    A layer's scores are what the last two ops make of the stream after it.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
    """
    values, circuit = trace.values, module.circuit
    sums = [
        cell.outputs[0].id
        for cell in circuit.cells
        if cell.op.display_name == "Add" and cell.module_path
    ]
    made = [_word_scores(module, trace, values[id][:n]) for id in sums[1::2]]
    maps: dict[Head, Tensor] = {}
    for found in find_attention(circuit):
        weights = found.maps(values[found.softmax.outputs[0].id])[..., :n, :n]
        maps.update(zip(found.heads, weights.float().cpu(), strict=True))
    return TextReading(torch.stack(made).float().cpu(), maps)


def _word_scores(module: CircuitModule, trace: Trace, stream: Tensor) -> Tensor:
    """Returns what the last norm, and the map to the words behind it, make of a stream (n, m)."""
    norm, to_words = module.circuit.cells[-2:]
    normed = module.get_submodule(norm.path)(stream)
    if len(to_words.inputs) == 1:
        made: Tensor = module.get_submodule(to_words.path)(normed)
        return made
    return F.linear(normed, trace.values[to_words.inputs[1].id])  # the table that was read at first


def choice_probabilities(scores: Tensor, temperature: float, k: int) -> Tensor:
    """Returns the probabilities of words with a temperature, of the k likeliest alone.

    Args:
        scores: The scores of the words, (v).
        temperature: What they are divided by: below 1 the likeliest gains, above 1 the others do.
        k: How many words can be chosen.

    Source: Fan et al. 2018, "Hierarchical Neural Story Generation", section 4, for the k likeliest.

    >>> scores = torch.tensor([1.0, 2.0, 0.0]).log()
    >>> [round(share, 3) for share in choice_probabilities(scores, 1, 3).tolist()]
    [0.333, 0.667, 0.0]
    >>> [round(share, 3) for share in choice_probabilities(scores, 0.5, 1).tolist()]
    [0.0, 1.0, 0.0]
    """
    best = scores.topk(min(k, len(scores)))
    chances = torch.zeros_like(scores)
    chances[best.indices] = (best.values / temperature).softmax(0)
    return chances


def drawn_word(chances: Tensor, random: torch.Generator) -> int:
    """Returns the number of a word, drawn with these probabilities.

    >>> drawn_word(torch.tensor([0.0, 1.0]), torch.Generator())
    1
    """
    return int(torch.multinomial(chances, 1, generator=random))
