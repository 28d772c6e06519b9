"""Reads a term from whatever a visitor pastes: JSON, one line of torch or einsum, or a term."""

from __future__ import annotations

from ncd.lang.terms.terms import Term
from ncd.serial import from_json
from ncd.text import torch_lines
from ncd.text.reader import parse


def read(text: str) -> Term:
    """Returns the term of a text: JSON of ours, ``nn.Conv2d(3, 64, 7)``, ``einsum(…)``, or a term.

    >>> str(read("nn.Linear(8, 3)").cod)
    'b m_1'
    >>> str(read("b i d, b j d -> b i j").cod)
    'b i j'

    Raises TextError for text that is none of these.
    """
    if text.lstrip().startswith("{"):
        return from_json(text)
    found = torch_lines.read(text)
    return parse(text) if found is None else found
