"""The page "Read it in 90 seconds": what it says, and where each of its pictures is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ncd.drawing.elements.fonts import all_faces_css
from ncd.site import markup
from ncd.site.markup import FOLDER, THEME_CSS
from ncd.site.scripts import script
from ncd.site.step_frames import frame, room
from ncd.systems.lessons.ninety_seconds import AXIS_SIGNS, STEPS, Step, StepGuess

TITLE = "Read it in 90 seconds"
PAGE = (FOLDER / "ninety_seconds.html").read_text()
PAGE_CSS = all_faces_css() + THEME_CSS + (FOLDER / "ninety_seconds.css").read_text()
PAGE_JS = script("site/static/ninety_seconds.js")
_AXIS = re.compile(r"\*(.+?)\*")


class PageAddresses(NamedTuple):
    """The addresses of the page's files, of its pictures, and of the pages that it leads to.

    ``home`` is the first page; ``frame`` the address of a picture, in which ``{step}``, ``{size}``,
    ``{narrow}`` and ``{dark}`` stand for numbers, the last two 0 or 1; ``doors`` are the links at
    the end, each an address and what it says.
    """

    home: str
    sheet: str
    script: str
    frame: str
    doors: Sequence[tuple[str, str]]


def ninety_seconds_page(addresses: PageAddresses, heading: str, policy: str = "") -> str:
    """Returns the page with all that is said in it; only the pictures come later.

    ``heading`` is its title in the browser's tab, ``policy`` what a file from any host may load.

    >>> addresses = PageAddresses("../", "page.css", "page.js", "{step}.json", [("../", "All")])
    >>> ninety_seconds_page(addresses, TITLE).count("Two wires that meet end")
    1
    """
    doors = "\n".join(
        f'<li><a href="{markup.text(address)}">{markup.text(says)}</a></li>'
        for address, says in addresses.doors
    )
    allowed = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n' if policy else ""
    return PAGE.format(
        title=TITLE,
        heading=markup.text(heading),
        policy=allowed,
        home=addresses.home,
        sheet=addresses.sheet,
        script=addresses.script,
        frames=markup.text(addresses.frame),
        steps=json.dumps([_facts(step) for step in STEPS], ensure_ascii=False).replace(
            "<", "\\u003c"
        ),
        doors=doors,
    )


def frame_facts(number: int, size: int, narrow: bool, dark: bool) -> dict[str, Any]:
    """Returns the picture of a step, counted from 1, with its box, its room and its words.

    >>> frame_facts(2, 8, False, False)["svg"][:4]
    '<svg'
    """
    found = frame(number, size, narrow, dark)
    return {
        "svg": found.svg,
        "box": found.box,
        "room": room(number, narrow),
        "about": found.description,
    }


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
