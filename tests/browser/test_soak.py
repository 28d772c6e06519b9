"""The soak: it finds what is wrong where something is, and nothing on the pages."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.browser.server import ROOT
from tests.support.sampling import count

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WRONG = b"""<div class="stApp" data-test-connection-state="CONNECTED">
<input type="range" onkeydown="throw new Error('a knob that fails')">
<button onclick="console.error('a button that fails')" style="width: 100%; height: 500px">x</button>
<img src="/missing.png"><div data-testid="stException">ValueError: a page that fails</div></div>"""


class Wrong(BaseHTTPRequestHandler):
    """A page on which everything fails."""

    def do_GET(self) -> None:
        missing = "missing" in self.path
        self.send_response(404 if missing else 200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"" if missing else WRONG)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def wrong() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def soaked(address: str, things: int, *pages: str) -> subprocess.CompletedProcess[str]:
    options = ["--address", address, "--things", str(things), "--visitors", "1", "--minutes", "9"]
    command = [sys.executable, "-m", "tools.load.soak", *options, "--pages", *pages]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


def test_it_finds_what_is_wrong(wrong: str) -> None:
    done = soaked(wrong, 40, "x")
    assert done.returncode == 1, done.stdout + done.stderr
    for fault in ("a button that fails", "a page that fails", "404", "a knob that fails"):
        assert fault in done.stdout, done.stdout


def test_a_few_pages_bear_it(address: str) -> None:
    done = soaked(address, count(10, 200), "multi-head-attention", "layer-norm", "lenet")
    assert done.returncode == 0, done.stdout + done.stderr
