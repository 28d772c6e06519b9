"""An extension of the documentation's reader of docstrings: examples are code, fields are plain.

A field of an op is declared as ``name: ArrayField = term_field(NAME, "norm")``; the documentation
shows what a caller writes, ``name: Array | str = "norm"``.
"""

from __future__ import annotations

import re
from typing import Any, get_args

import griffe

from ncd.language import fields


class ReferenceExamples(griffe.Extension):
    """Shows the examples at the end of a docstring as code, and a field as its caller gives it."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = with_section(obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        attr.annotation = written_type(str(attr.annotation)) or attr.annotation
        if isinstance(attr.value, griffe.ExprCall) and str(attr.value.function) == "term_field":
            _, *default = attr.value.arguments
            attr.value = default[0] if default else None


def written_type(name: str) -> str | None:
    """Returns what may be written for a field of this type, or None if it is no such type.

    >>> written_type("ArrayField"), written_type("int")
    ('Array | str', None)
    """
    parsed = getattr(fields, name, None) if name.endswith("Field") else None
    if parsed is None or len(get_args(parsed)) != 2:
        return None
    return " | ".join(kind.__name__ for kind in get_args(get_args(parsed)[1])).replace(
        "NoneType", "None"
    )


def with_section(text: str) -> str:
    """Returns a docstring whose source and examples are sections.

    >>> with_section("Adds.\\n\\nSource: torch.\\n\\n>>> 1 + 1\\n2").splitlines()[2:]
    ['*Source:* torch.', '', 'Examples:', '    >>> 1 + 1', '    2']
    """
    text = re.sub(r":(?:func|class|meth|mod):`", "`", text)
    before, found, after = text.partition("\n>>> ")
    before = re.sub(r"^Source:", "*Source:*", before, flags=re.M)
    if not found:
        return before
    lines = (f"    {line}".rstrip() for line in f">>> {after}".splitlines())
    return "\n".join([before.rstrip(), "", "Examples:", *lines])
