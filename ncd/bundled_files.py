"""Paths of files beside the package: the app, its pages, the fonts, the pictures.

In a checkout they are around the package; in an installation they are in its folder ``bundle``, as
``pyproject.toml`` says.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_BUNDLE = _PACKAGE / "bundle"
ROOT = _BUNDLE if _BUNDLE.is_dir() else _PACKAGE.parent


def bundled(*parts: str) -> Path:
    """Returns the path of a file or folder that belongs to the package.

    >>> bundled("assets", "fonts").is_dir(), bundled("app.py").is_file()
    (True, True)
    """
    return ROOT.joinpath(*parts)
