"""Maps of numbers that no page has: one huge, a photograph, long sentences, thousands of cells."""

import numpy as np
import streamlit as st
import torch

from ncd.lang.axes import Array
from ncd.view import heat, maps, slices
from ncd.view.heat import Ends
from ncd.view.maps import Map, Side

CASE = st.query_params.get("case", "huge")
rng = np.random.default_rng(0)


def pick(name: str, value: str) -> None:
    st.session_state["colours"] = value


def shown(grid: heat.Grid, rows: Side, columns: Side) -> None:
    ends = Ends.of(grid, signed=False)
    used = ends.whole if st.session_state.get("colours") == "all" else ends
    pooled = heat.pooled(grid, heat.LARGE)
    focus = Map("m", "A map", pooled, used, rows, columns, said="weight", square=True)
    small = heat.pooled(grid[None], heat.SMALL)
    pictures = [("head=0", "0", heat.picture(small.maps[0], ends))]
    maps.show(
        "maps",
        pick,
        side=maps.gallery(pictures, "head=0"),
        map=focus,
        foot=f"<p>{pooled.told} {maps.beyond(ends, used)}</p>",
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
    cut = slices.chosen(array)
    numbers = slices.grid(picture, cut)
    focus = Map(
        "m",
        "An image",
        heat.pooled(numbers, heat.LARGE),
        Ends.of(numbers, signed=False),
        Side("height", "height"),
        Side("width", "width"),
        square=cut.alike,
        pixels=slices.image(picture, cut),
    )
    side = slices.controls(cut) + slices.overview(cut, picture, signed=False)
    maps.show("maps", slices.pick, side=side, map=focus)
