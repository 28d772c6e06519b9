"""The What it says panel: the input picture, and the probability of each class."""

from __future__ import annotations

import torch

from ncd.export import markup
from ncd.view.arrays import captions
from ncd.view.base import heatmap, html_panel
from ncd.view.session.scene import Scene

TITLE = "What it says"
RUNS = True
SIDE = 224  # pixels on the screen
METER = 14.0  # the length of a bar for 100 %, in em


def show(scene: Scene) -> None:
    """Shows the input picture, and the output as bars."""
    shares = scene.trace.outputs[0].float().cpu()
    best = int(shares.argmax())
    rows = "".join(_row(i, float(share), i == best) for i, share in enumerate(shares))
    html_panel.show(
        '<div style="display:flex;flex-wrap:wrap;gap:1.6rem;align-items:flex-start">'
        f"{_picture(scene.inputs[0])}<div>"
        f"<h2>Class {best}, with {_percent(float(shares[best]))}</h2>"
        f'<table style="width:auto">{rows}</table>'
        f'<p class="muted">{captions.origin(scene)}</p></div></div>',
        "guess",
    )


def _picture(image: torch.Tensor) -> str:
    """Returns an image as a data URL, scaled between 0 and 1 or its own extremes."""
    numbers = image.float().cpu()
    if numbers.ndim == 3:
        numbers = numbers.movedim(0, -1) if len(numbers) == 3 else numbers[0]
    low, high = min(0.0, float(numbers.min())), max(1.0, float(numbers.max()))
    address = heatmap.address((255 * (numbers - low) / (high - low)).byte().numpy())
    size = " × ".join(map(str, image.shape))
    style = f"width:{SIDE}px;height:{SIDE}px;image-rendering:pixelated;border-radius:4px"
    return (
        f'<figure style="margin:0"><img alt="the picture that goes in" style="{style}" '
        f'src="{address}"><figcaption class="muted">as it goes in: {size} pixels</figcaption>'
        "</figure>"
    )


def _row(i: int, share: float, best: bool) -> str:
    said = f"<strong>{i}</strong>" if best else str(i)
    return (
        f'<tr><td class="number">{said}</td><td style="width:{METER}em">'
        f"{markup.meter(share, 'var(--st-primary-color)', METER)}"
        f'</td><td class="number">{markup.text(_percent(share))}</td></tr>'
    )


def _percent(share: float) -> str:
    """Returns a share in per cent with one decimal.

    >>> _percent(0.51234), _percent(2e-9), _percent(1.0)
    ('51.2 %', '< 0.1 %', '100.0 %')
    """
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"
