"""Findings as JSON, between the process that finds them and the one that shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from ncd.findings.finding import Cure, Edit, Finding


def written(findings: Sequence[Finding]) -> bytes:
    """Returns findings as JSON.

    >>> read(written([Finding("silent", 3, "a", "b")]))
    (Finding(kind='silent', line=3, layer='a', says='b', cures=()),)
    """
    return json.dumps([asdict(each) for each in findings]).encode()


def read(data: bytes) -> tuple[Finding, ...]:
    """Returns findings that were written as JSON."""
    return tuple(
        Finding(**{**each, "cures": tuple(_cure(**cure) for cure in each["cures"])})
        for each in json.loads(data)
    )


def _cure(edits: list[dict[str, object]], shapes: list[list[int]], **same: object) -> Cure:
    places = tuple(Edit(**edit) for edit in edits)  # type: ignore[arg-type]
    return Cure(edits=places, shapes=tuple(map(tuple, shapes)), **same)  # type: ignore[arg-type]
