"""Captions: sentences that say which digit is on a picture."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

DIGIT_NAMES = (
    *("zero", "one", "two", "three", "four"),
    *("five", "six", "seven", "eight", "nine"),
)
TEMPLATES = (
    "the digit {} .",
    "a picture of a {} .",
    "this is a {} .",
    "the number {} .",
    "a handwritten {} .",
    "{} .",
)
BLANK = "·"  # before a caption that is shorter than the place for it
CAPTION_WORDS = (
    BLANK,
    *dict.fromkeys(word for line in TEMPLATES for word in line.split() if word != "{}"),
    *DIGIT_NAMES,
)
LONGEST_CAPTION = max(len(line.split()) for line in TEMPLATES)  # words


def caption(digit: int, template: int, length: int) -> list[int]:
    """Returns the numbers of the words of a caption, its end last, with blanks in front.

    Args:
        digit: What is on the picture, from 0 to 9.
        template: Which of ``TEMPLATES``.
        length: The words of a sentence, ``LONGEST_CAPTION`` at least.

    >>> caption_text(caption(7, 0, 6)), len(caption(7, 0, 6))
    ('the digit seven', 6)
    """
    words = TEMPLATES[template].format(DIGIT_NAMES[digit]).split()
    numbers = [CAPTION_WORDS.index(word) for word in words]
    return [CAPTION_WORDS.index(BLANK)] * (length - len(numbers)) + numbers


def caption_text(numbers: Iterable[int]) -> str:
    """Returns the words of a caption, without its blanks and its end."""
    return " ".join(word for n in numbers if (word := CAPTION_WORDS[n]) not in (BLANK, "."))


def random_captions(digits: Tensor, length: int, random: torch.Generator) -> Tensor:
    """Returns a caption (n, length) for each digit (n), each from a template by chance.

    >>> random_captions(torch.tensor([7, 7]), 6, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 6])
    """
    table = torch.tensor(
        [[caption(n, line, length) for line in range(len(TEMPLATES))] for n in range(10)]
    )
    return table[digits, torch.randint(len(TEMPLATES), digits.shape, generator=random)]
