"""Lessons and codes for phones, which the presenter asks for beside the page's runs.

``lesson.json?of=unet`` is the lesson of a system, ``lesson.json?views=…`` the file of some views.
What is sent to it, a file or the text of a link, comes back checked, and short enough for a link.
``qr.svg?text=…`` is an address as a QR code.
"""

from __future__ import annotations

from io import BytesIO

import segno
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from ncd.lang.errors import LimitError, NCDError, ParseError
from ncd.lessons import Lesson, lesson_of
from ncd.lessons.lesson import FILE as LONGEST
from ncd.models import CATALOGUE
from ncd.view.runtime import scheduler
from ncd.view.server.addresses import split
from ncd.view.session import own_entry
from ncd.view.session.link_text import MARK, packed, unpacked

FILE, CODE = "lesson.json", "qr.svg"
ADDRESS = 1000  # letters of an address: a code of more is too fine for a phone at a distance
NO_LESSON = "There is no such page, or nothing that is asked for."
NO_CODE = f"A code is made of an address of at most {ADDRESS:,} letters that begins with http."


def pages() -> set[str]:
    """Returns the names of all pages that can be a view."""
    return {*CATALOGUE, own_entry.NAME, *own_entry.SERVED}


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """A lesson as JSON, or what is wrong with it (400)."""
    request = Request(scope, receive)
    query = request.query_params
    if request.method == "POST":
        response = await _sent(request)
    elif views := query.get("views"):
        response = await run_in_threadpool(_file, views)
    else:
        found = await run_in_threadpool(lesson, query.get("of", ""), query.get("text", ""))
        response = JSONResponse({"views": found}) if found else PlainTextResponse(NO_LESSON, 404)
    response.headers["Cache-Control"] = "no-store"
    await response(scope, receive, send)


async def _sent(request: Request) -> Response:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > 4 * LONGEST:
            break
    text = body.decode("utf-8", "replace")
    try:
        return JSONResponse(await run_in_threadpool(checked, text))
    except NCDError as error:
        return JSONResponse({"error": str(error)}, 400)


def lesson(page: str, text: str = "") -> str:
    """Returns the lesson of a page as in a link; empty if there is no such page.

    >>> lesson("unet").partition("#")[0], lesson("nothing")
    ('unet', '')
    """
    entry = own_entry.entry_of(page, {own_entry.TEXT: text} if text else {})
    if entry is None:
        return ""
    with scheduler.turn():
        return str(lesson_of(entry))


def checked(text: str) -> dict[str, str]:
    """Returns the lesson of a file or a link: as it is in an address, and short for a link.

    >>> checked("unet?c=16;nothing;unet")["views"]
    'unet?c=16;unet'

    Raises ParseError or LimitError for a text that is no lesson.
    """
    if text.lstrip().startswith(("{", "[")):
        found = Lesson.of_json(text, pages())
    else:
        plain = unpacked(text) if text.startswith(MARK) else text
        if plain is None:
            fact = "the list of views in this link is cut off or changed"
            raise ParseError(fact, cure="the whole link, copied anew")
        found = Lesson.of_link(plain, pages())
    if not found.views:
        raise ParseError("no page is named here", cure="a file or link that was saved here")
    short = packed(str(found))
    if not short:
        raise LimitError("these views are too long for a link", cure="fewer views, or a file")
    return {"views": str(found), "packed": short}


def _file(views: str) -> Response:
    """Returns the file of the views in a link."""
    try:
        found = Lesson.of_link(views, pages())
    except NCDError as error:
        return JSONResponse({"error": str(error)}, 400)
    named = {"Content-Disposition": f'attachment; filename="{FILE}"'}
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
    parts = split(address) if len(address) <= ADDRESS else split("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return b""
    written = BytesIO()
    made = segno.make_qr(address, error="m")
    made.save(written, kind="svg", omitsize=True, light="#fff", xmldecl=False, nl=False)
    return written.getvalue()
