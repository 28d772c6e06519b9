"""Numbers as pictures: pooled to what a screen can show, and coloured for every eye."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from plotly.colors import get_colorscale, sample_colorscale, unlabel_rgb
from torch.nn import functional as F

Grid = NDArray[np.float32]
LARGE, SMALL = 256, 84  # cells a side, of the map in focus and of a small picture
POSITIVE, SIGNED = "Viridis", "RdBu"


def pooled(grid: Grid, most: int) -> tuple[Grid, tuple[int, int]]:
    """The grid in means of blocks, at most ``most`` a side; and the sides of a block.

    >>> pooled(np.arange(6, dtype=np.float32).reshape(1, 6), 3)
    (array([[0.5, 2.5, 4.5]], dtype=float32), (1, 2))
    """
    rows, columns = (math.ceil(size / most) for size in grid.shape)
    if (rows, columns) == (1, 1):
        return grid, (1, 1)
    whole = torch.from_numpy(np.ascontiguousarray(grid))[None]
    means = F.avg_pool2d(whole, (rows, columns), ceil_mode=True, count_include_pad=False)
    return means[0].numpy(), (rows, columns)


def told(shape: tuple[int, ...], block: tuple[int, int]) -> str:
    """What to say of a pooled picture, or nothing."""
    if block == (1, 1):
        return ""
    rows, columns = shape
    return f"{rows:,} × {columns:,} cells, shown as means of {block[0]} × {block[1]}."


def _palette(name: str) -> list[int]:
    colours = sample_colorscale(get_colorscale(name), list(np.linspace(0, 1, 256)))
    return [round(channel) for colour in colours for channel in unlabel_rgb(colour)]


PALETTE = _palette(POSITIVE)


def picture(grid: Grid, top: float) -> str:
    """A small picture of numbers from 0 to ``top``, as a data address."""
    small, _ = pooled(grid, SMALL)
    image = Image.fromarray(np.uint8(np.clip(small / (top or 1), 0, 1) * 255), mode="P")
    image.putpalette(PALETTE)
    file = BytesIO()
    image.save(file, "png")
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"


def plot(
    grid: Grid,
    rows: tuple[str, Sequence[str]],
    columns: tuple[str, Sequence[str]],
    hover: str,
    *,
    signed: bool,
    dark: bool,
    block: tuple[int, int] = (1, 1),
) -> dict[str, Any]:
    """A Plotly heatmap; ``rows`` and ``columns`` are an axis' title and the names on it.

    The cells of a pooled grid, whose ``block`` is given, stand at the positions that they cover.
    """
    largest = float(np.nanmax(np.abs(grid), initial=0)) or 1.0
    scale = {"colorscale": SIGNED, "reversescale": True, "zmid": 0} if signed else {}
    heatmap = {
        "type": "heatmap",
        "z": _packed(grid),
        "zmin": -largest if signed else 0,
        "zmax": largest,
        "colorscale": POSITIVE,
        "colorbar": {"thickness": 12, "outlinewidth": 0, "len": 0.9},
        "hovertemplate": hover + "<extra></extra>",
        "hoverongaps": False,
        **{"x0": (block[1] - 1) / 2, "dx": block[1], "y0": (block[0] - 1) / 2, "dy": block[0]},
        **scale,
    }
    high, wide = (count * size for count, size in zip(grid.shape, block, strict=True))
    layout = {
        "height": 460,
        "margin": {"l": 60, "r": 10, "t": 50, "b": 10, "pad": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "#2a2f37" if dark else "#dfe3e8",
        "xaxis": {
            **_axis(*columns, wide),
            "side": "top",
            "range": [-0.5, wide - 0.5],
        },
        "yaxis": {**_axis(*rows, high), "range": [high - 0.5, -0.5]},
        "uirevision": "keep",
    }
    return {"data": [heatmap], "layout": layout}


def _axis(title: str, names: Sequence[str], count: int) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": title}, "showgrid": False, "zeroline": False}
    if len(names) == count <= 64:
        axis |= {"tickmode": "array", "tickvals": list(range(count)), "ticktext": list(names)}
    elif count <= 12:  # left alone, Plotly would write halves of positions
        axis |= {"tickmode": "linear", "tick0": 0, "dtick": 1}
    return axis


def _packed(grid: Grid) -> dict[str, str]:
    """Numbers in the binary form that Plotly reads, a quarter of their text."""
    data = b64encode(np.ascontiguousarray(grid, dtype="<f4").tobytes()).decode()
    return {"dtype": "f4", "bdata": data, "shape": f"{grid.shape[0]}, {grid.shape[1]}"}
