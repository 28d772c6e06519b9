"""Values: the selected array as a map with its statistics, or the card of the selected op."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from ncd.export import markup
from ncd.lang.axes import Axis
from ncd.lang.circuit import Cell, Loop, Value
from ncd.view import cards, heat, panel, worker
from ncd.view.cache import remember
from ncd.view.scene import Scene

TITLE = "Values"
RUNS = True
BINS = 40


@dataclass(frozen=True)
class Dimension:
    """One dimension of a tensor: the axis it is of, and its name; a spatial axis has two."""

    axis: Axis
    name: str
    size: int


@dataclass(frozen=True)
class Statistics:
    """Of the finite numbers of an array, and how many are masked (−∞); and how many differ."""

    mean: float
    deviation: float
    smallest: float
    largest: float
    masked: int
    bins: tuple[int, ...]
    different: int = 0  # counted of whole numbers only


def show(scene: Scene) -> None:
    """What is selected, and else the output."""
    chosen = scene.selected
    if chosen.startswith("n"):
        cards.op(scene, scene.circuit.cell(chosen))
    elif chosen.startswith("f"):
        cards.block(scene, next(f for f in scene.circuit.fences if f.id == chosen))
    else:
        _array(scene, chosen if chosen.startswith("v") else scene.circuit.outputs[0].id)


def _array(scene: Scene, id: str) -> None:
    value, tensor = scene.circuit.values[id], scene.trace.values[id]
    key = (scene.seed, scene.device, scene.feed.key, id)
    found = remember(
        "statistics", scene.term, *key, make=lambda: worker.run(lambda: statistics(tensor))
    )
    panel.show(_card(scene, value, found), "array", scene.selected)
    dimensions = [
        Dimension(axis, name, size)
        for axis in value.array
        for name, size in zip(markup.dimensions(axis), axis.shape, strict=True)
    ]
    if dimensions:
        _map(scene, tensor, dimensions, found)
    if any(id in body.values for loop in _scans(scene) for body in loop.bodies):
        st.caption("It is made anew at every position of the scan; these are its last numbers.")


def _scans(scene: Scene) -> list[Loop]:
    return [loop for loop in scene.circuit.loops if loop.kind == "scan"]


def statistics(tensor: torch.Tensor) -> Statistics:
    """Mean, deviation (of all, not of a sample), extremes and histogram of the finite numbers."""
    numbers = tensor.detach().float().flatten()
    finite = numbers[numbers.isfinite()]
    if not len(finite):
        return Statistics(0, 0, 0, 0, len(numbers), ())
    low, high = float(finite.min()), float(finite.max())
    bins = np.histogram(finite.cpu().numpy(), BINS, (low, high) if low < high else None)[0]
    return Statistics(
        float(finite.mean()),
        float(finite.std(correction=0)),
        low,
        high,
        len(numbers) - len(finite),
        tuple(map(int, bins)),
        0 if tensor.is_floating_point() else len(tensor.unique()),
    )


def _card(scene: Scene, value: Value, found: Statistics) -> str:
    where, after = _neighbours(scene, value.id)
    facts = {
        "Shape": " × ".join(map(str, value.array.shape)) or "a number",
        "Numbers": f"{value.array.numel:,}",
    }
    if below := value.array.below:
        facts |= {
            "Whole numbers below": f"{below.name} = {below.numel:,}",
            "Different": f"{found.different:,}",
            "Smallest": f"{found.smallest:,.0f}",
            "Largest": f"{found.largest:,.0f}",
        }
    else:
        facts |= {
            "Mean": markup.digits(found.mean),
            "Deviation": markup.digits(found.deviation),
            "Smallest": markup.digits(found.smallest),
            "Largest": markup.digits(found.largest),
        }
    if found.masked:
        facts["Masked (−∞)"] = f"{found.masked:,}"
    listed = "".join(f"<div><dt>{k}</dt><dd>{markup.text(v)}</dd></div>" for k, v in facts.items())
    return (
        f'<h4 data-array="{value.id}">{markup.array(value.array)}</h4>'
        f'<p class="muted">{where}{f", taken by {after}" if after else ", the output"}. '
        "Click another wire for its values, an op or a block for its card.</p>"
        f'<dl class="stats">{listed}<div>{_histogram(found)}</div></dl>'
    )


def _neighbours(scene: Scene, id: str) -> tuple[str, str]:
    """Where an array comes from, and all that take it, in words that can be clicked."""
    units: list[Cell | Loop] = [*scene.circuit.cells, *_scans(scene)]
    maker = next((u for u in units if any(v.id == id for v in u.outputs)), None)
    takers = [u for u in units if any(v.id == id for v in u.inputs)]
    if maker is not None:
        where = f"made by {_named(maker)}"
    elif any(v.id == id for v in scene.circuit.inputs):
        where = "what goes in"
    else:
        where = "one position of what goes into the scan"
    return where, ", ".join(map(_named, takers))


def _named(unit: Cell | Loop) -> str:
    label = unit.op.label if isinstance(unit, Cell) else f"Scan along {unit.axis}"
    return _link(unit.id, label)


def _link(id: str, label: str) -> str:
    return (
        f'<span data-node="{id}" data-select="{id}" role="button" tabindex="0">'
        f"{markup.text(label)}</span>"
    )


def _histogram(found: Statistics) -> str:
    top = max(found.bins, default=0) or 1
    bars = "".join(
        f'<rect x="{4 * i}" y="{36 - 36 * n / top:.1f}" width="3.2" height="{36 * n / top:.1f}"/>'
        for i, n in enumerate(found.bins)
    )
    words = f"histogram from {markup.digits(found.smallest)} to {markup.digits(found.largest)}"
    return (
        f'<svg width="{4 * BINS}" height="37" role="img" aria-label="{words}" '
        f'fill="currentColor" opacity=".75"><title>{words}</title>{bars}</svg>'
    )


def _map(
    scene: Scene, tensor: torch.Tensor, dimensions: list[Dimension], found: Statistics
) -> None:
    shown = _two(dimensions)
    index: list[int | slice] = [slice(None)] * len(dimensions)
    rest = [i for i, d in enumerate(dimensions) if i not in shown and d.size > 1]
    with st.container(horizontal=True):
        for i, dimension in enumerate(dimensions):
            if i not in shown:
                index[i] = _slice(dimension) if i in rest else 0
    grid = tensor[tuple(index)].detach().float().cpu().numpy()
    grid = np.atleast_2d(np.where(np.isfinite(grid), grid, np.nan))
    small, block = heat.pooled(grid, heat.LARGE)
    form = ".4f" if tensor.is_floating_point() or block != (1, 1) else "d"
    names = [dimensions[i] for i in shown]
    rows = names[0] if len(names) == 2 else None
    figure = heat.plot(
        small,
        _labels(scene, rows, block == (1, 1)),
        _labels(scene, names[-1], block == (1, 1)),
        f"{_plain(rows)}{names[-1].name} %{{x}}<br>%{{z:{form}}}",
        signed=found.smallest < 0,
        dark=scene.dark,
        block=block,
    )
    alt = f"Heatmap, {' by '.join(dimension.name for dimension in names)}"
    st.plotly_chart(figure, key="values map", config={"displayModeBar": False}, alt=alt)
    if block != (1, 1):
        st.caption(heat.told(grid.shape, block))


def _two(dimensions: list[Dimension]) -> tuple[int, ...]:
    """The dimensions on the map: an image's height and width, else the first two."""
    for i in range(len(dimensions) - 1):
        if dimensions[i].axis.spatial and dimensions[i].axis is dimensions[i + 1].axis:
            return i, i + 1
    return tuple(range(min(2, len(dimensions))))


def _slice(dimension: Dimension) -> int:
    key, last = f"slice {dimension.name}", dimension.size - 1
    if st.session_state.get(key, 0) > last:
        st.session_state[key] = last
    return int(st.slider(f"Slice of {dimension.name}", 0, last, key=key, width=280))


def _labels(scene: Scene, dimension: Dimension | None, whole: bool) -> tuple[str, list[str]]:
    if dimension is None:
        return "", [""]
    words = scene.words(dimension.axis.name) if whole else ()
    return f"<i>{markup.text(dimension.name)}</i>", [markup.text(word) for word in words]


def _plain(dimension: Dimension | None) -> str:
    return f"{dimension.name} %{{y}}, " if dimension else ""
