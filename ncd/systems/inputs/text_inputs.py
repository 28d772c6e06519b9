"""Words and symbols."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from ncd.run.seeding import generator
from ncd.systems.training import trained_weights
from ncd.systems.training.sequence_data import END, NUMBER, PROOFREADER_WORDS, SEQUENCES, readable
from ncd.words import near_name

# --- Sentences as inputs: words as tokens, one vector for each distinct word

# Scripts written without spaces, where a letter is the nearest thing to a word.
UNSPACED_SCRIPTS = (
    "CJK",
    "HIRAGANA",
    "KATAKANA",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "TIBETAN",
    "YI ",
)
JOINER, APOSTROPHES = "\u200d", "'’"
SKIN_TONES = range(0x1F3FB, 0x1F400)


def tokens(text: str) -> list[str]:
    """The words and signs of a text in any script, in order.

    >>> tokens("The cat's mat, naïve!"), tokens("हिन्दी भाषा"), tokens("猫が好き")
    (['The', "cat's", 'mat', ',', 'naïve', '!'], ['हिन्दी', 'भाषा'], ['猫', 'が', '好', 'き'])
    """
    found: list[str] = []
    before, inside = " ", ""  # the previous letter, and the kind of its token
    for char in unicodedata.normalize("NFC", text):
        kind = _kind(char)
        if inside and _continues(inside, before, char, kind):
            found[-1] += char
        elif kind in ("letter", "sign"):
            found.append(char)
            inside = kind
        if kind == "space":
            inside = ""
        before = char
    return found


def _continues(inside: str, before: str, char: str, kind: str) -> bool:
    """Returns whether a letter belongs to the token directly before it."""
    if kind == "mark" or (before == JOINER and kind != "space"):
        return True
    return inside == "letter" and (kind == "letter" or char in APOSTROPHES)


def _kind(char: str) -> str:
    category = unicodedata.category(char)
    if char.isspace() or category == "Cc":
        return "space"
    if category[0] == "M" or category == "Cf" or ord(char) in SKIN_TONES:
        return "mark"
    if category[0] in "LN" or char == "_":
        unspaced = ord(char) > 0xE00 and unicodedata.name(char, "").startswith(UNSPACED_SCRIPTS)
        return "sign" if unspaced else "letter"
    return "sign"


def embed(words: Sequence[str], features: int, seed: int, positions: bool) -> Tensor:
    """Returns a row of standard normal numbers for each word, equal for equal words.

    ``positions`` adds the sines and cosines of "Attention Is All You Need", section 3.5.

    >>> cat, the, again = embed(["cat", "the", "cat"], 8, seed=0, positions=False)
    >>> torch.equal(cat, again), torch.equal(cat, the)
    (True, False)
    """
    rows = {
        word: torch.randn(features, generator=generator(seed, f"word {word}"))
        for word in dict.fromkeys(words)
    }
    table = torch.stack([rows[word] for word in words])
    return table + sinusoids(len(words), features) if positions else table


def sinusoids(length: int, features: int) -> Tensor:
    """Returns position encodings: sin(p / 10000^(2i / features)) in feature 2i, cos in 2i + 1."""
    place = torch.arange(length, dtype=torch.float32).unsqueeze(1)
    even = torch.arange(0, features, 2, dtype=torch.float32)
    angle = place * torch.exp(even * (-torch.log(torch.tensor(10000.0)) / features))
    table = torch.zeros(length, features)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : features // 2]
    return table


# --- Sequences of symbols as inputs: read from a text, or an example of the task from the seed

LONGEST_SEQUENCE = 20  # letters of a word in a message
MAX_LISTED_SYMBOLS = 26  # symbols that a message lists
BLANK_SYMBOL = "·"  # shown for places without a typed symbol


@dataclass(frozen=True)
class SymbolInput:
    """A sequence of a task: the numbers of all symbols, and how many of them were typed.

    ``error_text`` says why a typed text is not a sequence; the numbers are then an example.
    """

    symbols: tuple[str, ...]
    numbers: tuple[int, ...]
    length: int
    error_text: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The symbol at each place."""
        typed = (symbol(self.symbols, number) for number in self.numbers[: self.length])
        return (*typed, *(BLANK_SYMBOL for _ in self.numbers[self.length :]))


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
    >>> parse("reversal", 3, 4, 0, text="abx").error_text
    '“x” is none of the symbols here: a b c d.'
    >>> parse("reversal", 3, 4, 0, text="ab").error_text
    'It takes 3 symbols at once, and these are 2.'
    >>> parse("proofreader", 8, 78, 0, text='the cat says "hi"').error_text
    '“says” is none of the 78 words here, which are listed beside the field.'
    >>> parse("gpt-2", 8, 256, 0, text="Tom has two aples").error_text
    '“aples” is none of the 201 words here; “apples” is.'
    """
    task = SEQUENCES[name]
    symbols = tuple(task.symbols(v))
    words = any(len(symbol) > 1 for symbol in symbols)
    wrong = ""
    for line in (text, "" if turn else task.sample):
        typed = known_words(line, symbols) if words else [c for c in line if c not in " ,\n\t"]
        typed = typed[:t] if task.running_text else typed
        fault = _fault_sentence(typed, symbols, t, task.causal or words) if typed else ""
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


def as_text(words: Iterable[str]) -> str:
    """Returns words as a text, with its signs beside them; :func:`tokens` are the words again.

    >>> as_text("“ I am cold , ” says Mia .".split())
    '“I am cold,” says Mia.'
    """
    return re.sub(r" (?=[.,?!”])|(?<=“) ", "", " ".join(words))


def _fault_sentence(typed: list[str], symbols: tuple[str, ...], t: int, shorter: bool) -> str:
    """Returns a sentence that says why the symbols are not a valid sequence."""
    for letter in typed:
        if letter not in symbols:
            few = f"symbols here: {' '.join(symbols)}"
            near = near_name(letter, symbols)
            where = f"; “{near}” is" if near else ", which are listed beside the field"
            many = f"{len(symbols)} words here{where}"
            known = few if len(symbols) <= MAX_LISTED_SYMBOLS else many
            return f"“{letter[:LONGEST_SEQUENCE]}” is none of the {known}."
    if shorter and len(typed) > t:
        return f"It takes {t} symbols at most, and these are {len(typed)}."
    if not shorter and len(typed) != t:
        return f"It takes {t} symbols at once, and these are {len(typed)}."
    return ""


# --- The sentence that multi-head attention reads with the weights of the trained proofreader

PAGE = "multi-head-attention"  # the system that can have these weights
SAMPLE_SENTENCE = (
    "Anna Hill said , “ the keys by the door are old ” . Tom found the box because it fell ."
)
LONGEST_SENTENCE = 2000  # characters of a sentence that are read
MAX_WORD_CHARACTERS = 20  # characters of an unknown word that are shown


def read(text: str, axes: Sequence[str], settings: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Returns as many words as each axis has positions; missing words are full stops.

    There are none if the weights do not fit the settings.

    >>> read("the cat", "yx", {"k": 16, "m": 128, "y": 1, "x": 3})
    {'y': ('the',), 'x': ('the', 'cat', '.')}
    """
    own = words(text)
    if not own or not trained_weights.fits(settings):
        return {}
    line = [*own, *[END] * trained_weights.LONGEST]
    return {name: tuple(line[: settings[name]]) for name in axes}


def doubt(words: Sequence[str]) -> str:
    """Returns why it is not known what the trained heads look for in a sentence, or nothing.

    >>> doubt(["the", "keys", "is", "old"])
    ''
    >>> doubt(["the", "zebra", "is", "old"])
    'It does not know “zebra”: what its heads look for here is not known.'
    >>> doubt("The keys and the book is old .".split())
    'The sentences it has learned are built otherwise: what its heads look for here is not known.'
    """
    strange = next((word for word in words if word not in NUMBER), "")
    if strange:
        why = f"It does not know “{strange[:MAX_WORD_CHARACTERS]}”"
    elif words and not readable(torch.tensor([NUMBER[word] for word in words])).all():
        why = "The sentences it has learned are built otherwise"
    else:
        return ""
    return f"{why}: what its heads look for here is not known."


def words(text: str) -> list[str]:
    """Returns the words of a sentence."""
    return known_words(text[:LONGEST_SENTENCE], PROOFREADER_WORDS)
