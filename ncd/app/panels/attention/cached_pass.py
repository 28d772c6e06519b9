"""The Cached pass panel: what a causal system keeps of each position, and where else it could."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ncd.app.panels.attention.kv_cache import CONTEXT, USUAL_CACHE_FORMAT
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place, Range
from ncd.errors import LookAheadError, NCDError
from ncd.language.number_formats import PLAIN_FORMATS
from ncd.language.terms import Term
from ncd.rewrite.decode import Cache, CachedPass, CachePlacement, decode
from ncd.site import markup

POSITION = Place("decoded_position", None)
MEMORY = Range("cache_memory", range(1, 100_001), 24)  # GB of a machine
CELLS, ROWS = 32, 12  # the greatest numbers of positions and of arrays in the picture
CELL, GAP, HEIGHT = 12, 2, 14  # pixels of a position
FULL, EMPTY = 0.7, 0.12  # opacity of a position that is kept, and of one that is not
COLUMNS = ("Kept", "A position", "Context", "Work", "Moved")


@dataclass(frozen=True)
class NoCachedPass:
    """The reason why a system has no cached pass, with the op and the array that look ahead."""

    reason: str
    op: str = ""
    wire: str = ""


def position_axis(term: Term) -> str:
    """Returns the axis along which a system would write: t, or the first that is a sequence.

    >>> from ncd import catalogue
    >>> [position_axis(catalogue[name].build()) for name in ("llama", "multi-head-attention")]
    ['t', 'y']
    """
    axes = [axis for array in term.dom for axis in array if not axis.spatial]
    names = [axis.name for axis in axes]
    marked = [axis.name for axis in axes if axis.sequence]
    return "t" if "t" in names or not names else (marked or names)[0]


def derive(term: Term) -> CachedPass | NoCachedPass:
    """Returns the cached pass of a term, or why it has none."""
    try:
        found = decode(term, position_axis(term))
        _ = found.placements
        return found
    except LookAheadError as error:
        return NoCachedPass(f"{error.where}: {error.fact}", error.op_id, error.wire)
    except NCDError as error:
        return NoCachedPass(str(error).rstrip("."))


def show_cached_pass(scene: Scene) -> None:
    """Shows the cache at a position, every placement of it, and what fits in a memory."""
    found = cached_value("cached pass", scene.term, make=lambda: derive(scene.term))
    controls = CACHED_PASS.controls
    if isinstance(found, NoCachedPass):
        html_panel.render(refusal_html(found, position_axis(scene.term)), "cached pass", controls)
        return
    at = POSITION.among(found.length, start=found.length // 2)
    name = USUAL_CACHE_FORMAT if scene.formats.cache == PLAIN_FORMATS else scene.formats.cache
    html = _picture(found, at) + _placements(found, name) + _memory(found, name)
    html_panel.render(html, "cached pass", controls)


CACHED_PASS = Panel(
    "Cached pass", show_cached_pass, needs_run=False, controls=(POSITION, CONTEXT, MEMORY)
)


def refusal_html(refusal: NoCachedPass, axis: str) -> str:
    """Returns why a system has no cached pass; a press on the array lights it in the diagram."""
    press = ""
    if refusal.wire:
        wire = markup.text(refusal.wire)
        press = (
            f'<p><button type="button" class="plain" data-array="{wire}" data-select="{wire}">'
            "Show the array that looks ahead</button></p>"
        )
    return (
        f"<p>Written one position of {markup.text(axis)} after the other, each would need later "
        f"ones: <b>{markup.text(refusal.reason)}</b>.</p>{press}"
        '<p class="muted">A system is run position by position if no position of its outputs '
        "depends on a later one. This is read from its ops and the formulas of its masks.</p>"
    )


# --- The cache, as a picture


def _picture(found: CachedPass, at: int) -> str:
    """Returns a row of cells for each array that is kept, and a slider for the position."""
    slider = POSITION.html(f"position {at + 1:,} of {found.length:,}", found.length, at)
    if not found.caches:
        return f"<p>Each position of {found.axis} is worked out alone: nothing is kept.</p>"
    rows = "".join(_row(cache, found.length, at) for cache in found.caches[:ROWS])
    more = len(found.caches) - ROWS
    left = f'<p class="muted">and {markup.plural(more, "array")} more</p>' if more > 0 else ""
    grown = sum(cache.count(at + 1) for cache in found.caches)
    return (
        f'<div class="told">{slider}</div>'
        + markup.table(("Array", "Positions kept", "Numbers"), [rows], numbers=(2,))
        + left
        + f"<p>After position {at + 1:,} it holds <b>{grown:,}</b> numbers.</p>"
    )


def _row(cache: Cache, length: int, at: int) -> str:
    axes = " ".join(cache.array.names)
    return (
        f"<tr><td>{markup.text(cache.name)} <span class='muted'>{markup.text(axes)}</span></td>"
        f"<td>{_strip(cache, length, at)}</td>"
        f'<td class="number">{cache.count(at + 1):,}</td></tr>'
    )


def _strip(cache: Cache, length: int, at: int) -> str:
    """Returns the cells of an array's positions, filled where it keeps them; or words."""
    if cache.kind == "state":
        return "one state, carried on"
    if cache.kind == "once":
        return "made once, at the first position"
    cells = min(length, CELLS)
    share, end = length / cells, at + length / cells + 1e-9
    start = max(0, at + 1 - cache.window) if cache.kind == "window" else 0
    boxes = "".join(
        f'<rect x="{i * (CELL + GAP)}" width="{CELL}" height="{HEIGHT}" rx="2" '
        f'fill="currentColor" opacity="{FULL if start < (i + 1) * share <= end else EMPTY}"/>'
        for i in range(cells)
    )
    width = cells * (CELL + GAP) - GAP
    label = f"positions {start + 1:,} to {at + 1:,} of {length:,}"
    return (
        f'<svg role="img" aria-label="{label}" width="{width}" height="{HEIGHT}" '
        f'viewBox="0 0 {width} {HEIGHT}">{boxes}</svg>'
    )


# --- The placements, and what fits


def _placements(found: CachedPass, name: str) -> str:
    context = 1 << CONTEXT.number
    best = found.best(context, name)
    rows = [_placement_row(each, each == best, context, name) for each in found.placements]
    if len(rows) == 1 and not found.caches:
        return ""
    return (
        f'<div class="told">{CONTEXT.html(f"tokens {context:,}")}</div>'
        + markup.table(COLUMNS, rows, numbers=(1, 2, 3, 4))
        + '<p class="muted">Bytes that each position adds, bytes kept and work and bytes moved of '
        "one more after this context. Each row is the best at some price of memory against work; "
        "what is not kept is computed again from what is. The bold one is fastest on an H100, "
        "where a step takes as long as the slower of its work and of what it moves: all weights, "
        f"and all that is kept. Numbers are in {markup.text(name)}.</p>"
    )


def _placement_row(placement: CachePlacement, best: bool, context: int, name: str) -> str:
    words = markup.text(cached_layer_names(placement.caches))
    cells = (
        markup.amount(placement.bytes_per_position(name), "B"),
        markup.amount(placement.bytes(context, name), "B"),
        markup.amount(placement.flops(context), "FLOP"),
        markup.amount(placement.bytes_moved(context, name), "B"),
    )
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    return f"<tr><td>{f'<b>{words}</b>' if best else words}</td>{numbers}</tr>"


def cached_layer_names(caches: Sequence[Cache]) -> str:
    """Returns the names of the layers whose arrays are kept, each with how often.

    >>> from ncd import catalogue, decode
    >>> cached_layer_names(decode(catalogue["llama"].build()).caches)
    '2 × k_proj, 2 × v_proj'
    """
    names = Counter[str]()
    for cache in caches:
        names[cache.name.partition(" ")[0].rpartition(".")[2]] += cache.layers
    words = [name if count == 1 else f"{count} × {name}" for name, count in names.items()]
    return ", ".join(words) or "nothing"


def _memory(found: CachedPass, name: str) -> str:
    """Returns how long a context fits in a memory, with each placement."""
    field = MEMORY.number_field("memory, GB")
    parts = []
    for each in found.placements:
        longest = each.longest_context(MEMORY.number * 10**9, name)
        words = "any length" if longest is None else f"{longest:,} positions"
        words = "not even the weights" if longest == 0 else words
        parts.append(f"<li>{markup.text(cached_layer_names(each.caches))}: <b>{words}</b></li>")
    weights = found.placements[0].parameters
    return (
        f'<div class="told">{field}</div><p>Beside {markup.plural(weights, "parameter")} there is '
        f"room for one sequence of</p><ul>{''.join(parts)}</ul>"
    )
