"""The sentences whose mistakes are known, as patterns over kinds of words.

The right word follows from a rule that holds in the sentences of ``sentence_grammar`` and not in
English: in *The keys and the book is old* the subject is not the last noun. So an answer is known
in a sentence that matches a pattern, or begins one, and nowhere else.
"""

from __future__ import annotations

import re
from functools import lru_cache

import torch
from torch import Tensor

from ncd.train import vocabulary as words
from ncd.train.vocabulary import END, WORDS

KINDS = {  # a letter for each kind of word
    "T": ("The", "the"),
    "N": (*words.SINGULAR, *words.PLURAL),
    "L": words.PLACES,
    "P": words.PREPOSITIONS,
    "V": (*words.IS[:2], *words.ARE[:2]),  # an adjective may follow
    "v": (*words.IS[2:], *words.ARE[2:]),
    "A": words.ADJECTIVES,
    "F": (*words.WOMEN, *words.MEN),
    "S": words.SURNAMES,
    "W": words.SAW,
    "D": words.SAID,
    "O": words.OPEN,
    "C": words.CLOSE,
    "I": words.IT,
    "H": words.HE,
    "M": words.MR,
    "f": words.FELL,
    "w": ("wanted",),
    "b": ("because",),
    "&": ("and",),
    ",": (",",),
    END: (END,),
}
_NOUN = "N(?:PT[NL])*(?:PT?|{verb})?"  # keys near the door are old
_WISH = "(?:w(?:TN?)?)?"  # wanted the key
PATTERN = re.compile(
    f"T(?:{_NOUN.format(verb='VA?|v')})?"
    f"|FS?(?:D(?:,(?:O(?:T(?:{_NOUN.format(verb='(?:VA?|v)C?')})?)?)?)?)?"
    f"|FS?(?:W(?:T(?:N(?:b(?:If?|H{_WISH})?)?)?)?)?"
    f"|FSWTN,(?:&(?:M(?:S{_WISH})?)?)?"
)


def readable(tokens: Tensor) -> Tensor:
    """Returns which words (…, t) stand in a sentence that the grammar can read to its end.

    >>> from ncd.train.vocabulary import NUMBER
    >>> lines = ("The keys by the door is old .", "The keys and the book is old .")
    >>> [bool(readable(torch.tensor([NUMBER[word] for word in line.split()])).all())
    ...  for line in lines]
    [True, False]
    """
    kinds = _kinds()
    lines = tokens.reshape(-1, tokens.shape[-1]).tolist()
    found = [_readable("".join(kinds[word] for word in line)) for line in lines]
    return torch.tensor(found, device=tokens.device).view(tokens.shape)


@lru_cache(1024)
def _readable(line: str) -> tuple[bool, ...]:
    """Returns which letters of a line of kinds are in a sentence that matches."""
    found: list[bool] = []
    for sentence in line.split(END):
        known = not sentence or bool(PATTERN.fullmatch(sentence))
        found += [known] * (len(sentence) + 1)
    return tuple(found[: len(line)])


@lru_cache
def _kinds() -> tuple[str, ...]:
    """Returns the letter of each word."""
    letter = {word: kind for kind, members in KINDS.items() for word in members}
    return tuple(letter[word] for word in WORDS)
