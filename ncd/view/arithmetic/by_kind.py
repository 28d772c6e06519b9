"""Kinds of arithmetic as HTML: sums of products, norms, maxima, formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ncd.export import markup
from ncd.lang.circuits.array_names import called, given
from ncd.lang.circuits.circuit import Cell
from ncd.run.explain.arithmetic_kinds import (
    Chosen,
    Each,
    How,
    Made,
    Normed,
    Numbers,
    Products,
    place,
)
from ncd.view.arithmetic import convolution_window, sum_table
from ncd.view.arithmetic.formula_text import spelled
from ncd.view.arithmetic.sum_table import Line, figure, summed
from ncd.view.arrays import map_component
from ncd.view.session.scene import Scene

Place = tuple[int, ...]


def op(cell: Cell) -> str:
    return f'<span data-node="{cell.id}">{markup.text(cell.op.label)}</span>'


def array(scene: Scene, id: str) -> str:
    """Returns an array's name, or its axes, as a button that selects it."""
    name = called(scene.circuit).get(id) or given(scene.circuit).get(id, "")
    shown = markup.text(name) if name else markup.array(scene.circuit.values[id].array)
    return f'<span data-array="{id}" data-select="{id}" role="button" tabindex="0">{shown}</span>'


def html(scene: Scene, found: Made, cell: Cell, how: How) -> str:
    """Returns how an op made a number; a window is shown over its picture."""
    if isinstance(how, Products):
        pictures = convolution_window.html(scene.trace.values, cell, found.index, how)
        return pictures + products(scene, cell, how, found.index)
    if isinstance(how, Chosen):
        return convolution_window.html(scene.trace.values, cell, found.index, how) + _chosen(
            cell, how
        )
    if isinstance(how, Normed):
        return _normed(cell, how)
    assert isinstance(how, Each)
    return (
        f'<p class="spelled">{markup.text(spelled(how))} = <b>{figure(how.value)}</b></p>'
        f"{_operands(scene, cell, how)}"
    )


def _operands(scene: Scene, cell: Cell, how: Each) -> str:
    """Returns the numbers of a formula, each linked to its own arithmetic."""
    parts = [
        f"{array(scene, value.id)} "
        f'<button type="button" class="link" data-pick="{pick}">{figure(number)}</button>'
        for n, (value, number) in enumerate(zip(cell.inputs, how.numbers, strict=True))
        if (pick := _behind(cell, n, how.places))
    ]
    return f"<p>{', '.join(parts)}</p>" if parts else ""


def products(scene: Scene, cell: Cell, how: Products, index: Place | None = None) -> str:
    """Returns a sum of products, factor by factor; given ``index``, each factor is a link."""
    products = how.terms
    shown = sum_table.largest(products)
    several = len(how.factors) > 1
    lines = [
        Line(
            factor_name(scene, cell, factor),
            factor.values,
            links=_sources(scene, cell, how, factor, shown, index),
        )
        for factor in how.factors
        if several
    ]
    name = "product" if several else factor_name(scene, cell, how.factors[0])
    lines.append(summed(name, products, shown, total=how.value, strong=True))
    end = "sum" if how.bias is None else f"sum + bias {figure(how.bias)}"
    return sum_table.table(cell.site, how.spans, lines, shown, end=end)


def _sources(
    scene: Scene,
    cell: Cell,
    how: Products,
    factor: Numbers,
    shown: Sequence[int],
    index: Place | None,
) -> dict[int, str]:
    """Returns the link of each shown number of a factor, by its number in the sum."""
    if index is None or not isinstance(factor.source, int):
        return {}
    source = factor.source
    out = {dim.key: i for dim, i in zip(cell.site.outs[0].dims, index, strict=True)}
    found = {}
    for i in shown:
        at = out | dict(zip((s.dim.key for s in how.spans), place(how.spans, i), strict=True))
        found[i] = _behind(cell, source, at)
    return {i: pick for i, pick in found.items() if pick}


def _behind(cell: Cell, source: int, at: Mapping[tuple[str, int], int]) -> str:
    """Returns the link to a number of an op's input, or an empty text if it has no such place."""
    dims = cell.site.ins[source].dims
    if not all(0 <= at.get(dim.key, -1) < dim.size for dim in dims):
        return ""
    place = ".".join(str(at[dim.key]) for dim in dims)
    return f"{map_component.BEHIND}={cell.inputs[source].id}.{place}"


def factor_name(scene: Scene, cell: Cell, factor: Numbers) -> str:
    """Returns the name of a factor: an array, or a parameter of the layer."""
    if isinstance(factor.source, int):
        return array(scene, cell.inputs[factor.source].id)
    return f"{factor.source} {markup.text(cell.name)}"


def _chosen(cell: Cell, how: Chosen) -> str:
    """Returns a maximum or a mean, with the numbers it is of."""
    adds = how.how in ("sum", "mean")
    picks = how.how in ("max", "min")
    best = int(getattr(how.numbers, f"arg{how.how}")()) if picks else None
    shown = sum_table.largest(how.numbers, () if best is None else (best,))
    line = Line("", how.numbers, total=how.value, strong=True)
    if adds:
        line = summed("", how.numbers, shown, total=how.value, strong=True)
    end = {"max": "the largest", "min": "the least"}.get(how.how, how.how)
    return sum_table.table(cell.site, how.spans, [line], shown, end=end, here=best)


def _normed(cell: Cell, how: Normed) -> str:
    """Returns the numbers, their mean and variance, and the normalised number."""
    shown = sum_table.largest(how.numbers, (how.at,))
    lines = [Line("", how.numbers)]
    table = sum_table.table(cell.site, how.spans, lines, shown, here=how.at)
    x, n = figure(float(how.numbers[how.at])), f"{len(how.numbers):,}"
    whose = "kept from training" if how.kept else f"of these {n}"
    known = [f"variance σ² = {figure(how.variance)}"]
    above = x
    if how.mean is None:
        known = [f"mean square σ² = {figure(how.variance)}"]
    else:
        known.insert(0, f"mean μ = {figure(how.mean)}")
        above = f"{x} − {enclosed(how.mean)}"
    ways = [f"({above}) ÷ √({figure(how.variance)} + {figure(how.eps)}) = {figure(how.plain)}"]
    if how.weight is not None:
        bias = "" if how.bias is None else f" + β {enclosed(how.bias)}"
        ways.append(f"{figure(how.plain)} × γ {enclosed(how.weight)}{bias}")
    steps = " , then ".join(ways).replace(" ,", ",")
    return (
        f"{table}<p>{', '.join(known)}, {whose}.</p>"
        f'<p class="spelled">{steps} = <b>{figure(how.value)}</b></p>'
    )


def enclosed(number: float) -> str:
    text = figure(number)
    return f"({text})" if text.startswith("−") else text
