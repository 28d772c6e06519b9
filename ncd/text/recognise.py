"""Reads a term from whatever a visitor pastes: JSON, a line of torch or einops, or a term."""

from __future__ import annotations

import re

from ncd.lang.terms.terms import Term
from ncd.serial import from_json
from ncd.text import einops_lines, torch_lines
from ncd.text.reader import parse

SOURCE = re.compile(
    r"^(class\s+\w+\s*[(:]|(import|from)\s+(torch|einops)\b|\w+\s*=\s*(torch\.)?nn\.\w+\()", re.M
)
LAYERS = ("nn.", "torch.nn.")


def is_source(text: str) -> bool:
    """Returns whether a text is PyTorch source, which is read in a process of its own.

    >>> is_source("import torch\\nclass Net(torch.nn.Module): ..."), is_source("nn.Linear(8, 3)")
    (True, False)
    """
    return not text.lstrip().startswith("{") and SOURCE.search(text) is not None


def read(text: str) -> Term:
    """Returns the term of a text: JSON of ours, a line of torch, einsum or einops, or a term.

    >>> str(read("nn.Linear(8, 3)").cod)
    'b m_1'
    >>> str(read("b i d, b j d -> b i j").cod)
    'b i j'

    Raises TextError for text that is none of these.
    """
    if text.lstrip().startswith("{"):
        return from_json(text)
    for line in (torch_lines, einops_lines):
        if (found := line.read(text)) is not None:
            return found
    return parse(text)
