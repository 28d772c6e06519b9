"""The file of a presentation: which addresses make one."""

from __future__ import annotations

from ncd.lessons.lesson import LETTERS
from ncd.view.server.slides_endpoint import written


def test_an_address_that_is_too_long_makes_no_file() -> None:
    view = "subtensors#"
    longest = view + "x" * (LETTERS - len(view))
    assert written(longest).count('class="slide"') == 1
    assert written(longest + "x") == ""


def test_one_view_is_titled_like_its_system_and_several_are_a_presentation() -> None:
    assert "<title>Subtensors</title>" in written("subtensors")
    assert "<title>Presentation</title>" in written("subtensors;residual-block")
