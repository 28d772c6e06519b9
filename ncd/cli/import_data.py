"""The data of an import, which can be printed as JSON."""

from __future__ import annotations

from typing import Any

from ncd.costs import cost
from ncd.importing import Imported


def import_data(found: Imported) -> dict[str, Any]:
    """Returns what an import has found: types, cost, boxes, and how far the term is the module."""
    total = cost(found.term)
    data: dict[str, Any] = {
        "dom": found.term.dom.spec,
        "cod": found.term.cod.spec,
        "parameters": total.parameters,
        "flops": total.flops,
        "boxes": [vars(box) for box in found.boxes],
        "notes": list(found.notes),
    }
    if found.failure:
        return {**data, "failure": found.failure}
    return {**data, "difference": found.difference}
