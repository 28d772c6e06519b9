"""Codes say the address, and lessons come back from what was sent."""

from __future__ import annotations

import re

import pytest
import segno

from ncd.app.host.presenter_endpoints import ADDRESS, checked_views, lesson, svg
from ncd.app.state.link_text import compress_text
from ncd.errors import NCDError
from ncd.systems.lessons.lesson import Lesson, LessonStep

VIEW = "http://192.168.0.7:8501/multi-head-attention?ask=shape:v7&h=8"
STROKE = re.compile(r"([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?")
BORDER = 4


def dark(drawn: str) -> set[tuple[int, int]]:
    """The dark modules of a code that is drawn by horizontal strokes: row and column."""
    path = re.findall(r'<path [^>]*d="([^"]*)"', drawn)[-1]
    x, y, found = 0.0, 0.0, set()
    for kind, first, second in STROKE.findall(path):
        if kind == "h":
            found |= {(int(y) - BORDER, int(x) - BORDER + i) for i in range(int(first))}
            x += float(first)
        else:
            x, y = (0.0, 0.0) if kind == "M" else (x, y)
            x, y = x + float(first), y + float(second)
    return found


def modules(address: str) -> set[tuple[int, int]]:
    matrix = segno.make_qr(address, error="m").matrix
    return {(i, j) for i, row in enumerate(matrix) for j, module in enumerate(row) if module}


def test_a_code_says_the_address_of_the_view() -> None:
    drawn = svg(VIEW).decode()
    assert dark(drawn) == modules(VIEW) != modules(VIEW.replace("h=8", "h=9"))
    assert 'fill="#fff"' in drawn  # light on a dark page too


@pytest.mark.parametrize(
    "address",
    ["", "unet", "javascript:alert(1)", "file:///x", "http:///x", "http://a/" + "x" * ADDRESS],
)
def test_there_is_no_code_of_what_a_phone_should_not_open(address: str) -> None:
    assert svg(address) == b""


def test_a_lesson_comes_back_short_from_a_link() -> None:
    views = lesson("multi-head-attention")
    found = checked_views(views)
    assert found["views"] == views and found["packed"].startswith("z.")
    assert len(found["packed"]) < 0.8 * len(views)
    assert checked_views(found["packed"]) == found
    assert checked_views(Lesson.of_link(views, {"multi-head-attention"}).json()) == found


def test_ones_own_text_has_a_lesson() -> None:
    views = Lesson.of_link(
        lesson("yours", compress_text('Id("~t m:8") >> Linear("m -> k:3", "W")')), {"yours"}
    )
    assert len(views.views) > 3 and views.views[0] == LessonStep("yours")
    assert "Linear W takes t̄ m." in [view.says for view in views.views]


CUT = "the list of views in this link is cut off or changed. Try the whole link, copied anew."
NONE = "no page is named here. Try a file or link that was saved here."
LONG = "the views have 8,005 letters, at most 8,000 are read. Try fewer views."


@pytest.mark.parametrize(
    ("text", "said"), [("z.abc", CUT), ("../x;nothing", NONE), ("unet#" + "x" * 8000, LONG)]
)
def test_what_is_no_lesson_is_told_why(text: str, said: str) -> None:
    with pytest.raises(NCDError) as error:
        checked_views(text)
    assert str(error.value) == said
