"""A sequence as symbols, and where the heads look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ncd.app.panels.learning import mistakes
from ncd.app.parts import heatmap
from ncd.app.parts.heatmap import CellGrid
from ncd.app.runtime import scheduler, torch_threads
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.run.head_switches import Head, find_attention
from ncd.site import markup
from ncd.systems.inputs.text_inputs import SymbolInput, symbol
from ncd.systems.training.head_analysis import HeadReport, run, skill, with_heads_off
from ncd.systems.training.sequence_data import NOT_ASKED, SEQUENCES
from ncd.systems.training.tasks import task

# --- The answers of a system to a sequence, and its skill on unseen sequences

T = TypeVar("T")
TRIED, LEAST = 512, 16  # test sequences: at most, and at least for a score without each head
GUESSED = 64  # at most of weights that have learned nothing: a guess needs no exact score


@dataclass(frozen=True)
class Look:
    """A sequence with the scores (t, v) and right answers at its positions, and the map of each
    head.

    ``cells`` (t, t) marks where each row finds its answer; ``off`` lists the heads switched off,
    ``in_doubt`` the positions whose right answer is not known.
    """

    read: SymbolInput
    scores: Tensor
    answers: tuple[int, ...]
    maps: dict[Head, CellGrid]
    cells: Tensor
    off: frozenset[Head]
    in_doubt: frozenset[int] = frozenset()

    def finds(self, head: Head, row: int) -> float:
        """Returns how much weight a row of a head's map has on the cells with its answer."""
        return float(self.maps[head][row] @ self.cells[row].numpy())

    @property
    def heads(self) -> tuple[Head, ...]:
        return tuple(self.maps)

    @property
    def names(self) -> dict[Head, str]:
        """The names of the heads: the layer, and a number if the layer has several."""
        layers = list(dict.fromkeys(head.softmax for head in self.heads))
        several = any(head.number for head in self.heads)
        return {
            head: f"Layer {layers.index(head.softmax) + 1}" + f", head {head.number}" * several
            for head in self.heads
        }

    @property
    def asked(self) -> tuple[int, ...]:
        """The positions with a question; all positions if there are no questions."""
        found = tuple(i for i, answer in enumerate(self.answers) if answer != NOT_ASKED)
        return found or tuple(range(self.read.length))


def heads(scene: Scene) -> tuple[Head, ...]:
    """Returns all heads of a system, layer by layer."""
    return tuple(head for found in find_attention(scene.circuit) for head in found.heads)


def look(scene: Scene, read: SymbolInput, off: frozenset[Head]) -> Look:
    """Runs the input sequence with some heads off, and returns the typed part."""
    key = (*scene.run_key, tuple(sorted(off)))
    scores, maps = cached(
        "reading", scene.term, *key, make=lambda: scene.run_in_pool(lambda: _run(scene, off))
    )
    n, tokens = read.length, torch.tensor(read.numbers)
    own = SEQUENCES[scene.entry.name]
    answers = own.answers(tokens[None])[0].tolist()[:n]
    shown = {head: each[:n, :n] for head, each in maps.items()}
    doubt = frozenset(own.in_doubt(tokens)[:n].nonzero().flatten().tolist())
    return Look(read, scores[:n], tuple(answers), shown, own.looks(tokens)[:n, :n], off, doubt)


def _run(scene: Scene, off: frozenset[Head]) -> tuple[Tensor, dict[Head, CellGrid]]:
    found: dict[Head, Tensor] = {}
    scores = run(scene.module, scene.inputs[0], off, found)
    return scores.float(), {head: each.float().numpy() for head, each in found.items()}


def measure_skill(scene: Scene, off: frozenset[Head]) -> HeadReport:
    """Measures the system's skill on unseen sequences of its task."""
    own, kept = task(scene.entry.name), partial(cached, "skill", scene.term, *scene.weights_key)
    affordable = 4 * mistakes.budget(scene) // max(1, scene.cost.flops)
    every = len(heads(scene))
    each = affordable // (every + 2) >= LEAST  # whether there is time to score it without each head
    most = TRIED if scene.loaded_weights else GUESSED
    count = max(1, min(most, affordable // (every + 2 if each else 2)))

    def unseen() -> tuple[Tensor, Tensor]:
        given = mistakes.examples(scene, own)
        return given.unseen[:count].to(scene.device), given.answers[:count]

    def tried() -> tuple[Tensor, Tensor]:
        return kept("sequences", make=lambda: _run_out_of_turn(unseen))

    whole = kept(make=lambda: _run_out_of_turn(lambda: skill(scene.module, own, *tried(), each)))
    if not off:
        return whole
    some = partial(with_heads_off, whole, scene.module, own, off=off)
    return kept(tuple(sorted(off)), make=lambda: _run_out_of_turn(lambda: some(*tried())))


def _run_out_of_turn(make: Callable[[], T]) -> T:
    """Computes ``make()`` while other visitors have the turn."""
    with scheduler.yielded_turn():
        return torch_threads.run_in_thread(make, long=True)


def seen_cells(found: CellGrid) -> CellGrid:
    """Returns a map with masked cells as NaN."""
    return np.where(_open(found), found, np.nan).astype(np.float32)


def _open(found: CellGrid) -> NDArray[np.bool_]:
    """Returns which cells of maps (…, t, t) are not masked: all, or those up to the diagonal."""
    every = np.ones_like(found, bool)
    return every if np.triu(found, 1).any() else np.tril(every)


def covered_cells(found: CellGrid) -> Any:
    """Returns a map that hides the weights: light cells can have a weight, dark ones cannot."""
    least, more, masked = (84, 14, 36) if heatmap.DARK.get() else (205, 18, 90)
    board = least + more * (np.indices(found.shape).sum(0) % 2)
    shade = np.where(_open(found), board, masked).astype(np.uint8)
    return np.repeat(shade[:, :, None], 3, axis=2)


# --- A table of a sequence: the symbol, the prediction and the right answer at each position

WORDS = 12  # the greatest number of words in a row of the table
UNKNOWN = '<span class="muted">not known</span>'


def html(
    read: SymbolInput,
    scores: Tensor,
    answers: Sequence[int],
    row: int,
    in_doubt: Collection[int] = (),
) -> str:
    """Returns the table; each position is a button that picks its row, and ``row`` is highlighted.

    A long sequence of words continues in a second table below. Nothing is called right or wrong at
    the positions ``in_doubt``, where the right answer is not known.
    """
    words = any(len(symbol) > 1 for symbol in read.symbols)
    each = WORDS if words else max(1, read.length)
    runs = (range(i, min(i + each, read.length)) for i in range(0, read.length, each))
    tables = "".join(_table(read, scores, answers, row, in_doubt, run) for run in runs)
    return f'<div class="scroll">{tables}</div>'


def _table(
    read: SymbolInput,
    scores: Tensor,
    answers: Sequence[int],
    row: int,
    in_doubt: Collection[int],
    places: range,
) -> str:
    """Returns the table of some positions."""
    chances = scores.softmax(-1)
    said = [int(i) for i in chances.argmax(-1)]
    heads = "".join(
        f'<th><button type="button" data-pick="row={i}" '
        f'aria-pressed="{str(i == row).lower()}">{i}</button></th>'
        for i in places
    )
    reads = "".join(f"<td>{markup.text(read.words[i])}</td>" for i in places)
    says = "".join(
        _unjudged(read, said[i])
        if i in in_doubt
        else _said(read, said[i], float(chances[i, said[i]]), answers[i])
        for i in places
    )
    right = "".join(
        f"<td>{UNKNOWN if i in in_doubt else _symbol(read, answers[i])}</td>" for i in places
    )
    rows = (
        f"<tr><td>place</td>{heads}</tr>",
        f'<tr class="read"><td>reads</td>{reads}</tr>',
        f"<tr><td>says</td>{says}</tr>",
        f"<tr><td>right is</td>{right}</tr>",
    )
    return f'<table class="strip">{"".join(rows)}</table>'


def right(scores: Tensor, answers: Sequence[int]) -> tuple[int, int]:
    """Returns the numbers of right answers and of questions.

    >>> right(torch.eye(3), (0, 2, NOT_ASKED))
    (1, 2)
    """
    said = scores.argmax(-1)[: len(answers)]
    wanted = torch.tensor(answers)
    return int((said == wanted).sum()), int((wanted != NOT_ASKED).sum())


def _said(read: SymbolInput, said: int, chance: float, answer: int) -> str:
    """Returns a cell of the prediction: right, wrong, or without a question."""
    if answer == NOT_ASKED:
        return '<td class="idle" title="nothing is asked here">·</td>'
    text = markup.text(symbol(read.symbols, said))
    kind, sign = ("right", "✓") if said == answer else ("wrong", "✗")
    return f'<td class="{kind}" title="{kind}, with a chance of {chance:.0%}">{text}<br>{sign}</td>'


def _unjudged(read: SymbolInput, said: int) -> str:
    """Returns a cell of the prediction where the right answer is not known."""
    text = markup.text(symbol(read.symbols, said))
    return f'<td class="idle" title="no answer is known here">{text}</td>'


def _symbol(read: SymbolInput, answer: int) -> str:
    return "" if answer == NOT_ASKED else markup.text(symbol(read.symbols, answer))
