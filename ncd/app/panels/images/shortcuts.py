"""The Shortcuts panel: how large numbers and gradients are by block, with and without sums."""

from __future__ import annotations

from dataclasses import replace

from ncd.app.panels.learning.signal_depth import SignalDepth, signal_depth
from ncd.app.parts import html_panel
from ncd.app.parts.log_chart import ChartLine, log_chart
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.site import markup
from ncd.systems.images.published_resnet import TITLES

PANEL_SIZES = {
    "n": 8,
    "x": 64,
    "b": 2,
    "y": 2,
}  # whatever is chosen: small ones, as a move is to be cheap
COLOURS = {"plain": "#c9732b", "residual": "#3d6fb6"}  # by the setting of the switch


def show_shortcuts(scene: Scene) -> None:
    """Shows both deviations over the blocks of this network, and of the same without its sums."""
    chosen = scene.settings["skip"]
    found = {name: _depth(_with_skip(scene, skip)) for skip, name in enumerate(COLOURS)}
    charts = "".join(
        log_chart(
            title,
            {
                name: ChartLine(getattr(own, what), COLOURS[name], skip == chosen)
                for skip, (name, own) in enumerate(found.items())
            },
            "block",
            backwards,
        )
        for title, what, backwards in (
            ("Deviation of what leaves a block", "activations", False),
            ("Deviation of its gradient, on the way back", "gradients", True),
        )
    )
    html = (
        f'<div style="display:flex;flex-wrap:wrap;gap:0.4rem 1.6rem">{charts}</div>'
        f"<p>{_reason(found)}</p><p class='muted'>{SHORTCUTS_TEXT} {numbers_origin(scene)}</p>"
    )
    html_panel.render(html, "shortcuts", SHORTCUTS.controls)


SHORTCUTS = Panel("Shortcuts", show_shortcuts)
SHORTCUTS_TEXT = (
    "Scales are of powers of ten. The gradient is standard normal behind the last block, and goes "
    "back to the first. “Plain” is the same network without its shortcuts. "
    "It is measured with {n} channels, sides of {x} and {b} images.".format(**PANEL_SIZES)
)


def _with_skip(scene: Scene, skip: int) -> Scene:
    settings = {**scene.settings, **PANEL_SIZES, "skip": skip}
    return replace(scene, settings=settings, term=scene.entry.build(**settings))


def _depth(scene: Scene) -> SignalDepth:
    module, x = scene.module, scene.inputs[0]
    return cached_value(
        "signal depth",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: signal_depth(module, x, scene.seed, TITLES)),
    )


def _reason(found: dict[str, SignalDepth]) -> str:
    """Returns how much the gradient grows on its way in both networks."""
    plain, residual = (found[name].gradients[0] for name in COLOURS)
    count = len(found["plain"].gradients)
    return (
        f"On its way through {count} blocks the gradient becomes {markup.digits(residual)} times "
        f"as large with shortcuts, and {markup.digits(plain)} times without. Batch norms keep "
        "numbers from vanishing in both. A shortcut passes the gradient on as it is, and a block "
        "adds to it; without one each block multiplies it."
    )
