"""Limits of the files of an answer, at their edges."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest

from ncd.answers import opened_files
from tests.support.limits import Limit


def archive(**files: str) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w") as file:
        for name, text in files.items():
            file.writestr(f"{name}.py", text)
    return out.getvalue()


TWO = archive(a="x = 1", b="y = 2")
LIMITS = (
    Limit(
        opened_files,
        "MEMBERS",
        2,
        lambda: opened_files.text_of_files([("two.zip", TWO)]),
        "two.zip holds 2 sources of 10 bytes. Try at most 1 of 4,000,000 bytes together.",
    ),
    Limit(
        opened_files,
        "BYTES",
        10,
        lambda: opened_files.text_of_files([("two.zip", TWO)]),
        "two.zip holds 2 sources of 10 bytes. Try at most 60 of 9 bytes together.",
    ),
)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_what_is_larger_than_a_limit_is_refused(limit: Limit) -> None:
    limit.check()
