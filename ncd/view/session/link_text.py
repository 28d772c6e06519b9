"""A text as a part of a link: as it is, or compressed where that is shorter."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import quote

MARK = "z."  # begins what is compressed
LINK = 6000  # letters that a link has for a text, at most
LONGEST = 60_000  # letters of a text


def packed(text: str) -> str:
    """Returns what stands in a link for a text; empty if it is too long for a link.

    >>> packed("a b -> b a"), unpacked(packed("layer " * 900)) == "layer " * 900
    ('a b -> b a', True)
    """
    small = zlib.compress(text.encode("utf-8", "replace"), 9)
    short = MARK + urlsafe_b64encode(small).decode().rstrip("=")
    plain = not text.startswith(MARK) and len(quote(text)) <= len(short)
    found = text if plain else short
    return found if len(quote(found)) <= LINK else ""


def unpacked(said: str) -> str | None:
    """Returns the text that a part of a link stands for; None if it is none, or too long.

    >>> unpacked("z.AAAA") is None, unpacked("b i d, b j d -> b i j")
    (True, 'b i d, b j d -> b i j')
    """
    if not said.startswith(MARK):
        return said if len(said) <= LONGEST else None
    try:
        # without a check of its letters, b64decode would skip those that are wrong
        small = urlsafe_b64decode(said.removeprefix(MARK).encode("ascii") + b"==")
        opened = zlib.decompressobj()
        text = opened.decompress(small, 4 * LONGEST).decode()
    except (ValueError, zlib.error):
        return None
    return text if opened.eof and len(text) <= LONGEST else None
