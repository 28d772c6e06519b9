"""Attention: a picture for each head, and the chosen one large."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import streamlit as st
import torch

from ncd.export import markup
from ncd.lang.axes import Array, Axis
from ncd.lang.circuit import Cell, Circuit
from ncd.view import heat, maps, meaning, panel, worker
from ncd.view.cache import remember
from ncd.view.heat import Ends, Grid
from ncd.view.maps import Map, Side
from ncd.view.scene import Scene

TITLE = "Attention"
RUNS = True
HEAD, SOFTMAX, COLOURS = "head", "softmax", "colours"
MOST = 48  # small pictures at once


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
        """The heads as HTML: ``h = 0``, ``h = 1``, …"""
        counts = (range(axis.numel) for axis in self.heads)
        return [
            ", ".join(maps.named(axis, i) for axis, i in zip(self.heads, at, strict=True))
            for at in product(*counts)
        ]


def show(scene: Scene) -> None:
    """The weights of every softmax in the circuit."""
    cells = [cell for cell in scene.circuit.cells if cell.op.role == "softmax"]
    if not cells:
        panel.show("<p>Nothing attends here: the circuit has no softmax.</p>", "nothing attends")
        return
    cell = next((c for c in cells if c.id == st.session_state.get(SOFTMAX)), cells[0])
    value = scene.trace.values[cell.outputs[0].id]
    found = worker.run(lambda: weights(cell, value))
    head = _chosen(len(found.maps))
    ends = Ends.of(found.maps[head], signed=False)
    used = ends.whole if st.session_state.get(COLOURS) == "all" else ends
    focus = _focus(found, head, used, scene)
    small, overview = _overview(scene, found, head)
    told = (focus.numbers.told, small, maps.beyond(ends, used))
    maps.show(
        "attention",
        _pick,
        head=choice(cells, cell, scene.circuit),
        side=overview,
        map=focus,
        aside=_sentence(found, scene) + "".join(f"<p>{text}</p>" for text in told if text),
    )


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


def _chosen(heads: int) -> int:
    """The head that is asked for, or the last; the link then says which it is, in a run anew."""
    text = str(st.session_state.get(HEAD, "0"))
    known = text.isdecimal() and len(text) < 10  # Python reads no number of thousands of digits
    head = min(int(text), heads - 1) if known else 0
    if text != str(head):
        st.session_state[HEAD] = str(head)
        st.rerun()
    return head


def _pick(name: str, value: str) -> None:
    if name in (HEAD, SOFTMAX, COLOURS):
        st.session_state[name] = value


def choice(cells: list[Cell], chosen: Cell, circuit: Circuit) -> str:
    """Which softmax, where there are several, by the blocks that they stand in."""
    if len(cells) == 1:
        return ""
    titles = {fence.id: fence.title for fence in circuit.fences}

    def option(n: int, cell: Cell) -> str:
        where = " · ".join(titles[id] for id in cell.fences if titles[id])
        picked = " selected" if cell is chosen else ""
        return f'<option value="{cell.id}"{picked}>{n}. {markup.text(where or "Softmax")}</option>'

    options = "".join(option(n, cell) for n, cell in enumerate(cells, 1))
    return f'<label>Softmax <select data-set="{SOFTMAX}">{options}</select></label>'


def _sentence(found: Weights, scene: Scene) -> str:
    asks = f"Rows are queries {markup.axis(found.queries)}, columns" if found.queries else "Columns"
    empty = int(np.isnan(found.maps).all(-1).sum())
    sums = "each row sums to 1"
    if empty:
        sums += f", but {markup.counted(empty, 'row')} with every key masked, which has no weights"
    return (
        f"<p>{asks} keys {markup.axis(found.keys)}; {sums}.</p>"
        f'<p class="muted">{meaning.origin(scene)}</p>'
    )


def _overview(scene: Scene, found: Weights, chosen: int) -> tuple[str, str]:
    """What to say of the small pictures, and the pictures."""
    count, names = len(found.maps), found.names
    if count == 1:
        return "", ""
    run = heat.shown(count, chosen, MOST)
    key = (scene.seed, scene.device, scene.feed.key, found.value, run.start)
    told, *pictures = remember(
        "small maps", scene.term, *key, make=lambda: worker.run(lambda: _pictures(found, run))
    )
    buttons = [(f"{HEAD}={i}", names[i], each) for i, each in zip(run, pictures, strict=True)]
    return told, maps.gallery(buttons, f"{HEAD}={chosen}") + maps.beside(HEAD, run, count)


def _pictures(found: Weights, run: range) -> tuple[str, ...]:
    """What to say of a run of small pictures, then their addresses."""
    own = found.maps[run.start : run.stop]
    small, ends = heat.pooled(own, heat.SMALL), Ends.of(own, signed=False)
    told = f"Small pictures: {small.told}" if small.told else ""
    return told, *(heat.picture(cells, ends) for cells in small.maps)


def _focus(found: Weights, head: int, ends: Ends, scene: Scene) -> Map:
    names = found.names[head]
    return Map(
        f"{found.value} {found.maps.shape[1:]}",
        f"Weights of every query on every key, {_plain(found, head)}",
        heat.pooled(found.maps[head], heat.LARGE),
        ends,
        _side("query", found.queries, scene),
        _side("key", found.keys, scene, names),
        said="weight",
        square=bool(found.queries and found.queries.sequence and found.keys.sequence),
    )


def _side(what: str, axis: Axis | None, scene: Scene, after: str = "") -> Side:
    if axis is None:
        return Side()
    title = f"{what} {markup.axis(axis)}"
    words = scene.words(axis.name)
    return Side(f"{title}{f', {after}' if after else ''}", f"{what} {maps.plain(axis)}", words)


def _plain(found: Weights, head: int) -> str:
    at = np.unravel_index(head, [axis.numel for axis in found.heads] or [1])
    told = (f"{maps.plain(axis)} = {i}" for axis, i in zip(found.heads, at, strict=False))
    return ", ".join(told) or "one head"
