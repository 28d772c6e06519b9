"""Style sheets, scripts and markup of the pages, read from the folders of ``ncd/view``."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

VIEW = Path(__file__).parents[1]


def static(*paths: str) -> str:
    """Returns the text of one or more files, joined; each path starts at ``ncd/view``.

    >>> static("quiz/quiz.css", "diagram/scrub.css").count("{") > 2
    True
    """
    return "".join((VIEW / path).read_text() for path in paths)


class File(NamedTuple):
    """A static file; its name contains a hash of its content."""

    name: str
    kind: str
    text: str

    @classmethod
    def of(cls, end: str, kind: str, text: str) -> File:
        return cls(f"ncd-{sha256(text.encode()).hexdigest()[:12]}.{end}", kind, text)
