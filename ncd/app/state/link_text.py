"""Text inside a link, session keys that a link stores, and addresses that visitors write."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

# --- Text inside a link: as it is, or compressed where that is shorter

MARK = "z."  # the prefix of compressed text
LINK = 6000  # the greatest number of letters in a link
LONGEST = 120_000  # the greatest number of letters in a text


def compress_text(text: str) -> str:
    """Returns the form of a text in a link; empty if it is too long.

    >>> compress_text("a b -> b a")
    'a b -> b a'
    >>> decompress_text(compress_text("layer " * 900)) == "layer " * 900
    True
    """
    small = zlib.compress(text.encode("utf-8", "replace"), 9)
    short = MARK + urlsafe_b64encode(small).decode().rstrip("=")
    plain = not text.startswith(MARK) and len(quote(text)) <= len(short)
    found = text if plain else short
    return found if len(quote(found)) <= LINK else ""


def decompress_text(said: str) -> str | None:
    """Returns the text that a part of a link stands for; None if it is invalid or too long.

    >>> decompress_text("z.AAAA") is None, decompress_text("b i d, b j d -> b i j")
    (True, 'b i d, b j d -> b i j')
    """
    if not said.startswith(MARK):
        return said if len(said) <= LONGEST else None
    try:
        # b64decode skips invalid letters; the checksum of zlib then rejects a damaged text
        small = urlsafe_b64decode(said.removeprefix(MARK).encode("ascii") + b"==")
        opened = zlib.decompressobj()
        text = opened.decompress(small, 4 * LONGEST).decode()
    except (ValueError, zlib.error):
        return None
    return text if opened.eof and len(text) <= LONGEST else None


# --- Describes a session key that the link of a page stores

Value = str | int | bool


@dataclass(frozen=True)
class LinkParameter:
    """A session key: its default, its allowed values, if limited, and its greatest length.

    Pages share the values of keys with the same ``meaning``; a long text may be ``is_compressed``
    (compressed).
    """

    default: Value
    choices: tuple[str, ...] = ()
    meaning: str = ""
    max_length: int = 100
    is_compressed: bool = False

    def read(self, text: str) -> Value | None:
        """Returns the value that a text stands for, or None if it is not valid.

        >>> LinkParameter(False).read("1"), LinkParameter("op", ("op", "all")).read("no")
        (True, None)
        """
        if isinstance(self.default, bool):
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
        if self.is_compressed:
            return decompress_text(text)
        if isinstance(self.default, int):
            return text[: self.max_length]  # parsed by the knobs
        known = text in self.choices if self.choices else len(text) <= self.max_length
        return text if known else None


# --- Addresses that visitors write


NO_ADDRESS = SplitResult("", "", "", "", "")


def split_address(address: str) -> SplitResult:
    """Returns the parts of an address, all empty for a text that is none.

    >>> split_address("http://[").netloc, split_address("http://localhost:8501/unet").netloc
    ('', 'localhost:8501')
    """
    try:
        return urlsplit(address)
    except ValueError:  # such as half of a pair of square brackets
        return NO_ADDRESS
