"""The words of the proofreader, by kind, and the sentences in which the right ones are known.

The right word follows from a rule that holds in the sentences of ``sentence_grammar`` and not in
English: in *The keys and the book is old* the subject is not the last noun. So an answer is known
in a sentence that matches a pattern, or begins one, and nowhere else.
"""

from __future__ import annotations

import re
from functools import lru_cache

import torch
from torch import Tensor

SINGULAR = ("cat", "dog", "bird", "key", "box", "book", "letter", "picture")
PLURAL = ("cats", "dogs", "birds", "keys", "boxes", "books", "letters", "pictures")
PLACES = ("wall", "garden", "table", "house", "window", "door")
PREPOSITIONS = ("near", "behind", "on", "by")
WOMEN = ("Anna", "Emma", "Mary", "Lucy")
MEN = ("Tom", "Ben", "Paul", "Max")
SURNAMES = ("Hill", "Stone", "Wood", "Park", "Young")
IS, ARE = ("is", "was", "sleeps", "sings", "falls"), ("are", "were", "sleep", "sing", "fall")
ADJECTIVES = ("old", "small", "new", "red", "quiet")
SAW, SAID, FELL = ("saw", "found", "liked"), ("said", "asked"), ("fell", "shone")
OPEN, CLOSE = ("“", "‘"), ("”", "’")
HE, IT, MR = ("he", "she"), ("it", "they"), ("Mr", "Mrs")
END = "."  # also fills what is left at the end
OTHERS = (END, ",", "The", "the", "and", "because", "wanted")

WORDS = (
    *OTHERS,
    *(*OPEN, *CLOSE, *HE, *IT, *MR, *SAW, *SAID, *FELL),
    *(*SINGULAR, *PLURAL, *PLACES, *PREPOSITIONS, *WOMEN, *MEN, *SURNAMES, *IS, *ARE, *ADJECTIVES),
)
NUMBER = {word: i for i, word in enumerate(WORDS)}
KINDS = {  # a letter for each kind of word
    "T": ("The", "the"),
    "N": (*SINGULAR, *PLURAL),
    "L": PLACES,
    "P": PREPOSITIONS,
    "V": (*IS[:2], *ARE[:2]),  # an adjective may follow
    "v": (*IS[2:], *ARE[2:]),
    "A": ADJECTIVES,
    "F": (*WOMEN, *MEN),
    "S": SURNAMES,
    "W": SAW,
    "D": SAID,
    "O": OPEN,
    "C": CLOSE,
    "I": IT,
    "H": HE,
    "M": MR,
    "f": FELL,
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
