"""Checks of host and origin, and compressed files.

Streamlit sends them as they are: 3.6 MB for a first visit, of which 1.6 MB are left.

``NCD_HOSTS`` lists the host names that the server answers to (``*.example.org`` for all
subdomains); the default is localhost and the address it is bound to. ``NCD_FRAMES`` lists the sites
that may show it in a frame; the default is none. ``*`` stands for any; a request of another site's
page is answered only if that site has a name in ``NCD_HOSTS``.
"""

from __future__ import annotations

import gzip
import os
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ncd.app.host import (
    class_endpoint,
    embed_endpoint,
    health,
    live_endpoint,
    ninety_seconds_endpoint,
)
from ncd.app.host.presenter_endpoints import (
    CODE,
    LESSON_FILE,
    SLIDES_FILE,
    answer_lesson,
    answer_slides,
    code,
    pages,
)
from ncd.app.page import metrics as records
from ncd.app.page import page_head as page_style
from ncd.app.parts.html_panel import read_static
from ncd.app.runtime import streamlit_internals
from ncd.app.state import selection
from ncd.app.state.link_text import split_address
from ncd.app.teach.lesson_view import EARLY
from ncd.site import markup

# --- The script and style files of Streamlit's frontend, compressed once for all visitors

KINDS = {".js": "text/javascript", ".css": "text/css"}
STATIC_FILE_HEADERS = {
    "Cache-Control": "public, immutable, max-age=31536000",  # their names contain their hashes
    "Content-Encoding": "gzip",
    "Vary": "Accept-Encoding",
}


def compressed_answer(scope: Scope) -> ASGIApp | None:
    """Returns what answers a request for such a file; None if Streamlit has to."""
    headers = Headers(scope=scope)
    if "gzip" not in headers.get("accept-encoding", "") or "range" in headers:
        return None
    kind = KINDS.get(Path(scope["path"]).suffix)
    if kind is None or not _file(scope["path"]):
        return None

    async def send_file(scope: Scope, receive: Receive, send: Send) -> None:
        data = await run_in_threadpool(compress_file, scope["path"])
        await Response(data, media_type=kind, headers=STATIC_FILE_HEADERS)(scope, receive, send)

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
def compress_file(path: str) -> bytes:
    """Returns a file of the frontend, compressed."""
    file = _file(path)
    assert file is not None
    return gzip.compress(file.read_bytes(), mtime=0)


# --- The outermost layer of the server: checks of host and origin, and the HTML of pages

FILES = (
    page_style.FILES | embed_endpoint.FILES | ninety_seconds_endpoint.FILES | class_endpoint.FILES
)
ANYWHERE = {"Cache-Control": "no-cache", "Access-Control-Allow-Origin": "*"}
COMPONENT = read_static("host/ncd-diagram.js")
# By the first or the last part of an address.
ENDPOINTS: dict[str, ASGIApp] = {
    live_endpoint.PATH: live_endpoint.answer,
    embed_endpoint.PATH: embed_endpoint.answer,
    embed_endpoint.COMPONENT: Response(COMPONENT, media_type="text/javascript", headers=ANYWHERE),
    SLIDES_FILE: answer_slides,
    LESSON_FILE: answer_lesson,
    CODE: code,
    ninety_seconds_endpoint.PATH: ninety_seconds_endpoint.answer_page,
    ninety_seconds_endpoint.FRAME_FILE: ninety_seconds_endpoint.answer_frame,
    class_endpoint.PAGE_PATH: class_endpoint.answer_page,
    class_endpoint.TALLY_FILE: class_endpoint.answer_tally,
}
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
STREAMLIT_PATHS = (
    "_stcore",
    "static",
    "media",
    "component",
    "app",
    "auth",
    "oauth2callback",
)  # Streamlit's
FILES_ALONE = ("_stcore", "static", "app", "auth", "oauth2callback")  # and no HTML among them
METRICS, STATIC, ROBOTS = "metrics", "static", "/robots.txt"
ALLOW_HEADER = {"Allow": "GET, HEAD"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
FOR_ROBOTS = f"""User-agent: *
Disallow: /{live_endpoint.PATH}/
Disallow: /{SLIDES_FILE}
Disallow: /{LESSON_FILE}
Disallow: /{ninety_seconds_endpoint.FRAME_FILE}
Disallow: /{class_endpoint.PAGE_PATH}
Disallow: /{METRICS}
"""  # what is made anew for each request; all pages may be listed
WRONG_HOST_TEXT = (
    "This server does not answer to this host name. NCD_HOSTS lists those that it accepts."
)
# Without it the browser first looks for the server at /page/, and gets "not found" twice.
BASE = '<script>window.__streamlit = {BACKEND_BASE_URL: new URL(".", location.href).href}</script>'
# Tells the first run how wide the diagram's column will be, as page.css has it: wide screens have a
# sidebar beside it, and wider ones the panels, too.
COLUMN = f"""<script>{{
const page = innerWidth - (innerWidth > 768 ? 300 : 0);
const all = Math.min(page - 48, 1572);
const panels = Math.max(336, Math.min(all - 744, all * 0.4, 576));
const room = page < 1100 ? page - (innerWidth > 768 ? 80 : 32) : all - 24 - panels;
const wide = {[*selection.WIDTHS]}.findLast((width) => width <= room) ?? {selection.WIDTHS[0]};
document.cookie = `{selection.COOKIE}=${{wide}}; path=/; samesite=lax`;
}}</script>"""
# Tells the style sheet that a page with a diagram is still loading: the first page, or a system's.
OPENING = "<script>document.documentElement.dataset.opening = '{}';</script>"


class ServerMiddleware:
    """The outermost layer of the server, through which every request passes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.hosts, self.frames = names_in_setting("NCD_HOSTS"), names_in_setting("NCD_FRAMES")
        self.index = streamlit_internals.index_html()
        self.own_files = streamlit_internals.static_files()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if scope["type"] == "websocket":
            with records.VISITORS.track_inprogress(), health.visitor(send):
                await (self.app if self.is_allowed(scope) else _close)(scope, receive, send)
            return

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(framing(self.frames))
            await send(message)

        await self.answer(scope)(scope, receive, framed)

    def answer(self, scope: Scope) -> ASGIApp:
        """Returns what answers a request: a refusal, a page's HTML, or the app."""
        if scope["path"] in health.PATHS:
            return health.answer(scope["path"])
        if not self.is_allowed(scope):
            return PlainTextResponse(WRONG_HOST_TEXT, 403)
        first, *_, last = scope["path"].strip("/").split("/", 1)[0], scope["path"].rsplit("/")[-1]
        if file := FILES.get(last):
            kept = {"Cache-Control": "public, max-age=31536000, immutable"}
            return Response(file.text, media_type=file.kind, headers=kept)
        if found := ENDPOINTS.get(first) or ENDPOINTS.get(last):
            return found
        if first == embed_endpoint.OEMBED:
            return embed_endpoint.oembed(scope, bool(self.frames))
        if first == STATIC and (packed := compressed_answer(scope)):
            return packed
        if first == METRICS:
            return records.metrics()
        if scope["path"] == ROBOTS:
            return PlainTextResponse(FOR_ROBOTS)
        if scope["method"] not in METHODS or not scope["path"].startswith("/"):
            return PlainTextResponse("Pages are asked for with GET.", 405, ALLOW_HEADER)
        if first in FILES_ALONE:
            return _without_page(self.app)
        is_streamlits = first in STREAMLIT_PATHS or last in self.own_files
        if is_streamlits or scope["method"] not in ("GET", "HEAD"):
            return self.app
        if not last:
            return self.app if first else self.html("")
        if scope["path"] != f"/{last.strip()}" or not is_valid_path(scope["raw_path"]):
            return RedirectResponse(f"/{quote(last.strip())}")  # all pages are at the top level
        return self.html(last)

    def html(self, name: str) -> Response:
        """Returns the HTML of a page, with the parts that are known before the app runs."""
        title, words = page_style.HEADS.get(name, page_style.NOT_FOUND_HEAD)
        head = (
            f"<title>{markup.text(title)}</title>"
            f'<meta name="description" content="{markup.text(words)}">{BASE}'
        )
        if name in page_style.HEADS:
            head += COLUMN
        if not name:
            head += OPENING.format("first")
        elif name in pages():
            head += OPENING.format("") + EARLY
        text = self.index.replace("<title>Streamlit</title>", head)
        text = text.replace("</body>", f"{page_style.TAGS}</body>")
        status = 200 if name in page_style.HEADS else 404
        return HTMLResponse(text, status, {"Cache-Control": "no-cache"})

    def is_allowed(self, scope: Scope) -> bool:
        """Returns whether a request may pass, by its host name and its origin.

        The origin is then changed to Streamlit's own, because for any other one Streamlit would
        look up its public address on the internet to compare.
        """
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        bound = (scope.get("server") or ("",))[0]
        if not is_allowed_host(host, (*(self.hosts or LOCAL_HOSTS), bound)):
            return False
        if origin is None:
            return True
        site = split_address(origin).netloc
        named = tuple(name for name in self.hosts if name != "*")  # any host, but not any site
        forwarded = headers.get("x-forwarded-host", "") if named != self.hosts else ""
        if not site or (site not in (host, forwarded) and not is_allowed_host(site, named)):
            return False
        changed = MutableHeaders(scope=scope)
        if scope["type"] == "http":
            del changed["origin"]
        else:
            changed["host"] = site
        return True


def is_valid_path(path: bytes) -> bool:
    """Returns whether a browser can read the path of an address, which must be UTF-8.

    >>> is_valid_path(b"/caf%C3%A9"), is_valid_path(b"/%"), is_valid_path(b"/%FF")
    (True, False, False)
    """
    try:
        unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return False
    return not re.search(rb"%(?![0-9A-Fa-f]{2})", path)


def names_in_setting(setting: str) -> tuple[str, ...]:
    """Returns the names in a setting, which are separated by commas or spaces."""
    return tuple(os.environ.get(setting, "").replace(",", " ").split())


def is_allowed_host(host: str, names: tuple[str, ...]) -> bool:
    """Returns whether a host, with a port or without, is one of these names.

    >>> is_allowed_host("[::1]:8501", LOCAL_HOSTS)
    True
    >>> is_allowed_host("localhost.example.org", LOCAL_HOSTS)
    False
    >>> is_allowed_host("a.example.org", ("*.example.org",))
    True
    >>> is_allowed_host("example.org:80", ("example.org",))
    True
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    known = [own.lower().rstrip(".") for own in names if own]
    below = any(own.startswith("*.") and name.endswith(own[1:]) for own in known)
    return bool(name) and (name in known or below or "*" in known)


def framing(sites: tuple[str, ...]) -> dict[str, str]:
    """Returns the headers that say which sites may show a page in a frame.

    >>> framing(())
    {'Content-Security-Policy': "frame-ancestors 'none'", 'X-Frame-Options': 'DENY'}
    >>> framing(("https://school.example",))
    {'Content-Security-Policy': 'frame-ancestors https://school.example'}
    """
    if "*" in sites:
        return {}
    policy = f"frame-ancestors {' '.join(sites) or repr('none')}".replace(";", "")
    none = {} if sites else {"X-Frame-Options": "DENY"}
    return {"Content-Security-Policy": policy, **none}


def _without_page(app: ASGIApp) -> ASGIApp:
    """Returns an app that refuses an unknown file, where Streamlit would send its bare page."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def checked(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start":
                kind = Headers(raw=message["headers"]).get("content-type", "")
                refused = message["status"] == 200 and kind.startswith("text/html")
                if refused:
                    await PlainTextResponse("There is no such file.", 404)(scope, receive, send)
            if not refused:
                await send(message)

        await app(scope, receive, checked)

    return answer


async def _close(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 1008, "reason": WRONG_HOST_TEXT})
