"""The settings that are offered where a system cannot be built."""

from __future__ import annotations

from ncd import catalogue
from ncd.view.session import refusal
from ncd.view.session.scene import built


def test_only_knobs_that_have_a_part_in_an_error_are_tried() -> None:
    entry = catalogue["unet"]
    _, found = built(entry, {**entry.settings({}), "x": 33})
    assert found is not None
    assert found.error.fact.startswith("an image of 33 × 33 cannot be halved")
    part = {knob.name: refusal._matters(found, knob) for knob in entry.knobs if knob.is_size}
    assert part == {"depth": True, "c": False, "x": True, "y": False}
    assert found.ways == ({"x": 32},)
