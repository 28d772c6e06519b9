"""Pairs of sizes for one sketch, and what comes of them."""

from __future__ import annotations

from ncd import Axes, Axis, Circuit, Term
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.language.axes import SizeWithKind
from ncd.language.terms import rewrite_axes
from tests.support.draws import Seeded
from tests.support.strategies import a_term

Given = dict[str, SizeWithKind]


def resized_pair(d: Seeded) -> tuple[Term, Given, Given]:
    """A random term and two sets of sizes for all of its names; the first are those it has."""
    term = a_term(d)
    axes: dict[str, Axis] = {}

    def found(axis: Axis) -> Axis:
        axes.setdefault(axis.name, axis)
        return axis

    rewrite_axes(term, found)
    sized = {n: a for n, a in axes.items() if a.size is not None and not n.isdecimal()}
    first = {n: SizeWithKind(a.size, a.sequence, a.label) for n, a in sized.items() if a.size}
    more = {n: d.number(0, 3) if d.yes() else 0 for n in first}
    second = {
        n: SizeWithKind(tuple(s + more[n] for s in sized[n].shape), mark.sequence, mark.label)
        if isinstance(mark.size, tuple)
        else SizeWithKind(sized[n].numel + more[n], mark.sequence, mark.label)
        for n, mark in first.items()
    }
    return term, first, second


def outcome(sketch: Term, sizes: Given, solved: bool = False) -> Circuit | str:
    """The circuit of the sketch with these sizes, or what is said against them."""
    try:
        axes = Axes(**sizes)
        return axes._sized_circuit(sketch) if solved else elaborate(axes(sketch))
    except NCDError as error:
        return str(error)
