"""Many visitors: several processes of the app behind one address.

A visitor stays with the process that met them first, which has their session; a cookie says which.
Where it ends, they come to another, which finds their page in its link. A process that has ended is
started again, and the others share their visitors with it. Caddy stands before them all.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from urllib.error import URLError
from urllib.request import urlopen

from ncd.lang.errors import NCDError

CADDY = "caddy"
RULES = Path(__file__).with_name("Caddyfile")
READY = "/readyz"
DRAIN = "3"  # seconds in which a process that is told to end serves on, until the proxy has noticed
PATIENCE = 120.0  # seconds in which a process is to answer for the first time
FAREWELL = 10.0  # seconds in which all are to end
SHORT, TRIES = 20.0, 3  # a process that lives no longer than this, so often, is not started again
LOOK = 0.2  # seconds between two looks at the processes


class CrowdError(NCDError):
    """The processes, or the proxy before them, do not run."""


@dataclass
class Process:
    """One process of the app, at a port of its own."""

    port: int
    around: Mapping[str, str]
    began: float = 0.0
    short: int = 0
    running: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Starts it; raises CrowdError where it has ended at once too often."""
        if self.began and time.monotonic() < self.began + SHORT:
            self.short += 1
        else:
            self.short = 0
        if self.short >= TRIES:
            raise CrowdError(f"the process at port {self.port} ends whenever it is started")
        self.began = time.monotonic()
        command = [sys.executable, "-m", "ncd", "serve", "--port", str(self.port)]
        self.running = subprocess.Popen(command, env=self.around)

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{READY}", timeout=5):
                return True
        except (URLError, OSError):
            return False


def crowd(host: str, port: int, count: int) -> None:
    """Serves the app from ``count`` processes at one address, until it is stopped.

    Raises CrowdError where Caddy is not installed, the port is taken, or a process does not stay.
    """
    if shutil.which(CADDY) is None:
        raise CrowdError("Caddy is not installed", cure="apt-get install caddy, or brew")
    _free(host, port)
    around = settings(count)
    processes = [Process(own, around) for own in _ports(count)]
    with _ending(), TemporaryDirectory() as folder:
        try:
            for process in processes:
                process.start()
            _await(processes)
            proxy = _proxy(host, port, [own.port for own in processes], folder)
        except BaseException:
            _end([own.running for own in processes if own.began])
            raise
        print(f"{count} processes answer at http://{host}:{port}", flush=True)
        try:
            _watch(processes, proxy)
        finally:
            _end([proxy, *(own.running for own in processes)])


def settings(count: int) -> dict[str, str]:
    """The environment of each of ``count`` processes: they share the cores for heavy runs."""
    workers = max(1, (os.cpu_count() or 1) // count)
    usual = {"NCD_DRAIN": DRAIN, "NCD_WORKERS": str(workers), **os.environ}
    return {**usual, "NCD_PROCESSES": str(count)}


def _watch(processes: list[Process], proxy: subprocess.Popen[bytes]) -> None:
    back: list[Process] = []  # those that were started again, and have no visitors yet
    while True:
        time.sleep(LOOK)
        if proxy.poll() is not None:
            raise CrowdError(f"the proxy has ended, with code {proxy.returncode}")
        for process in processes:
            if process.running.poll() is not None:
                code = process.running.returncode
                print(f"The process at port {process.port} has ended ({code}).", flush=True)
                process.start()
                back = [*(own for own in back if own is not process), process]
        for process in [own for own in back if own.ready()]:
            back.remove(process)
            for other in processes:
                if other is not process and other not in back:
                    other.running.send_signal(signal.SIGUSR1)  # it shares its visitors


def _await(processes: list[Process]) -> None:
    end = time.monotonic() + PATIENCE
    while not all(process.ready() for process in processes):
        for process in processes:
            if process.running.poll() is not None:
                raise CrowdError(f"the process at port {process.port} did not start")
        if time.monotonic() > end:
            raise CrowdError(f"the processes do not answer within {PATIENCE:.0f} seconds")
        time.sleep(LOOK)


def _proxy(host: str, port: int, ports: list[int], folder: str) -> subprocess.Popen[bytes]:
    kept = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), folder)
    said = {
        "SITE": f"http://:{port}",
        "BIND": host,
        "PROCESSES": " ".join(f"127.0.0.1:{own}" for own in ports),
    }
    command = [CADDY, "run", "--adapter", "caddyfile", "--config", str(RULES)]
    with Path(folder, "log").open("wb") as log:
        return subprocess.Popen(command, env={**os.environ, **kept, **said}, stderr=log)


def _free(host: str, port: int) -> None:
    with socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind((host, port))
        except OSError as error:
            reason = error.strerror or error
            raise CrowdError(f"{host}:{port}: {reason}", cure="another port") from None


def _ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for own in sockets:
            own.bind(("127.0.0.1", 0))
        return [int(own.getsockname()[1]) for own in sockets]
    finally:
        for own in sockets:
            own.close()


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    for process in running:
        process.send_signal(signal.SIGINT)  # nobody is sent elsewhere
    end = time.monotonic() + FAREWELL
    for process in running:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _ending() -> Iterator[None]:
    """To be told to end is an exception here, so that no process stays behind."""

    def told(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
