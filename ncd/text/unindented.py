"""Texts that were copied with their indentation, or with the prompts of a session."""

from __future__ import annotations

import re
from textwrap import dedent

PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.:?|In \[\d*\]:)(?: |$)")
FIRST = re.compile(r"\A(\s*\n)?[ \t]+")  # blanks before the first line


def unindented(text: str) -> str:
    """Returns a text without the blanks or prompts before all of its lines, with as many lines.

    What a session printed between its prompts becomes empty lines. Blanks before the first line
    alone are left out too.

    >>> unindented("  x = 1\\n    y = 2"), unindented(">>> f(\\n...   1)\\n8")
    ('x = 1\\n  y = 2', 'f(\\n  1)\\n')
    """
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if PROMPT.match(first):
        prompts = [PROMPT.match(line) for line in lines]
        pairs = zip(prompts, lines, strict=True)
        text = "\n".join(line[prompt.end() :] if prompt else "" for prompt, line in pairs)
    elif not first[:1].isspace():
        return text
    return FIRST.sub(r"\1", dedent(text))
