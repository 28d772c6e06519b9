"""Addresses that visitors write."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

NONE = SplitResult("", "", "", "", "")


def split(address: str) -> SplitResult:
    """Returns the parts of an address, all empty for a text that is none.

    >>> split("http://[").netloc, split("http://localhost:8501/unet").netloc
    ('', 'localhost:8501')
    """
    try:
        return urlsplit(address)
    except ValueError:  # such as half of a pair of square brackets
        return NONE
