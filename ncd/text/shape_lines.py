"""A last line with the shapes of the inputs of a source."""

from __future__ import annotations

import re

LINE = re.compile(r"\s*#?\s*((?:inputs?|shapes?)\s*[:=]\s*)?(\(?[\dx×#, ()]+)\s*")
SHAPE = re.compile(r"\d{1,9}(x\d{1,9})*(#\d{1,9})?(, ?\d{1,9}(x\d{1,9})*(#\d{1,9})?)*")
TUPLE = re.compile(r"\((\d{1,9}(?:, ?\d{1,9})*),?\)")
SPACED = re.compile(r"\d{1,9}( \d{1,9})+")


def shape_line(text: str) -> tuple[str, str]:
    """Returns a source without its last line if that is a shape, and the shape.

    >>> shape_line("class Net: ...\\n# 2x3x8x8"), shape_line("a = 1")
    (('class Net: ...\\n', '2x3x8x8'), ('a = 1', ''))
    """
    rest, _, last = text.rstrip().rpartition("\n")
    found = LINE.fullmatch(last)
    words = re.sub(r" *[x×] *", "x", found[2]).strip() if found else ""
    if SPACED.fullmatch(words):
        words = words.replace(" ", "x")
    if whole := TUPLE.fullmatch(words):
        words = whole[1].replace(" ", "").replace(",", "x")
    if not rest or not SHAPE.fullmatch(words) or not re.search("[x#]", words):
        return text, ""
    return rest + "\n", words
