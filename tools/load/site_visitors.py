"""Visitors of the static site, beside the app: ``python -m tools.load.site_visitors FOLDER``.

FOLDER is what ``ncd site -o FOLDER`` has written. Visitors come as fast as so many at once are
served: one of the site asks for the file of a page, one of the app for the page, its scripts and
styles, and a session in which the page is run. Each line tells their number, the seconds in all,
the median and the 95th percentile until a visitor has everything, failures, and kilobytes for each.
``--run`` lets visitors of the site load the model and the runtime of *Run here* as well.

``--browser`` opens ten systems in Chromium instead, and tells the milliseconds until the first
paint and until the diagram is visible, and the kilobytes received;
``--mbit 10`` slows the network down to that, with 40 ms for each answer.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser

from tests.browser.server import awaited, chromium, free_port, served
from tools.load.crowd_load import percentile
from tools.load.visitors import Found, Visitor

PATIENCE = 60  # seconds for one file
PARTS = re.compile(rb'(?:src|href)="([^":]+\.(?:js|css))"')
SYSTEMS = (
    *("scaled-dot-product-attention", "multi-head-attention", "layer-norm", "lenet", "gpt-2"),
    *("llama", "mamba", "unet", "diffusion-unet", "swin"),
)
WIRE = ".drawing svg .wire"
PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN"""


@contextmanager
def hosted(folder: Path, host: str) -> Iterator[str]:
    """The address of a folder, served by Python's own server or by Caddy."""
    port = free_port()
    commands = {
        "python": [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        "caddy": ["caddy", "file-server", "--listen", f"127.0.0.1:{port}"],
    }
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(commands[host], cwd=folder, stdout=quiet, stderr=quiet)
    try:
        yield awaited(port, process, "")
    finally:
        process.terminate()
        process.wait()


async def got(address: str) -> bytes:
    """The body of a file, as it was sent."""
    url = urlsplit(address)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    wanted = f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nAccept-Encoding: gzip\r\n"
    writer.write(f"{wanted}Connection: close\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE):
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    writer.close()
    status, _, rest = head.partition(b"\r\n")
    length = re.search(rb"content-length: (\d+)", rest, re.I)
    if b" 200 " not in status or (length and int(length[1]) != len(body)):
        raise ConnectionError(f"{address}: {status.decode()}, {len(body)} bytes")
    return body


async def of_site(address: str, page: str, run: bool) -> int:
    """Asks for a page of the site, with the files that run its system; returns the bytes."""
    files = [f"{page}/"]
    files += [f"{page}/{page}.onnx"] if run else []
    runtime = ("run_here.js", "run_worker.js", "ort.mjs", "ort.wasm.gz")
    files += [f"runtime/{name}" for name in runtime if run]
    return sum([len(await got(f"{address}/{file}")) for file in files])


async def of_app(address: str, page: str, number: int) -> int:
    """Asks for a page of the app and what it loads, and runs it; returns the bytes."""
    shell = await got(f"{address}/{page}")
    parts = [urljoin(f"{address}/", part.decode()) for part in PARTS.findall(shell)]
    loaded = sum([len(await got(part)) for part in parts])
    socket = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
    visitor = Visitor(socket, page, False, random.Random(number), Found())
    async with visitor.connected() as connection:
        await visitor.run(connection, visitor.asking())
    return len(shell) + loaded + visitor.received


async def crowd(visit: Callable[[int], Awaitable[int]], visitors: int, at_once: int) -> str:
    """Lets visitors come, and returns the line that tells of them."""
    door = asyncio.Semaphore(at_once)
    times, sizes, failed = list[float](), list[int](), list[str]()

    async def one(number: int) -> None:
        async with door:
            start = time.perf_counter()
            try:
                sizes.append(await visit(number))
            except Exception as error:  # whatever it is, it is a visitor that was not served
                failed.append(repr(error))
            else:
                times.append(1e3 * (time.perf_counter() - start))

    began = time.perf_counter()
    await asyncio.gather(*map(one, range(visitors)))
    passed = time.perf_counter() - began
    half, most = percentile(times, 0.5), percentile(times, 0.95)
    each = sum(sizes) / max(len(sizes), 1) / 1e3
    return (
        f"{visitors:5} visitors {passed:6.1f} s  p50 {half:6.0f} p95 {most:6.0f} ms  "
        f"{each:6.0f} kB each  {len(failed)} failed {' '.join(failed[:1])}"
    )


def opened(browser: Browser, address: str, mbit: float) -> str:
    """Opens a page that has not been opened before, and tells when its diagram is visible."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    network, sizes = page.context.new_cdp_session(page), list[int]()
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
    if mbit:
        rate = mbit * 1e6 / 8
        slow = {"latency": 40, "downloadThroughput": rate, "uploadThroughput": rate}
        network.send("Network.emulateNetworkConditions", {"offline": False, **slow})
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(WIRE).first.wait_for()
    shown = 1e3 * (time.perf_counter() - start)
    page.wait_for_load_state("networkidle")
    painted = page.evaluate(PAINT)
    page.close()
    return f"paint {painted:5.0f}  diagram {shown:5.0f} ms  {sum(sizes) / 1e3:5.0f} kB"


def browse(site: str, app: str, mbit: float) -> None:
    """Opens ten systems in a browser, on the site and in the app."""
    with chromium() as browser:
        for name in SYSTEMS:
            for place, address in (("site", f"{site}/{name}/"), ("app", f"{app}/{name}")):
                print(f"{name:30} {place:5} {opened(browser, address, mbit)}", flush=True)


async def load(site: str, app: str, options: argparse.Namespace) -> None:
    """Lets visitors come to the site, then to the app, and prints a line for each."""
    page, at_once = options.page, options.at_once
    line = await crowd(lambda _: of_site(site, page, options.run), options.visitors, at_once)
    print(f"site  {line}", flush=True)
    if options.app:
        await of_app(app, page, 0)  # so that the first one does not wait for imports
        line = await crowd(lambda number: of_app(app, page, number), options.app, at_once)
        print(f"app   {line}", flush=True)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", nargs="?", default="multi-head-attention")
    parser.add_argument("--visitors", type=int, default=2000, help="of the site")
    parser.add_argument("--app", type=int, default=100, help="visitors of the app")
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--host", choices=("python", "caddy"), default="python")
    parser.add_argument("--run", action="store_true", help="load model and runtime as well")
    parser.add_argument("--browser", action="store_true", help="open ten systems in Chromium")
    parser.add_argument("--mbit", type=float, default=0, help="of the network of the browser")
    options = parser.parse_args()
    with hosted(options.folder, options.host) as site, served(NCD_LOG="off") as app:
        if options.browser:
            browse(site, app, options.mbit)
        else:
            asyncio.run(load(site, app, options))


if __name__ == "__main__":
    main()
