"""The page on memory order: any sizes, any choice that a link makes."""

import pytest

from tests.view.page.test_pages import fine, page

PANELS = ("In memory", "Puzzle", "Patches")


@pytest.mark.parametrize("panel", PANELS)
def test_at_sizes_that_cannot_be_drawn(panel: str) -> None:
    for size in ("1", "9"):
        fine(page("memory-order", panel=panel, b=size, c=size, h=size, w=size))


@pytest.mark.parametrize("asked", ["-1", "zzz", "<b>", "99", "9" * 5000, "²"])
def test_a_link_may_ask_for_anything(asked: str) -> None:
    fine(page("memory-order", read=asked, order=asked))
    fine(page("memory-order", panel="Patches", cut=asked, along=asked))
