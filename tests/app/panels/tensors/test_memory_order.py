"""The page on memory order: any sizes, any choice that a link makes."""

import pytest

from ncd.app.panels.tensors.memory_order import ANSWER
from ncd.systems.tensors.memory_layout import ORDERS
from tests.app.page.test_pages import fine, page
from tests.app.panels.images.test_figure_panels import sent

PANELS = ("In memory", "Puzzle", "Patches")


@pytest.mark.parametrize("panel", PANELS)
def test_at_sizes_that_cannot_be_drawn(panel: str) -> None:
    for size in ("1", "9"):
        fine(page("memory-order", panel=panel, b=size, c=size, h=size, w=size))


@pytest.mark.parametrize("asked", ["-1", "zzz", "<b>", "99", "9" * 5000, "²"])
def test_a_link_may_ask_for_anything(asked: str) -> None:
    fine(page("memory-order", read=asked, order=asked))
    fine(page("memory-order", panel="Patches", cut=asked, along=asked))


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (ANSWER, "✓ Solved: all 16 numbers stand where they should."),
        (tuple("hbcw"), "✗ 8 of 16 numbers stand where they should."),
    ],
)
def test_the_puzzle_is_solved_by_its_answer_alone(order: tuple[str, ...], said: str) -> None:
    query = {"order": str(ORDERS.index(order)), **dict.fromkeys("bchw", "2")}
    html = sent(page("memory-order", panel="Puzzle", **query), "puzzle")["html"]
    assert f'<p role="status">{said}</p>' in html
