"""Columns, rows, folded blocks and notes, as in the stored pictures of systems."""

import pytest

from tests.drawing.stored_pictures import SYSTEMS, difference


@pytest.mark.parametrize("name", SYSTEMS["plan"])
def test_the_drawing_is_the_stored_picture(name: str) -> None:
    assert difference(name) is None
