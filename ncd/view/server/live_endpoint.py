"""The endpoint that draws while a slider is still being moved, without a run of the page.

Streamlit hears of a slider only when it is released, and the run of the page then updates
everything. The drawing depends only on a few settings that the browser knows, so the browser
requests it here without waiting; the run that follows draws the same. The formulas of the numbers
on a page (:mod:`.size_formulas`) are served here as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ncd.inputs.run_inputs import Feed
from ncd.models import Entry
from ncd.view.base import knobs, selection
from ncd.view.base.cache import SHELF, kept
from ncd.view.diagram import component
from ncd.view.page.page import cost_line
from ncd.view.runtime import metrics, scheduler
from ncd.view.server import size_formulas
from ncd.view.session import link_text, number_formats
from ncd.view.session.own_entry import entry_of
from ncd.view.session.scene import LABELS, Scene, built

PATH = "_ncd"  # the first part of the address, before the name of the page
LONGEST = 2000 + link_text.LINK  # letters of a query
SCRUB = "scrub"  # in a query: requests the formulas of the numbers, and names a panel


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the requested drawing as JSON, or with 204 if there is none."""
    request = Request(scope)
    page, query = request.url.path.rpartition("/")[-1], request.url.query
    make = followed if SCRUB in request.query_params else drawn
    with metrics.DRAWINGS.time():
        found = await run_in_threadpool(make, page, query)
    response = Response(status_code=204) if found is None else JSONResponse(found)
    await response(scope, receive, send)


def drawn(page: str, query: str) -> dict[str, object] | None:
    """Returns the drawing of a page at these settings as JSON data; None if it cannot be built.

    >>> drawn("multi-head-attention", "h=2&labels=sizes")["svg"][:4]
    '<svg'
    >>> drawn("nothing", "") is None
    True
    """
    scene = _asked(page, query)
    if scene is None:
        return None
    folded = _said(query).get("folded", selection.AUTO)
    with scheduler.turn():
        found = component.as_message(component.drawn(scene, None, folded))
        return {**found, "cost": cost_line(scene, scene.known_seconds)}


def followed(page: str, query: str) -> dict[str, Any] | None:
    """Returns formulas of a page's numbers in its knobs; see :mod:`.size_formulas`.

    >>> followed("multi-head-attention", "h=2&scrub=shapes")["grips"]["h"]
    ['h']
    """
    scene = _asked(page, query)
    panel = _said(query).get(SCRUB, "")
    if scene is None or panel not in ("", *size_formulas.PANELS):
        return None
    key = ("scrub", scene.entry.key, tuple(scene.settings.items()), panel, scene.formats)
    # takes long for a large system but is not urgent, so it does not hold the turn
    return kept(SHELF, key, lambda: size_formulas.follows(scene, panel))


def _said(query: str) -> dict[str, str]:
    return dict(parse_qsl(query)) if len(query) <= LONGEST else {}


def _asked(page: str, query: str) -> Scene | None:
    """Returns the scene for the settings in a query; None if it cannot be built."""
    asked = _said(query)
    entry = entry_of(page, asked)
    return scene(entry, asked) if entry and asked else None


def scene(entry: Entry, asked: Mapping[str, str]) -> Scene | None:
    """Returns the scene for the settings in a link, without inputs; None if it cannot be built."""
    said = {knob: asked.get(knob.name, str(knob.default)) for knob in entry.knobs}
    settings = entry.within({knob.name: knobs.read(knob, text)[0] for knob, text in said.items()})
    with scheduler.turn():
        term, refused = built(entry, settings)
    if term is None or refused:
        return None
    return Scene(
        entry,
        settings,
        seed=0,
        device="cpu",
        feed=Feed(),
        dark=asked.get("dark") == "1",
        labels=next((own for own in LABELS if own == asked.get("labels")), LABELS[0]),
        selected="",
        term=term,
        notes=asked.get("callouts") != "off",
        wide=selection.fitting(asked[selection.WIDE]) if selection.WIDE in asked else None,
        about=asked.get("about", ""),
        formats=number_formats.read(entry, asked.get(number_formats.FORMATS, ""))[0],
    )
