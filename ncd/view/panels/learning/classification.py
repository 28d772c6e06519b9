"""What it says: the picture as it goes in, and how likely each class is."""

from __future__ import annotations

import torch

from ncd.export import markup
from ncd.view.arrays import captions
from ncd.view.base import heatmap, html_panel
from ncd.view.session.scene import Scene

TITLE = "What it says"
RUNS = True
SIDE = 224  # pixels on the screen
METER = 14.0  # em, of a certain answer


def show(scene: Scene) -> None:
    """The input of a system from one picture to classes, and its output as bars."""
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
    """An image, grey or in three colours, each number between the extremes or 0 and 1."""
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
    """A share with one place behind the point.

    >>> _percent(0.51234), _percent(2e-9), _percent(1.0)
    ('51.2 %', '< 0.1 %', '100.0 %')
    """
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"
