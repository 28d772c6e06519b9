"""Facts in exported files that lead back to their origin: system, settings, seed, link, version.

An SVG or HTML file has them beside its term, under ``about``; a PNG in a text chunk, a PDF in its
XMP metadata, a TeX file in its first line, a comment; an ONNX model in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import unescape
from typing import Any

from ncd.drawing.backends import png_chunks
from ncd.errors import ParseError
from ncd.write.term_json import IN_HTML, IN_SVG

LICENCE = "MIT"
IN_PDF = "<ncd:about>", "</ncd:about>"
IN_TEX = "% ncd: ", "\n"
IN_ONNX = b"\x0a\x03ncd\x12"  # in protobuf: field 1, the key, is "ncd"; field 2 follows
METADATA = b"\x72"  # field 14 of a model, `metadata_props`
KEYWORD = "ncd"  # of the text in a PNG


def png_with_facts(png: bytes, facts: Mapping[str, Any]) -> bytes:
    """Returns a PNG with the facts as a text chunk."""
    return png_chunks.with_text(png, KEYWORD, _text(facts))


def tex_with_facts(tex: str, facts: Mapping[str, Any]) -> str:
    """Returns TeX with the facts as a comment in its first line.

    >>> tex_with_facts("x", {"seed": 7})
    '% ncd: {"seed": 7}\\nx'
    """
    begin, end = IN_TEX
    return f"{begin}{_text(facts)}{end}{tex}"


def onnx_with_facts(model: bytes, facts: Mapping[str, Any]) -> bytes:
    """Returns a serialised ONNX model with the facts as one more field, its metadata."""
    text = _text(facts).encode()
    entry = IN_ONNX + _varint(len(text)) + text
    return model + METADATA + _varint(len(entry)) + entry


def _varint(number: int) -> bytes:
    """Returns a number as protobuf writes it: 7 bits in each byte, the lowest first.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    more, low = divmod(number, 128)
    return bytes([low | 128]) + _varint(more) if more else bytes([low])


def _text(facts: Mapping[str, Any]) -> str:
    """Returns JSON in one line of ASCII, so that no letter ends the comment that it is in."""
    return json.dumps(facts)


def facts_of_file(data: bytes) -> dict[str, Any]:
    """Returns the facts in an exported SVG, HTML, PNG, PDF, TeX or ONNX file.

    >>> facts_of_file(tex_with_facts("x", {"seed": 7}).encode())
    {'seed': 7}

    Raises ParseError for a file without facts.
    """
    if data.startswith(png_chunks.SIGNATURE) and (told := png_chunks.text_of(data, KEYWORD)):
        return _facts(told)
    if IN_ONNX in data:
        start = data.rfind(IN_ONNX) + len(IN_ONNX)
        while data[start] >= 128:  # its length
            start += 1
        return _facts(data[start + 1 :].decode())
    text = data.decode("latin-1" if data.startswith(b"%PDF") else "utf-8", errors="replace")
    for begin, end in (IN_HTML, IN_SVG, IN_PDF, IN_TEX):  # an HTML file contains drawings too
        inside, ended, _ = text.partition(begin)[2].partition(end)
        if ended:
            return _facts(inside if begin in (IN_HTML[0], IN_TEX[0]) else unescape(inside))
    raise ParseError("this file says nothing of its origin", cure="a file that was exported here")


def _facts(text: str) -> dict[str, Any]:
    """Parses the facts: all of a JSON text, or what stands under ``about`` beside a term."""
    try:
        found = json.loads(text)
        facts: dict[str, Any] = found.get("about", {}) if "term" in found else found
    except (ValueError, AttributeError, TypeError, RecursionError):
        facts = {}
    if not isinstance(facts, dict) or not facts:
        fact = "this file says nothing of its origin"
        raise ParseError(fact, cure="a file that was exported here")
    return facts
