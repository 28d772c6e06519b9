"""Analyses the heads of a system that reads symbols: where they look, and what they contribute."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ncd.circuit.circuit import Cell
from ncd.run.head_switches import Head, capture_maps, disable_heads
from ncd.run.module import CircuitModule
from ncd.systems.training.sequence_data import CELLS, SEQUENCES, Cells, Sequences, share
from ncd.systems.training.tasks import Task

Shares = Mapping[str, float]  # shares of a head's weight, by kind of cell
BATCH = 64  # sequences at once


def kinds(own: Sequences) -> Mapping[str, Cells]:
    """Returns the kinds of cells that a head may look at in sequences of a task.

    >>> list(kinds(SEQUENCES["reversal"]))
    ['itself', 'first token', 'previous token', 'same token', 'after the same token', 'mirror']
    """
    return {**CELLS, **own.kinds}


def shares(maps: Tensor, tokens: Tensor, every: Mapping[str, Cells] = CELLS) -> Shares:
    """Returns the share of weight of maps (…, t, t) on the cells of each kind.

    Kinds that occur in no row of these sequences (…, t) are left out.

    >>> maps = torch.eye(3).roll(1, 0)  # each place looks at the one before, the first at the last
    >>> shares(maps, torch.tensor([7, 8, 9]))["previous token"]
    1.0
    """
    return _shares(maps, _cells(tokens, every))


def _cells(tokens: Tensor, every: Mapping[str, Cells]) -> dict[str, Tensor]:
    """Returns the cells of each kind that occurs in these sequences."""
    found = {name: cells(tokens) for name, cells in every.items()}
    return {name: cells for name, cells in found.items() if bool(cells.any())}


def _shares(maps: Tensor, found: Mapping[str, Tensor]) -> Shares:
    return {name: share(maps, cells) for name, cells in found.items()}


def run(
    module: CircuitModule,
    tokens: Tensor,
    off: Collection[Head] = (),
    maps: dict[Head, Tensor] | None = None,
) -> Tensor:
    """Returns the scores for sequences (…, t) with some heads off; fills ``maps`` by head."""
    found: dict[str, Tensor] = {}
    capture, silent = capture_maps(module.circuit, found), disable_heads(module.circuit, off)

    def watch(
        cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...] | None:
        if maps is not None:
            capture(cell, given, made)
        return silent(cell, given, made)

    with torch.no_grad():
        (scores,) = module.execute((tokens,), watch=watch)
    if maps is not None:
        for id, own in found.items():
            maps.update((Head(id, n), each) for n, each in enumerate(own.cpu().unbind(-3)))
    return scores.cpu()


@dataclass(frozen=True)
class HeadReport:
    """The behaviour of heads on unseen sequences.

    ``attention_shares`` are each head's shares, ``even`` those of uniform attention. ``full_score``
    is the score with all heads, ``current_score`` with the current ones, ``scores_without_head``
    with each one switched off.
    """

    sequence_count: int
    attention_shares: Mapping[Head, Shares]
    even: Shares
    full_score: float
    current_score: float
    scores_without_head: Mapping[Head, float]

    def does(self, head: Head) -> tuple[str, float]:
        """Returns the kind of cell on which a head puts the most weight, relative to uniform
        attention.
        """
        found = self.attention_shares[head]
        name = max(found, key=lambda name: found[name] - self.even[name])
        return name, found[name]


def skill(
    module: CircuitModule, task: Task, tokens: Tensor, answers: Tensor, each: bool = True
) -> HeadReport:
    """Tests a module on sequences (n, t) of its task; ``each`` also without each single head."""
    looks, even = attention_shares(module, task, tokens)
    right = score(module, task, tokens, answers)
    alone = looks if each else ()
    without = {head: score(module, task, tokens, answers, (head,)) for head in alone}
    return HeadReport(len(tokens), looks, even, right, right, without)


def with_heads_off(
    own: HeadReport,
    module: CircuitModule,
    task: Task,
    tokens: Tensor,
    answers: Tensor,
    off: Collection[Head],
) -> HeadReport:
    """Returns the skill of a module while some heads are off."""
    looks, even = attention_shares(module, task, tokens, off)
    now = score(module, task, tokens, answers, off)
    return replace(own, attention_shares=looks, even=even, current_score=now)


def attention_shares(
    module: CircuitModule, task: Task, tokens: Tensor, off: Collection[Head] = ()
) -> tuple[Mapping[Head, Shares], Shares]:
    """Returns each head's shares, and those of uniform attention."""
    few, maps = tokens[:BATCH], dict[Head, Tensor]()
    run(module, few, off, maps)
    cells = _cells(few.cpu(), kinds(SEQUENCES[task.name]))
    seen = next(iter(maps.values())) > 0
    even = _shares(seen / seen.sum(-1, keepdim=True), cells)
    return {head: _shares(found, cells) for head, found in maps.items()}, even


def score(
    module: CircuitModule,
    task: Task,
    tokens: Tensor,
    answers: Tensor,
    off: Collection[Head] = (),
) -> float:
    """Returns the task's score of a module with some heads off."""
    parts = [run(module, part, off) for part in tokens.split(BATCH)]
    return task.score(torch.cat(parts), answers)
