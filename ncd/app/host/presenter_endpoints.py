"""Lessons, codes for phones, and a presentation as a file.

``lesson.json?of=unet`` is the lesson of a system, ``lesson.json?views=…`` the file of some views.
What is sent to it, a file or the text of a link, comes back checked, and short enough for a link.
``qr.svg?text=…`` is an address as a QR code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from urllib.parse import parse_qsl

import segno
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

import ncd
from ncd.app.figure.diagram import axis_chips_html
from ncd.app.host import live_endpoint
from ncd.app.panels.attention import attention_maps
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES, cost_html, shapes_html
from ncd.app.panels.walk.source import SOURCE
from ncd.app.parts import heatmap
from ncd.app.parts import input_feed as inputs
from ncd.app.runtime import scheduler
from ncd.app.scene import own_entry
from ncd.app.scene.edited_system import entry_of
from ncd.app.scene.scene import Scene, build_term
from ncd.app.scene.session_weights import shipped_or_served
from ncd.app.state import knobs, selection
from ncd.app.state.hide_sizes import hide_in_drawing
from ncd.app.state.knobs import SEED
from ncd.app.state.link_text import MARK, compress_text, decompress_text, split_address
from ncd.app.teach.lesson_view import asking
from ncd.drawing.backends.drawing import Drawing
from ncd.errors import LimitError, NCDError, ParseError
from ncd.explain.colour_scale import ColourRange
from ncd.language.terms import Term
from ncd.site import markup, source_listing
from ncd.site.document import Slide, slides_html
from ncd.site.question_html import question_html
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import question
from ncd.systems.lessons.lesson import FILE as LONGEST
from ncd.systems.lessons.lesson import Lesson, lesson_of
from ncd.systems.training.trained_weights import proofreading
from ncd.write.torch_source.source_file import lines

# --- Lessons and codes for phones, which the presenter asks for beside the page's runs

LESSON_FILE, CODE = "lesson.json", "qr.svg"
ADDRESS = 1000  # letters of an address: a code of more is too fine for a phone at a distance
NO_LESSON = "There is no such page, or nothing that is asked for."
NO_CODE = f"A code is made of an address of at most {ADDRESS:,} letters that begins with http."


def pages() -> set[str]:
    """Returns the names of all pages that can be a view."""
    return {*CATALOGUE, own_entry.CUSTOM_PAGE, *own_entry.SERVED_MODULES}


async def answer_lesson(scope: Scope, receive: Receive, send: Send) -> None:
    """A lesson as JSON, or what is wrong with it (400)."""
    request = Request(scope, receive)
    query = request.query_params
    if request.method == "POST":
        response = await _posted_lesson(request)
    elif views := query.get("views"):
        response = await run_in_threadpool(_file, views)
    else:
        found = await run_in_threadpool(lesson, query.get("of", ""), query.get("text", ""))
        response = JSONResponse({"views": found}) if found else PlainTextResponse(NO_LESSON, 404)
    response.headers["Cache-Control"] = "no-store"
    await response(scope, receive, send)


async def _posted_lesson(request: Request) -> Response:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > 4 * LONGEST:
            break
    text = body.decode("utf-8", "replace")
    try:
        return JSONResponse(await run_in_threadpool(checked_views, text))
    except NCDError as error:
        return JSONResponse({"error": str(error)}, 400)


def lesson(page: str, text: str = "") -> str:
    """Returns the lesson of a page as in a link; empty if there is no such page.

    >>> lesson("unet").partition("#")[0], lesson("nothing")
    ('unet', '')
    """
    entry = entry_of(page, {own_entry.TEXT_KEY: text} if text else {})
    if entry is None:
        return ""
    with scheduler.turn():
        return str(lesson_of(entry))


def checked_views(text: str) -> dict[str, str]:
    """Returns the lesson of a file or a link: as it is in an address, and short for a link.

    >>> checked_views("unet?c=16;nothing;unet")["views"]
    'unet?c=16;unet'

    Raises ParseError or LimitError for a text that is no lesson.
    """
    if text.lstrip().startswith(("{", "[")):
        found = Lesson.of_json(text, pages())
    else:
        plain = decompress_text(text) if text.startswith(MARK) else text
        if plain is None:
            fact = "the list of views in this link is cut off or changed"
            raise ParseError(fact, cure="the whole link, copied anew")
        found = Lesson.of_link(plain, pages())
    if not found.views:
        raise ParseError("no page is named here", cure="a file or link that was saved here")
    short = compress_text(str(found))
    if not short:
        raise LimitError("these views are too long for a link", cure="fewer views, or a file")
    return {"views": str(found), "packed": short}


def _file(views: str) -> Response:
    """Returns the file of the views in a link."""
    try:
        found = Lesson.of_link(views, pages())
    except NCDError as error:
        return JSONResponse({"error": str(error)}, 400)
    named = {"Content-Disposition": f'attachment; filename="{LESSON_FILE}"'}
    return Response(found.json(), media_type="application/json", headers=named)


async def code(scope: Scope, receive: Receive, send: Send) -> None:
    """The QR code of an address as SVG, or why there is none (400)."""
    found = svg(Request(scope).query_params.get("text", ""))
    response = Response(found, media_type="image/svg+xml") if found else None
    await (response or PlainTextResponse(NO_CODE, 400))(scope, receive, send)


def svg(address: str) -> bytes:
    """Returns an address as a QR code, which a phone still reads with a seventh of it covered.

    >>> svg("http://localhost:8501/unet")[:4], svg("unet")
    (b'<svg', b'')
    """
    parts = split_address(address) if len(address) <= ADDRESS else split_address("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return b""
    written = BytesIO()
    made = segno.make_qr(address, error="m")
    made.save(written, kind="svg", omitsize=True, light="#fff", xmldecl=False, nl=False)
    return written.getvalue()


# --- The endpoint that writes a presentation as one file, each view drawn from its address

SLIDES_FILE = "presentation.html"
HEADS = 16
NONE = "No views given: put the address of each view into ?views=, separated by semicolons."


async def answer_slides(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the file of the views that an address names, or with 404 if there are none."""
    query = Request(scope).query_params
    asked, own = query.get("views", ""), query.get(own_entry.TEXT_KEY, "")
    text = await run_in_threadpool(presentation_html, asked, own)
    named = {
        "Content-Disposition": f'attachment; filename="{SLIDES_FILE}"',
        "Cache-Control": "no-store",
    }
    response = Response(text, media_type="text/html", headers=named) if text else None
    await (response or PlainTextResponse(NONE, 404))(scope, receive, send)


def presentation_html(views: str, text: str = "") -> str:
    """Returns the file for views such as ``residual-block?s=2#Half as large;residual-block``.

    ``text`` is that of one's own system, for the views of it that have none.

    >>> presentation_html("residual-block?s=2;nothing;residual-block").count('class="slide"')
    2
    >>> presentation_html("nothing")
    ''
    """
    try:
        found = list(slides(Lesson.of_link(views, pages()), text))
    except LimitError:
        return ""
    return slides_html(found, "Presentation" if len(found) > 1 else "") if found else ""


def slides(lesson: Lesson, text: str) -> Iterator[Slide]:
    """Yields a slide for each view whose system exists."""
    for view in lesson.views:
        said = {own_entry.TEXT_KEY: text, **dict(parse_qsl(view.query))}
        if entry := entry_of(view.page, {k: v for k, v in said.items() if v}):
            with scheduler.turn():
                yield _slide(entry, said, view.says)


def _slide(entry: Entry, said: Mapping[str, str], caption: str) -> Slide:
    scene = _scene(entry, said)
    if scene is None:  # draws what can be drawn, as the page does
        settings = {
            k.name: knobs.nearest_legal(k, said.get(k.name, str(k.default)))[0] for k in entry.knobs
        }
        term, refused = build_term(entry, entry.with_clamped_indexes(settings))
        words = f"<p>{markup.text(str(refused.error))}</p>" if refused else ""
        return Slide(entry.title, _slide_drawing(term, entry), caption, words)
    folded = selection.folded_in(scene.circuit, said.get(selection.FOLDED, selection.AUTO))
    found = question(entry, scene.settings, said.get(selection.QUESTION_KEY, ""))
    scene = asking(scene, found) if found else scene
    drawn = ncd.draw(scene.term, **scene.draw_options, folded=folded)
    if scene.hidden_sizes:
        drawn = hide_in_drawing(drawn, scene.circuit, scene.hidden_sizes)
    covered = said.get("quiz") == "1" or scene.hidden_sizes is not None
    facts = axis_chips_html(scene.circuit) + _costs(scene)
    return Slide(
        entry.title,
        drawn,
        caption,
        facts,
        _panel(scene, said) if said.get("with") == "panel" and not covered else "",
        covered,
        selection.known_axes(scene.circuit, entry, said.get(selection.AXES, "")),
        found.subject_id if found else said.get(selection.SELECTED_KEY, "")[:20],
        question_html(found) if found else "",
    )


def _slide_drawing(term: Term | None, entry: Entry) -> Drawing | None:
    """Returns the part of a system that can be drawn, or the usual one; None for a wrong text."""
    try:
        return ncd.draw(term or entry.build())
    except NCDError:
        return None


def _costs(scene: Scene) -> str:
    if not scene.has_all_sizes:
        return ""
    parameters = markup.plural(scene.cost.parameters, "parameter")
    return f'<p class="muted">{parameters} · {markup.flops(scene.cost.flops)}</p>'


def _scene(entry: Entry, said: Mapping[str, str]) -> Scene | None:
    """Returns the scene of a view in light colours; the file itself switches to dark ones."""
    hidden = {"labels": "names"} if said.get("quiz") == "1" else {}
    asked = {**said, **hidden, "dark": "0"}
    sketch, _ = build_term(entry, entry.settings({}))
    scene = live_endpoint.scene(entry, asked)
    if scene is None:
        return None
    feed = inputs.InputSpec()
    if sketch and inputs.takes_words(sketch):
        feed = inputs.read_words(entry, sketch, said, scene.settings)
    if feed.lengths:
        lengths = {name: str(n) for name, n in feed.lengths.items()}
        scene = live_endpoint.scene(entry, asked | lengths) or scene
    seed = knobs.nearest_legal(SEED, said.get("seed", "0"))[0]
    known = shipped_or_served(entry, scene.settings)
    if feed.trained:
        known = proofreading(scene.settings["h"], seed)
    return replace(scene, seed=seed, inputs_spec=feed, loaded_weights=known)


# --- the panel ------------------------------------------------------------------------------------


def _panel(scene: Scene, said: Mapping[str, str]) -> str:
    """Returns the open panel as HTML, if all its content is known without a visitor's request."""
    opened = said.get(selection.PANEL)
    if not scene.has_all_sizes:
        return ""
    if opened == SOURCE.title:
        return source_listing.listing_html(lines(scene.term), scene.circuit, None)
    if opened == SHAPES.title:
        return shapes_html(scene)
    if opened == COST_TABLE.title:
        return cost_html(scene, None)
    if opened == ATTENTION_MAPS.title and scene.can_run and not scene.starts_on_demand:
        return _heads(scene, said.get(attention_maps.SOFTMAX.name, ""))
    return ""


def _heads(scene: Scene, softmax: str) -> str:
    """Returns the maps of a softmax's heads on one colour scale."""
    cells = [cell for cell in scene.circuit.cells if cell.op.role == "softmax"]
    if not cells:
        return ""
    cell = next((own for own in cells if own.id == softmax), cells[0])
    found = attention_maps.weights(cell, scene.trace.values[cell.outputs[0].id])
    maps = heatmap.pool(found.maps[:HEADS], heatmap.SMALL)
    ends = ColourRange.from_numbers(found.maps[:HEADS], signed=False)
    names = attention_maps.heads_named(found.heads)
    figures = (
        f'<figure><img alt="" src="{heatmap.data_url(own, ends)}"><figcaption>{name}</figcaption>'
        "</figure>"
        for name, own in zip(names, maps.maps, strict=False)
    )
    told = f"<p>Attention: rows are queries, columns keys. {maps.caption}</p>"
    return f'{told}<div class="heads">{"".join(figures)}</div>'
