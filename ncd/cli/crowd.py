"""Serves the app from several processes behind one address.

A cookie keeps each visitor on the process that has their session. A process that ends is started
again within a second or two, as all are forked from this one, which has imported everything; its
visitors come back with the settings in their links. If it stays away they go to another process,
which lets some of them go once it is there again (``ncd/app/host/health.py``). Caddy is the
proxy in front, and balances the load otherwise.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, MutableSequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from ncd.errors import NCDError

# --- The address of a server: whether it can be used, before anything slow begins

PORTS = 65535


class AddressError(NCDError):
    """Nothing can be served at this address."""


def check_address(host: str, port: int) -> None:
    """Raises AddressError, with a cure, if a server cannot listen at this address.

    >>> check_address("127.0.0.1", 99999)
    Traceback (most recent call last):
        ...
    ncd.cli.crowd.AddressError: 99999 is no port: those go from 1 to 65535. Try --port 8501.
    >>> check_address("nowhere.invalid", 8501)
    Traceback (most recent call last):
        ...
    ncd.cli.crowd.AddressError: no host is called 'nowhere.invalid'. Try --host 127.0.0.1.
    """
    if not 1 <= port <= PORTS:
        raise AddressError(f"{port} is no port: those go from 1 to {PORTS}", cure="--port 8501")
    try:
        family, kind, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise AddressError(f"no host is called {host!r}", cure="--host 127.0.0.1") from None
    with socket.socket(family, kind) as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind(place)
        except OSError as error:
            reason = error.strerror or error
            used = error.errno != errno.EADDRNOTAVAIL
            cure = "another port" if used else "--host 0.0.0.0, for every address of this machine"
            raise AddressError(f"{host}:{port}: {reason}", cure=cure) from None


# --- Serves the app from several processes behind one address

CADDY = "caddy"
RULES = Path(__file__).with_name("Caddyfile")
QUIET = {"STREAMLIT_LOGGER_HIDE_WELCOME_MESSAGE": "true"}  # which names an inner port
DRAIN = "5"  # seconds that an ending process still serves, until the proxy has noticed
MIN_CADDY_VERSION = 2, 8  # the version of Caddy from which it knows all of RULES
NEWER = re.compile(r" \{\n\s*fallback least_conn\n\s*\}|\n\s*health_fails \d+")  # in RULES
PATIENCE = 120.0  # seconds until a process must have answered once
FAREWELL = 10.0  # seconds until all processes must have ended
SHORT, TRIES = 20.0, 3  # give up after so many lives of at most so many seconds
LOOK = 0.2  # seconds between checks of the processes
# Torch looks for a GPU without starting CUDA, which could not be used after a fork.
GPU_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK", "1"
SHARE = getattr(signal, "SIGUSR1", None)  # see ncd/app/host/health.py; not on every system
AWAY = -1  # the count of visitors of a process that is not ready
# Other systems cannot safely fork a process that has used their libraries.
FORK = sys.platform == "linux"
CONTEXT: Any = get_context("fork" if FORK else "spawn")


class CrowdError(NCDError):
    """The processes, or the proxy in front of them, failed to run."""


@dataclass
class ServerProcess:
    """One process of the app, at its own port; ``counts`` holds the visitors of each process."""

    number: int
    port: int
    extra_environment: Mapping[str, str]
    counts: MutableSequence[int]
    began: float = 0.0
    short_run_count: int = 0
    is_lost: bool = False
    running: BaseProcess = field(init=False)

    def start(self) -> None:
        """Starts it; raises CrowdError if it has ended immediately too often."""
        if self.began and time.monotonic() < self.began + SHORT:
            self.short_run_count += 1
        else:
            self.short_run_count = 0
        if self.short_run_count >= TRIES:
            raise CrowdError(f"the process at port {self.port} ends whenever it is started")
        self.began = time.monotonic()
        self.counts[self.number] = AWAY
        given = (self.port, self.extra_environment, self.counts, self.number)
        self.running = CONTEXT.Process(target=_serve, args=given)
        self.running.start()

    @property
    def is_ready(self) -> bool:
        """Returns whether it accepts visitors."""
        return self.counts[self.number] != AWAY and answers("127.0.0.1", self.port)


def _serve(port: int, around: Mapping[str, str], counts: MutableSequence[int], number: int) -> None:
    """Runs one process until it ends."""
    with suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # not the handlers of the parent
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.update(around)
        from ncd.app.host import health, serve

        health.register_process(counts, number)
        serve.serve(port=port)


def crowd(host: str, port: int, count: int) -> None:
    """Serves the app from ``count`` processes at one address until it is stopped.

    Raises CrowdError if Caddy is not installed, the port is taken, or a process does not stay.
    """
    if shutil.which(CADDY) is None:
        raise CrowdError("Caddy is not installed", cure="apt-get install caddy, or brew")
    check_address(host, port)
    around, counts = environment(count), CONTEXT.RawArray("i", [AWAY] * count)
    processes = [ServerProcess(i, own, around, counts) for i, own in enumerate(_ports(count))]
    with _stop_on_signals(), TemporaryDirectory() as folder:
        if FORK:
            _prepare()
        try:
            for process in processes:
                process.start()
            _await(processes)
            proxy = _proxy(host, port, [own.port for own in processes], folder)
            _await_proxy(proxy, host, port)
        except BaseException:
            _end(processes)
            raise
        print(f"{count} processes answer at http://{host}:{port}", flush=True)
        try:
            _watch(processes, proxy)
        finally:
            proxy.terminate()
            _end(processes)
            proxy.wait()


def environment(count: int) -> dict[str, str]:
    """Returns the environment of each of ``count`` processes, which share the cores for jobs."""
    workers = max(1, (os.cpu_count() or 1) // count)
    return {"NCD_DRAIN": DRAIN, "NCD_WORKERS": str(workers), **QUIET, **os.environ}


def _prepare() -> None:
    """Imports and computes everything that the processes share."""
    os.environ.setdefault(*GPU_CHECK)
    from ncd.app.host import serve

    serve.prepare()
    gc.collect()
    gc.freeze()  # else each process's first collection would copy all shared memory


def _watch(processes: list[ServerProcess], proxy: subprocess.Popen[bytes]) -> None:
    while True:
        wait([process.running.sentinel for process in processes], LOOK)
        if proxy.poll() is not None:
            raise CrowdError(f"the proxy has ended, with code {proxy.returncode}")
        for process in processes:
            if (code := process.running.exitcode) is not None:
                process.start()
                process.is_lost = True
                print(f"The process at port {process.port} has ended ({code}).", flush=True)
            elif process.is_lost and process.is_ready:
                process.is_lost = False
                _share(processes)


def _share(processes: list[ServerProcess]) -> None:
    """Lets those who have far too many visitors send some to a process that is there again."""
    for process in processes:
        here = process.counts[process.number] != AWAY
        if here and SHARE is not None and process.running.pid is not None:
            os.kill(process.running.pid, SHARE)


def answers(host: str, port: int) -> bool:
    """Returns whether something listens at an address."""
    with suppress(OSError), socket.create_connection((host, port), timeout=LOOK):
        return True
    return False


def _await(processes: list[ServerProcess]) -> None:
    end = time.monotonic() + PATIENCE
    while not all(process.is_ready for process in processes):
        for process in processes:
            if process.running.exitcode is not None:
                raise CrowdError(f"the process at port {process.port} did not start")
        if time.monotonic() > end:
            raise CrowdError(f"the processes do not answer within {PATIENCE:.0f} seconds")
        time.sleep(LOOK)


def _await_proxy(proxy: subprocess.Popen[bytes], host: str, port: int) -> None:
    while proxy.poll() is None and not answers(host, port):
        time.sleep(LOOK)


def _proxy(host: str, port: int, ports: list[int], folder: str) -> subprocess.Popen[bytes]:
    kept = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), folder)
    variables = {
        "SITE": f"http://:{port}",
        "BIND": host,
        "PROCESSES": " ".join(f"127.0.0.1:{own}" for own in ports),
    }
    file = Path(folder, RULES.name)
    file.write_text(caddyfile(subprocess.check_output([CADDY, "version"], text=True)))
    command = [CADDY, "run", "--adapter", "caddyfile", "--config", str(file)]
    with Path(folder, "log").open("wb") as log:
        return subprocess.Popen(command, env={**os.environ, **kept, **variables}, stderr=log)


def caddyfile(version: str) -> str:
    """Returns the Caddyfile for a version of Caddy, as it says it; older ones know less.

    An old one sends new visitors to processes at random, and none to one that fails one check.

    >>> versions = ("2.6.2", "v2.8.4 h1:q3pe0", "v2.10.0")
    >>> [caddyfile(version).count("least_conn") for version in versions]
    [0, 1, 1]
    """
    text = RULES.read_text()
    found = re.match(r"v?(\d+)\.(\d+)", version)
    new = not found or tuple(map(int, found.groups())) >= MIN_CADDY_VERSION
    return text if new else NEWER.sub("", text)


def _ports(count: int) -> list[int]:
    """Returns unused ports."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for own in sockets:
            own.bind(("127.0.0.1", 0))
        return [int(own.getsockname()[1]) for own in sockets]
    finally:
        for own in sockets:
            own.close()


def _end(processes: list[ServerProcess]) -> None:
    running = [process.running for process in processes if process.began]
    for own in running:
        if own.pid is not None and own.is_alive():
            os.kill(own.pid, signal.SIGINT)  # ends at once, without draining
    end = time.monotonic() + FAREWELL
    for own in running:
        own.join(max(0.0, end - time.monotonic()))
        if own.is_alive():
            own.kill()
            own.join()


@contextmanager
def _stop_on_signals() -> Iterator[None]:
    """Ends what runs inside at SIGTERM or Ctrl-C, silently, and leaves no process behind."""
    stops: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        stops.append(number)
        raise KeyboardInterrupt  # which may become another error, as in an import

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    except BaseException:
        if not stops:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
