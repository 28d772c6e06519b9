"""Sizes with a kind of axis: a sequence, a spatial group, a plain axis with a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ncd.lang.types.axes import Axis, Size


@dataclass(frozen=True)
class Marked:
    """A size with a kind of axis; made by :func:`seq`, :func:`space` and :func:`plain`.

    ``size`` may be text: a formula of other sizes such as ``"k*h"``.
    """

    size: Size | str
    sequence: bool = False
    label: str = ""


AxisSize = int | str | Marked  # as a caller writes it


def seq(size: int | str, label: str = "") -> Marked:
    """Returns the size of a sequence axis, whose name is drawn with a bar.

    Args:
        size: How many positions there are, or a formula of other sizes.
        label: The text that is drawn in place of the name.

    Source: Notebook, figure 20.

    >>> from ncd.lang.circuits.elaborate import Axes
    >>> from ncd.lang.terms.terms import Id
    >>> Axes(y=seq(20), m=8)(Id("y m"))
    Id('~y:20 m:8')
    """
    return Marked(size, sequence=True, label=label)


def space(*sizes: int, label: str = "") -> Marked:
    """Returns the sizes of a spatial group such as height × width, drawn as a double wire.

    Args:
        sizes: The number of positions along each dimension, one to eight.
        label: The text that is drawn in place of the name.

    Source: Notebook, figures 26 to 28.

    >>> from ncd.lang.circuits.elaborate import Axes
    >>> from ncd.lang.terms.terms import Id
    >>> Axes(x=space(28, 28), c=3)(Id("c x"))
    Id('c:3 x:28x28')
    """
    return Marked(sizes, label=label)


def plain(size: int | str, label: str = "") -> Marked:
    """Returns the size of a plain axis that is drawn with a label of its own.

    Args:
        size: How many positions there are, or a formula of other sizes.
        label: The text that is drawn in place of the name, such as ``c_λ``.

    Source: Notebook, figure 27, whose channels are labelled ``c_{i-λ}``.

    >>> from ncd.lang.circuits.elaborate import Axes
    >>> from ncd.lang.terms.terms import Id
    >>> Axes(c=plain(64, "c_λ"))(Id("c"))
    Id('c"c_λ":64')
    """
    return Marked(size, label=label)


def sized(axis: Axis, sizes: Mapping[str, AxisSize]) -> Axis:
    """Returns the axis with the size and kind that ``sizes`` has for its name, or unchanged.

    A size that is a formula stays unknown here; the solver evaluates it.
    """
    value = sizes.get(axis.name)
    if value is None:
        return axis
    mark = value if isinstance(value, Marked) else Marked(value)
    size = axis.size if isinstance(mark.size, str) else mark.size
    return replace(axis, size=size, sequence=mark.sequence, label=mark.label or axis.label)
