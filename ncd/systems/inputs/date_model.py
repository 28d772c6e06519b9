"""The small encoder and decoder that ship: a date as somebody types it, and what they write of it.

What a decoder has written goes in again, so that what it writes first is an input of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from ncd.run.guard import compile
from ncd.run.module import CircuitModule
from ncd.run.seeding import generator
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.inputs.text_inputs import SymbolInput
from ncd.systems.recurrent.seq2seq_attention import WRITTEN_LENGTH
from ncd.systems.training.trained_weights import read_weights, shipped_file
from ncd.systems.training.written_dates import (
    READ_SYMBOLS,
    WRITTEN_SYMBOLS,
    as_symbols,
    date_lines,
    decoder_inputs,
    symbol_numbers,
)

TRANSLATOR = "seq2seq-attention"  # the system that reads dates
SAMPLE = "november 3 1998"
MOST_PLACES = 64  # of what is read and of what is written: with more, inputs are random
SYMBOL_KINDS = "letters, digits, spaces and . , /"


@dataclass(frozen=True)
class DateInput:
    """A date that is read, and what the shipped model writes of it, one place late."""

    read: SymbolInput
    decoder_numbers: tuple[int, ...]

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The symbols along the two axes."""
        return {"s": self.read.words, "t": tuple(WRITTEN_SYMBOLS[i] for i in self.decoder_numbers)}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of what is read, then of what is written before each place."""
        return (*self.read.numbers, *self.decoder_numbers)


def date_input(
    s: int, t: int, attend: int, seed: int, turn: str = "", text: str = ""
) -> DateInput | None:
    """Reads a date; an empty or wrong text becomes an example. There is none for more places.

    >>> found = date_input(18, 10, 1, seed=0, text="3 May 2007")
    >>> "".join(found.words["t"])
    '▸2007-05-0'
    >>> date_input(18, 10, 1, seed=0, text="3 mai 2007!").read.error_text
    '“!” is none of the symbols here: letters, digits, spaces and . , /'
    >>> date_input(9, 10, 1, seed=0, text="3 may 2007").read.error_text
    'It reads 9 symbols, and these are 10.'
    """
    if max(s, t) > MOST_PLACES:
        return None
    read = _read(s, seed, turn, text)
    return DateInput(read, _written_before(read.numbers, t, attend))


def _read(s: int, seed: int, turn: str, text: str) -> SymbolInput:
    typed = " ".join(text.lower().split())
    wrong = _fault(typed, s)
    if not typed or wrong:
        typed = _example(seed, turn) if turn else SAMPLE
    typed = typed[:s]
    numbers = tuple(symbol_numbers(typed, READ_SYMBOLS, s))
    return SymbolInput(tuple(READ_SYMBOLS), numbers, len(typed), wrong)


def _fault(typed: str, s: int) -> str:
    strange = next((symbol for symbol in typed if symbol not in READ_SYMBOLS), "")
    if strange:
        return f"“{strange}” is none of the symbols here: {SYMBOL_KINDS}"
    return f"It reads {s} symbols, and these are {len(typed)}." if len(typed) > s else ""


def _example(seed: int, turn: str) -> str:
    """Returns a date that the model has not learned from."""
    read, _ = date_lines(1, MOST_PLACES, 1, generator(seed, f"date {turn}"), unseen=True)
    return as_symbols(read[0], READ_SYMBOLS)


@lru_cache(256)
def _written_before(read: tuple[int, ...], t: int, attend: int) -> tuple[int, ...]:
    """Returns what the shipped model has written before each of t places.

    All places are written at once, from a guess, until nothing changes: a place depends on those
    before it alone, so that each turn settles one more at least.
    """
    count = min(t, WRITTEN_LENGTH)
    model, source = _model(len(read), count, attend), torch.tensor(read)
    written = torch.full((count,), WRITTEN_SYMBOLS.index("0"))
    with torch.no_grad():
        for _ in range(count):
            outputs = model(source, decoder_inputs(written))
            scores = outputs[0] if isinstance(outputs, tuple) else outputs
            last, written = written, scores.argmax(-1)
            if torch.equal(last, written):
                break
    start = torch.full((t - count,), WRITTEN_SYMBOLS.index("▸"))
    return tuple(decoder_inputs(torch.cat((written, start))).tolist())


@lru_cache(16)
def _model(s: int, t: int, attend: int) -> CircuitModule:
    entry = CATALOGUE[TRANSLATOR]
    sizes = entry.settings({"s": s, "t": t, "attend": attend})
    weights = shipped_file(entry, sizes)
    assert weights is not None, f"the weights of {TRANSLATOR} are missing in assets/weights"
    return read_weights(compile(entry.build(**sizes)), weights)
