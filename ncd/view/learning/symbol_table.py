"""A table of a sequence: the symbol, the prediction and the right answer at each position."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from ncd.export import markup
from ncd.inputs.symbol_input import SymbolInput, symbol
from ncd.train.symbol_sequences import NOT_ASKED

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
