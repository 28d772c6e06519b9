"""What a panel shows at a setting, without a page: its HTML, its map, and what is in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Protocol
from unittest.mock import patch

import streamlit as st

import ncd
from ncd.inputs.run_inputs import Feed
from ncd.view.arrays import charts, map_component
from ncd.view.arrays.map_component import Map
from ncd.view.base import html_panel
from ncd.view.session.scene import Scene

WIDTH = re.compile(r"width:([\d.]+)em")
VOID = {"img", "input", "br", "hr"}


class Panel(Protocol):
    def show(self, scene: Scene, /) -> None: ...


@dataclass
class Shown:
    """What a panel sent to the browser; a map's words are in ``html`` as well."""

    html: str = ""
    map: Map | None = None
    pick: Callable[..., None] | None = None
    charts: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        return text(self.html)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of every row of its tables, without their heads."""
        return [[text(cell) for cell in cells(row)] for row in inside(self.html, "tr")]

    def sliders(self) -> dict[str, tuple[int, int, int]]:
        """The first, chosen and last place of each slider."""
        found = (own for own in tags(self.html, "input") if own.get("type") == "range")
        return {
            own["data-set"]: (int(own["min"]), int(own["value"]), int(own["max"])) for own in found
        }


def scene(name: str, seed: int = 0, feed: Feed | None = None, **knobs: int) -> Scene:
    entry = ncd.catalogue[name]
    settings = entry.settings(knobs)
    term = entry.build(**settings)
    return Scene(entry, settings, seed, "cpu", feed or Feed(), False, "names", "", term)


def shown(panel: Panel, at: Scene, **chosen: object) -> Shown:
    """Shows a panel; ``chosen`` is what the visitor has chosen in it before."""
    found = Shown()

    def page(html: str, key: str, controls: object = (), on_pick: Any = None) -> None:
        found.html, found.pick = found.html + html, on_pick

    def map_(key: str, controls: object = (), on_pick: Any = None, **parts: Any) -> None:
        found.map, found.pick = parts.pop("map", None), on_pick
        found.html += "".join(parts.values())

    def chart(figure: Any, *rest: object, **more: object) -> None:
        found.charts += (figure,)

    session = {name: str(value) for name, value in chosen.items()}
    with (
        patch.object(st, "session_state", session),
        patch.object(html_panel, "show", page),
        patch.object(map_component, "show", map_),
        patch.object(charts, "show", chart),
    ):
        panel.show(at)
    return found


class _Tags(HTMLParser):
    """Finds the elements of a name: their attributes, and what stands in them."""

    def __init__(self, name: str) -> None:
        super().__init__(convert_charrefs=False)
        self.name, self.found, self.depth, self.start = name, list[dict[str, str]](), 0, 0
        self.inner: list[str] = []
        self.open: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == self.name:
            self.found.append({key: value or "" for key, value in attrs})
            self.inner.append("")
            if tag not in VOID:
                self.open.append(len(self.inner) - 1)
                return
        self._add(self.get_starttag_text() or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == self.name:
            self.found.append({key: value or "" for key, value in attrs})
            self.inner.append("")
        self._add(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.name and self.open:
            self.open.pop()
        else:
            self._add(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._add(data)

    def handle_entityref(self, name: str) -> None:
        self._add(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._add(f"&#{name};")

    def _add(self, text: str) -> None:
        for n in self.open:
            self.inner[n] += text


def tags(html: str, name: str) -> list[dict[str, str]]:
    """Returns the attributes of every element of a name."""
    parser = _Tags(name)
    parser.feed(html)
    return parser.found


def inside(html: str, name: str) -> list[str]:
    """Returns what stands in every element of a name, as HTML."""
    parser = _Tags(name)
    parser.feed(html)
    return parser.inner


def bars(html: str) -> list[float]:
    """Returns the lengths of the bars, the longest as 1."""
    found = [float(width) for width in WIDTH.findall(html)]
    return [width / max(found) for width in found]


def cells(row: str) -> list[str]:
    return inside(row, "td")


def text(html: str) -> str:
    """Returns the words of some HTML."""
    words: list[str] = []
    parser = HTMLParser()
    parser.handle_data = words.append  # type: ignore[method-assign]
    parser.feed(html)
    parser.close()
    return " ".join("".join(words).split())
