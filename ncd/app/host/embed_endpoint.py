"""The page for a frame of another site: a diagram and its sizes alone, and its oEmbed answer.

``/embed/NAME?…`` takes the query of the page NAME. Its wires show sizes too; ``sizes=off`` leaves
the inputs of sizes out, ``dark`` (1 or 0) chooses a theme.
``NCD_FRAMES`` says which sites may show it (:mod:`.http`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

import ncd
from ncd.app.figure import diagram
from ncd.app.host import live_endpoint
from ncd.app.page import navigation
from ncd.app.parts.html_panel import StaticFile, read_static
from ncd.app.runtime import scheduler
from ncd.app.scene import own_entry
from ncd.app.scene.edited_system import EDITS_KEY, entry_of
from ncd.app.state import selection
from ncd.app.state.knobs import FORMATS
from ncd.app.state.link_text import split_address
from ncd.drawing.elements.fonts import all_faces_css
from ncd.site import markup
from ncd.site.live_texts import size_data
from ncd.site.markup import DIAGRAM_CSS, PANEL_CSS, SIZES_CSS, THEME_CSS
from ncd.site.scripts import script
from ncd.systems.catalogue_entry import Entry

PATH, OEMBED, COMPONENT = "embed", "oembed", "ncd-diagram.js"
WIDTH, HEIGHT = 860, 480  # of a frame, in pixels
PAGE = read_static("host/embed.html")
_LOOK = ("labels", "callouts", selection.FOLDED, FORMATS, own_entry.TEXT_KEY, EDITS_KEY)
_CSS = all_faces_css() + THEME_CSS + PANEL_CSS + DIAGRAM_CSS + SIZES_CSS
_CSS += read_static("host/embed.css")
SHEET = StaticFile.from_text("css", "text/css", _CSS)
SCRIPT = StaticFile.from_text("js", "text/javascript", script("app/host/embed.js"))
FILES = {file.name: file for file in (SHEET, SCRIPT)}
NO_FRAMES_TEXT = "No site may show this server in a frame. NCD_FRAMES lists those that may."
NOT_FOUND_TEXT = "There is no such system here. /embed/NAME takes the name of a page."


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the page of a system, or with 404 if there is none."""
    request = Request(scope)
    name, query = request.url.path.rpartition("/")[-1], request.url.query
    said = dict(parse_qsl(query)) if len(query) <= live_endpoint.LONGEST else {}
    text = await run_in_threadpool(page_html, name, said, str(request.url))
    kept = {"Cache-Control": "no-cache"}
    response = HTMLResponse(text, headers=kept) if text else PlainTextResponse(NOT_FOUND_TEXT, 404)
    await response(scope, receive, send)


def page_html(name: str, said: Mapping[str, str], address: str = "") -> str:
    """Returns the page of a system at the settings of a query; empty if there is no such system.

    If its own ``address`` is given, it names the oEmbed answer for it.

    >>> "<svg" in page_html("multi-head-attention", {"h": "8"})
    True
    >>> page_html("nothing", {})
    ''
    """
    entry = entry_of(name, dict(said))
    if entry is None:
        return ""
    sizes = {knob.name: said.get(knob.name, str(knob.default)) for knob in entry.knobs}
    look = {"labels": "both", **{own: said[own] for own in _LOOK if own in said}}
    asked = {**look, **sizes, "dark": "1" if said.get("dark") == "1" else "0"}
    scene, told = live_endpoint.scene(entry, asked), ""
    if scene is None:
        told = "No diagram fits these sizes; here are others."
        usual = {knob.name: str(knob.default) for knob in entry.knobs}
        scene = live_endpoint.scene(entry, asked | usual)
    if scene is None:
        return ""
    with scheduler.turn():
        drawn = diagram.diagram_message(scene, None, asked.get(selection.FOLDED, selection.AUTO))
    asked |= {own: str(value) for own, value in scene.settings.items()}
    return PAGE.format(
        scheme=_scheme(said),
        title=markup.text(entry.title),
        sheet=SHEET.name,
        discovery=_discovery(address, entry.title) if address else "",
        script=SCRIPT.name,
        page=markup.text(entry.name),
        ask=markup.text(urlencode(asked)),
        folds=markup.text(json.dumps(drawn.folds)),
        svg=drawn.svg,
        told=told,
        knobs=markup.text(json.dumps([size_data(knob) for knob in entry.knobs])),
    )


def _discovery(address: str, title: str) -> str:
    """Returns the link by which other programs find the oEmbed answer of a page."""
    site = split_address(address)
    href = f"{site.scheme}://{site.netloc}/{OEMBED}?{urlencode({'url': address})}"
    kind = 'rel="alternate" type="application/json+oembed"'
    return f'<link {kind} href="{markup.text(href)}" title="{markup.text(title)}">'


def _scheme(said: Mapping[str, str]) -> str:
    """Returns the attributes of the page for the theme and the inputs that a query names."""
    theme = {"1": "dark", "0": "light"}.get(said.get("dark", ""))
    scheme = f' style="color-scheme: {theme}"' if theme else ""
    return scheme + (' data-sizes="off"' if said.get("sizes") == "off" else "")


# --- oEmbed --------------------------------------------------------------------------------------


def oembed(scope: Scope, framed: bool) -> Response:
    """Answers how a page is put into another one, after https://oembed.com."""
    request = Request(scope)
    asked = request.query_params
    if asked.get("format", "json") != "json":
        return PlainTextResponse("The answer is JSON.", 501)
    if not framed:
        return PlainTextResponse(NO_FRAMES_TEXT, 403)
    site = split_address(asked.get("url", ""))
    entry = _entry(site.path, site.query)
    known = site.scheme in ("http", "https") and site.netloc == request.headers.get("host")
    if entry is None or not known:
        return PlainTextResponse("?url= is the address of a system's page on this server.", 404)
    size = (
        _limited_size(asked.get("maxwidth"), WIDTH),
        _limited_size(asked.get("maxheight"), HEIGHT),
    )
    query = f"?{site.query}" if site.query else ""
    address = f"{site.scheme}://{site.netloc}/{PATH}/{quote(entry.name)}{query}"
    found = {
        "version": "1.0",
        "type": "rich",
        "provider_name": navigation.TITLE,
        "title": entry.title,
        "width": size[0],
        "height": size[1],
        "html": frame(address, entry.title, *size),
        "ncd_version": ncd.__version__,
    }
    return JSONResponse(found)


def frame(address: str, title: str, width: int, height: int) -> str:
    """Returns the code that shows an address in a frame.

    >>> frame("https://a.example/embed/lora?t=3&m=4", "LoRA", 600, 400)[:53]
    '<iframe src="https://a.example/embed/lora?t=3&amp;m=4'
    """
    shown = f'src="{markup.text(address)}" title="{markup.text(title)}"'
    return f'<iframe {shown} width="{width}" height="{height}" style="border:0"></iframe>'


def _entry(path: str, query: str) -> Entry | None:
    name = path.removeprefix(f"/{PATH}/").strip("/")
    return entry_of(name, dict(parse_qsl(query))) if "/" not in name else None


def _limited_size(text: str | None, usual: int) -> int:
    return min(usual, int(text)) if text and text.isdecimal() and len(text) < 6 else usual
