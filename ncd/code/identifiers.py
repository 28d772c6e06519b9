"""Identifiers that Python and einops accept, hide nothing, and are unique."""

from __future__ import annotations

import builtins
import re
import unicodedata
from collections.abc import Container
from keyword import iskeyword, kwlist
from textwrap import shorten

from ncd.code.line_breaking import WIDTH
from ncd.lang.types.axes import Dim

IMPORTED = frozenset(("math", "torch", "nn", "F", "einsum", "rearrange", "Tensor", "self"))
TAKEN = IMPORTED | {*dir(builtins), *kwlist}  # a name that hides none of these is safe anywhere
AMBIGUOUS = frozenset("lOI")  # letters that look like others
EINOPS = frozenset(("tensor", "pattern"))  # the arguments of rearrange itself
Key = tuple[str, int]  # an axis, and its size or the side of a group
_SIDES = {1: "h", 2: "w", 3: "d"}


def plain(text: str) -> str:
    """Returns the text as an ASCII identifier, or empty; several texts may give the same.

    >>> plain("W^O"), plain("2c"), plain("λ"), plain("ﬁ"), plain("a_"), plain("½")
    ('W_O', 'n2c', 'lamda', 'fi', 'a', 'n1_2')
    """
    letters = "".join(map(_latin, unicodedata.normalize("NFKD", text)))
    name = re.sub(r"\W+", "_", letters, flags=re.ASCII).strip("_")
    return f"n{name}" if name[:1].isdigit() else name


def _latin(letter: str) -> str:
    if letter.isascii():
        return letter
    if unicodedata.combining(letter):
        return ""
    kind, _, rest = unicodedata.name(letter, "").partition(" ")
    word = rest.rpartition(" ")[2].lower()
    return word if kind == "GREEK" and word.isascii() and word.isalpha() else "_"


def variable(text: str) -> str:
    """Returns the text as a variable name that hides nothing.

    >>> variable("scores"), variable("2c"), variable("class")
    ('scores', 'n2c', 'class_')
    """
    name = plain(text) or "x"
    return f"{name}_" if name in TAKEN | AMBIGUOUS else name


def class_name(title: str) -> str:
    """Returns the title as a class name, or empty.

    >>> class_name("Scaled Dot-Product Attention"), class_name("self_attn"), class_name("2 heads")
    ('ScaledDotProductAttention', 'SelfAttn', 'Net2Heads')
    """
    words = re.findall(r"[A-Za-z0-9]+", unicodedata.normalize("NFKD", title))
    name = "".join(word[0].upper() + word[1:] for word in words)
    return f"Net{name}" if name[:1].isdigit() else name


def unique(name: str, taken: Container[str], join: str = "_") -> str:
    """Returns the name, with a number if it is taken: ``x_2``."""
    if name not in taken and not iskeyword(name):
        return name
    base = re.sub(r"_?\d+$", "", name).rstrip("_") or name
    count = 2
    while f"{base}{join}{count}" in taken:
        count += 1
    return f"{base}{join}{count}"


class Allotted:
    """Unique names for sizes or dimensions; anonymous ones are numbered."""

    def __init__(self, taken: Container[str] = (), anonymous: bool = False) -> None:
        self.taken, self.anonymous = taken, anonymous
        self.names: dict[Key, str] = {}
        self._used: set[str] = set()
        self._count: dict[str, int] = {}

    def of(self, key: Key, wanted: str) -> str:
        """Returns the name for a key; a new key gets the wanted name or one like it."""
        if key not in self.names:
            name = f"a{len(self.names)}" if self.anonymous else plain(wanted) or "x"
            if name in self.taken or name in TAKEN:
                name = f"n_{name}"
            while name in self.taken or name in self._used:
                self._count[name] = count = self._count.get(name, 1) + 1
                name = f"{name}_{count}"
            self._used.add(name)
            self.names[key] = name
        return self.names[key]

    def dim(self, dim: Dim) -> str:
        """Returns the name of a dimension: its axis', or ``x_h`` and ``x_w`` for a group."""
        side = f"_{_SIDES.get(dim.side, dim.side)}" if dim.side else ""
        return self.of(dim.key, f"{plain(dim.name) or 'x'}{side}")


def attribute(on: str, name: str) -> str:
    """Returns code that reads an attribute, even if Python would mangle or reject its name."""
    return f"{on}.{name}" if _safe(name) else f"getattr({on}, {quoted(name)})"


def assigned(name: str, kind: str = "module") -> tuple[str, str]:
    """Returns the code before and after the value that an attribute is set to."""
    if kind != "buffer" and _safe(name):
        return f"self.{name} = ", ""
    head = {"module": "add_module", "parameter": "register_parameter"}.get(kind, "register_buffer")
    return f"self.{head}({quoted(name)}, ", ")"


def _safe(name: str) -> bool:
    return bool(re.fullmatch(r"(?!__)[A-Za-z_]\w*", name, re.ASCII)) and not iskeyword(name)


def quoted(text: str) -> str:
    """Returns the text in double quotes, in ASCII."""
    inner = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def comment(title: str) -> str:
    """Returns a title as a comment of one line, whatever it contains."""
    return shorten("".join(c if c.isprintable() else " " for c in title), WIDTH - 12)
