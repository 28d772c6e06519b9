"""The page "Read it in 90 seconds", and its pictures, which the page asks for one by one.

``/ninety-seconds`` is the page; ``#4`` opens its fourth step. The picture of a step at a size is
``/ninety-seconds.json?step=4&size=7``; ``narrow=1`` is for a phone, ``dark=1`` for a dark page.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from ncd.app.page import navigation
from ncd.app.parts.html_panel import StaticFile, read_static
from ncd.app.runtime import scheduler
from ncd.app.scene import own_entry
from ncd.app.state.link_text import compress_text
from ncd.app.teach.step_frames import frame, room
from ncd.drawing.elements.fonts import all_faces_css
from ncd.errors import NCDError
from ncd.notation.term_text import spell
from ncd.site import markup
from ncd.site.markup import THEME_CSS
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.lessons.lesson import Lesson, LessonStep
from ncd.systems.lessons.ninety_seconds import AXIS_SIGNS, STEPS, Step, StepGuess

PATH, FRAME_FILE = "ninety-seconds", "ninety-seconds.json"
TITLE = "Read it in 90 seconds"
PAGE = read_static("host/ninety_seconds.html")
SHEET = StaticFile.from_text(
    "css", "text/css", all_faces_css() + THEME_CSS + read_static("host/ninety_seconds.css")
)
SCRIPT = StaticFile.from_text("js", "text/javascript", read_static("host/ninety_seconds.js"))
FILES = {file.name: file for file in (SHEET, SCRIPT)}
_AXIS = re.compile(r"\*(.+?)\*")
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
        if found := await run_in_threadpool(frame_facts, asked):
            response = JSONResponse(found, headers=FRESH)
    except NCDError as error:
        response = PlainTextResponse(str(error), 503)
    await response(scope, receive, send)


def frame_facts(asked: dict[str, str]) -> dict[str, Any] | None:
    """Returns a picture, its box and its words; None if there is no such step or size.

    >>> frame_facts({"step": "2", "size": "8"})["svg"][:4], frame_facts({"step": "9"})
    ('<svg', None)
    """
    number, size = (_number(asked.get(name, "")) for name in ("step", "size"))
    if not 1 <= number <= len(STEPS) or size not in STEPS[number - 1].range:
        return None
    narrow, dark = (asked.get(name) == "1" for name in ("narrow", "dark"))
    with scheduler.turn():
        found = frame(number, size, narrow, dark)
        return {
            "svg": found.svg,
            "box": found.box,
            "room": room(number, narrow),
            "about": found.description,
        }


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 4 else 0


@cache
def page_html() -> str:
    """Returns the page with all that is said in it; only the pictures come later.

    >>> page_html().count("Two wires that meet end")
    1
    """
    with scheduler.turn():
        steps = [_facts(step) for step in STEPS]
    return PAGE.format(
        title=TITLE,
        heading=markup.text(navigation.heading(TITLE)),
        sheet=SHEET.name,
        script=SCRIPT.name,
        steps=json.dumps(steps, ensure_ascii=False).replace("<", "\\u003c"),
        count=len(CATALOGUE),
        edit=markup.text(presenter_link()),
    )


def _facts(step: Step) -> dict[str, Any]:
    runs = [step.run(size) for size in step.range]
    return {
        "title": with_axes(step.title),
        "size": _size_name(step.size),
        "help": step.help,
        "first": step.range[0],
        "start": step.start,
        "words": [with_axes(step.words(run)) for run in runs],
        **_guess_facts(step.guess()),
    }


def _size_name(name: str) -> str:
    return name if len(name) > 1 else with_axes(f"*{AXIS_SIGNS.get(name, name)}*")


def _guess_facts(guess: StepGuess) -> dict[str, Any]:
    return {
        "question": with_axes(guess.question),
        "answers": list(map(with_axes, guess.answers)),
        "feedback": list(map(with_axes, guess.feedback)),
        "right": guess.answer_index,
    }


def with_axes(words: str) -> str:
    """Returns words as HTML, with the axes between asterisks in italics.

    >>> with_axes("1 < *k*")
    '1 &lt; <i>k</i>'
    """
    return _AXIS.sub(r"<i>\1</i>", markup.text(words))


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
