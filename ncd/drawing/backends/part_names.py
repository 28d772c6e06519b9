"""The accessible names of the parts of a drawing: what stands there, and what it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ncd.drawing.base.primitives import Text

WORD = re.compile(r"[^\W_]+")


def visible(texts: Iterable[Text]) -> str:
    """Returns what texts say, with a space between their runs."""
    return " ".join([span.text for own in texts for span in own.label.spans])


@lru_cache(maxsize=4096)
def named(shown: str, words: str) -> str:
    """Returns the name of a part, which begins with the text that stands there.

    Who steers a page by voice says what they see. Signs alone, such as +, cannot be said.

    >>> named("L V", "learned linear map V, m to k h")
    'L V: learned linear map V, m to k h'
    >>> named("Block ( 2 , N )", "Block (2, N), folded"), named("+", "sum of two arrays (m)")
    ('Block ( 2 , N ), folded', 'sum of two arrays (m)')
    """
    spoken = WORD.findall(shown)
    if not spoken:
        return words
    same = re.match(r"[\W_]*".join(["", *map(re.escape, spoken)]) + r"(?![^\W_])[)\]]*", words)
    return shown + (words[same.end() :] if same else f": {words}")
