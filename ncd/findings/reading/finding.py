"""Findings about a PyTorch source: a failure, a silent fault or a size, with the cures of each."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal

from ncd.errors import NCDError
from ncd.notation.term_reader import TextError

Kind = Literal["failure", "silent", "size"]


@dataclass(frozen=True, order=True)
class Edit:
    """A place in a text, and what is put there.

    Args:
        line: The line, counted from 1.
        start: The letters of the line before the place.
        end: The letters of the line before the end of the place.
        new: What stands there afterwards.

    Source: this project's own.
    """

    line: int
    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Cure:
    """Edits of a source after which it works, as the edited text was read again.

    Args:
        edits: The edits, whose places do not overlap.
        text: The whole text after the edits.
        changes: What becomes another: the ``model``, the ``input``, or the ``meaning`` of it.
        shapes: The shapes of the results afterwards, as torch has them.

    Source: this project's own.

    >>> import ncd
    >>> failure = ncd.ask("fc = nn.Linear(8, 4)\\nfc(torch.randn(2, 9))").findings[0]
    >>> first: Cure = failure.cures[0]
    >>> print(first)
    changes the model, line 1: fc = nn.Linear(9, 4)
    >>> first.text, first.shapes
    ('fc = nn.Linear(9, 4)\\nfc(torch.randn(2, 9))', ((2, 4),))
    """

    edits: tuple[Edit, ...]
    text: str = field(repr=False)
    changes: Literal["model", "input", "meaning"]
    shapes: tuple[tuple[int, ...], ...] = ()

    def __str__(self) -> str:
        """Returns what it changes, and the first line of each edit as it is afterwards.

        >>> print(Cure((Edit(1, 10, 11, "8"),), "nn.Linear(8, 2)", "model"))
        changes the model, line 1: nn.Linear(8, 2)
        >>> print(Cure((Edit(1, 5, 5, "\\ny = x"),), "x = 2\\ny = x", "model"))
        changes the model, after line 1: y = x
        """
        after, lines = self.text.split("\n"), {edit.line: edit for edit in self.edits}
        told, further = [], 0  # lines that edits above have added
        for number, edit in sorted(lines.items()):
            added = edit.new.startswith("\n")  # a line below this one, which stays
            place = f"after line {number}" if added else f"line {number}"
            told.append(f"{place}: {after[number + further - 1 + added].strip()}")
            further += edit.new.count("\n")
        return f"changes the {self.changes}, {'; '.join(told)}"


@dataclass(frozen=True)
class Finding:
    """Something about a source that its author would want to know.

    Args:
        kind: ``failure``, where it stops; ``silent``, where it runs and is hardly what was meant;
            ``size``, which sizes it works for, or which are equal only by luck.
        line: The line of the source, counted from 1; 0 if it is about no line.
        layer: The path of the layer, such as ``encoder.fc1``; empty outside of any.
        says: What is wrong and why, in one or two sentences.
        cures: At most three cures, the smallest change first.

    Source: this project's own.

    >>> import ncd
    >>> failure: Finding = ncd.ask("fc = nn.Linear(8, 4)\\nfc(torch.randn(2, 9))").findings[0]
    >>> failure.kind, failure.line, failure.layer, len(failure.cures)
    ('failure', 1, '', 2)
    """

    kind: Kind
    line: int
    layer: str
    says: str
    cures: tuple[Cure, ...] = ()

    def __str__(self) -> str:
        """Returns the sentence that says where it is, and why.

        >>> print(Finding("failure", 7, "fc1", "It takes 8 features, and gets 9."))
        line 7, fc1: It takes 8 features, and gets 9.
        >>> print(Finding("failure", 7, "fc1", "fc1 takes 8 features, and gets 9."))
        line 7: fc1 takes 8 features, and gets 9.
        >>> print(Finding("failure", 3, "0", "layer 0 (Conv1d) takes 8 channels."))
        line 3: layer 0 (Conv1d) takes 8 channels.
        >>> print(Finding("size", 3, "0", "Features must be 8."))  # it has a number for a name
        line 3, layer 0: Features must be 8.
        """
        named = self.layer and not self.says.startswith((self.layer, f"layer {self.layer}"))
        layer = f"layer {self.layer}" if self.layer[:1].isdigit() else self.layer
        place = [f"line {self.line}"] * bool(self.line) + [layer] * bool(named)
        return f"{', '.join(place)}: {self.says}" if place else self.says


LATE = Finding("size", 0, "", "The time for reasons ran out.")  # a search that was ended
LATE_SIZES = Finding("size", 0, "", "The time for sizes ran out: others were not tried.")


def failure_of(error: NCDError) -> Finding:
    """Returns the finding about an error, with the line of it that is known.

    >>> failure_of(TextError("there is no op 'Idd'", 3, 1, (3, 4), "Id"))
    Finding(kind='failure', line=3, layer='', says="there is no op 'Idd'. Try Id.", cures=())
    """
    line = error.line if isinstance(error, TextError) else 0
    cure = f" Try {error.cure}." if error.cure else ""
    return Finding("failure", line, "", f"{error.fact.rstrip('.')}.{cure}")


def apply_edits(text: str, edits: tuple[Edit, ...]) -> str:
    """Returns a text after edits, whose places are those of the text before.

    >>> apply_edits("a = 3 + 4", (Edit(1, 4, 5, "30"), Edit(1, 8, 9, "5")))
    'a = 30 + 5'
    """
    lines = text.split("\n")
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.new + line[edit.end :]
    return "\n".join(lines)


def further_argument(text: str, call: ast.Call, words: str) -> Edit:
    """Returns the edit that gives a call a further argument, also behind a comma.

    >>> call = ast.parse("f(a,)").body[0].value
    >>> apply_edits("f(a,)", (further_argument("f(a,)", call, "k=1"),))
    'f(a, k=1)'
    """
    rows = [row.encode() for row in text.split("\n")]
    line, end = call.end_lineno or call.lineno, (call.end_col_offset or 1) - 1
    written = [*call.args, *(word.value for word in call.keywords)]
    last = max(((one.end_lineno or 1, one.end_col_offset or 0) for one in written), default=None)
    between = b""  # what stands behind the last argument, without remarks
    if last is not None:
        rows[line - 1] = rows[line - 1][:end]
        behind = [rows[last[0] - 1][last[1] :], *rows[last[0] : line]]
        between = b"".join(row.partition(b"#")[0] for row in behind)
    place = len(rows[line - 1][:end].decode())
    ended = last is None or b"," in between
    space = " " * (between[-1:] == b"," and last is not None and last[0] == line)
    return Edit(line, place, place, (space if ended else ", ") + words)
