"""The Every pair panel: the sides of an equation for each pair of indexes."""

from __future__ import annotations

from itertools import islice, product

import torch

import ncd
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.cache import cached
from ncd.site import markup

MOST = 144  # the greatest number of pairs


def show_index_pairs(scene: Scene) -> None:
    """Shows the table of all pairs; each number is marked if all sides agree on it."""
    settings = scene.settings
    first = scene.entry.build(**{**settings, "i": 0, "j": 0})  # the same for all pairs
    agree = cached(
        "pairs", first, *scene.run_key, make=lambda: scene.run_in_pool(lambda: tried(scene))
    )
    right, every = sum(agree.values()), settings["a"] * settings["b"]
    told = f"{right} of {markup.plural(len(agree), 'pair')}"
    more = f", the first of {every:,}" if len(agree) < every else ""
    sign = "✓" if right == len(agree) else "✗"
    html_panel.render(
        f'<p role="status">{sign} All three sides give the same number for {told}{more}. '
        f"A click on a number sets both indexes.</p>"
        f'<div class="cells">{_table(scene, agree)}</div>',
        "pairs",
        on_pick=_pick,
    )


INDEX_PAIRS = Panel("Every pair", show_index_pairs)


def tried(scene: Scene) -> dict[tuple[int, int], bool]:
    """Returns for each pair of indexes whether all sides give the number in the table."""
    a, b = scene.settings["a"], scene.settings["b"]
    (table,) = scene.inputs
    found = {}
    for i, j in islice(product(range(a), range(b)), MOST):
        module = ncd.compile(scene.entry.build(a=a, b=b, i=i, j=j), scene.seed, scene.device)
        with torch.no_grad():
            found[i, j] = all(bool(x == table[i, j]) for x in module(table))
    return found


def _pick(picked: str) -> None:
    said, _ = knobs.parse_sizes(picked)
    if said.keys() == {"i", "j"} and all(place.isdecimal() for place in said.values()):
        knobs.set_values({name: int(place) for name, place in said.items()})


def _table(scene: Scene, agree: dict[tuple[int, int], bool]) -> str:
    (table,) = scene.inputs
    at = scene.settings["i"], scene.settings["j"]
    rows, columns = (sorted({pair[n] for pair in agree}) for n in (0, 1))
    head = "".join(f"<th>{j}</th>" for j in columns)
    body = "".join(
        f"<tr><th>{i}</th>"
        + "".join(_cell(float(table[i, j]), (i, j), at, agree.get((i, j))) for j in columns)
        + "</tr>"
        for i in rows
    )
    return f"<figure><table><tr><td></td>{head}</tr>{body}</table></figure>"


def _cell(number: float, pair: tuple[int, int], at: tuple[int, int], agree: bool | None) -> str:
    shared = sum(one == two for one, two in zip(pair, at, strict=True))
    lit = ("", ' class="way"', ' class="touch"')[shared]
    sign = "" if agree is None else " ✓" if agree else " ✗"
    text = f"{number:.2f}".replace("-", "−")
    return (
        f'<td{lit}><button type="button" data-pick="i={pair[0]} j={pair[1]}" '
        f'title="i = {pair[0]}, j = {pair[1]}">{text}{sign}</button></td>'
    )
