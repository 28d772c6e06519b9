"""Maps of numbers that no page has: one huge, a photograph, long sentences, thousands of cells."""

import numpy as np
import streamlit as st
import torch

from ncd.app.parts import heatmap, map_component, slice_picker
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.explain.colour_scale import ColourRange
from ncd.language.axes import Array

CASE = st.query_params.get("case", "huge")
rng = np.random.default_rng(0)


def shown(grid: heatmap.CellGrid, rows: AxisLabels, columns: AxisLabels) -> None:
    ends = ColourRange.from_numbers(grid, signed=False)
    used = map_component.colours(ends)
    pooled = heatmap.pool(grid, heatmap.LARGE)
    focus = Heatmap(
        "m", "A map", pooled, used, rows, columns, value_label="weight", square_cells=True
    )
    small = heatmap.pool(grid[None], heatmap.SMALL)
    pictures = [("head=0", "0", heatmap.data_url(small.maps[0], ends))]
    map_component.render(
        "maps",
        (map_component.COLOURS,),
        side=map_component.thumbnail_buttons(pictures, "head=0"),
        map=focus,
        foot=f"<p>{pooled.caption} {map_component.outlier_notice(ends, used)}</p>",
    )


if CASE == "huge":
    grid = rng.random((20, 22), dtype=np.float32)
    grid[3, 4] = 1000
    shown(grid, AxisLabels("y", "query y"), AxisLabels("x", "key x"))
elif CASE == "words":
    words = [f"incomprehensibility{i}" for i in range(256)]
    shown(np.eye(256, dtype=np.float32), AxisLabels("y", "y", words), AxisLabels("x", "x", words))
elif CASE == "large":
    shown(np.eye(1024, dtype=np.float32), AxisLabels("y", "y"), AxisLabels("x", "x"))
else:
    (array,) = (Array.parse("c:3 x:12x20"),)
    picture = torch.zeros(3, 12, 20)
    picture[0, :, :10] = 1.0  # red at the left, blue at the right
    picture[2, :, 10:] = 1.0
    cut = slice_picker.chosen_slice(array)
    numbers = slice_picker.grid(picture, cut)
    focus = Heatmap(
        "m",
        "An image",
        heatmap.pool(numbers, heatmap.LARGE),
        ColourRange.from_numbers(numbers, signed=False),
        AxisLabels("height", "height"),
        AxisLabels("width", "width"),
        square_cells=cut.alike,
        pixels=slice_picker.image(picture, cut),
    )
    side = slice_picker.controls(cut) + slice_picker.thumbnails_html(cut, picture, signed=False)
    map_component.render("maps", slice_picker.pick, side=side, map=focus)
