"""A summary of an array as HTML: its numbers if they are few, else small pictures."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ncd.app.parts import heatmap, map_component, slice_picker
from ncd.app.parts.slice_picker import ArraySlice, Dimension
from ncd.explain.colour_scale import CellGrid, ColourRange, PooledMaps
from ncd.language.axes import Array
from ncd.site import markup

FEW, WIDE = 6, 8  # the largest numbers of rows and columns that are shown as a table
MAX_LISTED_NUMBERS = 5  # numbers that are written beside a picture
CELLS = 64  # the cells along a side of a single picture
MANY, TILE = 8, 32  # the number of small pictures, and the cells along a side of each
MAX_PICTURE_NUMBERS = 1_000_000  # the greatest number of values that are read for pictures
SIDE, THIN = 190, 26  # the usual and the least side of a picture, in pixels


def shape(array: Array) -> str:
    """Returns the axes of an array with their sizes.

    >>> from ncd import Axis
    >>> shape(Array((Axis("k", 16),)))
    '<i class="axis" data-axis="k">k</i> 16'
    """
    sized = (f"{markup.axis(axis)} {markup.text(axis.size_text)}" for axis in array)
    return " · ".join(sized) or "a number"


def html(array: Array, tensor: torch.Tensor) -> str:
    """Returns a table of the numbers, or pictures with their range and the first numbers.

    The tensor has exactly the array's axes. Infinite numbers are transparent in a picture.
    """
    cut = slice_picker.default_slice(array)
    if not cut.dimensions:
        return _number_table(slice_picker.numbers(tensor.reshape(1, 1)), whole=bool(array.below))
    if cut.gallery_dim is None:
        grid = slice_picker.grid(tensor, cut)
        if grid.shape[0] <= FEW and grid.shape[1] <= WIDE:
            return _number_table(grid, whole=bool(array.below))
        shown = _single_picture(grid, cut)
    elif cut.is_colour_image:
        shown = _colour_picture(tensor, cut)
    else:
        shown = _tiles(tensor, cut)
    return shown + _first_numbers(tensor)


def _number_table(grid: CellGrid, whole: bool) -> str:
    def word(number: float) -> str:
        if number != number:
            return "masked"
        return f"{number:,.0f}" if whole else markup.digits(number)

    rows = "".join(
        f"<tr>{''.join(f'<td class=number>{word(float(x))}</td>' for x in row)}</tr>"
        for row in grid
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _single_picture(grid: CellGrid, cut: ArraySlice) -> str:
    pooled = heatmap.pool(grid, CELLS)
    image = _image(pooled.maps, grid.shape, SIDE, _ends(pooled.maps))
    return f'{image}<p class="muted">{_sides(cut)}. {_range(pooled)}</p>'


def _tiles(tensor: torch.Tensor, cut: ArraySlice) -> str:
    """Returns pictures along the longest of the other axes, with one colour scale."""
    assert cut.gallery_dim is not None and cut.rows is not None
    dimension, each = cut.dimensions[cut.gallery_dim], cut.rows.size * cut.columns.size
    run = range(min(MANY, dimension.size, max(1, MAX_PICTURE_NUMBERS // each)))
    pooled = heatmap.pool(slice_picker.stack(tensor, cut, run), TILE)
    ends = _ends(pooled.maps)
    tiles = "".join(
        f"<span>{_image(cells, pooled.shape, SIDE / 2, ends)}"
        f"{map_component.position_html(dimension.axis, i, dimension.side)}</span>"
        for i, cells in zip(run, pooled.maps, strict=True)
    )
    more = dimension.size - len(run)
    left = f", {more:,} more not shown" if more else ""
    fixed = [cut.dimensions[i] for i in cut.other_dims if i != cut.gallery_dim]
    at = "".join(f", at {_dimension_html(d)} = 0" for d in fixed)
    return (
        f'<div class="tiles">{tiles}</div><p class="muted">{_sides(cut)}; '
        f"{markup.plural(len(run), 'picture')} along {_dimension_html(dimension)}{left}{at}. "
        f"{_range(pooled)}</p>"
    )


def _colour_picture(tensor: torch.Tensor, cut: ArraySlice) -> str:
    """Returns three channels as a colour image."""
    channels = heatmap.pool(slice_picker.stack(tensor, cut, range(slice_picker.CHANNELS)), CELLS)
    address = heatmap.image_url(heatmap.rgb_image(channels.maps))
    wide, tall = _pixels(channels.shape, SIDE)
    told = f" {channels.caption}" if channels.caption else ""
    return (
        f'<img alt="an image in colours" src="{address}" width="{wide}" height="{tall}">'
        f"<p class='muted'>Its three channels as one image in colours.{told}</p>"
    )


def _image(cells: CellGrid, shape: Sequence[int], side: float, ends: ColourRange) -> str:
    stops = heatmap.scale(ends.low < 0)
    wide, tall = _pixels(shape, side)
    source = heatmap.data_url(cells, ends, stops)
    return f'<img alt="" src="{source}" width="{wide}" height="{tall}">'


def _pixels(shape: Sequence[int], side: float) -> tuple[int, int]:
    """Returns the width and height of a picture of so many rows and columns."""
    rows, columns = shape
    most = max(rows, columns)
    return max(THIN, round(side * columns / most)), max(THIN, round(side * rows / most))


def _ends(numbers: CellGrid) -> ColourRange:
    return ColourRange.from_numbers(numbers, signed=bool((numbers < 0).any()))


def _range(pooled: PooledMaps) -> str:
    """Returns a sentence about the colour scale and about pooled cells."""
    ends = _ends(pooled.maps)
    low, high = ("blue", "red") if ends.low < 0 else ("dark", "yellow")
    beyond = " and beyond" if ends.outliers else ""
    masked = "" if (pooled.maps == pooled.maps).all() else "; clear where masked"
    return (
        f"From {markup.digits(ends.low)}, {low}, to {markup.digits(ends.high)}, {high}{beyond}"
        f"{masked}. {pooled.caption}"
    ).strip()


def _first_numbers(tensor: torch.Tensor) -> str:
    """Returns the first numbers, in memory order."""
    numbers = tensor.flatten()[:MAX_LISTED_NUMBERS].tolist()
    told = " ".join(f"{n:,}" if isinstance(n, int) else markup.digits(n) for n in numbers)
    more = " …" if tensor.numel() > MAX_LISTED_NUMBERS else ""
    return f"<p class='numbers'><span class='muted'>begins</span> {told}{more}</p>"


def _sides(cut: ArraySlice) -> str:
    rows = f"{_dimension_html(cut.rows)} down, " if cut.rows else ""
    return f"{rows}{_dimension_html(cut.columns)} across"


def _dimension_html(dimension: Dimension) -> str:
    return dimension.html
