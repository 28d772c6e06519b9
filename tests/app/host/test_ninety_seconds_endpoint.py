"""The page "Read it in 90 seconds" and its pictures: drawn without a fault, and large enough."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from starlette.testclient import TestClient

import ncd
from ncd.app.figure import legend_page
from ncd.app.host import http, ninety_seconds_endpoint
from ncd.app.host.ninety_seconds_endpoint import (
    MAX_QUERY,
    NOT_FOUND_TEXT,
    PATH,
    frame_of_query,
    lesson,
    page_html,
    presenter_link,
)
from ncd.app.host.presenter_endpoints import checked_views
from ncd.app.page import gallery
from ncd.app.panels.walk.step import STEP
from ncd.app.scene import own_entry
from ncd.app.scene.edited_system import entry_of
from ncd.circuit.elaborate import elaborate
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.primitives import Text
from ncd.drawing.lint.lint import lint
from ncd.site.step_frames import frame, picture, room
from ncd.systems.lessons.computed_questions import question
from ncd.systems.lessons.ninety_seconds import STEPS, WORDS
from tests.app.host.test_answers import app

NUMBERS = range(1, len(STEPS) + 1)
ROOM = {False: (800, 600), True: (358, 340)}  # of a picture at 1280 × 720, and on a phone
SLACK = 4  # drawing units by which a letter may leave its row
LEAST = 14  # pixels of the smallest text


@pytest.fixture
def client() -> TestClient:
    return TestClient(http.ServerMiddleware(app), "http://localhost", follow_redirects=False)


def check_words(drawing: Drawing) -> None:
    """Each lies in the room of its thumbnail, clear of all cells."""
    rooms = [drawn.box.grown(SLACK) for drawn in drawing.thumbnails]
    cells = [tile.box for drawn in drawing.thumbnails for tile in drawn.tiles]
    (words,) = drawing.extras
    for text in words.items:
        assert isinstance(text, Text)
        (x0, y0, x1, y1) = text.box
        assert any(x0 >= a and y0 >= b and x1 <= c and y1 <= d for a, b, c, d in rooms), text
        assert not any(x0 < c and x1 > a and y0 < d and y1 > b for a, b, c, d in cells), text


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("number", NUMBERS)
def test_every_picture_is_sound_and_its_text_large_enough(number: int, narrow: bool) -> None:
    step = STEPS[number - 1]
    x0, y0, x1, y1 = room(number, narrow)
    wide, high = ROOM[narrow]
    scale = min(wide / (x1 - x0), high / (y1 - y0))
    for size in (step.range[0], step.start, step.range[-1]):
        drawing = picture(number, step.run(size), narrow, dark=False)
        assert lint(replace(drawing, extras=())) == []
        check_words(drawing)
        assert scale * min(text.label.size for text in drawing.texts) >= LEAST
        box = drawing.box
        assert x0 <= box.x0 and y0 <= box.y0 and box.x1 <= x1 and box.y1 <= y1


def test_a_picture_grows_what_stood_there_stays() -> None:
    """Each step has the arrays of the one before, and its first wires begin at the same place."""
    for number in (3, 4, 5):
        now, later = (picture(n, STEPS[n - 1].run(), False, False) for n in (number, number + 1))
        first = next(drawn for drawn in now.thumbnails if drawn.array == "v0")
        same = next(drawn for drawn in later.thumbnails if drawn.array == "v0")
        assert now.wires[0].axis == later.wires[0].axis == "y"
        assert now.wires[0].path[0].a == later.wires[0].path[0].a
        if number < 5:
            assert [tile.png for tile in first.tiles] == [tile.png for tile in same.tiles]


def test_words_stand_beside_their_rows_and_the_dark_has_its_own_colours() -> None:
    light, dark = (frame(3, 5, False, own).svg for own in (False, True))
    for word in WORDS:
        assert f">{word}</text>" in light
    assert light != dark and 'aria-hidden="true"' in light and "data-node" not in light


def test_the_page_has_every_step_and_its_pictures_come(client: TestClient) -> None:
    found = client.get(f"/{PATH}")
    assert found.status_code == 200 and found.text == page_html()
    for step in STEPS:
        assert step.title in found.text
    assert f"All {len(ncd.catalogue)} systems" in found.text
    for name in re.findall(r'(?:href|src)="\./(ncd-[^"]+)"', found.text):
        assert client.get(f"/{name}").status_code == 200
    facts = client.get(f"/{PATH}.json?step=4&size=7&narrow=1&dark=1").json()
    own = frame_of_query({"step": "4", "size": "7", "narrow": "1", "dark": "1"})
    assert own is not None and facts == own | {name: [*own[name]] for name in ("box", "room")}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "step=0&size=1",
        "step=8&size=1",
        "step=2&size=17",
        "step=2",
        "step=²&size=1",
        "step=1&size=9999",
        "step=2&size=8&x=" + "y" * 100,
    ],
)
def test_there_is_no_picture_of_another_step_or_size(client: TestClient, query: str) -> None:
    found = client.get(f"/{PATH}.json?{query}")
    assert (found.status_code, found.text) == (404, NOT_FOUND_TEXT)


def test_a_query_has_a_greatest_length(client: TestClient) -> None:
    query = "step=2&size=8&x="
    found = client.get(f"/{PATH}.json?{query}{'y' * (MAX_QUERY - len(query))}")
    assert found.status_code == 200


def test_a_server_that_may_not_run_it_says_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ncd.LimitError("it needs 9 bytes", cure="more")

    for name in ("page_html", "frame_of_query"):
        monkeypatch.setattr(ninety_seconds_endpoint, name, refuse)
    for address in (f"/{PATH}", f"/{PATH}.json?step=2&size=8"):
        found = client.get(address)
        assert (found.status_code, found.text) == (503, "it needs 9 bytes. Try more.")


def test_the_steps_are_a_lesson_that_can_be_changed() -> None:
    """Each view opens, and what it asks has an answer."""
    page, _, query = presenter_link().partition("?")
    asked = dict(parse_qsl(query))
    assert page == own_entry.CUSTOM_PAGE and checked_views(asked["views"])["views"] == str(lesson())
    for step, view in zip(STEPS, lesson().views, strict=True):
        said = dict(parse_qsl(view.query))
        entry = entry_of(view.page, said)
        assert entry is not None and view.says == step.line
        arrays, own = (
            [value.array for value in elaborate(term).values.values()]
            for term in (entry.build(), step.run().term)
        )
        assert arrays == own
        if step.ask:
            assert question(entry, entry.settings({}), step.ask) is not None


def test_links_of_the_app_lead_to_the_page_in_the_same_tab() -> None:
    script = next(file.text for file in http.FILES.values() if "const BESIDE" in file.text)
    assert f'const BESIDE = "{PATH}"' in script
    drawer = legend_page.legend_html(ncd.draw(ncd.Softmax("x:3")), dark=False)
    assert f'href="{PATH}"' in gallery.NINETY_SECONDS and f'href="{PATH}"' in drawer
    assert f"]({PATH})" in gallery.START_LINKS and f"]({PATH})" in legend_page.BEGINNERS_LINK


def test_step_by_step_opens_the_panel_step() -> None:
    assert f"](multi-head-attention?panel={STEP.title}) step by step" in gallery.START_LINKS
