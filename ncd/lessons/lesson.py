"""A lesson as data: its text in a link, and its JSON file.

A view is the address of a page: its name and its query, which has the sizes, the selection and the
open panel. A link has ``name?query#line``, separated by semicolons; ``presenter.js`` writes the
same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from ncd.lang.errors import LimitError, ParseError, shown
from ncd.lang.near_names import nearest_name
from ncd.lang.terms.arguments import check_text

MOST = 40  # views
LETTERS = 8000  # of all of them in a link
LINE = 200  # letters
FILE = 64_000  # letters of a file
FORMAT = "neural circuit lesson, version 1"
VIEW = re.compile(r"([^?#]*)\??([^#]*)#?(.*)", re.DOTALL)
QUERY = re.compile(r"[A-Za-z0-9%.~+=&,:!*'()/@$|_-]*")  # as a browser writes a query
SAFE = "!'()*~"  # what encodeURIComponent leaves, beside letters, digits and "-._"
FIELDS = ("page", "query", "says")
SHAPE = '{"views": [{"page": "unet", "query": "c=8", "says": "Twice the channels."}]}'


@dataclass(frozen=True)
class View:
    """A page at a query such as ``h=8&panel=Cost``, and the line that is said with it."""

    page: str
    query: str = ""
    says: str = ""

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.page}{query}{f'#{quote(self.says, safe=SAFE)}' if self.says else ''}"


@dataclass(frozen=True)
class Lesson:
    """Some views in order.

    >>> lesson = Lesson((View("unet", "c=16", "Twice."), View("unet")))
    >>> str(lesson), Lesson.of_link(str(lesson), {"unet"}) == lesson
    ('unet?c=16#Twice.;unet', True)
    >>> Lesson.of_json(lesson.json(), {"unet"}) == lesson
    True
    """

    views: tuple[View, ...]

    def __str__(self) -> str:
        return ";".join(map(str, self.views))

    @classmethod
    def of_link(cls, text: str, pages: Collection[str]) -> Lesson:
        """Returns the lesson of a link, without the views of pages that do not exist.

        Raises LimitError for a text that is too long.
        """
        if len(text) > LETTERS:
            raise LimitError(
                f"the views have {len(text):,} letters, at most {LETTERS:,} are read",
                cure="fewer views",
            )
        views = []
        for part in text.split(";"):
            match = VIEW.fullmatch(part)
            assert match is not None
            page, query, says = match.groups()
            if page in pages:
                views.append(View(page, query, unquote(says)[:LINE]))
        return cls(tuple(views[:MOST]))

    def json(self) -> str:
        """Returns the text of the lesson's file."""
        views = [{name: getattr(view, name) for name in FIELDS} for view in self.views]
        return json.dumps({"format": FORMAT, "views": views}, indent=2, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str, pages: Collection[str]) -> Lesson:
        """Returns the lesson of a file.

        Raises ParseError for a text that is no lesson, LimitError for one that is too long, each
        with the view and the field in question.
        """
        if len(text) > FILE:
            fact = f"the file has {len(text):,} letters, at most {FILE:,} are read"
            raise LimitError(fact, cure="fewer views")
        said = _read(text)
        if not isinstance(said, dict) or not isinstance(said.get("views"), list):
            raise ParseError('a lesson is an object with a list "views"', cure=SHAPE)
        views = said["views"]
        if not 0 < len(views) <= MOST:
            fact = f"the lesson has {len(views)} views"
            raise LimitError(fact, cure=f"1 to {MOST}")
        lesson = cls(tuple(_view(each, n, pages) for n, each in enumerate(views, 1)))
        return cls.of_link(str(lesson), pages)  # also if it is too long for a link


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ParseError("the file is nested too deep for a lesson", cure=SHAPE) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ParseError(f"the file is not JSON at {where}: {error.msg}", cure=SHAPE) from None
    except ValueError:  # a number of thousands of digits
        raise ParseError("the file has a number that no lesson has", cure=SHAPE) from None


def _view(said: Any, n: int, pages: Collection[str]) -> View:
    """Returns a view of a file, checked field by field."""
    where = f"view {n}"
    if not isinstance(said, Mapping):
        cure = f"an object with {', '.join(FIELDS)}"
        raise ParseError(f"{shown(said)} is not a view", where=where, cure=cure)
    for name, value in said.items():
        if name not in FIELDS:
            cure = nearest_name(name, FIELDS)
            raise ParseError(f"there is no field {shown(name)}", where=where, cure=cure)
        if not isinstance(value, str):
            raise ParseError(f"{name} is {shown(value)}, but it is a text", where=where)
        check_text(value, name, where)
    view = View(**said) if "page" in said else View("")
    if view.page not in pages:
        cure = nearest_name(view.page, pages)
        raise ParseError(f"there is no page {shown(view.page)}", where=where, cure=cure)
    if not QUERY.fullmatch(view.query):
        fact = f"query is {shown(view.query)}, but it is the part of an address after its “?”"
        raise ParseError(fact, where=where, cure='"h=8&panel=Cost"')
    if len(view.says) > LINE:
        fact = f"says has {len(view.says):,} letters, at most {LINE} are shown"
        raise LimitError(fact, where=where, cure="a shorter line")
    return view
