"""The data of an import which can be printed as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ncd.cli.output import term_data
from ncd.findings.reading.finding import Finding
from ncd.read.torch_module.from_torch import Imported


def import_data(found: Imported, findings: Sequence[Finding] = ()) -> dict[str, Any]:
    """Returns what an import has found: types, cost, boxes, and how far the term is the module.

    What is found in its source stands beside it, if anything is.
    """
    boxes = [vars(box) for box in found.boxes]
    data = {**term_data(found.term), "boxes": boxes, "notes": list(found.notes)}
    if findings:
        data["findings"] = [asdict(each) for each in findings]
    if found.failure:
        return {**data, "failure": found.failure}
    return {**data, "difference": found.difference}
