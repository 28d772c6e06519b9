"""Classes of the file, and the calls that create instances of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ncd.code.line_breaking import Code, called
from ncd.lang.types.axes import Axis


@dataclass(frozen=True)
class Instance:
    """A class as one submodule uses it: the axes whose sizes it gets, and its methods' names."""

    name: str
    sizes: tuple[Axis, ...]
    methods: Mapping[int, str]  # by the identity of the bodies

    def call(self, sizes: Sequence[Code]) -> Code:
        return called(f"{self.name}(", sizes) if sizes else Code(f"{self.name}()")


def listed(made: Sequence[Instance], size: Callable[[Axis], Code]) -> Code:
    """Returns ``nn.ModuleList`` of these; a comprehension where all are made by the same call.

    Sizes are written by their names, so that a class made at other sizes still fits together.
    """
    every = [instance.call([size(axis) for axis in instance.sizes]) for instance in made]
    if len(made) > 1 and len({call.text for call in every}) == 1:
        return called("nn.ModuleList(", (every[0].after(f" for _ in range({len(made)})"),))
    return called("nn.ModuleList(", (called("[", every, "]"),))
