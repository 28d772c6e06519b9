"""The layers of a model: windows or the whole text, and what windows save in the cache."""

from __future__ import annotations

from ncd.answers.model_memory import kept_by_window, layer_windows
from ncd.app.panels.attention.cache_size import CONTEXT
from ncd.app.parts import map_component
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.circuit.costs import cached_numbers, in_bytes
from ncd.language.number_formats import PLAIN_FORMATS
from ncd.site import markup

USUAL = "bfloat16"
LONGEST = 10.0  # the longest bar, in em
MOST = 48  # rows


def kept_positions(scene: Scene, context: int) -> int:
    """Returns the numbers that a cache holds of a text: all positions, or those of a window."""
    kept = kept_by_window(scene.circuit, scene.entry.cached)
    return sum(n * min(context, window or context) for window, n in kept.items())


def show_layer_windows(scene: Scene) -> None:
    """Shows what each layer keeps of a text, and the sum beside that of whole layers."""
    context = 1 << CONTEXT.number
    local = tuple(map(bool, layer_windows(scene.circuit)))
    slider = CONTEXT.html(f"a text of {context:,} tokens")
    map_component.render(
        "layers",
        LAYER_WINDOWS.controls,
        head=f'<div class="told">{slider}</div>{_told(scene, local, context)}',
        foot=_rows(scene, local, context),
    )


LAYER_WINDOWS = Panel("Layers", show_layer_windows, needs_run=False, controls=(CONTEXT,))


def _told(scene: Scene, local: tuple[bool, ...], context: int) -> str:
    name = USUAL if scene.formats.cache == PLAIN_FORMATS else scene.formats.cache
    numbers = cached_numbers(scene.circuit, scene.entry.cached)
    here, whole = (
        markup.amount(in_bytes(n, name), "B")
        for n in (kept_positions(scene, context), numbers * context)
    )
    near = f"{sum(local)} of {len(local)} layers {'sees' if sum(local) == 1 else 'see'}"
    share = kept_positions(scene, context) / (numbers * context)
    return (
        f"<p>{near} the last "
        f"{scene.settings['w']:,} tokens only. A text of {context:,} keeps <b>{here}</b> of keys "
        f"and values ({share:.0%}); if all layers saw the whole text, {whole} ({name}).</p>"
    )


def _rows(scene: Scene, local: tuple[bool, ...], context: int) -> str:
    colours = {
        near: markup.colour("window" if near else "softmax", scene.dark) for near in (True, False)
    }
    short = min(context, scene.settings["w"])
    rows = [
        f'<tr><td class="number">{i + 1}</td><td>{"window" if near else "whole text"}</td>'
        f"<td>{markup.meter((short if near else context) / context, colours[near], LONGEST)}</td>"
        f'<td class="number">{short if near else context:,}</td></tr>'
        for i, near in enumerate(local[:MOST])
    ]
    more = "" if len(local) <= MOST else f'<p class="muted">The first {MOST} layers.</p>'
    return markup.table(("Layer", "sees", "", "tokens kept"), rows, numbers=(0, 3)) + more
