"""Sites: an op as it stands in a circuit, with the sizes of all axes around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncd.lang.formulas.formula import Formula
from ncd.lang.once import once
from ncd.lang.types.axes import NO_AXES, Array, Axis, Type


@dataclass(frozen=True)
class Site:
    """An op at its place: its own axes with their sizes, and the whole arrays around them.

    Args:
        dom: The op's own inputs, without the axes that it is broadcast over.
        cod: The op's own outputs.
        ins: The whole inputs, with every axis that the op is broadcast over.
        outs: The whole outputs.
        reads: Axes of which the op only knows the size.

    Source: Notebook, section 2.3.2: an op keeps its own axes when it is broadcast.

    >>> from ncd.ops import Softmax
    >>> site = Softmax("x").site(Type.parse("y:3 x:4"))
    >>> str(site.dom), str(site.ins), site.size("y")
    ('x', 'y x', 3)
    """

    dom: Type
    cod: Type
    ins: Type
    outs: Type
    reads: Array = NO_AXES

    @once
    def axes(self) -> tuple[Axis, ...]:
        """Every axis of the arrays, each name once."""
        return tuple({axis.name: axis for axis in (*self.ins.axes, *self.outs.axes)}.values())

    @once
    def every(self) -> Mapping[str, Axis]:
        """Every axis by its name, including those whose size the op only reads."""
        return {axis.name: axis for axis in (*self.axes, *self.reads)}

    def size(self, name: str) -> int:
        """Returns the number of positions of the axis of this name."""
        return self.every[name].numel

    @property
    def rest(self) -> Array:
        """The axes of the first array that the op is broadcast over."""
        return Array(axis for axis in self.ins[0] if axis.name not in self.dom[0].names)


@dataclass(frozen=True)
class Initial:
    """The initial value of a parameter, or of a buffer if it is not ``learned``.

    ``array`` has the axes of its numbers, in their order in memory. ``formula`` gives each number
    from its position along these axes (``n_x`` is the size of x), from ``normal`` (standard normal)
    and ``uniform`` (from -1 to 1), drawn from the seed. With ``numbers`` they are these instead.
    """

    array: Array
    formula: Formula
    learned: bool = True
    numbers: tuple[float, ...] = ()
