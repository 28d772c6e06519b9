"""Drawings while a slider still moves: the browser asks for them itself, beside the page's runs.

A slider tells Streamlit when it is let go, and the page's run then sends all that has changed. The
drawing depends on a few settings alone, which the browser has been told: so it need not wait. The
run that follows draws the same. How the numbers follow from the knobs is asked for here as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ncd.models import Entry
from ncd.view.base import knobs, selection
from ncd.view.base.cache import SHELF, kept
from ncd.view.diagram import component
from ncd.view.inputs.feed import Feed
from ncd.view.page.page import cost_line
from ncd.view.runtime import metrics, scheduler
from ncd.view.server import size_formulas
from ncd.view.session import link_text
from ncd.view.session.own_entry import entry_of
from ncd.view.session.scene import LABELS, Scene, built

PATH = "_ncd"  # the first part of the address, before the name of the page
LONGEST = 2000 + link_text.LINK  # letters of a query
SCRUB = "scrub"  # in a query: asks how the numbers follow, also those of the panel that it names


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """The drawing that an address asks for as JSON; nothing (204) if there is none."""
    request = Request(scope)
    page, query = request.url.path.rpartition("/")[-1], request.url.query
    make = followed if SCRUB in request.query_params else drawn
    with metrics.DRAWINGS.time():
        found = await run_in_threadpool(make, page, query)
    response = Response(status_code=204) if found is None else JSONResponse(found)
    await response(scope, receive, send)


def drawn(page: str, query: str) -> dict[str, object] | None:
    """Returns a page's drawing at these settings as it is sent; None if it cannot be built.

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
    key = ("scrub", scene.entry.key, tuple(scene.settings.items()), panel)
    # long for a large system, and nobody waits for it: so it takes no turn
    return kept(SHELF, key, lambda: size_formulas.follows(scene, panel))


def _said(query: str) -> dict[str, str]:
    return dict(parse_qsl(query)) if len(query) <= LONGEST else {}


def _asked(page: str, query: str) -> Scene | None:
    """The system at the settings of a query, if it can be built there."""
    asked = _said(query)
    entry = entry_of(page, asked)
    return scene(entry, asked) if entry and asked else None


def scene(entry: Entry, asked: Mapping[str, str]) -> Scene | None:
    """A system at the settings that a link says, if it can be built there; of what goes in nothing
    is known here.
    """
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
    )
