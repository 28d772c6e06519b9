"""Source as coloured HTML, and differences of two texts."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from io import StringIO
from itertools import accumulate, zip_longest
from keyword import iskeyword

from ncd.circuit.circuit import Cell, Circuit
from ncd.language.cached_property import lazy_property
from ncd.site import markup
from ncd.write.torch_source.source_file import SourceLine

# --- PyTorch source as coloured HTML; lines are highlighted with their ops, names with their axes

NAME = re.compile(r"[^\W\d]\w*")
STYLES = {tokenize.COMMENT: "comment", tokenize.NUMBER: "number-literal"}
Names = Mapping[str, str]  # the axis that each name in the source stands for
ColouredLine = tuple[SourceLine, str]  # a line, and its HTML


class Listing(tuple[ColouredLine, ...]):
    """The lines of a source, in order."""

    @lazy_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """The lines of each op."""
        found: dict[str, list[int]] = {}
        for place, (line, _) in enumerate(self):
            for node in line.nodes:
                found.setdefault(node, []).append(place)
        return found

    @lazy_property
    def classes(self) -> Sequence[int]:
        """The number of classes that have begun at each line."""
        return list(accumulate(line.text.startswith("class ") for line, _ in self))

    def op_lines(self, only: frozenset[str]) -> Iterator[ColouredLine]:
        """Yields the lines of some ops in their own class, without calls that include other ops."""
        places = sorted({place for node in only for place in self.places.get(node, ())})
        for place in places:
            line, code = self[place]
            alike = self.classes[place] == self.classes[places[0]]
            if alike or only.issuperset(line.nodes):
                yield line, code


def listing_html(lines: Sequence[SourceLine], circuit: Circuit, dark: bool | None) -> str:
    """Returns the lines as HTML, each with the colour of its op's role at its left."""
    return excerpt(coloured_lines(lines, circuit), circuit, dark)


def coloured_lines(lines: Sequence[SourceLine], circuit: Circuit) -> Listing:
    """Returns each line with its HTML."""
    codes = coloured([line.text for line in lines], identifiers(circuit))
    return Listing(zip(lines, codes, strict=True))


def excerpt(
    lines: Listing,
    circuit: Circuit,
    dark: bool | None,
    only: frozenset[str] = frozenset(),
    most: int = 0,
) -> str:
    """Returns all lines, or those of some ops, moved to the left; at most ``most``."""
    pairs = list(lines.op_lines(only) if only else lines)
    indents = [len(line.text) - len(line.text.lstrip()) for line, _ in pairs if line.text]
    cut = min(indents, default=0) if only else 0
    rows = [
        _listing_row(line, code[cut:], circuit.cells_by_id, dark)
        for line, code in pairs[: most or None]
    ]
    if most and len(pairs) > most:
        rows.append(f'<div class="line muted">… {len(pairs) - most:,} lines more</div>')
    return f'<div class="code scroll">{"".join(rows)}</div>' if rows else ""


def identifiers(circuit: Circuit) -> Names:
    """Returns the axis that each name in the source stands for."""
    axes = circuit.axes
    found = {axis.identifier: axis.name for axis in axes}
    for axis in axes:
        if axis.size is not None:
            found.update(dict.fromkeys(markup.dimensions(axis), axis.name))
    return found


def pattern(text: str, circuit: Circuit) -> str:
    """Returns an einops pattern with highlighted axes."""
    axes = circuit.axes
    return _string_html(text, {**identifiers(circuit), **{axis.name: axis.name for axis in axes}})


def _listing_row(line: SourceLine, code: str, cells: Mapping[str, Cell], dark: bool | None) -> str:
    known = [node for node in line.nodes if node in cells]
    if not known:
        return f'<div class="line">{code or " "}</div>'
    ids, colour = " ".join(known), markup.colour(cells[known[0]].op.role, dark)
    return (
        f'<div class="line" tabindex="0" data-node="{ids}" data-select="{known[0]}" '
        f'style="border-left-color:{colour}">{code or " "}</div>'
    )


def coloured(texts: Sequence[str], axes: Names) -> list[str]:
    """Returns the HTML of each line of a file.

    >>> coloured(["x = 1"], {})
    ['x = <span class="number-literal">1</span>']
    """
    rows, ends = [""] * len(texts), [0] * len(texts)
    for (row, start), (last, end), code in _tokens(texts, axes):
        rows[row] += markup.text(texts[row][ends[row] : start]) + code
        ends[last] = end
    return [row + markup.text(text[end:]) for row, text, end in zip(rows, texts, ends, strict=True)]


Place = tuple[int, int]  # a line and a column, from 0


def _tokens(texts: Sequence[str], axes: Names) -> Iterator[tuple[Place, Place, str]]:
    """Yields the coloured tokens: start and end, on one line, and HTML."""
    before, building = ["", ""], False
    for token in _read(texts):
        if before[-1] == "def":
            building = token.string == "__init__"
        row, start = token.start[0] - 1, token.start[1]
        place, end = (row, start), (row, start + len(token.string))
        if token.type == tokenize.STRING:
            yield from _string(token, texts, axes)
        elif token.type == tokenize.NAME:
            after = texts[row][end[1] : end[1] + 1]
            is_size = building or before == ["self", "."] or after == "="
            yield place, end, _name(token.string, axes, is_size)
        elif token.type in STYLES:
            yield place, end, _span(STYLES[token.type], markup.text(token.string))
        before = [before[-1], token.string]


def _read(texts: Sequence[str]) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(StringIO("\n".join(texts)).readline)
    except (tokenize.TokenError, SyntaxError):  # part of a file: its end stays uncoloured
        return


def _string(
    token: tokenize.TokenInfo, texts: Sequence[str], axes: Names
) -> Iterator[tuple[Place, Place, str]]:
    """Yields a string of one or more lines, with highlighted axes."""
    (first, start), (last, end) = token.start, token.end
    for line in range(first, last + 1):
        text, row = texts[line - 1], line - 1
        left, right = start if line == first else 0, end if line == last else len(text)
        yield (row, left), (row, right), _span("string", _string_html(text[left:right], axes))


def _span(style: str, code: str) -> str:
    return f'<span class="{style}">{code}</span>' if code else ""


def _name(token: str, axes: Names, is_size: bool) -> str:
    if iskeyword(token):
        return _span("keyword", token)
    if is_size and token in axes:
        return _axis(token, axes)
    return markup.text(token)


def _string_html(text: str, axes: Names) -> str:
    """Returns a string such as an einops pattern, with highlighted axes."""
    parts, end = [], 0
    for found in NAME.finditer(text):
        parts.append(markup.text(text[end : found.start()]))
        token = found.group()
        parts.append(_axis(token, axes) if token in axes else markup.text(token))
        end = found.end()
    return "".join(parts) + markup.text(text[end:])


def _axis(token: str, axes: Names) -> str:
    return f'<span class="axis" data-axis="{markup.text(axes[token])}">{markup.text(token)}</span>'


# --- The differences of two texts, with some lines of context, as HTML

WORD = re.compile(r"\w+|\s+|.")
CONTEXT_LINES = 3  # unchanged lines before and after a change
ALIKE = 0.5  # similarity above which two lines are compared word by word


def diff_html(one: Sequence[str], two: Sequence[str]) -> str:
    """Returns removed and added lines, escaped; empty if the texts are equal.

    >>> print(diff_html(["a = 1", "b"], ["a = 2", "b"]))
    <div class="code scroll"><div class="line gone"><del>a = <b>1</b></del></div><div
    class="line new"><ins>a = <b>2</b></ins></div><div class="line">b</div></div>
    """
    found = SequenceMatcher(None, one, two, autojunk=False)
    groups = list(found.get_grouped_opcodes(CONTEXT_LINES))
    if not groups:
        return ""
    rows, end = [], 0
    for group in groups:
        rows.append(_left_out(group[0][1] - end))
        for what, i, j, m, n in group:
            rows += (
                map(_unchanged_line, one[i:j])
                if what == "equal"
                else _changed_lines(one[i:j], two[m:n])
            )
        end = group[-1][2]
    rows.append(_left_out(len(one) - end))
    return f'<div class="code scroll">{"".join(rows)}</div>'


def _left_out(count: int) -> str:
    if not count:
        return ""
    return f'<div class="line muted">… {markup.plural(count, "line")} alike</div>'


def _unchanged_line(line: str) -> str:
    return f'<div class="line">{markup.text(line) or " "}</div>'


def _changed_lines(gone: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yields removed and added lines, each next to its counterpart."""
    olds, news = [], []
    for old, own in zip_longest(gone, new):
        left, right = _pair(old or "", own or "")
        olds += [_diff_row("gone", "del", left)] if old is not None else []
        news += [_diff_row("new", "ins", right)] if own is not None else []
    yield from (*olds, *news)


def _diff_row(kind: str, tag: str, code: str) -> str:
    return f'<div class="line {kind}"><{tag}>{code or " "}</{tag}></div>'


def _pair(old: str, new: str) -> tuple[str, str]:
    """Returns two lines with their differing words in bold."""
    words = WORD.findall(old), WORD.findall(new)
    found = SequenceMatcher(None, *words, autojunk=False)
    if found.ratio() < ALIKE:
        return markup.text(old), markup.text(new)
    left, right = "", ""
    for what, i, j, m, n in found.get_opcodes():
        left += _marked_words(words[0][i:j], what == "equal")
        right += _marked_words(words[1][m:n], what == "equal")
    return left, right


def _marked_words(words: Sequence[str], same: bool) -> str:
    text = markup.text("".join(words))
    return text if same or not text else f"<b>{text}</b>"
