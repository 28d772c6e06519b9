"""No address answers with an error of the server, whatever stands in it or is sent to it."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from ncd.app.host import http
from ncd.app.host.presenter_endpoints import presentation_html
from tests.support.sampling import count

HOSTILE = (
    *("", "x", "http://[", "http://]", "http://a:b:c/", "//", "\x00", "%", "%ff", "%ed%a0%80"),
    *("é漢", "😀", "' or 1", "<script>", "../../etc/passwd", "9" * 400, "-1", "nan", "1e999"),
    *("z.AAAA", "z.", ";;;", "#", "&", "a=b=c", "unet;unet", "einops?text=x", "yours?text=("),
    *('{"views": [{"page": "unet", "says": "\\ud800"}]}', "[" * 2000, '{"views": 3}'),
)
PAGES = ("", "unet", "einops", "yours", "multi-head-attention", "nothing", "[", "%ff", "a/b", ".")
PARAMETERS = {
    "qr.svg": ("text",),
    "oembed": ("url", "format", "maxwidth"),
    "presentation.html": ("views", "text"),
    "lesson.json": ("of", "text", "views"),
    "ninety-seconds.json": ("step", "size", "narrow"),
    **{f"embed/{page}": ("text", "h", "folded", "formats", "dark") for page in PAGES},
    **{f"_ncd/{page}": ("text", "h", "scrub", "wide", "formats") for page in PAGES},
    **dict.fromkeys(("", "unet", "robots.txt", "wp-admin.php", "metrics", "healthz"), ("h",)),
    **dict.fromkeys(("static/x.js", "media/x", "a/b/c", "ncd-diagram.js", "[", "%ff"), ("h",)),
}
CASES = [(path, name) for path, names in PARAMETERS.items() for name in names]
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "X")


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands for Streamlit."""
    await PlainTextResponse(Request(scope).url.path)(scope, receive, send)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("NCD_FRAMES", "*")
    return TestClient(http.ServerMiddleware(app), "http://localhost", follow_redirects=False)


@pytest.mark.parametrize(("path", "name"), CASES)
def test_no_parameter_is_an_error_of_the_server(client: TestClient, path: str, name: str) -> None:
    for text in HOSTILE:
        assert client.get(f"/{path}", params={name: text}).status_code != 500, text
        assert client.get(f"/{path}?{name}={quoted(text)}").status_code != 500, text


def quoted(text: str) -> str:
    """A text as it stands, but for what no address has."""
    return "".join(c if c.isascii() and c.isprintable() and c not in " #" else "%3F" for c in text)


@pytest.mark.parametrize("path", ["lesson.json", "presentation.html", "", "unet", "oembed"])
def test_no_body_is_an_error_of_the_server(client: TestClient, path: str) -> None:
    for text in HOSTILE:
        assert client.post(f"/{path}", content=text.encode()).status_code != 500, text
    assert client.post(f"/{path}", content=b"\xff\xfe\xed\xa0\x80").status_code != 500


@pytest.mark.parametrize("header", ["origin", "host", "range", "cookie", "x-forwarded-host"])
def test_no_header_is_an_error_of_the_server(client: TestClient, header: str) -> None:
    for path, text in product(("", "unet", "qr.svg", "embed/unet", "oembed"), HOSTILE):
        value = text.encode("utf-8", "replace")[:200]
        assert client.get(f"/{path}", headers={header: value}).status_code != 500, text


@pytest.mark.parametrize("method", METHODS)
def test_no_method_is_an_error_of_the_server(client: TestClient, method: str) -> None:
    for path in (
        "",
        "unet",
        "qr.svg",
        "lesson.json",
        "ninety-seconds",
        "embed/unet",
        "robots.txt",
        "nothing",
    ):
        assert client.request(method, f"/{path}").status_code != 500, path


def test_an_address_that_is_no_path_is_refused() -> None:
    """As of ``CONNECT example.com:443``."""
    site = http.ServerMiddleware(app)
    headers = [(b"host", b"localhost")]
    for method, path in (("CONNECT", "example.com:443"), ("OPTIONS", "*"), ("CONNECT", "/")):
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": b"",
            "headers": headers,
        }
        answer = site.answer(scope)
        assert isinstance(answer, PlainTextResponse) and answer.status_code == 405
        assert answer.headers["Allow"] == "GET, HEAD"


@settings(max_examples=count(30, 2000), deadline=None)
@given(st.sampled_from(CASES), st.text(max_size=30).filter(lambda s: s.isprintable()))
def test_no_text_is_an_error_of_the_server(case: tuple[str, str], text: str) -> None:
    path, name = case
    client = TestClient(http.ServerMiddleware(app), "http://localhost", follow_redirects=False)
    assert client.get(f"/{path}", params={name: text}).status_code != 500


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/", 200, "text/html"),
        ("/unet", 200, "text/html"),
        ("/nothing", 404, "text/html"),
        ("/wp-admin.php", 404, "text/html"),
        ("/.env", 404, "text/html"),
        ("/unet.html", 404, "text/html"),
        ("/robots.txt", 200, "text/plain"),
        ("/favicon.png", 200, "text/plain"),  # of Streamlit, for which the test has a text
        ("/static/js/index.js", 200, "text/plain"),
        ("/_stcore/health", 200, "text/plain"),
    ],
)
def test_only_what_there_is_is_found(client: TestClient, path: str, status: int, kind: str) -> None:
    found = client.get(path)
    assert (found.status_code, found.headers["content-type"].partition(";")[0]) == (status, kind)


def test_robots_are_told_what_is_made_anew_for_each_request(client: TestClient) -> None:
    lines = client.get("/robots.txt").text.splitlines()
    assert lines[0] == "User-agent: *"
    assert lines[1:] == [
        f"Disallow: /{path}"
        for path in (
            "_ncd/",
            "presentation.html",
            "lesson.json",
            "ninety-seconds.json",
            "class",
            "metrics",
        )
    ]


def test_one_wrong_line_does_not_lose_the_other_views() -> None:
    file = presentation_html("residual-block?s=2;einops?text=x;unet")
    _, first, wrong, last = file.split('<section class="slide"')
    assert "<svg" in first and "<svg" in last
    assert "<svg" not in wrong and "<p>nothing is done with it. Try rearrange(" in wrong


@pytest.mark.parametrize("says", ["\ud800", "a\udfffb"])
def test_half_a_letter_in_a_lesson_is_told_of(client: TestClient, says: str) -> None:
    sent = json.dumps({"views": [{"page": "unet", "query": "", "says": says}]})
    found = client.post("/lesson.json", content=sent)
    assert found.status_code == 400
    assert found.json()["error"].endswith(
        "which holds half a letter (a surrogate). Try whole letters."
    )
