"""Sizes that also say what kind of axis it is: a sequence, a spatial group, one with a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ncd.lang.types.axes import Axis, Size


@dataclass(frozen=True)
class Marked:
    """A size that also says what kind of axis it is; made by :func:`seq` and :func:`space`.

    ``size`` may be text, a formula of other sizes such as ``"k*h"``.
    """

    size: Size | str
    sequence: bool = False
    label: str = ""


def seq(size: int | str, label: str = "") -> Marked:
    """The size of a sequence axis, whose name is drawn with a bar."""
    return Marked(size, sequence=True, label=label)


def space(*sizes: int, label: str = "") -> Marked:
    """The sizes of a spatial group such as height × width, drawn as a double wire."""
    return Marked(sizes, label=label)


def plain(size: int | str, label: str = "") -> Marked:
    """The size of a plain axis with a label of its own."""
    return Marked(size, label=label)


def sized(axis: Axis, sizes: Mapping[str, int | str | Marked]) -> Axis:
    """The axis with the size and the marks that ``sizes`` has for its name, or as it was.

    A size that is a formula stays open here; the solver knows it.
    """
    value = sizes.get(axis.name)
    if value is None:
        return axis
    mark = value if isinstance(value, Marked) else Marked(value)
    size = axis.size if isinstance(mark.size, str) else mark.size
    return replace(axis, size=size, sequence=mark.sequence, label=mark.label or axis.label)
