"""Starts the server, prepares the app, and collects garbage while it idles.

A full collection stops every visitor's run, so the one that Streamlit makes after each run is off.
Python still collects young objects, for some milliseconds at a time. When the process has been idle
for two seconds, all objects since the last collection are visited, and once a minute all objects;
a busy server does so every ten minutes. Objects that survive are frozen: Python does not visit them
again before a full collection, which takes some tenths of a second.

``python -m ncd serve --host 127.0.0.1 --port 8501`` starts it, from any folder. Every other setting
stands in ``.streamlit/config.toml`` beside the app.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
import platform
import socket
import sys
import time
import webbrowser
from collections.abc import Iterator
from threading import Thread

import click
import torch
from streamlit.testing.v1 import AppTest
from streamlit.web import cli

from ncd.app.figure.legend_page import all_signs
from ncd.app.page import gallery, metrics
from ncd.app.page import navigation as menu
from ncd.app.runtime.streamlit_internals import install
from ncd.circuit.costs import cost
from ncd.installation import package_path
from ncd.run.device import exact
from ncd.systems.catalogue import CATALOGUE

# --- Garbage collection while the server is idle

YOUNG = 5_000, 5, 1_000_000  # the thresholds of the three generations; the third is never reached
PERIOD = 0.5  # seconds between two checks
IDLE_CHECKS = 4  # checks without new objects after which the process counts as idle
STILL = 50  # objects that an idle process makes between two checks
FULL_COLLECTION_SECONDS = (
    60.0  # seconds between full collections of a server that is idle now and then
)
LONGEST = 600.0  # seconds after which a full collection runs even if the process is busy
# Seconds after which free memory is returned even if the process is busy: each run is a thread, and
# the C library keeps the memory that a thread has freed.
OFTEN = 30.0
_glibc = ctypes.CDLL(None) if "glibc" in platform.libc_ver() else None


def start() -> None:
    """Replaces Python's automatic full collections for the rest of the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*YOUNG)
    Thread(target=_collect_when_idle, name="sweep", daemon=True).start()


def _collect_when_idle() -> None:
    whole = last = given = time.monotonic()
    for rests in resting():
        now = time.monotonic()
        if rests:
            every = now > whole + FULL_COLLECTION_SECONDS
            collect_garbage(every)
            last = given = now
            whole = now if every else whole
        elif now > last + LONGEST:
            gc.collect()
            last = now
        elif now > given + OFTEN:
            return_free_memory()
            given = now


def resting() -> Iterator[bool]:
    """Yields, every half second, whether the process has just become idle."""
    before, still = gc.get_count(), IDLE_CHECKS
    while True:
        time.sleep(PERIOD)
        now = gc.get_count()
        same = now[1:] == before[1:] and abs(now[0] - before[0]) < STILL
        before, still = now, still + 1 if same else 0
        yield still == IDLE_CHECKS


def collect_garbage(every: bool = True) -> None:
    """Collects the garbage, also of objects that were frozen if ``every``; returns free memory."""
    if every:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return_free_memory()


def return_free_memory() -> None:
    """Returns free memory to the system."""
    if _glibc:
        _glibc.malloc_trim(0)


# --- Starts the server, and prepares the app before the first visitor comes

# Modules that are otherwise imported at their first use; some take seconds.
LATE = "ncd.app.host.http", "pandas", "torch._dynamo", "uvicorn"


def serve(host: str = "127.0.0.1", port: int = 8501) -> None:
    """Serves the app until stopped; uvicorn uses uvloop where it is installed."""
    app = package_path("app.py")
    os.chdir(app.parent)  # where Streamlit looks for its settings
    settings = "--server.address", host, "--server.port", str(port)
    try:
        cli.main(["run", str(app), *settings], standalone_mode=False)
    except click.Abort:  # Control-C
        raise KeyboardInterrupt from None


def open_when_served(host: str, port: int, page: str) -> None:
    """Opens a page in the browser as soon as the server answers, beside what runs meanwhile."""
    host = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
    Thread(target=_open_page, args=(host, port, page), name="browser", daemon=True).start()


def _open_page(host: str, port: int, page: str) -> None:
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
            break
        except OSError:
            time.sleep(PERIOD)
    shown = f"[{host}]" if ":" in host else host
    webbrowser.open(f"http://{shown}:{port}/{page}")


def prepare_process(app: str) -> None:
    """Prepares a process that serves the app, however it was started."""
    exact()
    install()
    prepare()
    warm_up(app)
    start()
    metrics.start()
    # A thread that needs the interpreter lock waits this long for a busy one. The default of 5 ms
    # delays a drawing that is due; with much less, threads spend their time switching.
    sys.setswitchinterval(0.002)


def prepare() -> None:
    """Imports slow modules, and draws the pictures of the gallery and of the legend.

    The process may be forked afterwards, so nothing here may run torch: its threads would not exist
    in the copy.
    """
    for name in LATE:
        importlib.import_module(name)
    for dark in (False, True):
        all_signs(dark)
        for entry in CATALOGUE.values():
            gallery.card(entry, dark)


def warm_up(app: str) -> None:
    """Runs the app without a browser: its first page, and one page of a system.

    The first visit then takes 0.15 s of Python instead of 0.32 s. Also, until ``st.navigation`` has
    been called in a process, Streamlit treats ``pages/`` as an old-style multipage app, and a first
    visitor who follows a link to a page gets "Page not found". ``AppTest`` is the only public way
    to run a page without a browser.
    """
    logging.disable(logging.WARNING)  # AppTest warns that it runs without a browser
    learning = (entry for entry in CATALOGUE.values() if cost(entry.build()).parameters)
    file = menu.file(next(learning))
    system = AppTest.from_file(app, default_timeout=120).switch_page(file).run()
    first = AppTest.from_file(app, default_timeout=120).run()  # last: it sets the navigation
    logging.disable(logging.NOTSET)
    for error in (*first.exception, *system.exception):
        raise SystemExit(f"The app fails at its first run: {error.message}")
