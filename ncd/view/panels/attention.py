"""Attention: a picture for each head, and the chosen one large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import streamlit as st
import torch

from ncd.export import markup
from ncd.lang.axes import Array, Axis
from ncd.lang.circuit import Cell
from ncd.view import heat, panel, worker
from ncd.view.heat import Grid
from ncd.view.scene import Scene

TITLE = "Attention"
RUNS = True
HEAD = "head"


@dataclass(frozen=True)
class Weights:
    """What a softmax gives: from every query a weight on every key, in each head."""

    value: str
    queries: Axis | None
    keys: Axis
    heads: Array
    maps: Grid  # (heads, queries, keys)

    @property
    def names(self) -> list[str]:
        """``h = 0``, ``h = 1``, …"""
        counts = (range(axis.numel) for axis in self.heads)
        return [
            ", ".join(f"{axis.name} = {i}" for axis, i in zip(self.heads, at, strict=True))
            for at in product(*counts)
        ]


def show(scene: Scene) -> Callable[[], None] | None:
    """The weights of every softmax in the circuit; the large map is drawn last."""
    cells = [cell for cell in scene.circuit.cells if cell.op.role == "softmax"]
    if not cells:
        st.text("Nothing attends here: the circuit has no softmax.")
        return None
    cell = cells[0]
    if len(cells) > 1:
        cell = st.selectbox("Softmax", cells, format_func=lambda c: f"{c.id} {c.op.label}")
    value = scene.trace.values[cell.outputs[0].id]
    found = worker.run(lambda: weights(cell, value))
    head = _chosen(found)
    panel.show(_overview(found, head), "heads", scene.selected, on_pick=_pick)
    return lambda: _focus(found, head, scene)


def weights(cell: Cell, value: torch.Tensor) -> Weights:
    """The output of a softmax with its axes in order: heads, queries, keys.

    The axis of the softmax holds the keys, the nearest other axis before it the queries.
    """
    array = cell.outputs[0].array
    at = array.names.index(cell.site.cod[0][0].name)
    before = at - 1 if at else (1 if len(array) > 1 else None)
    rest = [i for i in range(len(array)) if i not in (at, before)]
    flat = value.detach().float().cpu().reshape([axis.numel for axis in array])
    order = [*rest, *([] if before is None else [before]), at]
    queries = None if before is None else array[before]
    shape = (-1, queries.numel if queries else 1, array[at].numel)
    maps = flat.permute(order).reshape(shape).numpy()
    return Weights(cell.outputs[0].id, queries, array[at], Array(array[i] for i in rest), maps)


def _chosen(found: Weights) -> int:
    if HEAD not in st.session_state:
        st.session_state[HEAD] = st.query_params.get(HEAD, "0")
    text = str(st.session_state[HEAD])
    known = text.isdecimal() and len(text) < 10  # Python reads no number of thousands of digits
    return min(int(text), len(found.maps) - 1) if known else 0


def _pick(value: str) -> None:
    st.session_state[HEAD] = value
    st.query_params[HEAD] = value


def _overview(found: Weights, chosen: int) -> str:
    top = float(found.maps.max())
    buttons = "".join(
        f'<button data-pick="{i}" aria-pressed="{str(i == chosen).lower()}">'
        f'<img alt="weights of head {markup.text(name or "0")}" src="{heat.picture(grid, top)}">'
        f"{markup.text(name)}</button>"
        for i, (name, grid) in enumerate(zip(found.names, found.maps, strict=True))
    )
    asks = f"Rows are queries {markup.axis(found.queries)}, columns" if found.queries else "Columns"
    off = float(abs(found.maps.sum(-1) - 1).max())
    rows = f"every row sums to 1, the furthest off by {off:.0e}"
    _, block = heat.pooled(found.maps[0], heat.SMALL)
    small = heat.told(found.maps[0].shape, block)
    return (
        f"<p>{asks} keys {markup.axis(found.keys)}; {rows}. "
        f"{small and 'Small pictures: '}{small}</p>"
        f'<div class="heads" data-array="{found.value}">{buttons}</div>'
    )


def _focus(found: Weights, head: int, scene: Scene) -> None:
    grid, block = heat.pooled(found.maps[head], heat.LARGE)
    whole = block == (1, 1)
    rows = _labels(found.queries, scene) if whole else []
    columns = _labels(found.keys, scene) if whole else []
    figure = heat.plot(
        grid,
        (_title("query", found.queries), rows),
        (_title("key", found.keys), columns),
        "query %{y}<br>key %{x}<br>weight %{z:.4f}",
        signed=False,
        dark=scene.dark,
        block=block,
    )
    alt = f"Weights of every query on every key, {found.names[head] or 'one head'}"
    st.plotly_chart(figure, key="attention map", config={"displayModeBar": False}, alt=alt)
    if not whole:
        st.caption(heat.told(found.maps[head].shape, block))


def _title(what: str, axis: Axis | None) -> str:
    return f"{what} <i>{markup.text(axis.name)}</i>" if axis else what


def _labels(axis: Axis | None, scene: Scene) -> list[str]:
    return [markup.text(word) for word in scene.words(axis.name)] if axis else []
