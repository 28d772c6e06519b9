"""Parts of panels about pictures: sliders, and maps and photographs as HTML."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ncd.app.parts import heatmap
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.site import markup

Pixels = NDArray[np.uint8]


def grid(numbers: Tensor) -> CellGrid:
    """Returns a tensor as numbers for a picture."""
    found: CellGrid = numbers.detach().float().cpu().numpy()
    return found


def map_picture(numbers: Tensor, alt: str, side: int) -> str:
    """Returns a map (rows, columns) as an image of a side in pixels."""
    cells = heatmap.pool(grid(numbers), heatmap.LARGE).maps
    colours = ColourRange.from_numbers(cells, signed=True)
    return image(heatmap.data_url(cells, colours, heatmap.scale(True)), alt, side)


def photograph(picture: Tensor, alt: str, side: int) -> str:
    """Returns a picture (1 or 3, rows, columns) with numbers from 0 to 1 as an image."""
    return image(heatmap.image_url(pixels(picture)), alt, side)


def pixels(picture: Tensor) -> Pixels:
    """Returns a picture (1 or 3, rows, columns) from 0 to 1 as red, green and blue."""
    colours = grid(picture.clamp(0, 1))[[i % len(picture) for i in range(3)]]
    return np.ascontiguousarray(np.round(255 * np.moveaxis(colours, 0, -1)).astype(np.uint8))


def image(address: str, alt: str, side: int) -> str:
    """Returns an image of sharp pixels."""
    style = f"width:{side}px;height:{side}px;image-rendering:pixelated;border-radius:4px"
    return f'<img alt="{markup.text(alt)}" style="{style}" src="{address}">'


def figure(inner: str, caption: str) -> str:
    """Returns a figure with a caption in HTML."""
    return f'<figure style="margin:0">{inner}<figcaption>{caption}</figcaption></figure>'


def row(*parts: str) -> str:
    """Returns parts beside each other, or below where there is no room."""
    style = "display:flex;flex-wrap:wrap;gap:0.8rem 1.6rem;align-items:flex-start"
    return f'<div style="{style}">{"".join(parts)}</div>'


def image_with_marks(address: str, side: int, said: str, marks: Iterable[str]) -> str:
    """Returns an image of a side in pixels as SVG, under marks."""
    return (
        f'<svg viewBox="-2 -2 {side + 4} {side + 4}" width="{side + 4}" height="{side + 4}" '
        f'role="img" style="max-width:100%;height:auto" aria-label="{markup.text(said)}">'
        f'<image href="{address}" width="{side}" height="{side}" '
        f'style="image-rendering:pixelated"/>{"".join(marks)}</svg>'
    )


def box(x: float, y: float, wide: float, high: float, look: str, said: str = "") -> str:
    """Returns a rectangle of an SVG; ``look`` holds its other attributes."""
    cursor = ' style="cursor:pointer"' if "data-pick" in look else ""
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{high:.2f}" {look}{cursor}>'
        f"{f'<title>{markup.text(said)}</title>' if said else ''}</rect>"
    )
