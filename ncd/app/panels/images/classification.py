"""The What it says panel: the pictures that go in, and the probability of each class."""

from __future__ import annotations

import torch

from ncd.app.parts import heatmap, html_panel
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.site import markup

SIDE, SMALL = 224, 96  # pixels on the screen: of one picture, and of one in a batch
METER, SHORT = 14.0, 5.0  # the length of a bar for 100 %, in em
ROW = "display:flex;flex-wrap:wrap;align-items:flex-start"
MOST = 16  # pictures of a batch
LIKELIEST = 3  # the number of classes that are shown for a picture in a batch


def show_classification(scene: Scene) -> None:
    """Shows each input picture, and the output for it as bars."""
    shares, images = scene.trace.outputs[0].float().cpu(), scene.inputs[0]
    origin = captions.numbers_origin(scene)
    html = _batch(images, shares, origin) if shares.ndim == 2 else _alone(images, shares, origin)
    html_panel.render(html, "guess")


CLASSIFICATION = Panel("What it says", show_classification)


def _alone(image: torch.Tensor, shares: torch.Tensor, origin: str) -> str:
    caption = f'<figcaption class="muted">as it goes in: {_size(image)}</figcaption>'
    return (
        f'<div style="{ROW};gap:1.6rem"><figure style="margin:0">{_picture(image, SIDE)}{caption}'
        f'</figure><div>{_classes(shares, METER)}<p class="muted">{origin}</p></div></div>'
    )


def _batch(images: torch.Tensor, shares: torch.Tensor, origin: str) -> str:
    """Returns each picture of a batch beside its likeliest classes."""
    each = "".join(
        f'<div style="display:flex;gap:0.8rem">{_picture(image, SMALL)}'
        f"<div>{_classes(own, SHORT, LIKELIEST)}</div></div>"
        for image, own in zip(images[:MOST], shares[:MOST], strict=True)
    )
    shown = f"The first {MOST} of {len(images):,} pictures. " if len(images) > MOST else ""
    size = f"{shown}Each picture goes in as {_size(images[0])}."
    return f'<div style="{ROW};gap:1.2rem 2.4rem">{each}</div><p class="muted">{size} {origin}</p>'


def _size(image: torch.Tensor) -> str:
    return f"{' × '.join(map(str, image.shape))} pixels"


def _classes(shares: torch.Tensor, length: float, most: int | None = None) -> str:
    """Returns the likeliest class and a table of all classes, or of the ``most`` likeliest."""
    order = shares.argsort(descending=True, stable=True).tolist()
    best, shown = order[0], order[:most] if most else range(len(order))
    rows = "".join(_row(i, float(shares[i]), i == best, length) for i in shown)
    said = f"Class {best}, with {_percent(float(shares[best]))}"
    return f'<h2>{said}</h2><table style="width:auto">{rows}</table>'


def _picture(image: torch.Tensor, side: int) -> str:
    """Returns an image as HTML, scaled between 0 and 1 or its own extremes."""
    numbers = image.float().cpu()
    if numbers.ndim == 3:
        numbers = numbers.movedim(0, -1) if len(numbers) == 3 else numbers[0]
    low, high = min(0.0, float(numbers.min())), max(1.0, float(numbers.max()))
    address = heatmap.image_url((255 * (numbers - low) / (high - low)).byte().numpy())
    style = f"width:{side}px;height:{side}px;image-rendering:pixelated;border-radius:4px"
    return f'<img alt="a picture that goes in" style="{style}" src="{address}">'


def _row(i: int, share: float, best: bool, length: float) -> str:
    said = f"<strong>{i}</strong>" if best else str(i)
    return (
        f'<tr><td class="number">{said}</td><td style="width:{length}em">'
        f"{markup.meter(share, 'var(--st-primary-color)', length)}"
        f'</td><td class="number">{markup.text(_percent(share))}</td></tr>'
    )


def _percent(share: float) -> str:
    """Returns a share in per cent with one decimal.

    >>> _percent(0.51234), _percent(2e-9), _percent(1.0)
    ('51.2 %', '< 0.1 %', '100.0 %')
    """
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"
