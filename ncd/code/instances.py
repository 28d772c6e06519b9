"""Classes of the file, and the calls that make instances of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ncd.code.layout import WIDTH, Code, called, tuple_of
from ncd.lang.axes import Axis


@dataclass(frozen=True)
class Instance:
    """A class as one submodule uses it: the axes whose sizes it is given, its methods' names."""

    name: str
    params: tuple[str, ...]  # of the class, in the order of ``sizes``
    sizes: tuple[Axis, ...]
    methods: Mapping[int, str]  # by the identity of the bodies

    def call(self, sizes: Sequence[Code]) -> Code:
        return called(f"{self.name}(", sizes) if sizes else Code(f"{self.name}()")


def listed(made: Sequence[Instance], size: Callable[[Axis], Code]) -> Code:
    """``nn.ModuleList`` of these; with a comprehension where they are of one class."""
    values = [[size(axis) for axis in instance.sizes] for instance in made]
    every = [instance.call(own) for instance, own in zip(made, values, strict=True)]
    plain = called("nn.ModuleList(", (called("[", every, "]"),))
    if len(made) == 1 or len({instance.name for instance in made}) > 1:
        return plain
    texts = [[value.text for value in own] for own in values]
    if all(own == texts[0] for own in texts):
        return called("nn.ModuleList(", (every[0].after(f" for _ in range({len(made)})"),))
    found = _varying(made, values[0])
    return plain if len(found.text) > WIDTH - 30 else found


def _varying(made: Sequence[Instance], first: Sequence[Code]) -> Code:
    """Instances that differ in some sizes: ``Layer(m, w) for w in (8, 9, 10)``."""
    columns = list(zip(*(instance.sizes for instance in made), strict=True))
    counts = [[axis.numel for axis in column] for column in columns]
    vary = [i for i, column in enumerate(counts) if len(set(column)) > 1]
    params = made[0].params
    names = [params[i] for i in vary]
    args = [
        Code(params[i]) if i in vary else _shared(code, counts[i][0], names)
        for i, code in enumerate(first)
    ]
    rows = [
        Code(str(row[0])) if len(row) == 1 else tuple_of([Code(str(n)) for n in row])
        for row in zip(*(counts[i] for i in vary), strict=True)
    ]
    over = f" for {', '.join(names)} in {tuple_of(rows).text}"
    return called("nn.ModuleList(", (made[0].call(args).after(over),))


def _shared(code: Code, count: int, hidden: Sequence[str]) -> Code:
    """A size that all share, by its name unless the comprehension hides that."""
    return Code(str(count)) if code.text in hidden else code
