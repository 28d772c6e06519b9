"""Starts the server, and prepares the app before the first visitor comes.

``python -m ncd serve --host 127.0.0.1 --port 8501`` starts it, from any folder. Every other setting
stands in ``.streamlit/config.toml`` beside the app.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys

import click
from streamlit.testing.v1 import AppTest
from streamlit.web import cli

from ncd.app.figure.legend_page import all_signs
from ncd.app.host import garbage
from ncd.app.page import gallery, metrics
from ncd.app.page import navigation as menu
from ncd.app.runtime.streamlit_internals import install
from ncd.circuit.costs import cost
from ncd.installation import bundled
from ncd.run.device import exact
from ncd.systems.catalogue import CATALOGUE

# Modules that are otherwise imported at their first use; some take seconds.
LATE = "ncd.app.host.http", "pandas", "torch._dynamo", "uvicorn"


def serve(host: str = "127.0.0.1", port: int = 8501) -> None:
    """Serves the app until stopped; uvicorn uses uvloop where it is installed."""
    app = bundled("app.py")
    os.chdir(app.parent)  # where Streamlit looks for its settings
    settings = "--server.address", host, "--server.port", str(port)
    try:
        cli.main(["run", str(app), *settings], standalone_mode=False)
    except click.Abort:  # Control-C
        raise KeyboardInterrupt from None


def prepare_process(app: str) -> None:
    """Prepares a process that serves the app, however it was started."""
    exact()
    install()
    prepare()
    warm_up(app)
    garbage.start()
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
