"""The data of an import, which can be printed as JSON."""

from __future__ import annotations

from typing import Any

from ncd.cli.json_data import term_data
from ncd.importing import Imported


def import_data(found: Imported) -> dict[str, Any]:
    """Returns what an import has found: types, cost, boxes, and how far the term is the module."""
    boxes = [vars(box) for box in found.boxes]
    data = {**term_data(found.term), "boxes": boxes, "notes": list(found.notes)}
    if found.failure:
        return {**data, "failure": found.failure}
    return {**data, "difference": found.difference}
