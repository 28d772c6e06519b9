"""The differences of two texts, with some lines of context, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from ncd.export import markup

WORD = re.compile(r"\w+|\s+|.")
AROUND = 3  # unchanged lines before and after a change
ALIKE = 0.5  # similarity above which two lines are compared word by word


def html(one: Sequence[str], two: Sequence[str]) -> str:
    """Returns removed and added lines, escaped; empty if the texts are equal.

    >>> print(html(["a = 1", "b"], ["a = 2", "b"]))
    <div class="code scroll"><div class="line gone"><del>a = <b>1</b></del></div><div
    class="line new"><ins>a = <b>2</b></ins></div><div class="line">b</div></div>
    """
    found = SequenceMatcher(None, one, two, autojunk=False)
    groups = list(found.get_grouped_opcodes(AROUND))
    if not groups:
        return ""
    rows, end = [], 0
    for group in groups:
        rows.append(_left_out(group[0][1] - end))
        for what, i, j, m, n in group:
            rows += map(_same, one[i:j]) if what == "equal" else _changed(one[i:j], two[m:n])
        end = group[-1][2]
    rows.append(_left_out(len(one) - end))
    return f'<div class="code scroll">{"".join(rows)}</div>'


def _left_out(count: int) -> str:
    if not count:
        return ""
    return f'<div class="line muted">… {markup.counted(count, "line")} alike</div>'


def _same(line: str) -> str:
    return f'<div class="line">{markup.text(line) or " "}</div>'


def _changed(gone: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yields removed and added lines, each next to its counterpart."""
    olds, news = [], []
    for old, own in zip_longest(gone, new):
        left, right = _pair(old or "", own or "")
        olds += [_row("gone", "del", left)] if old is not None else []
        news += [_row("new", "ins", right)] if own is not None else []
    yield from (*olds, *news)


def _row(kind: str, tag: str, code: str) -> str:
    return f'<div class="line {kind}"><{tag}>{code or " "}</{tag}></div>'


def _pair(old: str, new: str) -> tuple[str, str]:
    """Returns two lines with their differing words in bold."""
    words = WORD.findall(old), WORD.findall(new)
    found = SequenceMatcher(None, *words, autojunk=False)
    if found.ratio() < ALIKE:
        return markup.text(old), markup.text(new)
    left, right = "", ""
    for what, i, j, m, n in found.get_opcodes():
        left += _said(words[0][i:j], what == "equal")
        right += _said(words[1][m:n], what == "equal")
    return left, right


def _said(words: Sequence[str], same: bool) -> str:
    text = markup.text("".join(words))
    return text if same or not text else f"<b>{text}</b>"
