"""The facts about axes by which ``grading.js`` grades the shape of an array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ncd.circuit.circuit import Cell, Circuit
from ncd.language.axes import Array, Axis
from ncd.language.patterns import Binding
from ncd.site import markup

AxisFacts = tuple[str, str, str, str, str]


def without_size_labels(array: Array) -> Array:
    """Returns the array with axis names in place of labels that are sizes.

    >>> [axis.display_name for axis in without_size_labels(Array.parse('c"c_λ":4 w"8^2":8x8'))]
    ['c_λ', 'w']
    """
    return array.with_axes(
        axis if _tells_no_size(axis) else replace(axis, label="") for axis in array
    )


def _tells_no_size(axis: Axis) -> bool:
    return any(map(str.isalpha, axis.display_name))


def axis_facts(axis: Axis) -> AxisFacts:
    """Returns an axis as its name, what it is called, that as HTML, its size and its identifier.

    >>> axis_facts(Axis("2c", 16))
    ('2c', '2c', '<i class="axis" data-axis="2c">2c</i>', '16', 'n2c')
    """
    size = "" if axis.size is None else axis.size_text
    return axis.name, axis.display_name, markup.axis(axis), size, axis.identifier


def taken_axes(circuit: Circuit, id: str) -> tuple[str, ...]:
    """Returns what the axes that go into the op of an array are called."""
    maker = circuit.producers.get(id)
    axes = (
        (axis for value in maker.inputs for axis in without_size_labels(value.array))
        if maker
        else ()
    )
    return tuple(dict.fromkeys(axis.display_name for axis in axes))


def computed_axes(circuit: Circuit, given: Mapping[str, object]) -> frozenset[str]:
    """Returns the labels of axes whose size is computed, as behind a sliding window.

    Axes of inputs and axes with a knob (``given``) are left out.
    """
    names = {axis.name for value in circuit.inputs for axis in value.array} | set(given)
    axes = (axis for cell in circuit.cells for axis in _solved_axes(cell))
    return frozenset(
        a.display_name for a in without_size_labels(Array(axes)) if a.name not in names
    )


def _solved_axes(cell: Cell) -> list[Axis]:
    """Returns the axes that an op makes and whose size it computes from known ones."""
    binding, site = Binding(), cell.site
    if any(axis.size is None for axis in site.own_inputs.axes):
        return []
    for axis in site.own_inputs.axes:
        binding.unify(axis, axis)
    for axis in site.own_outputs.axes:
        binding.setdefault(axis.name, replace(axis, size=None))
    cell.op.solve(binding)
    before = {axis.name for axis in site.inputs.axes}
    new = (axis for axis in site.own_outputs.axes if axis.name not in before)
    return [axis for axis in new if binding.size(axis.name) is not None]
