"""The page on which the phones of a class answer, and the addresses that count what they say.

``/class?room=CODE`` is the page. ``/class.json?room=CODE`` has the open question (GET), takes a
phone's answer (POST), and is where a lecturer opens a question (PUT) and closes it (DELETE); a GET
with the lecturer's key has the sums. The key makes the code: ``/class.json`` without a room tells
it (POST). All requests about a room have one address, by which a proxy in front of several
processes sends them to the same one (``ncd/cli/Caddyfile``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import Receive, Scope, Send

from ncd.app.host import live_endpoint
from ncd.app.parts.html_panel import StaticFile, read_static
from ncd.app.runtime import scheduler
from ncd.app.scene.edited_system import entry_of
from ncd.app.state.selection import QUESTION_KEY
from ncd.app.teach.class_tally import Tallies, TallyError, room_code
from ncd.errors import LimitError, NCDError
from ncd.site import markup
from ncd.site.markup import THEME_CSS
from ncd.site.question_html import answer_html
from ncd.site.scripts import script
from ncd.systems.lessons.computed_questions import question

PAGE_PATH, TALLY_FILE = "class", "class.json"
SHEET = StaticFile.from_text("css", "text/css", THEME_CSS + read_static("host/class_page.css"))
SCRIPT = StaticFile.from_text("js", "text/javascript", script("app/host/class_page.js"))
FILES = {file.name: file for file in (SHEET, SCRIPT)}
PAGE = read_static("host/class_page.html").format(sheet=SHEET.name, script=SCRIPT.name)
LONGEST = 4000  # bytes of a message
KEY_HEADER = "x-ncd-key"
FRESH = {"Cache-Control": "no-store"}
TALLIES = Tallies()


async def answer_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the page for phones, which is the same for all rooms."""
    await HTMLResponse(PAGE, headers={"Cache-Control": "no-cache"})(scope, receive, send)


async def answer_tally(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request about a room as JSON; a refusal has the reason, and 404, 400 or 503."""
    request = Request(scope, receive)
    try:
        found, status = await _room_answer(request), 200
    except TallyError as error:
        found, status = {"error": str(error)}, 404
    except LimitError as error:
        found, status = {"error": str(error)}, 503
    except (NCDError, ValueError) as error:
        found, status = {"error": str(error)}, 400
    await JSONResponse(found, status, FRESH)(scope, receive, send)


async def _room_answer(request: Request) -> dict[str, Any]:
    room, key = request.query_params.get("room", ""), request.headers.get(KEY_HEADER, "")
    if request.method == "GET":
        return {"counts": TALLIES.counts(room, key)} if key else open_question(room)
    if request.method == "DELETE":
        return {"counts": TALLIES.close(room, key)}
    if request.method not in ("PUT", "POST"):
        raise ValueError("A room knows GET, POST, PUT and DELETE.")
    said = await _message(request)
    if request.method == "PUT":
        text, answers = await run_in_threadpool(question_parts, said)
        TALLIES.open(room, key, text, answers)
        return {"answers": len(answers)}
    if not room:
        return {"room": room_code(key)}
    answer = said.get("answer")
    TALLIES.vote(room, str(said.get("phone", "")), answer if type(answer) is int else -1)
    return {}


async def _message(request: Request) -> Mapping[str, Any]:
    """Returns the fields of a short message.

    Raises:
        ValueError: For a long one, or one that is no JSON object.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            raise ValueError(f"The message is longer than {LONGEST:,} bytes.")
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError("The message is no JSON object.")
    return found


def open_question(code: str) -> dict[str, Any]:
    """Returns the question of a room as phones see it, without any sums."""
    room = TALLIES.room(code)
    return {"question": room.question, "answers": list(room.answers), "number": room.number}


def question_parts(said: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Returns the question of a view and its answers as HTML, both made here from the term.

    >>> text, answers = question_parts({"page": "multi-head-attention", "query": "ask=shape:v7"})
    >>> text.startswith("What shape"), len(answers)
    (True, 4)

    Raises:
        TallyError: If the view asks nothing.
    """
    query = dict(parse_qsl(str(said.get("query", ""))[: live_endpoint.LONGEST]))
    entry = entry_of(str(said.get("page", "")), query)
    scene = live_endpoint.scene(entry, query) if entry else None
    if entry is not None and scene is not None:
        with scheduler.turn():
            found = question(entry, scene.settings, query.get(QUESTION_KEY, ""))
        if found is not None:
            return markup.sentence(found.text), tuple(map(answer_html, found.answers))
    raise TallyError("this view asks nothing", cure="a view of a lesson with a question")
