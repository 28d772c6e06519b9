"""Removes an op or a block that gives arrays like those that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ncd.errors import MismatchError
from ncd.rewrite.rules.rule import (
    NO_OPTIONS,
    LocalRule,
    Options,
    Replacement,
    Target,
)
from ncd.rewrite.rules.term_paths import identity


class Remove(LocalRule):
    """Takes an op or a block out: its wires run through."""

    name: ClassVar[str] = "remove"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.is_part:
            yield target.place, NO_OPTIONS

    def title(self, options: Options) -> str:
        return "Remove"

    def replacement(self, target: Target, options: Options) -> Replacement:
        if target.inputs != target.outputs:
            raise MismatchError(
                f"it takes ({target.inputs}) and gives ({target.outputs}), so that nothing would "
                "give what comes after it",
                where=f"Remove {target.words}",
                bound=target.inputs.axes,
                cure="an op that gives the axes that it takes, or another op in its place",
            )
        return Replacement({target.path: identity(target.inputs)})
