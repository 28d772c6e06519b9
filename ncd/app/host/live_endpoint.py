"""Drawings, words and panels that follow a size while it moves, without a run of the page.

For the page of a session the answer is all that depends on the size: a line with the drawing and
the words around it, then a line with the open panel (:mod:`ncd.app.page.moves`). Who names no
session of this process, such as a page in a frame, gets the drawing.

The numbers on a page follow within a frame, before any answer. A system is built once more at sizes
that record how they are used (:mod:`ncd.formulas.traced_sizes`), and the page's texts are made from
it. In place of each number the texts hold a letter; each letter has a formula, and the formulas
come with the conditions under which they hold. The browser evaluates them while a size is dragged.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ncd.app.figure import diagram
from ncd.app.figure.diagram import axis_chips_html
from ncd.app.page import metrics
from ncd.app.page.moves import MovedPage, shown_page
from ncd.app.panels.walk.shapes_and_cost import cost_html, shapes_html
from ncd.app.runtime import scheduler
from ncd.app.scene.edited_system import entry_of
from ncd.app.scene.scene import Scene, build_term
from ncd.app.state import knobs, link_text, selection
from ncd.app.state.cache import CACHE, get_or_make
from ncd.app.state.knobs import FORMATS, read_session_formats
from ncd.circuit.circuit import Circuit
from ncd.circuit.sized_system import traced_circuit
from ncd.formulas.traced_sizes import FILL, SizeTrace
from ncd.site import source_listing
from ncd.site.live_texts import (
    FormulaTable,
    alike,
    changed_texts,
    changes,
    size_data,
    size_names,
    texts,
    wire_sizes,
)
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.write.torch_source.source_file import lines

# --- Formulas for all numbers on a page in terms of its knobs, for dragging a size in the browser

Formulas = dict[str, Any]
PANELS = ("shapes", "source", "cost")  # depend on the sizes alone; the others show a run


def page_formulas(scene: Scene, panel: str) -> Formulas | None:
    """Returns the formulas for a page and one of its panels; None if there are none.

    ``knobs`` holds the range of each knob, and ``fixed`` the values of the knobs that may not
    change. ``atoms`` and ``sums`` are the formulas, ``letters`` the formula and number format of
    each letter, ``holds`` the conditions, and ``also`` those for the panel. ``grips`` lists the
    knobs that each axis depends on.
    """
    found = _size_trace(scene.entry, scene.settings)
    if found is None or not alike(found[1], scene.circuit):
        return None
    trace, circuit = found
    settings = dict(scene.settings) | trace.symbolic_sizes
    own = replace(scene, term=circuit.term, settings=settings)
    said: Formulas = {
        "wires": dict(wire_sizes(circuit)),
        "told": {id: text.replace(FILL, "") for id, text in diagram.tooltips(circuit).items()},
        "chips": changed_texts(axis_chips_html(scene.circuit), axis_chips_html(circuit)),
    }
    with trace.without_facts():
        said["cost"] = diagram.cost_line(own, None).replace(FILL, "")
        said["grips"] = size_names(circuit)
    before = list(trace.holds)
    said["panel"] = _panel(scene, own, panel) if panel in PANELS else []
    facts = {"holds": before, "also": [fact for fact in trace.holds if fact not in before]}
    return {
        **said,
        "knobs": {k.name: size_data(k) for k in scene.entry.knobs if k.is_size},
        "fixed": {n: v for n, v in scene.settings.items() if n not in trace.symbolic_sizes},
        **FormulaTable().build_table(trace, facts),
    }


def _size_trace(entry: Entry, settings: Mapping[str, int]) -> tuple[SizeTrace, Circuit] | None:
    names = [knob.name for knob in entry.knobs if knob.is_size and not knob.below]
    return traced_circuit(lambda given: entry.system(**given), settings, names)


# --- texts with letters in them -------------------------------------------------------------------


def _panel(plain: Scene, own: Scene, panel: str) -> list[tuple[int, str]]:
    """Returns the changing texts of a panel."""
    if panel == "shapes":
        return changed_texts(shapes_html(plain), shapes_html(own))
    if panel == "cost":
        return changed_texts(cost_html(plain, None), cost_html(own, None))
    said, text = lines(plain.term), lines(own.term)
    html = source_listing.listing_html(said, plain.circuit, plain.dark)
    return changes(texts(html), "".join(line.text or " " for line in text))


# --- The endpoint that draws while a slider is still being moved, without a run of the page

PATH = "_ncd"  # the first part of the address, before the name of the page
LONGEST = 2000 + link_text.LINK  # letters of a query
SCRUB = "scrub"  # in a query: requests the formulas of the numbers, and names a panel
SESSION_HEADER = "X-NCD-Session"  # no part of the address, which others may log
LINES = "application/x-ndjson"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what follows a move as lines of JSON, or with 204 if nothing does."""
    request = Request(scope)
    page, query = request.url.path.rpartition("/")[-1], request.url.query
    if SCRUB in request.query_params:
        found = await run_in_threadpool(formulas_json, page, query)
        response = Response(status_code=204) if found is None else JSONResponse(found)
    else:
        response = await _move_response(page, query, request.headers.get(SESSION_HEADER, ""))
    await response(scope, receive, send)


async def _move_response(page: str, query: str, session: str) -> Response:
    """Returns the drawing, and the panel in a second line if a session shows the page.

    The second line is not made if the browser has hung up meanwhile, as it does for a newer move.
    """
    asked, shown = _parameters(query), shown_page(session, page)
    if shown is None or not asked:
        with metrics.DRAWINGS.time():
            found = await run_in_threadpool(drawing_json, page, query)
        return Response(status_code=204) if found is None else JSONResponse(found)
    move = MovedPage(shown, asked)

    async def lines() -> AsyncIterator[str]:
        with metrics.DRAWINGS.time():
            drawing = await run_in_threadpool(_line, move.drawing)
        yield drawing
        yield await run_in_threadpool(_line, lambda: {"parts": move.parts()})

    return StreamingResponse(lines(), media_type=LINES)


def _line(make: Callable[[], object]) -> str:
    return json.dumps(make(), ensure_ascii=False, separators=(",", ":")) + "\n"


def drawing_json(page: str, query: str) -> dict[str, object] | None:
    """Returns the drawing of a page at these settings as JSON data; None if it cannot be built.

    >>> drawing_json("multi-head-attention", "h=2&labels=sizes")["svg"][:4]
    '<svg'
    >>> drawing_json("nothing", "") is None
    True
    """
    scene = _requested_scene(page, query)
    if scene is None:
        return None
    folded = _parameters(query).get("folded", selection.AUTO)
    scene = replace(scene, is_preview=True)
    with scheduler.turn():
        found = diagram.changing_part(diagram.diagram_message(scene, None, folded))
        return {**found, "cost": diagram.cost_line(scene, scene.known_seconds)}


def formulas_json(page: str, query: str) -> dict[str, Any] | None:
    """Returns formulas of a page's numbers in its knobs; see :func:`page_formulas`.

    >>> formulas_json("multi-head-attention", "h=2&scrub=shapes")["grips"]["h"]
    ['h']
    """
    scene = _requested_scene(page, query)
    panel = _parameters(query).get(SCRUB, "")
    if scene is None or panel not in ("", *PANELS):
        return None
    key = ("scrub", scene.entry.key, tuple(scene.settings.items()), panel, scene.formats)
    # takes long for a large system but is not urgent, so it does not hold the turn
    return get_or_make(CACHE, key, lambda: page_formulas(scene, panel))


def _parameters(query: str) -> dict[str, str]:
    return dict(parse_qsl(query)) if len(query) <= LONGEST else {}


def _requested_scene(page: str, query: str) -> Scene | None:
    """Returns the scene for the settings in a query; None if it cannot be built."""
    asked = _parameters(query)
    entry = entry_of(page, asked)
    return scene(entry, asked) if entry and asked else None


def scene(entry: Entry, asked: Mapping[str, str]) -> Scene | None:
    """Returns the scene for the settings in a link, without inputs; None if it cannot be built."""
    said = {knob: asked.get(knob.name, str(knob.default)) for knob in entry.knobs}
    settings = entry.with_clamped_indexes(
        {knob.name: knobs.nearest_legal(knob, text)[0] for knob, text in said.items()}
    )
    with scheduler.turn():
        term, refused = build_term(entry, settings)
    if term is None or refused:
        return None
    return Scene(
        entry,
        settings,
        seed=0,
        device="cpu",
        inputs_spec=InputSpec(),
        dark=asked.get("dark") == "1",
        selected_id="",
        term=term,
        show_callouts=asked.get("callouts") != "off",
        column_width=selection.parse_width(asked[selection.WIDTH_KEY])
        if selection.WIDTH_KEY in asked
        else None,
        subject_id=asked.get("about", ""),
        formats=read_session_formats(entry, asked.get(FORMATS, ""))[0],
        **diagram.wire_options(asked.get("labels", "")),
    )
