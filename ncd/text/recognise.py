"""Reads a term from any text that a visitor pastes: JSON, torch, einops, or a term."""

from __future__ import annotations

import re

from ncd.lang.terms.terms import Term
from ncd.serial import from_json, term_of_file
from ncd.text import einops_lines, torch_lines
from ncd.text.reader import parse

SOURCE = re.compile(
    r"^(class\s+\w+\s*[(:]|(import|from)\s+(torch|einops)\b|\w+\s*=\s*(torch\.)?nn\.\w+\()", re.M
)
LAYERS = ("nn.", "torch.nn.")


def is_source(text: str) -> bool:
    """Returns whether a text is PyTorch source, which is read in a separate process.

    >>> is_source("import torch\\nclass Net(torch.nn.Module): ..."), is_source("nn.Linear(8, 3)")
    (True, False)
    """
    return not text.lstrip().startswith(("{", "<")) and SOURCE.search(text) is not None


def is_file(text: str) -> bool:
    """Returns whether a text is an SVG or HTML file."""
    return text.lstrip().startswith("<")


def read(text: str) -> Term:
    """Returns the term of a text: a line of torch, einsum or einops, or a term.

    Files that were exported here, as JSON, SVG or HTML, are read too.

    >>> str(read("nn.Linear(8, 3)").cod)
    'b m_1'
    >>> str(read("b i d, b j d -> b i j").cod)
    'b i j'

    Raises TextError for text that is none of these.
    """
    if text.lstrip().startswith("{"):
        return from_json(text)
    if is_file(text):
        return term_of_file(text)
    for line in (torch_lines, einops_lines):
        if (found := line.read(text)) is not None:
            return found
    return parse(text)


def recognised(text: str) -> str:
    """Returns the kind of a text, in words for its reader.

    >>> recognised("b i d, b j d -> b i j"), recognised("nn.Linear(8, 3)")
    ('an einsum', 'a line of PyTorch')
    >>> recognised('Id("m")'), recognised('{"model_type": "llama"}')
    ("this project's language", 'JSON')

    Raises TextError for a line with a fault.
    """
    if text.lstrip().startswith("{"):
        return "JSON"
    if is_file(text):
        return "an exported file"
    if is_source(text):
        return "PyTorch source"
    if torch_lines.read(text) is not None:
        return "a line of PyTorch" if "(" in text else "an einsum"
    if einops_lines.read(text) is not None:
        return "a line of einops"
    return "this project's language"
