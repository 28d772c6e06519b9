"""The axes of a diagram as chips: buttons that lock their highlight, and sizes to drag."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from markupsafe import Markup

from ncd.export import markup
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.types.axes import Array, Axis


def html(circuit: Circuit) -> str:
    """Returns the axes as buttons that lock their highlight, then the products of grouped axes.

    Axes with one label, such as c_λ on every level, share the button of the first.
    """
    found: dict[str, list[Axis]] = {}
    for axis in circuit.axes:
        found.setdefault(axis.called, []).append(axis)
    axes, groups = map(_chip, found.values()), map(_product, products(circuit))
    return f'<div class="legend">{"".join((*axes, *groups))}</div>'


def _chip(alike: Sequence[Axis]) -> str:
    axis, last = alike[0], alike[-1]
    name, size, told = markup.text(axis.name), "", ""
    if axis.size is not None:
        size = told = f" {markup.text(axis.size_text)}"
    if several(alike):
        size, told = "", " of several sizes"
    elif size and last.size not in (None, axis.size):
        size = told = f"{size} … {markup.text(last.size_text)}"
    label = markup.axis(axis) + size
    shown = markup.text(Markup(label).striptags())
    return (
        f'<button class="chip" data-axis="{name}" aria-pressed="false" '
        f'aria-label="{shown}: axis {name}{told}, light it everywhere">'
        f"{label}</button>"
    )


def several(alike: Sequence[Axis]) -> bool:
    """Returns whether blocks use one name for axes of different sizes, such as the queries y.

    >>> several([Axis("y", 16), Axis("y", 12)]), several([Axis("c_1", 4), Axis("c_2", 8)])
    (True, False)
    """
    return len({axis.name for axis in alike}) < len({axis.size for axis in alike})


def products(circuit: Circuit) -> tuple[Array, ...]:
    """Returns the groups of axes that learned maps take or give together, such as ``k h``."""
    groups: dict[str, Array] = {}
    for cell in circuit.cells:
        if cell.name:
            for array in (*cell.site.dom, *cell.site.cod):
                if len(array) > 1 and cell.op.role == "linear":
                    groups.setdefault(str(array), array)
    return tuple(groups.values())


def _product(array: Array) -> str:
    if any(axis.size is None for axis in array):
        return ""
    names = "·".join(map(markup.axis, array))
    return f'<span class="product">{names} = {prod(axis.numel for axis in array):,}</span>'
