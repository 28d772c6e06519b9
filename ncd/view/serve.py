"""The server: the app, made ready before its first visitor comes.

From the folder of ``app.py``::

    python -m ncd.view.serve --host 127.0.0.1 --port 8501

Every other setting stands in ``.streamlit/config.toml``.
"""

import argparse
import gc
import logging
import sys
from pathlib import Path

import torch  # noqa: F401  (takes seconds to import; no visitor should wait for it)
from streamlit.testing.v1 import AppTest
from streamlit.web import bootstrap

APP = Path(__file__).parents[2] / "app.py"


def warm_up() -> None:
    """Run the app once, without a browser.

    Until `st.navigation` has been called in a process, Streamlit takes the folder ``pages/`` for
    its older kind of multipage app, and a first visitor who comes by a link to a page gets
    "Page not found".
    """
    logging.disable(logging.WARNING)  # AppTest warns of itself: that it is no visitor's run
    run = AppTest.from_file(str(APP), default_timeout=120).run()
    logging.disable(logging.NOTSET)
    if run.exception:
        raise SystemExit(f"The app fails at its first run: {run.exception[0].message}")


def main() -> None:
    """Warm up, then serve until stopped."""
    parser = argparse.ArgumentParser(description="Serve the neural circuit explorer.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8501)
    args = parser.parse_args()
    settings = {"server.address": args.host, "server.port": args.port}
    bootstrap.load_config_options(settings)
    warm_up()
    # Streamlit collects garbage after every run of a page: what stays for good need not be walked.
    gc.collect()
    gc.freeze()
    # A thread that needs the interpreter lock waits this long for a busy one, not the usual 5 ms.
    sys.setswitchinterval(0.0005)
    bootstrap.run(str(APP), False, [], settings)


if __name__ == "__main__":
    main()
