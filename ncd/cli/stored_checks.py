"""The checks of a system's entry: its knobs, its page, and its picture in ``assets/diagrams``."""

from __future__ import annotations

import re

from ncd.bundled_files import bundled
from ncd.cli.term_checks import Case, View
from ncd.drawing import draw
from ncd.lang.circuits.elaborate import elaborate
from ncd.models import Entry
from ncd.static_site import page_prose

LONGEST = 60  # lines of a page
PARTS = ("LEAD", "WHY", "page")  # the names in a page's file
APART = re.compile(  # the compression of fonts differs by version, and the term is not drawn
    r"<style>.*?</style>|<metadata>.*?</metadata>", re.S
)


def knobs(case: Case) -> str | None:
    """A knob that adds ops, such as the number of layers, has a largest value."""
    entry = _entry(case)
    for knob in entry.knobs:
        if knob.is_size and knob.most is None and not knob.below:
            two = knob.min, knob.legal(knob.min + knob.step)
            ends = (entry.within({**entry.settings({}), knob.name: n}) for n in two)
            few, many = (len(elaborate(entry.build(**end)).cells) for end in ends)
            if many > few:
                return f"knob {knob.name} adds ops, but has no largest value: say most=48 in it"
    return None


def page(case: Case) -> str | None:
    """The system has a page, which is short, introduces it, and shows it."""
    entry = _entry(case)
    file = page_prose.file(entry)
    if not bundled(file).is_file():
        return f"there is no file {file}"
    text = bundled(file).read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > LONGEST:
        return f"{file} has {lines} lines, at most {LONGEST} can be"
    lacks = [name for name in PARTS if not re.search(rf"^{name}\b", text, re.M)]
    if lacks:
        return f"{file} lacks {', '.join(lacks)}"
    shows = f'catalogue["{entry.name}"]'
    return None if shows in text else f"{file} does not show {shows}"


def picture(case: Case) -> str | None:
    """The picture in ``assets/diagrams`` is the drawing at the defaults of the knobs."""
    entry = _entry(case)
    file = f"assets/diagrams/{entry.name}.svg"
    path = bundled(file)
    stored = path.read_text(encoding="utf-8") if path.is_file() else ""
    fresh = draw(case.term, **case.look).svg()
    if APART.sub("", stored).strip() == APART.sub("", fresh).strip():
        return None
    what = "is not its drawing" if stored else "is missing"
    return f"{file} {what}: write it with python -m ncd render {entry.name} -o {file}"


def _entry(case: Case) -> Entry:
    if case.entry is None:
        raise ValueError("the case is not of a system of the catalogue")
    return case.entry


STORED: tuple[View, ...] = (knobs, page, picture)
