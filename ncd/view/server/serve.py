"""Starts the server, with everything prepared before the first visitor comes.

``python -m ncd serve --host 127.0.0.1 --port 8501`` does so from any folder. All other settings of
Streamlit are in ``.streamlit/config.toml`` beside the app.
"""

from __future__ import annotations

import importlib
import logging
import os
import runpy
import sys

import streamlit as st

from ncd.bundled_files import bundled
from ncd.costs import cost
from ncd.models import CATALOGUE
from ncd.run.base.device import exact
from ncd.view.diagram import legend
from ncd.view.page import gallery
from ncd.view.runtime import garbage, metrics, streamlit_internals
from ncd.view.server import live_endpoint

# Modules that would be imported at their first use, some of them for seconds.
LATE = "ncd.view.server.http", "pandas", "torch.fx.experimental.symbolic_shapes", "uvicorn"


def serve(host: str = "127.0.0.1", port: int = 8501) -> None:
    """Serves the app until stopped."""
    file = bundled("app.py")
    os.chdir(file.parent)  # where Streamlit looks for its settings
    sys.argv = [str(file)]
    app: st.App = runpy.run_path(str(file), run_name="app")["app"]
    app.run(config={"server.address": host, "server.port": port})


def make_ready() -> None:
    """Prepares this process; called when the app's file is imported by a server of any kind."""
    exact()
    streamlit_internals.start()
    prepare()
    warm_up()
    announce_pages()
    garbage.start()
    metrics.start()
    # The longest that a thread waits for one that computes in Python. XX
    sys.setswitchinterval(0.002)


def prepare() -> None:
    """Imports and draws what every process needs.

    A process may be forked afterwards, so nothing runs in torch here: its threads would be missing.
    """
    for name in LATE:
        importlib.import_module(name)
    for dark in (False, True):
        legend.all_signs(dark)
        for entry in CATALOGUE.values():
            gallery.card(entry, dark)


def warm_up() -> None:
    """Draws and runs a system that learns: what is the first in a process takes longer."""
    entry = next(entry for entry in CATALOGUE.values() if cost(entry.build()).parameters)
    live_endpoint.drawn(entry.name, "labels=names")
    if scene := live_endpoint.scene(entry, {}):
        _ = scene.trace


def announce_pages() -> None:
    """Tells Streamlit that the pages are those of ``st.navigation``.

    Until that has been called, Streamlit takes the folder ``pages/`` for its older kind of app with
    many pages, and a first visitor who comes by a link to a page gets "Page not found".
    """
    logging.disable(logging.WARNING)  # that this is no visitor's run
    st.navigation([announce_pages])
    logging.disable(logging.NOTSET)
