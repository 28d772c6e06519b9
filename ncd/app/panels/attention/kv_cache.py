"""Decoding with and without a cache, and bytes per token."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

import torch
from torch import Tensor

import ncd
from ncd.app.parts import html_panel, map_component
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Range, slider
from ncd.circuit.circuit import Circuit
from ncd.circuit.costs import cached_numbers
from ncd.explain.equation_proof import max_difference
from ncd.language.number_formats import BITS, PLAIN_FORMATS
from ncd.run.measurement import medians
from ncd.site import markup

# --- The KV cache panel: a decoder that writes step by step, with and without its cache

MOST, DECODER_LAYERS = 12, 48  # the greatest number of steps, and of layers in all steps together
ENCODER_DECODER = "encoder-decoder"
DECODING_COLUMNS = (
    "Step",
    "Kept before",
    "With the cache",
    "",
    "Without",
    "",
    "Largest difference",
)


@dataclass(frozen=True)
class DecodingStep:
    """One decoding step: its cost with and without the cache, and the difference of the outputs."""

    cache_bytes: int  # bytes
    flops: int
    uncached_flops: int
    difference: float


@dataclass(frozen=True)
class DecodingRun:
    """All steps, and the seconds that the last one takes with and without the cache."""

    steps: tuple[DecodingStep, ...]
    seconds: float
    uncached_seconds: float


def show_kv_cache(scene: Scene) -> None:
    """Shows a row for each step: the cache, both costs, and that the outputs agree."""
    few = max(2, min(MOST, DECODER_LAYERS // scene.settings["n"]))
    settings = {**scene.settings, "t": min(few, scene.settings["t"])}
    key = (scene.entry.name, tuple(settings.items()), scene.seed, scene.device)
    found = cached_value(
        "kv cache",
        scene.term,
        *key,
        make=lambda: scene.run_in_pool(lambda: run_decoding(scene, settings)),
    )
    most = max(step.uncached_flops for step in found.steps)
    rows = [_decoding_row(i, step, most, scene.dark) for i, step in enumerate(found.steps, 1)]
    html_panel.render(
        _decoding_summary(scene, found)
        + markup.table(DECODING_COLUMNS, rows, numbers=(1, 2, 4, 6)),
        "kv cache",
    )


KV_CACHE = Panel("KV cache", show_kv_cache)


def run_decoding(scene: Scene, settings: dict[str, int]) -> DecodingRun:
    """Runs the decoder on the whole sequence at once, and step by step with a cache."""

    def built(t: int, cache: int) -> ncd.Term:
        return scene.entry.build(**{**settings, "t": t, "cache": cache})

    length = settings["t"]
    whole = ncd.compile(built(length, 0), scene.seed, scene.device)
    inputs, weights = ncd.example_inputs(whole.term, scene.seed, scene.device), whole.state_dict()
    steps, cached = [], tuple[Tensor, ...]()
    with torch.no_grad():
        expected = whole(*inputs)
        for i in range(length):
            step = ncd.compile(built(i + 1, 1), scene.seed, scene.device)
            own = step.state_dict()
            step.load_state_dict({name: w for name, w in weights.items() if name in own})
            given = (inputs[0][i : i + 1], *(cached or inputs[1:]))
            run = ncd.trace(step, *given)
            off = max_difference(run.outputs[0], expected[i : i + 1])
            flops, again = ncd.cost(step.term).flops, ncd.cost(built(i + 1, 0)).flops
            steps.append(DecodingStep(sum(x.nbytes for x in cached), flops, again, off))
            cached = tuple(run.values[id] for id in cached_arrays(step.circuit))
        calls = {"step": lambda: step(*given), "again": lambda: whole(*inputs)}
        seconds = medians(calls, device=scene.device, rounds=5, warm=1, budget=0.02)
    return DecodingRun(tuple(steps), seconds["step"], seconds["again"])


def cached_arrays(circuit: Circuit) -> list[str]:
    """Returns the arrays that the layers keep for the next step.

    In the first step these are all keys and values of the decoder. Later they are the extended
    arrays, and those of the encoder's positions unchanged.
    """
    joined = [cell for cell in circuit.cells if cell.op.role == "concat"]
    if not joined:
        made = [c for c in circuit.cells if c.name in ("k", "v") and "encoder" not in c.module_path]
        return [cell.outputs[0].id for cell in made]
    before, grown = joined[0].inputs[0].array[0], iter(joined)
    return [
        next(grown).outputs[0].id if value.array[0] == before else value.id
        for value in circuit.inputs[1:]
    ]


def _decoding_summary(scene: Scene, found: DecodingRun) -> str:
    count, steps = len(found.steps), found.steps
    flops, again = sum(step.flops for step in steps), sum(step.uncached_flops for step in steps)
    some = scene.settings["t"] > count
    what = (
        f"The first {count} of {scene.settings['t']:,} positions" if some else f"{count} positions"
    )
    return (
        f"<p>{what}, written one by one: {markup.amount(flops, 'FLOP')} with the cache, "
        f"{markup.amount(again, 'FLOP')} if all is worked out again at every step. The last step "
        f"takes {markup.amount(found.seconds, 's')} with it and "
        f"{markup.amount(found.uncached_seconds, 's')} without, on {markup.text(scene.device)}.</p>"
        f'<p class="muted">{_cross_attention_sentence(scene)}A step without the cache '
        "runs all positions so far"
        f"{', and the encoder' if scene.entry.name == ENCODER_DECODER else ''}. The outputs are "
        "those of one pass over the whole sequence, up to rounding: earlier positions never see "
        "later ones, so their keys and values stay as they are. At small sizes the time is that of "
        "calling torch, whatever there is to compute.</p>"
    )


def _cross_attention_sentence(scene: Scene) -> str:
    """Returns a sentence about a decoder that also attends to an encoder."""
    if "s" not in scene.settings:
        return ""
    encodes = "the encoder runs and " if scene.entry.name == ENCODER_DECODER else ""
    return (
        f"At the first step {encodes}each layer’s cross-attention makes the keys and values of the "
        f"{scene.settings['s']:,} positions of the encoder; from then on these stay as they are. "
    )


def _decoding_row(number: int, step: DecodingStep, most: int, dark: bool) -> str:
    return (
        f'<tr><td>{number}</td><td class="number">{markup.amount(step.cache_bytes, "B")}</td>'
        f'<td class="number">{markup.amount(step.flops, "FLOP")}</td>'
        f"<td>{markup.meter(step.flops / most, markup.colour('linear', dark))}</td>"
        f'<td class="number">{markup.amount(step.uncached_flops, "FLOP")}</td>'
        f"<td>{markup.meter(step.uncached_flops / most, markup.colour('scale', dark))}</td>"
        f'<td class="number">{markup.digits(step.difference)}</td></tr>'
    )


# --- The Cache size panel: bytes per token for different ways to share keys and values

USUAL_CACHE_FORMAT = "bfloat16"  # the format of such caches, where none is chosen
CONTEXT = Range("context", range(10, 21), 13)  # as a power of two: 1,024 to 1,048,576 tokens
CACHED_LAYERS = Range("cached_layers", range(1, 129), 32)
SHARING_ACTION = "shared"  # the action of the slider for the knobs
ROWS, LONGEST = 8, 8.0  # the number of ways in the table; the longest bar, in em
MAX_TRIED_HEADS = 1024  # the greatest number of query heads for which all divisors are tried
CACHE_COLUMNS = ("Keys and values", "", "", "The whole context", "Bytes a token", "Numbers a token")


@dataclass(frozen=True)
class SharingScheme:
    """A way to share keys and values, and how many numbers a layer keeps per token.

    ``groups`` is its number of key-value heads, 0 if it has none.
    """

    title: str
    numbers: int
    groups: int = 0
    is_current: bool = False


def cache_size(heads: tuple[str, ...], title: str = "") -> Panel:
    """Returns the Cache size panel of a page.

    Args:
        heads: The knobs whose product is the number of query heads.
        title: The name of the page's own way; empty where it is one of the groups.
    """
    show = partial(show_cache_size, heads, title)
    return Panel("Cache size", show, needs_run=False, controls=(CONTEXT, CACHED_LAYERS))


def show_cache_size(heads: tuple[str, ...], title: str, scene: Scene) -> None:
    """Shows a bar for each way, at the chosen context length and number of layers."""
    context, layers = 1 << CONTEXT.number, CACHED_LAYERS.number
    ways = cache_ways(scene, heads, title)
    sliders = CONTEXT.html(f"tokens {context:,}") + CACHED_LAYERS.html(f"layers {layers}")
    if not title:
        sliders = _groups(ways) + sliders
    name = USUAL_CACHE_FORMAT if scene.formats.cache == PLAIN_FORMATS else scene.formats.cache
    size = BITS[name] / 8
    table = _table(ways, context * layers, size, scene.dark)
    head = f'<div class="told">{sliders}</div>{table}'
    pick = partial(_pick, heads, [way.groups for way in reversed(ways)])
    foot = _cache_summary(ways, context, layers, name)
    map_component.render("cache size", (CONTEXT, CACHED_LAYERS), pick, head=head, foot=foot)


def cache_ways(scene: Scene, heads: tuple[str, ...], title: str = "") -> list[SharingScheme]:
    """Returns every way with this number of query heads, the largest cache first."""
    h = prod(scene.settings[name] for name in heads)
    layers, k = scene.settings.get("n", 1), scene.settings["k"]
    own = cached_numbers(scene.circuit, scene.entry.cached) // layers
    here = 0 if title else own // (2 * k)
    shared = [
        SharingScheme(attention_kind(g, h), 2 * g * k, g, g == here) for g in divisors(h, here)
    ]
    return [*shared, SharingScheme(title, own, 0, True)] if title else shared


def divisors(heads: int, here: int) -> list[int]:
    """Returns the possible numbers of key-value heads, largest first.

    They divide the number of query heads. If there are many divisors, only those from repeated
    halving are returned, and ``here``.

    >>> divisors(12, 3), divisors(100, 20)
    ([12, 6, 4, 3, 2, 1], [100, 50, 25, 20, 1])
    """
    every = [g for g in range(min(heads, MAX_TRIED_HEADS), 0, -1) if heads % g == 0]
    if heads > MAX_TRIED_HEADS or len(every) > ROWS:
        halves = [heads >> i for i in range(ROWS - 2) if heads % (1 << i) == 0]
        every = sorted({*halves, 1, here} - {0}, reverse=True)
    return every


def attention_kind(groups: int, heads: int) -> str:
    """Returns the usual name of attention with this many key-value heads.

    >>> attention_kind(8, 8), attention_kind(2, 8), attention_kind(1, 8)
    ('multi-head: 8', 'grouped: 2', 'multi-query: 1')
    """
    kind = "multi-head" if groups == heads else "multi-query" if groups == 1 else "grouped"
    return f"{kind}: {groups}"


def _groups(ways: list[SharingScheme]) -> str:
    """Returns a slider for the number of key-value heads, from multi-query to multi-head."""
    at = next(i for i, way in enumerate(reversed(ways)) if way.is_current)
    g, h = ways[-1 - at].groups, ways[0].groups
    return slider(f"heads of keys and values {g} of {h}", SHARING_ACTION, range(len(ways)), at)


def _pick(heads: tuple[str, ...], groups: list[int], name: str, value: str) -> None:
    """Sets the knobs of the heads; a callback."""
    if name == SHARING_ACTION and value.isdecimal() and int(value) < len(groups):
        g = groups[int(value)]
        knobs.set_values(dict(zip(heads, (g, groups[-1] // g), strict=True)))


def _table(ways: list[SharingScheme], times: int, size: float, dark: bool) -> str:
    """Returns a row for each way; ``times`` tokens and layers, numbers of ``size`` bytes."""
    most = max(way.numbers for way in ways)
    rows = (_cache_row(way, most, times, size, dark) for way in ways)
    return markup.table(CACHE_COLUMNS, rows, numbers=(2, 3, 4, 5))


def _cache_row(way: SharingScheme, most: int, times: int, size: float, dark: bool) -> str:
    title = markup.text(way.title)
    role = "softmax" if way.is_current else "linear"
    bar = markup.meter(way.numbers / most, markup.colour(role, dark), LONGEST)
    share = f"{100 * way.numbers / most:.3g} %"
    cells = (
        markup.amount(size * way.numbers * times, "B"),
        f"{size * way.numbers:,g}",
        f"{way.numbers:,}",
    )
    return (
        f"<tr><td>{f'<b>{title}</b> (here)' if way.is_current else title}</td>"
        f'<td>{bar}</td><td class="muted number">{share}</td>'
        + "".join(f'<td class="number">{cell}</td>' for cell in cells)
        + "</tr>"
    )


def _cache_summary(ways: list[SharingScheme], context: int, layers: int, name: str) -> str:
    here = next(way for way in ways if way.is_current)
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
