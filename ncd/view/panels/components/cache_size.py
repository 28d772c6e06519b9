"""Cache size: the bytes that a token leaves behind, beside other ways to share keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

import streamlit as st

from ncd.export import markup
from ncd.lang.circuits.circuit import Circuit
from ncd.view.arrays import map_component
from ncd.view.base import knobs
from ncd.view.session import url
from ncd.view.session.scene import Scene

BYTES = 2  # of a number in bfloat16, as such caches are kept
CONTEXT, LAYERS, SHARED = "context", "cached_layers", "shared"
POWERS = range(10, 21)  # contexts of 1,024 to 1,048,576 tokens
MOST_LAYERS = 128
ROWS, LONGEST = 8, 8.0  # ways in the table; em of the longest bar
LARGE = 1024  # query heads of which all divisors are looked for
HEAD = ("Keys and values", "", "", "The whole context", "Bytes a token", "Numbers a token")

url.keep(CONTEXT, "13", tuple(map(str, POWERS)))
url.keep(LAYERS, "32", tuple(map(str, range(1, MOST_LAYERS + 1))))


@dataclass(frozen=True)
class Way:
    """A way to share keys and values, and the numbers that a layer keeps of a token.

    ``groups`` is its number of heads of keys and values, 0 where there are none.
    """

    title: str
    numbers: int
    groups: int = 0
    here: bool = False


@dataclass(frozen=True)
class CacheSize:
    """The Cache panel of a page.

    Args:
        kept: The names of the ops whose results are kept.
        heads: The knobs whose product is the number of query heads.
        title: The name of the page's own way; empty where it is one of the groups.
    """

    kept: tuple[str, ...]
    heads: tuple[str, ...]
    title: str = ""
    TITLE: str = "Cache size"
    RUNS: bool = False

    def show(self, scene: Scene) -> None:
        """Shows a bar for each way, at the context and the layers that are chosen."""
        context, layers = _chosen()
        ways = self.ways(scene)
        dragged = _range("tokens", CONTEXT, POWERS, context.bit_length() - 1, f"{context:,}")
        sliders = dragged + _range("layers", LAYERS, range(1, MOST_LAYERS + 1), layers, str(layers))
        if not self.title:
            sliders = _groups(ways) + sliders
        head = f'<div class="told">{sliders}</div>{_table(ways, context, layers, scene.dark)}'
        pick = partial(_pick, self.heads, [way.groups for way in reversed(ways)])
        map_component.show("cache size", pick, head=head, foot=_told(ways, context, layers))

    def ways(self, scene: Scene) -> list[Way]:
        """Returns every way with this number of query heads, the largest cache first."""
        h = prod(scene.settings[name] for name in self.heads)
        own, k = numbers(scene.circuit, self.kept), scene.settings["k"]
        here = 0 if self.title else own // (2 * k)
        shared = [Way(named(g, h), 2 * g * k, g, g == here) for g in divisors(h, here)]
        return [*shared, Way(self.title, own, 0, True)] if self.title else shared


def divisors(heads: int, here: int) -> list[int]:
    """Returns the heads of keys and values that are shown, from the most to 1.

    They divide the query heads; of many, they are those that halve them, and ``here``.

    >>> divisors(12, 3), divisors(100, 20)
    ([12, 6, 4, 3, 2, 1], [100, 50, 25, 20, 1])
    """
    every = [g for g in range(min(heads, LARGE), 0, -1) if heads % g == 0]
    if heads > LARGE or len(every) > ROWS:
        halves = [heads >> i for i in range(ROWS - 2) if heads % (1 << i) == 0]
        every = sorted({*halves, 1, here} - {0}, reverse=True)
    return every


def numbers(circuit: Circuit, kept: tuple[str, ...]) -> int:
    """Returns how many numbers of a position the ops of these names give."""
    found = [cell.outputs[0].array for cell in circuit.cells if cell.name in kept]
    return sum(array.numel // array[0].numel for array in found)


def named(groups: int, heads: int) -> str:
    """Returns the name of attention with so many heads of keys and values.

    >>> named(8, 8), named(2, 8), named(1, 8)
    ('multi-head: 8', 'grouped: 2', 'multi-query: 1')
    """
    kind = "multi-head" if groups == heads else "multi-query" if groups == 1 else "grouped"
    return f"{kind}: {groups}"


def _chosen() -> tuple[int, int]:
    """Returns the tokens of the context and the layers of the model."""
    power, layers = (str(st.session_state.get(*pair)) for pair in ((CONTEXT, "13"), (LAYERS, "32")))
    known = power.isdecimal() and len(power) < 4 and int(power) in POWERS
    many = layers.isdecimal() and len(layers) < 4 and 0 < int(layers) <= MOST_LAYERS
    return 1 << (int(power) if known else 13), int(layers) if many else 32


def _range(said: str, name: str, values: range, at: int, now: str) -> str:
    return (
        f'<label class="cut">{said} {now} <input type="range" min="{values[0]}" '
        f'max="{values[-1]}" value="{at}" data-set="{name}" aria-valuetext="{now}"></label>'
    )


def _groups(ways: list[Way]) -> str:
    """Returns the slider from multi-query to multi-head, at a fixed number of query heads."""
    if len(ways) < 2:
        return ""
    at = next(i for i, way in enumerate(reversed(ways)) if way.here)
    g, h = ways[-1 - at].groups, ways[0].groups
    return _range("heads of keys and values", SHARED, range(len(ways)), at, f"{g} of {h}")


def _pick(heads: tuple[str, ...], groups: list[int], name: str, value: str) -> None:
    """Applies a dragged slider; a callback."""
    if name in (CONTEXT, LAYERS):
        st.session_state[name] = value
    elif name == SHARED and value.isdecimal() and int(value) < len(groups):
        g = groups[int(value)]
        knobs.put(dict(zip(heads, (g, groups[-1] // g), strict=True)))


def _table(ways: list[Way], context: int, layers: int, dark: bool) -> str:
    most = max(way.numbers for way in ways)
    rows = (_row(way, most, context * layers, dark) for way in ways)
    return markup.table(HEAD, rows, numbers=(2, 3, 4, 5))


def _row(way: Way, most: int, times: int, dark: bool) -> str:
    title = markup.text(way.title)
    role = "softmax" if way.here else "linear"
    bar = markup.meter(way.numbers / most, markup.colour(role, dark), LONGEST)
    share = f"{100 * way.numbers / most:.3g} %"
    cells = (
        markup.amount(BYTES * way.numbers * times, "B"),
        f"{BYTES * way.numbers:,}",
        f"{way.numbers:,}",
    )
    return (
        f"<tr><td>{f'<b>{title}</b> (here)' if way.here else title}</td>"
        f'<td>{bar}</td><td class="muted number">{share}</td>'
        + "".join(f'<td class="number">{cell}</td>' for cell in cells)
        + "</tr>"
    )


def _told(ways: list[Way], context: int, layers: int) -> str:
    here = next(way for way in ways if way.here)
    most = BYTES * ways[0].numbers * context * layers
    return (
        f"<p>One sequence of {context:,} tokens in a model of "
        f"{markup.counted(layers, 'layer')} keeps "
        f"<b>{markup.amount(BYTES * here.numbers * context * layers, 'B')}</b> here, and "
        f"{markup.amount(most, 'B')} with keys and values for each of the {ways[0].groups} "
        f'query heads.</p><p class="muted">A token’s bytes are those of one layer, {BYTES} for '
        "each number (bfloat16). Every new token reads all of them, so that the cache also says "
        "how long a step takes at least.</p>"
    )
