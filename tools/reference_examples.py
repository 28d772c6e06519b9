"""An extension of the documentation's reader of docstrings: examples are shown as code."""

from __future__ import annotations

import re
from typing import Any

import griffe


class ReferenceExamples(griffe.Extension):
    """Puts the examples at the end of a docstring into a section that is shown as code."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = with_section(obj.docstring.value)


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
