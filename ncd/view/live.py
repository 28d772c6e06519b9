"""Drawings while a slider still moves: the browser asks for them itself, beside the page's runs.

A slider tells Streamlit when it is let go, and the page's run then sends all that has changed. The
drawing depends on a few settings alone, which the browser has been told: so it need not wait. The
run that follows draws the same.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ncd.models import CATALOGUE
from ncd.view import diagram, knobs, records, selection, turns
from ncd.view.frame import cost_line
from ncd.view.inputs import Feed
from ncd.view.scene import LABELS, Scene, built

PATH = "_ncd"  # the first part of the address, before the name of the page
LONGEST = 2000  # letters of a query


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """The drawing that an address asks for as JSON; nothing (204) if there is none."""
    request = Request(scope)
    page, query = request.url.path.rpartition("/")[-1], request.url.query
    with records.DRAWINGS.time():
        found = await run_in_threadpool(drawn, page, query)
    response = Response(status_code=204) if found is None else JSONResponse(found)
    await response(scope, receive, send)


def drawn(page: str, query: str) -> dict[str, object] | None:
    """What is sent of a page's drawing at these settings; None if it cannot be built.

    >>> drawn("multi-head-attention", "h=2&labels=sizes")["svg"][:4]
    '<svg'
    >>> drawn("nothing", "") is None
    True
    """
    asked = dict(parse_qsl(query)) if len(query) <= LONGEST else {}
    if page not in CATALOGUE or not asked:
        return None
    entry = CATALOGUE[page]
    said = {knob: asked.get(knob.name, str(knob.default)) for knob in entry.knobs}
    settings = entry.within({knob.name: knobs.read(knob, text)[0] for knob, text in said.items()})
    labels = next((own for own in LABELS if own == asked.get("labels")), LABELS[0])
    with turns.turn():
        term, refused = built(entry, settings)
        if term is None or refused:
            return None
        scene = Scene(
            entry,
            settings,
            seed=0,
            device="cpu",
            feed=Feed(),
            dark=asked.get("dark") == "1",
            labels=labels,
            selected="",
            term=term,
            notes=asked.get("callouts") != "off",
        )
        folded = asked.get("folded", selection.AUTO)
        found = diagram.told(diagram.drawn(scene, None, folded))
        return {**found, "cost": cost_line(scene, scene.known_seconds)}
