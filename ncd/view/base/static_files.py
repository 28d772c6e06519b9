"""Style sheets, scripts and markup of the pages, read from the folders of ``ncd/view``."""

from __future__ import annotations

from pathlib import Path

VIEW = Path(__file__).parents[1]


def static(*paths: str) -> str:
    """Returns the text of one or more files, joined; each path starts at ``ncd/view``.

    >>> static("diagram/legend.css", "diagram/scrub.css").count("{") > 2
    True
    """
    return "".join((VIEW / path).read_text() for path in paths)
