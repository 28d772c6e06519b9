"""Controls to choose a slice of an array: the two dimensions shown, positions along others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ncd.app.parts import heatmap, map_component
from ncd.app.state.controls import TextControl, slider
from ncd.app.state.session import rerun_page
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.language.axes import Array, Axis
from ncd.site import markup

PICTURE, SLICES = TextControl("picture"), TextControl("slices")  # such as "y,h" and "b.2,n_1.5"
CONTROLS = (PICTURE, SLICES)
MAX_PICTURES = 36  # small pictures at once
CHANNELS = 3  # the channels of a colour image
ALL_COLOURS = -1  # the position that stands for all three


@dataclass(frozen=True)
class Dimension:
    """One dimension of a tensor: its axis, and the side for a spatial axis, which has two."""

    axis: Axis
    name: str
    size: int
    side: str = ""

    @property
    def html(self) -> str:
        """Its name as on the wires."""
        return f"{markup.axis(self.axis)}{f' {self.side}' if self.side else ''}"

    @property
    def words(self) -> str:
        return f"{map_component.axis_text(self.axis)} {self.side}".strip()


@dataclass(frozen=True)
class ArraySlice:
    """A slice of an array: its dimensions, those of the picture, and positions along others."""

    dimensions: tuple[Dimension, ...]
    picture_dims: tuple[int, ...]
    positions: tuple[int, ...]

    @property
    def rows(self) -> Dimension | None:
        return self.dimensions[self.picture_dims[0]] if len(self.picture_dims) == 2 else None

    @property
    def columns(self) -> Dimension:
        return self.dimensions[self.picture_dims[-1]]

    @property
    def picture(self) -> str:
        return ",".join(self.dimensions[i].name for i in self.picture_dims)

    @property
    def other_dims(self) -> list[int]:
        """The dimensions along which a position has to be chosen."""
        return [
            i for i, d in enumerate(self.dimensions) if i not in self.picture_dims and d.size > 1
        ]

    @property
    def gallery_dim(self) -> int | None:
        """The dimension shown as small pictures: the longest of the others.

        Of equally long ones it is the last one before those of the picture.
        """

        def rank(i: int) -> tuple[int, bool]:
            return self.dimensions[i].size, i == self.picture_dims[0] - 1

        return max(self.other_dims, key=rank, default=None)

    @property
    def image(self) -> bool:
        """Whether the picture is an image: height down, width across."""
        return self.rows is not None and self.rows.axis is self.columns.axis

    @property
    def alike(self) -> bool:
        """Whether rows and columns have the same scale."""
        rows = self.rows
        return rows is not None and (
            self.image or (rows.axis.sequence and self.columns.axis.sequence)
        )

    @property
    def is_colour_image(self) -> bool:
        """Whether three channels can be shown as a colour image."""
        if not self.image or self.gallery_dim not in (
            self.picture_dims[0] - 1,
            self.picture_dims[1] + 1,
        ):
            return False
        return self.dimensions[self.gallery_dim].size == CHANNELS


def dimensions(array: Array) -> tuple[Dimension, ...]:
    """Returns the dimensions of an array, two for a spatial axis."""
    return tuple(
        Dimension(axis, name, size, side if axis.spatial else "")
        for axis in array
        for name, size, side in zip(
            markup.dimensions(axis), axis.shape, ("height", "width", *("",) * 6), strict=False
        )
    )


def chosen_slice(array: Array) -> ArraySlice:
    """Returns the visitor's choice, where it is valid for this array."""
    own = dimensions(array)
    names = [d.name for d in own]
    shown = tuple(names.index(n) for n in PICTURE.value.split(",") if n in names)
    if len(set(shown)) != 2:
        shown = _map_dimensions(own)
    cut = ArraySlice(own, shown, (0,) * len(own))
    first = ALL_COLOURS if cut.is_colour_image else 0
    places = _places()
    at = tuple(
        _clamped_index(places.get(d.name), first if i == cut.gallery_dim else 0, d.size)
        for i, d in enumerate(own)
    )
    wrong = {d.name: str(i) for d, i in zip(own, at, strict=True) if i >= 0}
    if any(places.get(name, place) != place for name, place in wrong.items()):
        _keep({**places, **{n: place for n, place in wrong.items() if n in places}})
        rerun_page()  # so that the link matches the page
    return ArraySlice(own, shown, at)


def default_slice(array: Array) -> ArraySlice:
    """Returns the default slice of an array.

    >>> batches = [default_slice(Array.parse(f"b:3 c:{n} x:4x4")) for n in (3, 2)]
    >>> [(cut.dimensions[cut.gallery_dim].name, cut.is_colour_image) for cut in batches]
    [('c', True), ('b', False)]
    """
    own = dimensions(array)
    cut = ArraySlice(own, _map_dimensions(own), (0,) * len(own))
    if not cut.is_colour_image:
        return cut
    return ArraySlice(
        own,
        cut.picture_dims,
        tuple(ALL_COLOURS if i == cut.gallery_dim else 0 for i in range(len(own))),
    )


def _map_dimensions(dimensions: tuple[Dimension, ...]) -> tuple[int, ...]:
    """Returns the dimensions of the map: height and width of an image, else the first two."""
    for i in range(len(dimensions) - 1):
        if dimensions[i].axis.spatial and dimensions[i].axis is dimensions[i + 1].axis:
            return i, i + 1
    return tuple(range(min(2, len(dimensions))))


def _places() -> dict[str, str]:
    parts = (part.rpartition(".") for part in SLICES.value.split(","))
    return {name: place for name, _, place in parts if name}


def select_slice_of(array: Array, index: tuple[int, ...]) -> str:
    """Selects the slice that contains a number; returns the number's row and column, as ``3,5``."""
    whole = dimensions(array)
    names = [d.name for d in whole]
    asked = [n for n in PICTURE.value.split(",") if n in names]
    shown = tuple(map(names.index, asked)) if len(set(asked)) == 2 else _map_dimensions(whole)
    rest = {names[i]: str(at) for i, at in enumerate(index) if i not in shown}
    _keep({**_places(), **rest})
    row, column = (0, *(index[i] for i in shown))[-2:] if shown else (0, 0)
    return f"{row},{column}"


def place(name: str) -> int:
    """Returns the chosen position along a dimension."""
    return _clamped_index(_places().get(name), 0, 10**9)


def _clamped_index(place: str | None, least: int, size: int) -> int:
    known = place is not None and place.isdecimal() and len(place) < 10
    return min(int(place or 0), size - 1) if known else least


def pick(name: str, value: str) -> None:
    """Chooses a position along a dimension; a callback."""
    _keep({**_places(), name: value})


def _keep(places: Mapping[str, str]) -> None:
    kept = (f"{name}.{place}" for name, place in places.items() if name and place.isdecimal())
    SLICES.put(",".join(kept))


def grid(tensor: torch.Tensor, cut: ArraySlice) -> CellGrid:
    """Returns the numbers of the picture; infinite ones are NaN."""
    index = tuple(
        slice(None) if i in cut.picture_dims else max(0, at) for i, at in enumerate(cut.positions)
    )
    part = tensor[index]
    if cut.picture_dims != tuple(sorted(cut.picture_dims)):
        part = part.T
    return np.atleast_2d(numbers(part))


def stack(tensor: torch.Tensor, cut: ArraySlice, run: range) -> CellGrid:
    """Returns the small pictures for some positions of the longest other dimension."""
    along = cut.gallery_dim
    assert along is not None
    index = tuple(
        slice(run.start, run.stop)
        if i == along
        else slice(None)
        if i in cut.picture_dims
        else max(0, at)
        for i, at in enumerate(cut.positions)
    )
    order = sorted((*cut.picture_dims, along))
    turned = tensor[index].permute([order.index(i) for i in (along, *cut.picture_dims)])
    return numbers(turned)


def numbers(part: torch.Tensor) -> CellGrid:
    """Returns numbers for a picture; infinite ones are NaN."""
    found = part.detach().float().cpu().numpy()
    return np.where(np.isfinite(found), found, np.float32("nan"))


def image(tensor: torch.Tensor, cut: ArraySlice) -> NDArray[np.uint8] | None:
    """Returns the colour image, if that is chosen."""
    if (
        not cut.is_colour_image
        or cut.gallery_dim is None
        or cut.positions[cut.gallery_dim] != ALL_COLOURS
    ):
        return None
    channels = heatmap.pool(stack(tensor, cut, range(CHANNELS)), heatmap.LARGE)
    return heatmap.rgb_image(channels.maps)


def controls(cut: ArraySlice) -> str:
    """Returns controls for the dimensions down and across, and sliders for the others."""
    if len(cut.dimensions) < 2:
        return ""
    swapped = ",".join(reversed(cut.picture.split(",")))
    ways = [
        f"{down.name},{across.name}"
        for down in cut.dimensions
        for across in cut.dimensions
        if down is not across
    ]
    words = {d.name: d.words for d in cut.dimensions}
    options = "".join(
        f'<option value="{way}"{" selected" if way == cut.picture else ""}>'
        f"{markup.text(' by '.join(words[name] for name in way.split(',')))}</option>"
        for way in ways
    )
    choice = (
        f'<div class="cut"><label>Rows by columns <select data-set="{PICTURE.name}">{options}'
        f'</select></label> <button type="button" class="swap" '
        f'data-pick="{PICTURE.action(swapped)}" title="Swap rows and columns">⇄'
        '<span class="unseen"> swap</span></button></div>'
    )
    return choice + "".join(
        dimension_slider(cut, i) for i in cut.other_dims if i != cut.gallery_dim
    )


def dimension_slider(cut: ArraySlice, i: int) -> str:
    """Returns a slider for the position along a dimension; from all colours it starts at 0."""
    dimension, at = cut.dimensions[i], max(0, cut.positions[i])
    text, label = f"{dimension.words} = {at}", f"{dimension.html} = {at}"
    return slider(markup.text(text), dimension.name, range(dimension.size), at, label)


def thumbnails_html(cut: ArraySlice, tensor: torch.Tensor, signed: bool) -> str:
    """Returns small pictures for the positions along the longest of the other dimensions."""
    if cut.gallery_dim is None:
        return ""
    dimension, at = cut.dimensions[cut.gallery_dim], cut.positions[cut.gallery_dim]
    run = heatmap.visible_range(dimension.size, max(0, at), MAX_PICTURES)
    pool = heatmap.pool(stack(tensor, cut, run), heatmap.SMALL)
    ends, stops = ColourRange.from_numbers(pool.maps, signed=signed), heatmap.scale(signed)
    pictures = [
        (
            f"{dimension.name}={i}",
            map_component.position_html(dimension.axis, i, dimension.side),
            heatmap.data_url(cells, ends, stops),
        )
        for i, cells in zip(run, pool.maps, strict=True)
    ]
    if cut.is_colour_image:
        address = heatmap.image_url(heatmap.rgb_image(pool.maps))
        pictures.insert(0, (f"{dimension.name}=", "in colours", address))
    picked = f"{dimension.name}={'' if at == ALL_COLOURS else at}"
    told = f"<p class='muted'>Small pictures: {pool.caption}</p>" if pool.caption else ""
    gallery = map_component.thumbnail_buttons(pictures, picked)
    return gallery + map_component.pager(dimension.name, run, dimension.size) + told
