"""Maps of numbers that no page has: one huge, a photograph, long sentences, thousands of cells."""

import numpy as np
import streamlit as st
import torch

from ncd.app.parts import heatmap, map_component, slice_picker
from ncd.app.parts.heatmap import Ends
from ncd.app.parts.map_component import Map, Side
from ncd.language.axes import Array

CASE = st.query_params.get("case", "huge")
rng = np.random.default_rng(0)


def shown(grid: heatmap.Grid, rows: Side, columns: Side) -> None:
    ends = Ends.of(grid, signed=False)
    used = map_component.colours(ends)
    pooled = heatmap.pooled(grid, heatmap.LARGE)
    focus = Map("m", "A map", pooled, used, rows, columns, said="weight", square=True)
    small = heatmap.pooled(grid[None], heatmap.SMALL)
    pictures = [("head=0", "0", heatmap.picture(small.maps[0], ends))]
    map_component.show(
        "maps",
        (map_component.COLOURS,),
        side=map_component.gallery(pictures, "head=0"),
        map=focus,
        foot=f"<p>{pooled.told} {map_component.beyond(ends, used)}</p>",
    )


if CASE == "huge":
    grid = rng.random((20, 22), dtype=np.float32)
    grid[3, 4] = 1000
    shown(grid, Side("y", "query y"), Side("x", "key x"))
elif CASE == "words":
    words = [f"incomprehensibility{i}" for i in range(256)]
    shown(np.eye(256, dtype=np.float32), Side("y", "y", words), Side("x", "x", words))
elif CASE == "large":
    shown(np.eye(1024, dtype=np.float32), Side("y", "y"), Side("x", "x"))
else:
    (array,) = (Array.parse("c:3 x:12x20"),)
    picture = torch.zeros(3, 12, 20)
    picture[0, :, :10] = 1.0  # red at the left, blue at the right
    picture[2, :, 10:] = 1.0
    cut = slice_picker.chosen(array)
    numbers = slice_picker.grid(picture, cut)
    focus = Map(
        "m",
        "An image",
        heatmap.pooled(numbers, heatmap.LARGE),
        Ends.of(numbers, signed=False),
        Side("height", "height"),
        Side("width", "width"),
        square=cut.alike,
        pixels=slice_picker.image(picture, cut),
    )
    side = slice_picker.controls(cut) + slice_picker.overview(cut, picture, signed=False)
    map_component.show("maps", slice_picker.pick, side=side, map=focus)
