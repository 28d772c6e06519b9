"""Sequences of symbols as inputs: read from a text, or an example of the task from the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ncd.inputs.sentences import tokens
from ncd.run import generator
from ncd.train.symbol_sequences import SEQUENCES

LONGEST = 20  # letters of a word in a message
FEW = 26  # symbols that a message lists
FILLED = "·"  # shown for places without a typed symbol


@dataclass(frozen=True)
class SymbolInput:
    """A sequence of a task: the numbers of all symbols, and how many of them were typed.

    ``wrong`` says why a typed text is not a sequence; the numbers are then an example.
    """

    symbols: tuple[str, ...]
    numbers: tuple[int, ...]
    length: int
    wrong: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The symbol at each place."""
        typed = (symbol(self.symbols, number) for number in self.numbers[: self.length])
        return (*typed, *(FILLED for _ in self.numbers[self.length :]))


def symbol(symbols: tuple[str, ...], number: int) -> str:
    """Returns the symbol of a number, or the number itself if there is none.

    >>> symbol(("a", "b"), 1), symbol(("a", "b"), 2)
    ('b', '2')
    """
    return symbols[number] if number < len(symbols) else str(number)


@lru_cache(256)
def parse(name: str, t: int, v: int, seed: int, turn: str = "", text: str = "") -> SymbolInput:
    """Parses t of the v symbols from a text; an empty or wrong text becomes an example.

    Spaces are ignored, and commas if they are no symbols. Words may be typed in any case.

    >>> parse("reversal", 3, 4, 0, text="a b, d").numbers
    (0, 1, 3)
    >>> parse("reversal", 3, 4, 0, text="abx").wrong
    '“x” is none of the symbols here: a b c d.'
    >>> parse("reversal", 3, 4, 0, text="ab").wrong
    'It takes 3 symbols at once, and these are 2.'
    >>> parse("proofreader", 8, 78, 0, text='the cat says "hi"').wrong
    '“says” is none of the 78 words here, which are listed beside the field.'
    """
    task = SEQUENCES[name]
    symbols = tuple(task.symbols(v))
    words = any(len(symbol) > 1 for symbol in symbols)
    wrong = ""
    for line in (text, "" if turn else task.sample):
        typed = known_words(line, symbols) if words else [c for c in line if c not in " ,\n\t"]
        fault = _wrong(typed, symbols, t, task.causal or words) if typed else ""
        if typed and not fault:
            numbers = [symbols.index(letter) for letter in typed]
            filled = (*numbers, *[0] * (t - len(numbers)))
            return SymbolInput(symbols, filled, len(numbers), wrong)
        wrong = wrong or (fault if line is text else "")
    made = task.make(1, t, v, generator(seed, f"sequence {turn}"))[0]
    return SymbolInput(symbols, tuple(int(number) for number in made), t, wrong)


def known_words(text: str, symbols: Sequence[str]) -> list[str]:
    """Returns the words of a text, in the case of the known ones; straight quotes become curly.

    >>> known_words('tom said, "the CAT"', ("Tom", "said", ",", "the", "cat"))
    ['Tom', 'said', ',', '“', 'the', 'cat', '”']
    """
    known = {symbol.lower(): symbol for symbol in reversed(symbols)}
    halves = text.split('"')
    curly = "".join(half + "“”"[n % 2] for n, half in enumerate(halves[:-1])) + halves[-1]
    found = tokens(curly)
    return [word if word in symbols else known.get(word.lower(), word) for word in found]


def _wrong(typed: list[str], symbols: tuple[str, ...], t: int, shorter: bool) -> str:
    """Returns a sentence that says why the symbols are not a valid sequence."""
    for letter in typed:
        if letter not in symbols:
            few = f"symbols here: {' '.join(symbols)}"
            many = f"{len(symbols)} words here, which are listed beside the field"
            return f"“{letter[:LONGEST]}” is none of the {few if len(symbols) <= FEW else many}."
    if shorter and len(typed) > t:
        return f"It takes {t} symbols at most, and these are {len(typed)}."
    if not shorter and len(typed) != t:
        return f"It takes {t} symbols at once, and these are {len(typed)}."
    return ""
