"""The room for the next try of a picture that was too long or too high."""

from __future__ import annotations

import pytest

from ncd.drawing.elements import style
from ncd.drawing.fit import PageLimits

TIGHTER = style.TIGHTER


@pytest.mark.parametrize(
    ("room", "filled", "after"),
    [
        ((1.0, 1.0), (1.25, 0.5), (0.8 - TIGHTER, 1.0)),  # too long: shorter rows
        ((1.0, 1.0), (0.5, 1.25), (1.0, 0.8 - TIGHTER)),  # too high: less of it
        ((1.0, 1.0), (1.25, 1.25), (0.8 - TIGHTER, 0.8 - TIGHTER)),
        ((0.8, 1.0), (0.9, 1.25), (0.8 / 0.9 - TIGHTER, 1.0)),  # rows were made too short before
        ((0.8, 1.0), (0.5, 1.25), (1.0 - TIGHTER, 1.0)),
        ((0.8, 0.9), (1.25, 1.5), (0.64 - TIGHTER, 0.6 - TIGHTER)),
        ((0.8, 0.9), (1.0, 1.0), (0.8, 0.9)),  # it fits
    ],
)
def test_only_what_was_too_much_gets_less(
    room: tuple[float, float], filled: tuple[float, float], after: tuple[float, float]
) -> None:
    tried = PageLimits(700, *room).tighter(*filled)
    assert (tried.width, tried.width_share, tried.height_share) == pytest.approx((700, *after))
