"""Chunks of PNG files: named texts, and how large a pixel is."""

from __future__ import annotations

import zlib

SIGNATURE = b"\x89PNG"
HEAD = 33  # bytes of the signature and of the first chunk, IHDR, after which others may stand
TEXT = b"iTXt"
KEYWORD_END = b"\0\0\0\0\0"  # ends a keyword; the text is not compressed, in no language
INCH = 0.0254  # metres


def with_text(png: bytes, keyword: str, text: str) -> bytes:
    """Returns a PNG with a text under a keyword.

    Source: PNG specification, third edition, section 11.3.3.
    """
    return _with_chunk(png, TEXT, keyword.encode() + KEYWORD_END + text.encode())


def text_of(png: bytes, keyword: str) -> str | None:
    """Returns the text under a keyword, as :func:`with_text` writes it; None if there is none."""
    begin = keyword.encode() + KEYWORD_END
    before, found, after = png.partition(TEXT + begin)
    if not found:
        return None
    length = int.from_bytes(before[-4:])  # of the keyword and the text
    return after[: length - len(begin)].decode()


def with_density(png: bytes, per_inch: float) -> bytes:
    """Returns a PNG that states its pixels per inch, so that it is shown and printed to scale."""
    each = round(per_inch / INCH).to_bytes(4)
    return _with_chunk(png, b"pHYs", each + each + b"\1")  # per metre


def _with_chunk(png: bytes, kind: bytes, data: bytes) -> bytes:
    body = kind + data
    chunk = len(data).to_bytes(4) + body + zlib.crc32(body).to_bytes(4)
    return png[:HEAD] + chunk + png[HEAD:]
