"""PyTorch source as HTML: coloured, its lines lit with their ops, its axes with their wires."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from keyword import iskeyword

from ncd.circuit import Circuit
from ncd.draw.style import fill
from ncd.source import SourceLine
from ncd.view import markup

TOKEN = re.compile(
    r'(?P<comment>#.*)|(?P<string>"{3}|"[^"]*")|(?P<name>[^\W\d]\w*)|(?P<number>\d[\d.e]*)|(?P<other>.)'
)
NAME = re.compile(r"[^\W\d]\w*")


def html(lines: Iterable[SourceLine], circuit: Circuit, dark: bool) -> str:
    """The lines; each has the colour of its op's role at its left."""
    axes = identifiers(circuit)
    roles = {cell.id: cell.op.role for cell in circuit.cells}
    rows, inside, building = [], False, False
    for line in lines:
        word = line.text.split()[:2]
        if word[:1] == ["def"]:
            building = word[1].startswith("__init__")
        code = _quoted(line.text, axes) if inside else _code(line.text, axes, building)
        inside ^= line.text.count('"""') % 2 == 1
        rows.append(_row(line, code, roles, dark))
    return f'<div class="code scroll">{"".join(rows)}</div>'


def identifiers(circuit: Circuit) -> dict[str, str]:
    """The axis that each name in the source stands for."""
    axes = [axis for value in circuit.values.values() for axis in value.array]
    found = {axis.identifier: axis.name for axis in axes}
    sized = [axis for axis in axes if axis.size is not None]
    found.update((name, axis.name) for axis in sized for name in axis.identifiers)
    return found


def pattern(text: str, circuit: Circuit) -> str:
    """An einops pattern whose axes light."""
    names = {axis.name: axis.name for v in circuit.values.values() for axis in v.array}
    return _quoted(text, {**identifiers(circuit), **names})


def _row(line: SourceLine, code: str, roles: Mapping[str, str], dark: bool) -> str:
    known = [node for node in line.nodes if node in roles]
    if not known:
        return f'<div class="line">{code or " "}</div>'
    ids, colour = " ".join(known), fill(roles[known[0]], dark)
    return (
        f'<div class="line" tabindex="0" data-node="{ids}" data-select="{known[0]}" '
        f'style="border-left-color:{colour}">{code or " "}</div>'
    )


def _code(text: str, axes: Mapping[str, str], building: bool) -> str:
    return "".join(_tokens(text, axes, building))


def _tokens(text: str, axes: Mapping[str, str], building: bool) -> Iterator[str]:
    for found in TOKEN.finditer(text):
        token, kind = found.group(), found.lastgroup
        if kind == "name":
            is_size = (
                building or text[: found.start()].endswith("self.") or _is_keyword(text, found)
            )
            yield _name(token, axes, is_size)
        elif kind == "string":
            yield f'<span class="string">{_quoted(token, axes)}</span>'
        elif kind == "other":
            yield markup.text(token)
        else:
            style = "number-literal" if kind == "number" else kind
            yield f'<span class="{style}">{markup.text(token)}</span>'


def _is_keyword(text: str, found: re.Match[str]) -> bool:
    """Whether a name is the name of an argument, ``h=``, and not of a variable, ``h = ``."""
    return text[found.end() : found.end() + 1] == "="


def _name(token: str, axes: Mapping[str, str], is_size: bool) -> str:
    if iskeyword(token):
        return f'<span class="keyword">{token}</span>'
    if is_size and token in axes:
        return _axis(token, axes)
    return markup.text(token)


def _quoted(text: str, axes: Mapping[str, str]) -> str:
    """A string such as an einops pattern, whose every axis lights."""
    parts, end = [], 0
    for found in NAME.finditer(text):
        parts.append(markup.text(text[end : found.start()]))
        token = found.group()
        parts.append(_axis(token, axes) if token in axes else markup.text(token))
        end = found.end()
    return "".join(parts) + markup.text(text[end:])


def _axis(token: str, axes: Mapping[str, str]) -> str:
    return f'<span class="axis" data-axis="{markup.text(axes[token])}">{markup.text(token)}</span>'
