"""The Three passes to one panel: attention rewritten step by step, and its loop tile by tile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import exp
from typing import NamedTuple

import torch

import ncd
from ncd.app.figure import diagram
from ncd.app.panels.tensors.memory_bound import STYLE, TILE
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.app.state.controls import Place
from ncd.explain.equation_proof import SideComparison
from ncd.language.blocks import Equation
from ncd.language.terms import Term
from ncd.rewrite.tile_loop import Cut
from ncd.site import markup
from ncd.systems.tensors.flash_attention import flash_attention, passes

STEP = Place("flash_step")
ROWS = 12  # the greatest number of tiles in the table
QUERY = 0  # the query whose numbers are shown


class Row(NamedTuple):
    """The numbers of one query after a tile: the last key, maximum, sum, and result so far."""

    keys: tuple[int, int]
    top: float
    total: float
    out: float


class Walk(NamedTuple):
    """The numbers after every tile, and the difference of the result from plain attention."""

    rows: list[Row]
    difference: float


TOLD = (
    (
        "Three passes",
        "A softmax as it is computed: one pass over the scores finds the largest of each query, "
        "a second one the sum of the exponentials, and a third one divides. The largest is taken "
        "away first, so that no exponential overflows; it cancels out.",
    ),
    (
        "Divide at the end: two passes",
        "The product with the values is linear, and the sum is one number for each query. So the "
        "exponentials may be multiplied by the values first and divided afterwards. Sum and "
        "product now share a pass; only the maximum still needs one of its own.",
    ),
)
LOOP = (
    "One pass",
    "The maximum so far is enough. When a tile has a larger score, all that was added up is "
    "multiplied by the exponential of the old maximum minus the new one.",
)


def show_tile_walk(scene: Scene) -> None:
    """Shows a step: an equation that is proved on numbers, or the loop after one of its tiles."""
    sizes = {name: scene.settings[name] for name in ("y", "x", "k")}
    tile = 1 << TILE.number
    count = len(TOLD) + -(-sizes["x"] // tile)
    at = STEP.among(count)
    title = TOLD[at][0] if at < len(TOLD) else f"{LOOP[0]}, tile {at - len(TOLD) + 1}"
    slider = STEP.html(f"step {at + 1} of {count}: {title}", count, at)
    if at < len(TOLD):
        body = _rewritten(scene, at, sizes)
    else:
        make = partial(scene.run_in_pool, partial(walked, scene, tile))
        walk = cached("tile walk", scene.term, tile, *scene.run_key, make=make)
        body = _tiles(walk, at - len(TOLD))
    head = f'<div class="told">{slider}</div><div class="ncd moves" aria-live="polite">'
    html_panel.render(f"{STYLE}{head}{body}</div>", "tile walk", TILE_WALK.controls)


TILE_WALK = Panel("From three passes to one", show_tile_walk, controls=(STEP, TILE))


def _rewritten(scene: Scene, step: int, sizes: Mapping[str, int]) -> str:
    """Returns a step: its text, both sides, and how far they are apart on random numbers."""
    before: Term = flash_attention(**sizes) if step == 0 else passes(0, **sizes)
    pair = Equation(before, passes(step, **sizes))
    found: SideComparison = cached(
        "passes",
        pair,
        scene.seed,
        make=lambda: scene.run_in_pool(lambda: ncd.prove(pair, scene.seed)),
    )
    title, why = TOLD[step]
    other = "the step before" if step else "the diagram above"
    drawn = diagram.inert_drawing(pair.sides[1], scene)
    sign = "✓" if found else "✗"
    return (
        f"<h2>{title}</h2><p>{why}</p>{drawn}"
        f'<p role="status">{sign} On random numbers it differs from {other} by '
        f"{markup.digits(found.difference)}.</p>"
    )


def walked(scene: Scene, tile: int) -> Walk:
    """Returns the numbers of one query after each tile of the loop."""
    loop = ncd.stream(scene.term, {"y": 1}, ("x", tile))
    softmax = next(op.cell.id for op in loop.schedule.ops if op.rule.statistics)
    out = loop.schedule.outputs[0].id
    rows: list[Row] = []

    def watch(cut: Cut, kept: Mapping[str, torch.Tensor]) -> None:
        if cut["y"][0] == QUERY:
            top, total = (kept[f"{softmax}.{name}"].item() for name in "ms")
            rows.append(Row(cut["x"], top, total, kept[out].flatten()[0].item() / total))

    with torch.no_grad():
        found = ncd.run_stream(loop, scene.inputs, watch=watch)
    gap = (found.outputs[0] - scene.trace.outputs[0]).abs().max().item()
    return Walk(rows, gap)


def _tiles(walk: Walk, at: int) -> str:
    """Returns the table of the numbers after each tile so far."""
    title, why = LOOP
    at = min(at, len(walk.rows) - 1)
    rows = (_row(walk, n, n == at) for n in range(max(0, at + 1 - ROWS), at + 1))
    head = ("Tile", "Keys", "Largest score m", "Before it times", "Sum s", "Result so far")
    table = markup.table(head, rows, numbers=(2, 3, 4, 5))
    last = at == len(walk.rows) - 1
    end = (
        f"✓ After the last tile all results differ from plain attention by "
        f"{markup.digits(walk.difference)}."
        if last
        else f"{len(walk.rows) - 1 - at} more tiles of keys to come."
    )
    return (
        f"<h2>{title}</h2><p>{why}</p>{table}"
        f'<p role="status">{end}</p><p class="muted">The real numbers of the first query; of the '
        "result its first feature, divided by the sum so far.</p>"
    )


def _row(walk: Walk, n: int, chosen: bool) -> str:
    """Returns the numbers after a tile, and what those before it were multiplied by."""
    (start, end), top, total, out = walk.rows[n]
    shrunk = exp(walk.rows[n - 1].top - top) if n else 1
    cells = "".join(
        f'<td class="number">{markup.digits(number)}</td>' for number in (top, shrunk, total, out)
    )
    mark = ' class="chosen"' if chosen else ""
    return f"<tr{mark}><td>{n + 1}</td><td>{start} to {end - 1}</td>{cells}</tr>"
