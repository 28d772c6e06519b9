"""The page "Read it in 90 seconds", and its pictures, which the page asks for one by one.

``/ninety-seconds`` is the page; ``#4`` opens its fourth step. The picture of a step at a size is
``/ninety-seconds.json?step=4&size=7``; ``narrow=1`` is for a phone, ``dark=1`` for a dark page.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from ncd.app.page import navigation
from ncd.app.parts.html_panel import StaticFile
from ncd.app.runtime import scheduler
from ncd.app.scene import own_entry
from ncd.app.state.link_text import compress_text
from ncd.errors import NCDError
from ncd.notation.term_text import spell
from ncd.site.ninety_seconds_page import (
    PAGE_CSS,
    PAGE_JS,
    TITLE,
    PageAddresses,
    frame_facts,
    ninety_seconds_page,
)
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.lessons.lesson import Lesson, LessonStep
from ncd.systems.lessons.ninety_seconds import STEPS, Step

PATH, FRAME_FILE = "ninety-seconds", "ninety-seconds.json"
SHEET = StaticFile.from_text("css", "text/css", PAGE_CSS)
SCRIPT = StaticFile.from_text("js", "text/javascript", PAGE_JS)
FILES = {file.name: file for file in (SHEET, SCRIPT)}
FRAME = f"./{FRAME_FILE}?step={{step}}&size={{size}}&narrow={{narrow}}&dark={{dark}}"
NOT_FOUND_TEXT = f"step is a number from 1 to {len(STEPS)}, and size is one of its sizes."
MAX_QUERY = 100  # letters
FRESH = {"Cache-Control": "no-cache"}


async def answer_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the page, or with the reason why this server's limits allow no run of it."""
    response: Response
    try:
        response = HTMLResponse(await run_in_threadpool(page_html), headers=FRESH)
    except NCDError as error:
        response = PlainTextResponse(str(error), 503)
    await response(scope, receive, send)


async def answer_frame(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the picture of a step, or with 404 if there is no such step or size."""
    request = Request(scope)
    asked = dict(request.query_params) if len(request.url.query) <= MAX_QUERY else {}
    response: Response = PlainTextResponse(NOT_FOUND_TEXT, 404)
    try:
        if found := await run_in_threadpool(frame_of_query, asked):
            response = JSONResponse(found, headers=FRESH)
    except NCDError as error:
        response = PlainTextResponse(str(error), 503)
    await response(scope, receive, send)


def frame_of_query(asked: dict[str, str]) -> dict[str, Any] | None:
    """Returns a picture, its box and its words; None if there is no such step or size.

    >>> frame_of_query({"step": "2", "size": "8"})["svg"][:4], frame_of_query({"step": "9"})
    ('<svg', None)
    """
    number, size = (_number(asked.get(name, "")) for name in ("step", "size"))
    if not 1 <= number <= len(STEPS) or size not in STEPS[number - 1].range:
        return None
    narrow, dark = (asked.get(name) == "1" for name in ("narrow", "dark"))
    with scheduler.turn():
        return scheduler.run_in_thread(lambda: frame_facts(number, size, narrow, dark))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 4 else 0


@cache
def page_html() -> str:
    """Returns the page, which leads on to the app.

    >>> page_html().count("Two wires that meet end")
    1
    """
    doors = (
        ("multi-head-attention", "Attention with heads, live"),
        ("./", f"All {len(CATALOGUE)} systems"),
        ("yours", "Paste your own module"),
        (presenter_link(), "Teach these steps"),
    )
    addresses = PageAddresses("./", f"./{SHEET.name}", f"./{SCRIPT.name}", FRAME, doors)
    with scheduler.turn():
        return ninety_seconds_page(addresses, navigation.heading(TITLE))


# --- The same steps as a lesson of the presenter, where they can be changed


def lesson() -> Lesson:
    """Returns the steps as views of the page Yours, each with its term as a text.

    >>> [view.page for view in lesson().views] == ["yours"] * 7
    True
    """
    return Lesson(tuple(map(_view, STEPS)))


def _view(step: Step) -> LessonStep:
    found = step.run()
    query = {own_entry.TEXT_KEY: spell(found.term), "labels": "values"}
    query |= {"ask": step.ask} if step.ask else {}
    return LessonStep(own_entry.CUSTOM_PAGE, urlencode(query), step.line)


def presenter_link() -> str:
    """Returns the address that opens the steps in the presenter."""
    made = lesson()
    views = urlencode({"present": 1, "views": compress_text(str(made))})
    return f"{own_entry.CUSTOM_PAGE}?{made.views[0].query}&{views}"
