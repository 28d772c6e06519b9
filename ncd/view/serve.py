"""The server: the app, made ready before its first visitor comes.

``python -m ncd serve --host 127.0.0.1 --port 8501`` starts it, from any folder. Every other setting
stands in ``.streamlit/config.toml`` beside the app.
"""

from __future__ import annotations

import gc
import logging
import os
import sys

import torch  # noqa: F401  (takes seconds to import; no visitor should wait for it)
from streamlit.testing.v1 import AppTest
from streamlit.web import bootstrap

from ncd.files import bundled


def serve(host: str = "127.0.0.1", port: int = 8501) -> None:
    """Warms up, then serves until stopped."""
    app = bundled("app.py")
    os.chdir(app.parent)  # where Streamlit looks for its settings
    settings = {"server.address": host, "server.port": port}
    bootstrap.load_config_options(settings)
    warm_up(str(app))
    # Streamlit collects garbage after every run of a page: what stays for good need not be walked.
    gc.collect()
    gc.freeze()
    # A thread that needs the interpreter lock waits this long for a busy one, not the usual 5 ms.
    sys.setswitchinterval(0.0005)
    bootstrap.run(str(app), False, [], settings)


def warm_up(app: str) -> None:
    """Runs the app once, without a browser.

    Until `st.navigation` has been called in a process, Streamlit takes the folder ``pages/`` for
    its older kind of multipage app, and a first visitor who comes by a link to a page gets
    "Page not found".
    """
    logging.disable(logging.WARNING)  # AppTest warns of itself: that it is no visitor's run
    run = AppTest.from_file(app, default_timeout=120).run()
    logging.disable(logging.NOTSET)
    if run.exception:
        raise SystemExit(f"The app fails at its first run: {run.exception[0].message}")
