"""Plain text: formulas without their marks, lists of words, tables, and the name that was meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

# --- Plain text: formulas between dollar signs without their marks, and lists of words

_SCRIPT = re.compile(r"([_^])\{([^{}]*)\}")


def plain_text(text: str) -> str:
    """Returns text with formulas as plain letters, for names and sentences that are not typeset.

    >>> plain_text("Stage $1$"), plain_text("$C_{5-λ}$ and $x_{12}$"), plain_text("5$")
    ('Stage 1', 'C_(5-λ) and x_12', '5$')
    """
    if text.count("$") % 2:  # it is money
        return text
    return _SCRIPT.sub(_script, text.replace("$", ""))


def list_words(words: Iterable[str]) -> str:
    """Returns words as a sentence lists them.

    >>> list_words(["batch", "height", "width"]), list_words(["batch"]), list_words(())
    ('batch, height and width', 'batch', '')
    """
    *first, last = [*words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def table_text(rows: Sequence[Sequence[object]], right: Collection[int] = ()) -> str:
    """Returns rows as lines with aligned columns; ``right`` are the columns of numbers.

    >>> print(table_text([("op", "bytes"), ("Softmax", 12)], right={1}))
    op       bytes
    Softmax     12
    """
    cells = [[str(cell) for cell in row] for row in rows]
    columns = max(map(len, cells))
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(columns)]
    lines = []
    for row in cells:
        padded = (
            text.rjust(width) if i in right else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=False))
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _script(found: re.Match[str]) -> str:
    mark, inside = found.groups()
    return f"{mark}{inside}" if inside.isalnum() else f"{mark}({inside})"


# --- The known name that was probably meant by an unknown one

LONGEST = 60  # letters of a name that is compared
MAX_LISTED_NAMES = 12  # names that a message lists; more of them would be a wall
MAX_DIFFERENT_LETTERS = 3  # letters that differ, in a long name


def nearest_name(name: object, known: Collection[str], otherwise: str | None = None) -> str:
    """Returns a cure for an unknown name: the known one that it nearly is, or what there is.

    Args:
        name: The unknown name.
        known: All names that may stand in its place, and nothing of another kind.
        otherwise: The cure where none is near, and there are too many to list; by default it
            names a few of them.

    Returns:
        A name, a list of all names, or ``otherwise``, which may be empty.

    >>> nearest_name("tahn", ("tanh", "relu")), nearest_name("m", ("tanh", "relu"))
    ('tanh', 'one of tanh, relu')
    >>> nearest_name("nope", [f"system-{n}" for n in range(20)], "a name of the list")
    'a name of the list'
    """
    if found := near_name(str(name), known):
        return found
    if 0 < len(known) <= MAX_LISTED_NAMES:
        return f"one of {', '.join(known)}"
    return f"one such as {', '.join(islice(known, 3))}" if otherwise is None else otherwise


def near_name(name: str, known: Collection[str]) -> str:
    """Returns the known name that differs least from another one; empty if none is near.

    A name is near if it is the first words of it, or if a third of its letters differ at most.

    >>> near_name("Linaer", ("Linear", "Lerp")), near_name("gpt", ("gcn", "gpt-2"))
    ('Linear', 'gpt-2')
    >>> near_name("rms_norm", ("norm", "roll")), near_name("nope", ("einops", "vit"))
    ('', '')
    """
    wanted = name.lower()
    if not 0 < len(wanted) <= LONGEST:
        return ""
    most = min(MAX_DIFFERENT_LETTERS, len(wanted) // 3)
    best, found = most + 1, ""
    for one in known:
        away = _distance(wanted, one.lower(), best)
        if away < best:
            best, found = away, one
    return found if found and best == 0 else _longer_name(name, known) or found


def _longer_name(name: str, known: Collection[str]) -> str:
    """Returns the shortest known name whose first words are another one, such as Conv of Conv2d."""
    first = re.compile(rf"{re.escape(name)}(?![a-z])", re.IGNORECASE)
    longer = [one for one in known if len(name) > 2 and first.match(one)]
    return min(longer, key=len, default="")


def _distance(one: str, other: str, most: int) -> int:
    """Returns how many letters differ, are missing or change places; ``most`` if it is so many.

    Source: Damerau 1964, "A technique for computer detection and correction of spelling errors".
    """
    if abs(len(one) - len(other)) >= most:
        return most
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            away = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and wanted == one[i - 2]:
                away = min(away, last[j - 2] + 1)
            row.append(away)
        if min(row) >= most:
            return most
    return min(row[-1], most)
