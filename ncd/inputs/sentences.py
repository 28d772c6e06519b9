"""Sentences as inputs: words as tokens, one vector for each distinct word."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import torch
from torch import Tensor

from ncd.run import generator

# Scripts written without spaces, where a letter is the nearest thing to a word.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "YI ")
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
        unspaced = ord(char) > 0xE00 and unicodedata.name(char, "").startswith(UNSPACED)
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
