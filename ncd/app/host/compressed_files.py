"""The script and style files of Streamlit's frontend, compressed once for all visitors.

Streamlit sends them as they are: 3.6 MB for a first visit, of which 1.6 MB are left.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ncd.app.runtime import streamlit_internals

KINDS = {".js": "text/javascript", ".css": "text/css"}
KEPT = {
    "Cache-Control": "public, immutable, max-age=31536000",  # their names contain their hashes
    "Content-Encoding": "gzip",
    "Vary": "Accept-Encoding",
}


def answer(scope: Scope) -> ASGIApp | None:
    """Returns what answers a request for such a file; None if Streamlit has to."""
    headers = Headers(scope=scope)
    if "gzip" not in headers.get("accept-encoding", "") or "range" in headers:
        return None
    kind = KINDS.get(Path(scope["path"]).suffix)
    if kind is None or not _file(scope["path"]):
        return None

    async def send_file(scope: Scope, receive: Receive, send: Send) -> None:
        data = await run_in_threadpool(compressed, scope["path"])
        await Response(data, media_type=kind, headers=KEPT)(scope, receive, send)

    return send_file


def _file(path: str) -> Path | None:
    """Returns the file at a path, if it is one of the frontend's.

    >>> _file("/static/../../web/cli.py"), _file("/static/none.js")
    (None, None)
    """
    folder = streamlit_internals.static_folder()
    file = (folder / path.lstrip("/")).resolve()
    return file if file.is_relative_to(folder / "static") and file.is_file() else None


@lru_cache(512)
def compressed(path: str) -> bytes:
    """Returns a file of the frontend, compressed."""
    file = _file(path)
    assert file is not None
    return gzip.compress(file.read_bytes(), mtime=0)
