"""An edit that may cure a failure, before it is tried."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from ncd.findings.finding import Edit


@dataclass(frozen=True)
class Candidate:
    """Edits that may cure a failure.

    ``cost`` orders them: a small one is likely what was meant. ``kind`` says how they were found;
    only ``number`` and ``argument`` are combined with others.
    """

    edits: tuple[Edit, ...]
    cost: float
    kind: str
    changes: Literal["model", "input", "meaning"] = "model"


def replaced(text: str, node: ast.expr, new: str) -> Edit | None:
    """Returns the edit that puts other words in the place of an expression of one line."""
    if node.end_col_offset is None or node.lineno != node.end_lineno:
        return None
    row = text.split("\n")[node.lineno - 1].encode()
    start, end = (len(row[:n].decode()) for n in (node.col_offset, node.end_col_offset))
    return Edit(node.lineno, start, end, new)


def inserted(text: str, line: int, offset: int, new: str) -> Edit:
    """Returns the edit that puts words into a line, behind so many bytes of it."""
    place = len(text.split("\n")[line - 1].encode()[:offset].decode())
    return Edit(line, place, place, new)
