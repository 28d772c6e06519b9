"""A repetition is its layers, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ncd.errors import MismatchError
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Then
from ncd.rewrite.rules.rule import (
    NO_OPTIONS,
    LocalRule,
    Options,
    Replacement,
    Target,
    cells_within,
    move_parameters,
    scope_around,
    unused_layer_name,
)

MOST_LAYERS = 8


class Unroll(LocalRule):
    """Writes the layers of a repetition one after the other, each as a block."""

    name: ClassVar[str] = "unroll"
    is_law: ClassVar[bool] = True

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.is_part and isinstance(target.part, Repeat):
            yield target.place, NO_OPTIONS

    def title(self, options: Options) -> str:
        return "Write its layers one after the other"

    def replacement(self, target: Target, options: Options) -> Replacement:
        where, part = f"Unroll {target.words}", target.part
        if not isinstance(part, Repeat):
            fact = f"{target.words} is no repetition"
            raise MismatchError(fact, where=where, cure="the id of a repetition, such as f0")
        if part.shared or part.memory or len(part.bodies) > MOST_LAYERS:
            raise MismatchError(
                "its layers share their weights or a memory, or they are many",
                where=where,
                cure=f"a repetition of at most {MOST_LAYERS} layers with weights of their own",
            )
        names = [
            unused_layer_name(target.circuit, f"{part.name}_{i}") for i in range(len(part.bodies))
        ]
        layers = zip(part.bodies, names, strict=True)
        blocks = [Block(body, f"Layer {i}", name=name) for i, (body, name) in enumerate(layers, 1)]
        outer = scope_around(target)
        n = len(outer)

        def move(path: str) -> str:
            words = path.split(".")
            return ".".join((*outer, names[int(words[n + 1])], *words[n + 2 :]))

        return Replacement(
            {target.path: blocks[0] if len(blocks) == 1 else Then(*blocks)},
            move_parameters(cells_within(target), move),
        )
