"""The Cache size panel: bytes per token for different ways to share keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

from ncd.app.parts import map_component
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.controls import Range, slider
from ncd.circuit.costs import cached_numbers
from ncd.language.number_formats import BITS, PLAIN_FORMATS
from ncd.site import markup

USUAL = "bfloat16"  # the format of such caches, where none is chosen
CONTEXT = Range("context", range(10, 21), 13)  # as a power of two: 1,024 to 1,048,576 tokens
LAYERS = Range("cached_layers", range(1, 129), 32)
SHARED = "shared"  # the action of the slider for the knobs
ROWS, LONGEST = 8, 8.0  # the number of ways in the table; the longest bar, in em
LARGE = 1024  # the greatest number of query heads for which all divisors are tried
HEAD = ("Keys and values", "", "", "The whole context", "Bytes a token", "Numbers a token")


@dataclass(frozen=True)
class Way:
    """A way to share keys and values, and how many numbers a layer keeps per token.

    ``groups`` is its number of key-value heads, 0 if it has none.
    """

    title: str
    numbers: int
    groups: int = 0
    here: bool = False


def cache_size(heads: tuple[str, ...], title: str = "") -> Panel:
    """Returns the Cache size panel of a page.

    Args:
        heads: The knobs whose product is the number of query heads.
        title: The name of the page's own way; empty where it is one of the groups.
    """
    show = partial(show_cache_size, heads, title)
    return Panel("Cache size", show, needs_run=False, controls=(CONTEXT, LAYERS))


def show_cache_size(heads: tuple[str, ...], title: str, scene: Scene) -> None:
    """Shows a bar for each way, at the chosen context length and number of layers."""
    context, layers = 1 << CONTEXT.number, LAYERS.number
    ways = cache_ways(scene, heads, title)
    sliders = CONTEXT.html(f"tokens {context:,}") + LAYERS.html(f"layers {layers}")
    if not title:
        sliders = _groups(ways) + sliders
    name = USUAL if scene.formats.cache == PLAIN_FORMATS else scene.formats.cache
    size = BITS[name] / 8
    table = _table(ways, context * layers, size, scene.dark)
    head = f'<div class="told">{sliders}</div>{table}'
    pick = partial(_pick, heads, [way.groups for way in reversed(ways)])
    foot = _told(ways, context, layers, name)
    map_component.render("cache size", (CONTEXT, LAYERS), pick, head=head, foot=foot)


def cache_ways(scene: Scene, heads: tuple[str, ...], title: str = "") -> list[Way]:
    """Returns every way with this number of query heads, the largest cache first."""
    h = prod(scene.settings[name] for name in heads)
    layers, k = scene.settings.get("n", 1), scene.settings["k"]
    own = cached_numbers(scene.circuit, scene.entry.cached) // layers
    here = 0 if title else own // (2 * k)
    shared = [Way(named(g, h), 2 * g * k, g, g == here) for g in divisors(h, here)]
    return [*shared, Way(title, own, 0, True)] if title else shared


def divisors(heads: int, here: int) -> list[int]:
    """Returns the possible numbers of key-value heads, largest first.

    They divide the number of query heads. If there are many divisors, only those from repeated
    halving are returned, and ``here``.

    >>> divisors(12, 3), divisors(100, 20)
    ([12, 6, 4, 3, 2, 1], [100, 50, 25, 20, 1])
    """
    every = [g for g in range(min(heads, LARGE), 0, -1) if heads % g == 0]
    if heads > LARGE or len(every) > ROWS:
        halves = [heads >> i for i in range(ROWS - 2) if heads % (1 << i) == 0]
        every = sorted({*halves, 1, here} - {0}, reverse=True)
    return every


def named(groups: int, heads: int) -> str:
    """Returns the usual name of attention with this many key-value heads.

    >>> named(8, 8), named(2, 8), named(1, 8)
    ('multi-head: 8', 'grouped: 2', 'multi-query: 1')
    """
    kind = "multi-head" if groups == heads else "multi-query" if groups == 1 else "grouped"
    return f"{kind}: {groups}"


def _groups(ways: list[Way]) -> str:
    """Returns a slider for the number of key-value heads, from multi-query to multi-head."""
    at = next(i for i, way in enumerate(reversed(ways)) if way.here)
    g, h = ways[-1 - at].groups, ways[0].groups
    return slider(f"heads of keys and values {g} of {h}", SHARED, range(len(ways)), at)


def _pick(heads: tuple[str, ...], groups: list[int], name: str, value: str) -> None:
    """Sets the knobs of the heads; a callback."""
    if name == SHARED and value.isdecimal() and int(value) < len(groups):
        g = groups[int(value)]
        knobs.set_values(dict(zip(heads, (g, groups[-1] // g), strict=True)))


def _table(ways: list[Way], times: int, size: float, dark: bool) -> str:
    """Returns a row for each way; ``times`` tokens and layers, numbers of ``size`` bytes."""
    most = max(way.numbers for way in ways)
    rows = (_row(way, most, times, size, dark) for way in ways)
    return markup.table(HEAD, rows, numbers=(2, 3, 4, 5))


def _row(way: Way, most: int, times: int, size: float, dark: bool) -> str:
    title = markup.text(way.title)
    role = "softmax" if way.here else "linear"
    bar = markup.meter(way.numbers / most, markup.colour(role, dark), LONGEST)
    share = f"{100 * way.numbers / most:.3g} %"
    cells = (
        markup.amount(size * way.numbers * times, "B"),
        f"{size * way.numbers:,g}",
        f"{way.numbers:,}",
    )
    return (
        f"<tr><td>{f'<b>{title}</b> (here)' if way.here else title}</td>"
        f'<td>{bar}</td><td class="muted number">{share}</td>'
        + "".join(f'<td class="number">{cell}</td>' for cell in cells)
        + "</tr>"
    )


def _told(ways: list[Way], context: int, layers: int, name: str) -> str:
    here = next(way for way in ways if way.here)
    size = BITS[name] / 8
    times = size * context * layers
    return (
        f"<p>One sequence of {context:,} tokens in a model of "
        f"{markup.plural(layers, 'layer')} keeps "
        f"<b>{markup.amount(times * here.numbers, 'B')}</b> here, and "
        f"{markup.amount(times * ways[0].numbers, 'B')} with keys and values for each of the "
        f'{ways[0].groups} query heads.</p><p class="muted">A token’s bytes are of one layer, '
        f"{size:g} for each number ({name}). Every new token reads all of them, so that the cache "
        "also says how long a step takes at least.</p>"
    )
