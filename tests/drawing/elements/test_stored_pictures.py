"""Shapes, texts and the wires inside ops, as in the stored pictures of systems."""

import pytest

from tests.drawing.stored_pictures import SYSTEMS, difference


@pytest.mark.parametrize("name", SYSTEMS["elements"])
def test_the_drawing_is_the_stored_picture(name: str) -> None:
    assert difference(name) is None
