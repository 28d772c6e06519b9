"""Letters of an einsum that were mistyped: two axes are summed where one is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ncd.findings.silent.model_runs import line_of
from ncd.findings.silent.silent_source import Attempt, Fault, Source

ARROW = re.compile(r"\s*->\s*")


def einsum_letters(source: Source) -> Iterator[Fault]:
    """Yields the einsums in which two axes of one length are summed, each by itself."""
    run = source.run
    for call in run.calls if run else ():
        pattern = next((one for one in call.words.values() if isinstance(one, str)), "")
        if call.name != "einsum" or "->" not in pattern or "." in pattern:
            continue
        left, right = ARROW.split(pattern, maxsplit=1)
        operands = [_axes(one) for one in left.split(",")]
        if len(operands) != 2 or [len(one) for one in operands] != [x.dim() for x in call.takes]:
            continue
        result = _axes(right)
        lone = [
            [
                (i, name)
                for i, name in enumerate(mine)
                if mine.count(name) == 1 and name not in other and name not in result
            ]
            for mine, other in (operands, operands[::-1])
        ]
        for i, a in lone[0]:
            for j, b in lone[1]:
                size = call.takes[0].shape[i]
                if size == call.takes[1].shape[j] and size > 1:
                    says = (
                        f"{a} and {b} of the einsum stand once each and not in its result, so "
                        f"that both axes, {size} long, are summed by themselves; one letter is "
                        "meant for both, which multiplies them with each other."
                    )
                    attempts = _cures(source, call.node, pattern, operands, (a, b))
                    yield Fault(line_of(call.node), call.path, says, attempts)


def _axes(words: str) -> list[str]:
    """Returns the axes of an operand: letters, or words with blanks between them."""
    return words.split() if " " in words.strip() else list(words.strip())


def _cures(
    source: Source, node: ast.AST, pattern: str, operands: list[list[str]], names: tuple[str, str]
) -> tuple[Attempt, ...]:
    """Returns the edit that gives the axis of the second operand the letter of the first."""
    place = next(
        (one for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value == pattern),
        None,
    )
    if place is None or pattern not in source.source.letters(place):
        return ()
    a, b = names
    left, arrow, right = pattern.partition("->")
    first, _, second = left.partition(",")
    spaced = " " in second.strip()
    changed = re.sub(rf"\b{re.escape(b)}\b", a, second) if spaced else second.replace(b, a)
    new = f"{first},{changed}{arrow}{right}"
    written = source.source.letters(place).replace(pattern, new)
    return (Attempt(source.source.replaced(place, written)),)
