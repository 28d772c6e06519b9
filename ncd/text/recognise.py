"""Reads any text that a visitor pastes, except PyTorch: JSON, an einsum, einops, or a term."""

from __future__ import annotations

import re

from ncd.serial import from_json, term_of_file
from ncd.text import einops_lines, einsum_lines
from ncd.text.reader import parse
from ncd.text.reading import Reading
from ncd.text.text_errors import TextError

SOURCE = re.compile(
    r"^(class\s+\w+\s*[(:]|(import|from)\s+(torch|einops)\b|\w+\s*=\s*(torch\.)?nn\.\w+\("
    r"|\w+(\s*,\s*\w+)*\s*=\s*torch\.(arange|empty|eye|full|linspace|normal|ones|rand|randint"
    r"|randn|tensor|zeros)\()",
    re.M,
)
LINE = re.compile(r"\s*(torch\.)?nn\.[\w.]+\(")
BARE = re.compile(r"(torch\.)?nn\.\w{1,60}")
SHAPE = re.compile(r"\(?\d{1,12}(\s*[x×,]\s*\d{1,12})+\)?")
MESSAGE = re.compile(r"^(Traceback \(most recent call last\):|\w*(Error|Exception): )", re.M)
LINES, SOURCES = "a line of PyTorch", "PyTorch source"  # the kinds of text that it is


def is_source(text: str) -> bool:
    """Returns whether a text is PyTorch source, which is read in a separate process.

    >>> is_source("import torch\\nclass Net(torch.nn.Module): ..."), is_source("nn.Linear(8, 3)")
    (True, True)
    """
    if text.lstrip().startswith(("{", "<")):
        return False
    return is_line(text) or SOURCE.search(text) is not None


def is_line(text: str) -> bool:
    """Returns whether a text is a line of PyTorch: a layer, perhaps with an input."""
    return LINE.match(text) is not None


def has_calls(text: str) -> bool:
    """Returns whether a text calls PyTorch, so that its calls can be searched for faults.

    >>> has_calls("torch.einsum('i,j->ij', a, b)"), has_calls("i, j -> i j")
    (True, False)
    """
    line = text.strip()
    parts = (einsum_lines, einops_lines)
    return is_source(text) or any(part.LINE.match(line) is not None for part in parts)


def is_file(text: str) -> bool:
    """Returns whether a text is an SVG or HTML file."""
    return text.lstrip().startswith("<")


def _check_kind(text: str) -> None:
    """Raises TextError for a text that is often pasted, and from which no term can be read."""
    if MESSAGE.search(text):
        fact = "this is the message of an error, not the code that it is about"
        raise TextError(fact, 1, 1, cure="the class that fails, with its call as the last line")
    if SHAPE.fullmatch(text):
        fact = "this is a shape, without a layer that takes it"
        raise TextError(fact, 1, 1, cure="a line above it, such as nn.Conv2d(3, 64, 7)")
    if BARE.fullmatch(text):
        raise TextError(f"{text} stands here without its arguments", 1, 1, cure=f"{text}(…)")


def read(text: str) -> Reading:
    """Returns what a text gives that needs no process of its own: an einsum, einops, or a term.

    Files that were exported here, as JSON, SVG or HTML, are read too. PyTorch source is read by
    :mod:`ncd.pytorch_source`.

    >>> found = read("b i d, b j d -> b i j")
    >>> found.term.cod.spec, found.kind
    ('b:8 i:8 j:8', 'an einsum')
    >>> read('Id("m")').kind
    "this project's language"

    Raises TextError for text that is none of these.
    """
    _check_kind(text.strip())
    if text.lstrip().startswith("{"):
        return Reading(from_json(text), "JSON")
    if is_file(text):
        return Reading(term_of_file(text), "an exported file")
    for line, kind in ((einsum_lines, "an einsum"), (einops_lines, "a line of einops")):
        if (found := line.read(text)) is not None:
            return Reading(found, kind)
    return Reading(parse(text), "this project's language")
