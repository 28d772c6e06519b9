"""Who may ask a server, and who may show it in a frame; as the network sees it."""

import os
import re
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import ROOT, awaited, free_port
from tests.browser.waits import quiet

pytestmark = pytest.mark.browser
SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "bmV1cmFsIGNpcmN1aXRzIQ==",
}
SCHOOL = "https://www.school.example"
WAYS = pytest.mark.parametrize("path", ["/", "/residual-block", "/_stcore/stream", "/favicon.png"])


def ask(address: str, path: str, **headers: str) -> HTTPResponse:
    """The answer to a request; of the stream, to the opening of a websocket."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=20)
    sent = {**(SOCKET if "stream" in path else {}), **headers}
    connection.request("GET", path, headers=sent)
    return connection.getresponse()


def opened(answer: HTTPResponse) -> bool:
    assert answer.status in (101, 200, 403)
    return answer.status != 403


# Streamlit would ask for the outside address, to print it, and to compare it with an origin that is
# not its own.
NAMED = """
import sys; from streamlit import net_util; from ncd.app.host.serve import serve
net_util.get_external_ip = net_util.get_internal_ip = lambda: print('ASKED', flush=True)
serve(port=int(sys.argv[1]), host='0.0.0.0')
"""


class Named(NamedTuple):
    """A server that answers to names, and that a school may frame."""

    address: str
    said: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    names = {"NCD_HOSTS": "circuits.example, *.school.example", "NCD_FRAMES": SCHOOL}
    command = [sys.executable, "-u", "-c", NAMED, str(port := free_port())]
    said = tmp_path_factory.mktemp("named") / "said"
    with said.open("w") as out, Popen(command, cwd=ROOT, env=os.environ | names, stdout=out) as own:
        try:
            yield Named(awaited(port, own), said)
        finally:
            own.terminate()


@pytest.fixture
def named(server: Named) -> str:
    return server.address


@WAYS
@pytest.mark.parametrize(
    ("host", "origin", "welcome"),
    [
        ("", "", True),
        ("localhost:80", "", True),
        ("[::1]:8501", "", True),
        ("circuits.example", "", False),
        ("circuits.example", "http://circuits.example", False),
        ("localhost.circuits.example", "", False),
        ("localhost@circuits.example", "", False),
        ("localhost", "http://circuits.example", False),
        ("localhost:80", "http://localhost:81", False),
        ("localhost:80", "http://localhost:80", True),
        ("localhost", "null", False),
        ("[", "", False),
    ],
)
def test_a_server_answers_to_localhost(
    address: str, path: str, host: str, origin: str, welcome: bool
) -> None:
    headers = {"Host": host, "Origin": origin}
    answer = ask(address, path, **{name: text for name, text in headers.items() if text})
    assert opened(answer) is welcome


@WAYS
@pytest.mark.parametrize(
    ("host", "origin", "welcome"),
    [
        ("circuits.example", "https://circuits.example", True),
        ("CIRCUITS.example.:443", "", True),
        ("maths.school.example:8501", "http://maths.school.example:8501", True),
        ("school.example", "", False),
        ("notschool.example", "", False),
        ("localhost", "", False),
        ("circuits.example", "https://other.example", False),
        ("127.0.0.1", "https://circuits.example", True),  # behind a proxy that names itself
    ],
)
def test_a_server_answers_to_the_names_it_is_given(
    named: str, path: str, host: str, origin: str, welcome: bool
) -> None:
    headers = {"Host": host, "Origin": origin}
    answer = ask(named, path, **{name: text for name, text in headers.items() if text})
    assert opened(answer) is welcome


def test_no_site_frames_a_page_unless_it_may(address: str, named: str) -> None:
    for path in ("/", "/residual-block", "/_stcore/health", "/nowhere"):
        refused = ask(address, path)
        assert refused.headers["X-Frame-Options"] == "DENY"
        assert refused.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        allowed = ask(named, path, Host="circuits.example")
        assert "X-Frame-Options" not in allowed.headers
        policy = allowed.headers["Content-Security-Policy"]
        assert policy == f"frame-ancestors {SCHOOL}"


def test_nobody_asks_for_the_outside_address(server: Named) -> None:
    for path in ("/", "/_stcore/health", "/_stcore/stream"):
        for origin in ("https://circuits.example", "http://other.example", "null"):
            ask(server.address, path, Origin=origin)
    said = server.said.read_text()
    assert "URL" in said and "ASKED" not in said


def test_a_frame_stays_empty(page: Page, address: str) -> None:
    page.route(
        "http://other.example/",
        lambda route: route.fulfill(
            content_type="text/html", body=f'<iframe src="{address}/residual-block"></iframe>'
        ),
    )
    refused = "chrome-error://chromewebdata/"
    with page.expect_event("framenavigated", lambda frame: frame.url == refused):
        page.goto("http://other.example/")
    expect(page.frame_locator("iframe").get_by_text("Residual block")).to_have_count(0)


def test_a_page_that_streamlit_cannot_fill_any_more_is_loaded_again(
    page: Page, address: str
) -> None:
    page.goto(f"{address}/residual-block?n1=24")
    expect(page.locator(".drawing svg").first).to_be_visible()
    page.evaluate("window.before = true")
    page.evaluate("setTimeout(() => { throw Error('Cannot set a node at a delta path') })")
    page.wait_for_function("window.before === undefined")
    expect(page.locator(".drawing svg").first).to_be_visible()
    expect(page.get_by_role("slider", name="n₁").first).to_have_value("24")
    page.evaluate("window.before = true")
    page.evaluate("sessionStorage.setItem('again', Date.now())")  # just now, on any machine
    with page.expect_event("pageerror"):
        page.evaluate("setTimeout(() => { throw Error('Cannot set a node at a delta path') })")
    quiet(page)
    assert page.evaluate("window.before")  # once is enough for a while


def test_a_page_that_lost_its_server_for_good_is_loaded_again(page: Page, address: str) -> None:
    page.goto(f"{address}/residual-block?n1=24")
    expect(page.locator(".drawing svg").first).to_be_visible()
    page.evaluate("window.before = true")
    app = "document.querySelector('[data-testid=stApp]')"
    page.evaluate(f"{app}.dataset.testConnectionState = 'DISCONNECTED_FOREVER'")
    page.wait_for_function("window.before === undefined")
    expect(page.locator(".drawing svg").first).to_be_visible()
    expect(page.get_by_role("slider", name="n₁").first).to_have_value("24")


def test_an_unknown_file_is_not_found(address: str) -> None:
    folders = ("static/", "static/js/", "app/", "app/static/", "_stcore/", "auth/", "media/", "")
    for path in (*(f"/{folder}nothing" for folder in folders), "/component/nothing/index.html"):
        assert ask(address, path).status == 404, path
    script = re.search(r"static/js/index[^\"]*\.js", ask(address, "/").read().decode())
    assert script
    for path in (f"/{script[0]}", "/_stcore/health", "/favicon.png", "/unet"):
        assert ask(address, path).status == 200, path
