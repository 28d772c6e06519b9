"""The server: the app, made ready before its first visitor comes.

``python -m ncd serve --host 127.0.0.1 --port 8501`` starts it, from any folder. Every other setting
stands in ``.streamlit/config.toml`` beside the app.
"""

from __future__ import annotations

import importlib
import os
import sys

import click
from streamlit.web import cli

from ncd.bundled_files import bundled
from ncd.models import CATALOGUE
from ncd.run.base.device import exact
from ncd.view.diagram import legend
from ncd.view.page import gallery
from ncd.view.runtime import garbage, metrics, streamlit_patches

# What is imported when it is used first, some of it in seconds.
LATE = "ncd.view.server.http", "pandas", "torch.fx.experimental.symbolic_shapes", "uvicorn"


def serve(host: str = "127.0.0.1", port: int = 8501) -> None:
    """Serves the app until stopped, in uvloop where it is installed: uvicorn prefers it."""
    app = bundled("app.py")
    os.chdir(app.parent)  # where Streamlit looks for its settings
    settings = "--server.address", host, "--server.port", str(port)
    try:
        cli.main(["run", str(app), *settings], standalone_mode=False)
    except click.Abort:  # Control-C
        raise KeyboardInterrupt from None


def make_ready() -> None:
    """Prepares a process that serves the app, however it was started."""
    exact()
    streamlit_patches.install()
    prepare()
    garbage.start()
    metrics.start()
    # A thread that needs the interpreter lock waits this long for a busy one. The usual 5 ms are
    # long for a drawing that is due; with much less, the threads mostly change places.
    sys.setswitchinterval(0.002)


def prepare() -> None:
    """Imports what is slow to import, and draws the pictures of the gallery and of the key.

    A process may be forked afterwards: nothing runs in torch here, whose threads would be missing.
    """
    for name in LATE:
        importlib.import_module(name)
    for dark in (False, True):
        legend.all_signs(dark)
        for entry in CATALOGUE.values():
            gallery.card(entry, dark)
