"""What answers each address, and what is sent with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

import ncd
from ncd.app.host import embed_endpoint, http, live_endpoint
from ncd.app.host.live_endpoint import drawing_json, formulas_json
from ncd.app.host.presenter_endpoints import ADDRESS, checked_views, slides, svg
from ncd.app.page.page_head import NOT_FOUND_HEAD, TAGS
from ncd.app.scene import own_entry
from ncd.app.state.link_text import compress_text
from ncd.errors import LimitError, ParseError
from ncd.site.document import Slide
from ncd.systems.lessons.lesson import FILE as LONGEST
from ncd.systems.lessons.lesson import Lesson, LessonStep

OWN = 'Id("~y:5 m:8") >> Linear("m -> k:2", "W")'


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands for Streamlit, which answers an unknown file with its bare page."""
    path = Request(scope).url.path
    response = HTMLResponse("bare") if path.endswith("none.js") else PlainTextResponse("app")
    await response(scope, receive, send)


@pytest.fixture
def client() -> TestClient:
    return TestClient(http.ServerMiddleware(app), "http://localhost", follow_redirects=False)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/", 200, "opening = 'first'"),
        ("/unet", 200, "opening = ''"),
        ("/yours", 200, "opening = ''"),
        ("/legend", 200, "column"),
        ("/nothing", 404, NOT_FOUND_HEAD[0]),
        ("/a/unet", 307, ""),
        ("/unet%20", 307, ""),
        ("/unet/", 200, "app"),
        ("/_stcore/none.js", 404, "There is no such file."),
        ("/_stcore/health", 200, "app"),
        ("/media/x.png", 200, "app"),
        ("/component/none.js", 200, "bare"),
        ("/healthz", 200, "ok"),
        ("/metrics", 200, "ncd_"),
        ("/robots.txt", 200, "User-agent"),
    ],
)
def test_each_address_has_its_answer(
    client: TestClient, path: str, status: int, words: str
) -> None:
    found = client.get(path)
    assert found.status_code == status
    if words != "column":
        assert words in found.text
    page = status in (200, 404) and "<title>" in found.text
    known = path in ("/", "/unet", "/yours", "/legend")
    assert ("document.cookie" in found.text) == known
    assert ("dataset.opening" in found.text) == (known and path != "/legend")
    if page:
        assert found.headers["Cache-Control"] == "no-cache"
        assert found.text.count("</body>") == 1 and TAGS in found.text
    if status == 307:
        assert found.headers["location"] == "/unet"


def test_a_request_that_is_no_get_goes_to_streamlit_and_files_stay(client: TestClient) -> None:
    assert client.post("/unet").text == "app"
    assert client.head("/unet").status_code == 200
    assert client.request("X", "/unet").status_code == 405
    for name, file in http.FILES.items():
        found = client.get(f"/any/{name}")
        assert found.text == file.text and "immutable" in found.headers["Cache-Control"]
    assert client.get("/unet", headers={"host": "evil.net"}).status_code == 403
    assert client.get("/healthz", headers={"host": "evil.net"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "packed"),
    [("/static/a.js", True), ("/static", True), ("/media/a.js", False), ("/a/static", False)],
)
def test_files_of_the_frontend_alone_are_sent_compressed(
    path: str, packed: bool, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "compressed_answer", lambda _: PlainTextResponse("packed"))
    assert (client.get(path).text == "packed") == packed


@pytest.mark.parametrize(
    ("frames", "policy", "options"),
    [
        ("", "frame-ancestors 'none'", "DENY"),
        ("https://a.net, https://b.net;x", "frame-ancestors https://a.net https://b.netx", None),
        ("*", None, None),
        ("https://a.net *", None, None),
    ],
)
def test_pages_say_which_sites_may_frame_them(
    frames: str, policy: str | None, options: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_FRAMES", frames)
    found = TestClient(http.ServerMiddleware(app), "http://localhost").get("/unet").headers
    assert found.get("Content-Security-Policy") == policy
    assert found.get("X-Frame-Options") == options


@pytest.mark.parametrize(
    ("path", "sound"),
    [(b"/a", True), (b"/%41", True), (b"/%4g", False), (b"/%4", False), (b"/\xff", False)],
)
def test_a_path_is_read_as_a_browser_reads_it(path: bytes, sound: bool) -> None:
    assert http.is_valid_path(path) is sound


# --- drawings and formulas ------------------------------------------------------------------------


def test_a_scene_has_what_its_link_says() -> None:
    entry = ncd.catalogue["multi-head-attention"]
    plain = live_endpoint.scene(entry, {})
    assert plain is not None
    assert (plain.labels, plain.dark, plain.show_callouts, plain.column_width) == (
        "names",
        False,
        True,
        None,
    )
    assert (plain.seed, plain.device, plain.selected_id) == (0, "cpu", "")
    asked = {"h": "2", "labels": "both", "dark": "1", "callouts": "off", "wide": "620"}
    full = live_endpoint.scene(entry, {**asked, "about": "v7", "formats": "weights=int8"})
    assert full is not None
    assert (full.settings["h"], full.labels, full.dark, full.show_callouts) == (
        2,
        "both",
        True,
        False,
    )
    assert (full.column_width, full.subject_id, full.formats.weights) == (620, "v7", "int8")
    assert live_endpoint.scene(ncd.catalogue["unet"], {"x": "33"}) is None
    causal = live_endpoint.scene(entry, {"dark": "0", "callouts": "x"})
    assert causal is not None and not causal.dark and causal.show_callouts


@pytest.mark.parametrize("panel", ["", "shapes", "source", "cost"])
def test_formulas_are_of_a_panel_that_depends_on_sizes_alone(panel: str) -> None:
    found = formulas_json("scaled-dot-product-attention", f"y=5&scrub={panel}")
    assert found is not None and bool(found["panel"]) == bool(panel)
    assert found["knobs"]["y"]["least"] == 1 and found["grips"]["y"] == ["y"]
    assert formulas_json("scaled-dot-product-attention", "y=5&scrub=values") is None


@pytest.mark.parametrize("panel", live_endpoint.PANELS)
def test_the_formulas_of_a_panel_are_those_of_its_own_texts(
    panel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = live_endpoint.scene(ncd.catalogue["scaled-dot-product-attention"], {})
    assert scene is not None
    for name in ("shapes", "cost"):
        monkeypatch.setattr(live_endpoint, f"{name}_html", lambda *_, name=name: name)
    monkeypatch.setattr(live_endpoint.source_listing, "listing_html", lambda *_: "source")
    monkeypatch.setattr(live_endpoint, "changed_texts", lambda here, there: [here, there])
    monkeypatch.setattr(live_endpoint, "texts", str)
    monkeypatch.setattr(live_endpoint, "changes", lambda here, there: [here, here])
    assert live_endpoint._panel(scene, scene, panel) == [panel] * 2


def test_a_query_that_is_too_long_asks_for_nothing() -> None:
    query = "y=5&about="
    fits = query + "x" * (live_endpoint.LONGEST - len(query))
    assert drawing_json("scaled-dot-product-attention", fits) is not None
    assert drawing_json("scaled-dot-product-attention", fits + "x") is None


@pytest.mark.parametrize("path", ["/_ncd/unet?x=32", "/_ncd/unet?x=32&scrub=cost"])
def test_the_endpoint_answers_with_json_or_with_nothing(client: TestClient, path: str) -> None:
    found = client.get(path)
    assert found.status_code == 200
    assert ("svg" in found.json()) != ("scrub" in path)
    assert client.get(path.replace("unet", "nothing")).status_code == 204


# --- lessons and slides ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["unet?c=16;lora#Said", '{"views": [{"page": "unet"}]}', "  [1"])
def test_what_is_sent_to_it_is_a_lesson_or_is_told(text: str, client: TestClient) -> None:
    found = client.post("/lesson.json", content=text)
    if text == "  [1":
        assert found.status_code == 400 and found.json()["error"]
        return
    assert found.status_code == 200
    views = found.json()["views"]
    assert views.startswith("unet")
    again = client.get("/lesson.json", params={"views": views})
    assert again.headers["Content-Disposition"].startswith("attachment")
    assert json.loads(again.text)["views"][0]["page"] == "unet"
    assert client.get("/lesson.json", params={"of": "unet"}).json()["views"]
    assert client.get("/lesson.json", params={"of": "no"}).status_code == 404
    assert again.headers["Cache-Control"] == "no-store"


def test_a_file_of_a_lesson_has_an_end(client: TestClient) -> None:
    read: list[int] = []

    async def stream(self: Request) -> Any:
        for _ in range(9):
            read.append(1)
            yield b"x" * LONGEST

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Request, "stream", stream)
        assert client.post("/lesson.json").status_code == 400
    assert len(read) == 5  # four may be letters of four bytes


def error(call: Callable[[], object]) -> str:
    with pytest.raises((ParseError, LimitError)) as found:
        call()
    return found.value.fact


def test_a_link_that_is_cut_off_or_names_no_page_is_told() -> None:
    long = compress_text("unet?c=16;" * 200)
    assert long.startswith("z.")
    assert checked_views(long)["views"].startswith("unet?c=16;")
    assert "cut off or changed" in error(lambda: checked_views(long[:-9]))
    assert "no page is named" in error(lambda: checked_views("nothing"))


@pytest.mark.parametrize(
    ("address", "is_code"),
    [
        ("http://a.net/" + "x" * (ADDRESS - 13), True),
        ("http://a.net/" + "x" * (ADDRESS - 12), False),
        ("https://a.net", True),
        ("ftp://a.net", False),
        ("http:", False),
    ],
)
def test_a_code_is_of_a_short_address(address: str, is_code: bool) -> None:
    assert bool(svg(address)) == is_code


def slide(query: str, page: str, text: str = "") -> Slide:
    (found,) = slides(Lesson((LessonStep(page, query, "Said."),)), text)
    return found


def test_a_slide_has_what_its_view_says() -> None:
    lit = slide("h=2&axes=k&select=v7&folded=none", "multi-head-attention")
    assert (lit.caption, lit.axes, lit.select) == ("Said.", "k", "v7")
    assert slide(f"select={'x' * 30}", "unet").select == "x" * 20
    wrong = slide("x=33", "unet")
    assert "cannot be halved 4 times" in wrong.facts and wrong.drawing is not None
    assert wrong.panel == ""
    own = slide("", own_entry.CUSTOM_PAGE, OWN)
    assert "16 parameters · 160 FLOP" in own.facts
    assert (
        slide(f"text={compress_text('b i -> i b')}", own_entry.CUSTOM_PAGE, OWN).facts != own.facts
    )
    words = slide("input=sentences&text_y=one two", "multi-head-attention")
    assert all(f'aria-label="{axis} 2: ' in words.facts for axis in "yx")


# --- frames of other sites ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "attributes"),
    [
        ({}, ""),
        ({"dark": "0"}, ' style="color-scheme: light"'),
        ({"dark": "x"}, ""),
        ({"sizes": "off"}, ' data-sizes="off"'),
        ({"sizes": "on"}, ""),
    ],
)
def test_a_frame_has_its_theme_and_its_inputs(said: dict[str, str], attributes: str) -> None:
    assert embed_endpoint._scheme(said) == attributes


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (None, 480),
        ("", 480),
        ("400", 400),
        ("900", 480),
        ("x", 480),
        ("99999", 480),
        ("1" * 6, 480),
        ("00400", 400),
        ("000400", 480),
        ("9" * 5000, 480),
    ],
)
def test_a_frame_is_no_larger_than_is_asked(text: str | None, most: int) -> None:
    assert embed_endpoint._limited_size(text, 480) == most


@pytest.mark.parametrize(("length", "settings"), [(20, "2"), (21, None)])
def test_a_frame_whose_query_is_too_long_shows_the_system_as_it_is(
    length: int, settings: str | None, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_endpoint, "LONGEST", 20)
    asked: list[str | None] = []

    def written(name: str, said: dict[str, str], address: str) -> str:
        asked.append(said.get("r"))
        return "page"

    monkeypatch.setattr(embed_endpoint, "page_html", written)
    assert client.get(f"/embed/lora?{'r=2&about='.ljust(length, 'x')}").text == "page"
    assert asked == [settings]


def test_the_page_of_a_frame_has_its_own_look() -> None:
    plain = embed_endpoint.page_html("lora", {})
    assert "labels=both" in plain and "dark=0" in plain and "oembed" not in plain
    assert "dark=1" in embed_endpoint.page_html("lora", {"dark": "1"})
    assert "dark=0" in embed_endpoint.page_html("lora", {"dark": "x"})
    found = embed_endpoint._entry("/embed/lora/", "")
    assert found is not None and found.name == "lora"
    assert embed_endpoint._entry("/a/lora", "") is None
