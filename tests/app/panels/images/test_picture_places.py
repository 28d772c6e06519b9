"""Maps and pictures of a plane: where they stand."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from ncd.app.panels.images import latent_plane
from ncd.app.panels.images.feature_maps import tile_maps
from ncd.app.panels.images.latent_plane import CELLS, REACH, SIDE, STEPS
from ncd.explain.colour_scale import CellGrid

# --- maps side by side ----------------------------------------------------------------------------


def test_maps_stand_side_by_side_with_a_clear_line() -> None:
    maps: CellGrid = np.arange(5 * 2 * 3, dtype=np.float32).reshape(5, 2, 3)
    for across, size in ((2, (8, 7)), (5, (2, 19)), (9, (2, 19)), (3, (5, 11))):
        sheet = tile_maps(maps, across)
        assert sheet.shape == size
        for n, each in enumerate(maps):
            y, x = n // min(across, 5) * 3, n % min(across, 5) * 4
            assert (sheet[y : y + 2, x : x + 3] == each).all()
        assert np.isnan(sheet).sum() == sheet.size - maps.size


# --- the plane ------------------------------------------------------------------------------------


def test_a_point_of_the_plane_stands_in_the_middle_of_its_picture() -> None:
    step = SIDE / CELLS
    assert (latent_plane._line(0), latent_plane._line(CELLS - 1)) == (-REACH, REACH)
    for i in range(CELLS):
        for j in range(CELLS):
            spot = latent_plane._spot(latent_plane._line(j), latent_plane._line(i))
            assert spot == pytest.approx(((j + 0.5) * step, SIDE - (i + 0.5) * step))


@pytest.mark.parametrize(
    ("value", "place"),
    [(-REACH, 0), (0.0, 30), (REACH, 60), (-9.0, 0), (9.0, 60), (0.1, 31), (-0.14, 29)],
)
def test_a_slider_stands_at_the_nearest_of_its_places(value: float, place: int) -> None:
    assert latent_plane._step(value) == place
    assert STEPS == 61


@pytest.mark.parametrize(
    ("chosen", "value"), [("", 0.7), ("0", -3), ("60", 3), ("30", 0), ("45", 1.5), ("99", 3)]
)
def test_a_coordinate_is_that_of_the_slider_or_of_the_picture(chosen: str, value: float) -> None:
    with patch("streamlit.session_state", {"across": chosen}):
        found = latent_plane._slider_coordinate(latent_plane.ACROSS, 0.7)
    assert found == pytest.approx(value)


def test_coordinates_are_said_with_a_real_minus() -> None:
    assert (latent_plane._coordinate(-1.24), latent_plane._coordinate(0.5)) == ("−1.2", "0.5")
