"""Lines of source: names that are free, and statements laid out in 100 columns as ruff would."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from keyword import iskeyword
from textwrap import shorten

WIDTH = 100
IMPORTED = frozenset(("math", "torch", "nn", "F", "einsum", "rearrange", "Tensor", "self", "super"))


@dataclass(frozen=True)
class SourceLine:
    """A line of source, and the ids of the ops whose code it is."""

    text: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """``target = text``; without a target the text stands alone. ``live`` are names in use."""

    target: str
    text: str
    nodes: tuple[str, ...]
    titles: tuple[str, ...] = ()
    live: frozenset[str] = frozenset()


def unique(name: str, taken: Container[str]) -> str:
    """The name, or with the first number that makes it free: ``x_2``."""
    count, found = 1, name
    while found in taken or iskeyword(found):
        count += 1
        found = f"{name}_{count}"
    return found


def variable(text: str) -> str:
    """The text as the name of a variable.

    >>> variable("scores"), variable("2c"), variable("W^O")
    ('scores', 'n2c', 'W_O')
    """
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "x"
    return f"n{name}" if name[0].isdigit() else name


def class_name(title: str) -> str:
    """The title as the name of a class.

    >>> class_name("Scaled Dot-Product Attention"), class_name("2 heads")
    ('ScaledDotProductAttention', 'Net2Heads')
    """
    words = re.findall(r"[A-Za-z0-9]+", title)
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name if name[:1].isalpha() and not iskeyword(name) else f"Net{name}"


def attribute(name: str) -> str:
    """How the layer of this name is read; also a name that Python could not write after a dot."""
    return f"self.{name}" if _plain(name) else f"getattr(self, {_quoted(name)})"


def assigned(name: str, layer: str) -> str:
    """The statement that keeps a layer under this name."""
    return (
        f"self.{name} = {layer}" if _plain(name) else f"self.add_module({_quoted(name)}, {layer})"
    )


def _plain(name: str) -> bool:
    return bool(re.fullmatch(r"(?!__)[A-Za-z_]\w*", name, re.ASCII)) and not iskeyword(name)


def _quoted(name: str) -> str:
    return json.dumps(name)


def tuple_of(values: Iterable[str]) -> str:
    """A tuple as Python writes it: ``(1,)``, ``(1, 2)``."""
    found = tuple(values)
    return f"({found[0]},)" if len(found) == 1 else f"({', '.join(found)})"


def laid_out(text: str, indent: int) -> list[str]:
    """A statement on as many lines as it needs: its last call is opened where it is too long.

    >>> laid_out("x = f(a, b)", 4)
    ['    x = f(a, b)']
    """
    space = " " * indent
    if len(text) + indent <= WIDTH:
        return [space + text]
    start, end = _brackets(text)
    if start < 0:
        return [space + text]
    head, inside, tail = text[: start + 1], text[start + 1 : end], text[end:]
    parts = _parts(inside)
    as_list = text[start] == "["  # a list has one item a line; arguments share one if they fit
    if len(inside) + indent + 4 <= WIDTH and not as_list:
        return [space + head, f"{space}    {inside}", space + tail]
    body = [line for part in parts for line in laid_out(f"{part},", indent + 4)]
    return [space + head, *body, space + tail]


def _brackets(text: str) -> tuple[int, int]:
    """Where the last bracket of a statement opens and closes; (-1, -1) if it has none."""
    end = text.rfind(")")
    if not text.startswith("def "):  # whose type may end in a bracket of its own
        end = max(end, text.rfind("]"))
    depth, quoted = 0, False
    for at in range(end, -1, -1):
        quoted ^= text[at] == '"'
        if not quoted:
            depth += (text[at] in ")]") - (text[at] in "([")
            if depth == 0:
                return at, end
    return -1, -1


def _parts(text: str) -> list[str]:
    """The arguments of a call."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, letter in enumerate(text):
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and depth == 0:
                parts.append(text[start:at].strip())
                start = at + 1
    return [*parts, text[start:].strip()]


REARRANGED = re.compile(r'(?<![.\w])rearrange\((\w+), "[^"]*"(?:, \w+=[\w.]+)*\)')
MASK = re.compile(r"torch\.ones_like\([^()]*\)\.triu\(1\)")


def nested(text: str) -> tuple[str, str] | None:
    """A part of a long expression that can have a line of its own, and a name for it."""
    for found in REARRANGED.finditer(text):
        if found[0] != text:
            return found[0], found[1]
    mask = MASK.search(text)
    return (mask[0], "later") if mask else None


def imports(needed: Iterable[str]) -> list[str]:
    """Import lines in order: the standard library, a blank line, the rest.

    >>> imports(["from torch import nn", "import math", "from torch import Tensor"])
    ['import math', '', 'from torch import Tensor, nn']
    """
    plain = sorted({line for line in needed if line.startswith("import ")})
    names: dict[str, set[str]] = {}
    for line in needed:
        if line.startswith("from "):
            _, module, _, name = line.split()
            names.setdefault(module, set()).add(name)
    standard = [line for line in plain if line == "import math"]
    other = [line for line in plain if line not in standard]
    other += [
        f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names)
    ]
    return [*standard, *([""] if standard and other else []), *other]


def comment(title: str) -> str:
    """A title on one line, whatever it holds."""
    return shorten("".join(c if c.isprintable() else " " for c in title), WIDTH - 12)


def docstring(doc: list[str], end: str) -> list[SourceLine]:
    return [SourceLine(f"    {text}") for text in [*doc[:-1], doc[-1] + end]]


def laid(text: str, indent: int, nodes: tuple[str, ...] = ()) -> list[SourceLine]:
    return [SourceLine(line, nodes) for line in laid_out(text, indent)]


def written_out(step: Statement) -> list[SourceLine]:
    """A statement as lines; where one is too long, a part of it gets a line of its own."""
    before = {"": "", "return": "return "}.get(step.target, f"{step.target} = ")
    found, text = list[SourceLine](), step.text
    while len(before) + len(text) > WIDTH - 8 and (inner := nested(text)):
        part, wanted = inner
        rest = set(re.findall(r"\w+", text.replace(part, "")))
        name = unique(wanted, {*IMPORTED, *step.live, *rest})
        found += laid(f"{name} = {part}", 8, step.nodes)
        text = text.replace(part, name)
    return [*found, *laid(before + text, 8, step.nodes)]
