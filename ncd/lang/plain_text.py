"""Plain text: formulas between dollar signs without their marks, and lists of words."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SCRIPT = re.compile(r"([_^])\{([^{}]*)\}")


def plain_text(text: str) -> str:
    """Returns text with formulas as plain letters, for names and sentences that are not typeset.

    >>> plain_text("Stage $1$"), plain_text("$C_{5-λ}$ and $x_{12}$"), plain_text("5$")
    ('Stage 1', 'C_(5-λ) and x_12', '5$')
    """
    if text.count("$") % 2:  # it is money
        return text
    return _SCRIPT.sub(_script, text.replace("$", ""))


def listed(words: Iterable[str]) -> str:
    """Returns words as a sentence lists them.

    >>> listed(["batch", "height", "width"]), listed(["batch"]), listed(())
    ('batch, height and width', 'batch', '')
    """
    *first, last = [*words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _script(found: re.Match[str]) -> str:
    mark, inside = found.groups()
    return f"{mark}{inside}" if inside.isalnum() else f"{mark}({inside})"
