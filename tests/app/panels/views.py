"""What a panel shows at a setting, without a page: its HTML, its map, and what is in them."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from io import BytesIO
from typing import Any, Protocol
from unittest.mock import patch

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from PIL import Image

import ncd
from ncd.app.parts import charts, html_panel, map_component
from ncd.app.parts.map_component import Heatmap
from ncd.app.scene.scene import Scene
from ncd.systems.inputs.run_inputs import InputSpec

WIDTH = re.compile(r'class="meter" style="width:([\d.]+)em')
ATTRIBUTE = re.compile(r"""([\w-]+)=(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
CELL = re.compile(r"<t[dh]\b([^>]*)>(.*?)</t[dh]>", re.DOTALL)


class Panel(Protocol):
    """A module or an object that shows a scene."""

    def show(self, scene: Scene, /) -> None: ...


@dataclass
class Shown:
    """What a panel sent to the browser; what stands around a map is in ``html`` as well."""

    html: str = ""
    map: Heatmap | None = None
    pick: Callable[..., None] | None = None
    charts: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        return text(self.html)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of every row of its tables, their heads among them."""
        return [[text(inner) for _, inner in CELL.findall(row)] for row in inside(self.html, "tr")]

    @property
    def sliders(self) -> dict[str, tuple[int, int, int]]:
        """The first, chosen and last place of each slider."""
        found = (own for own in tags(self.html, "input") if own.get("type") == "range")
        return {
            own["data-set"]: (int(own["min"]), int(own["value"]), int(own["max"])) for own in found
        }


def scene(name: str, seed: int = 0, feed: InputSpec | None = None, **knobs: int) -> Scene:
    entry = ncd.catalogue[name]
    settings = entry.settings(knobs)
    term = entry.build(**settings)
    return Scene(entry, settings, seed, "cpu", feed or InputSpec(), False, "names", "", term)


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
        patch.object(html_panel, "render", page),
        patch.object(map_component, "render", map_),
        patch.object(charts, "render", chart),
    ):
        panel.show(at)
    check_columns(found.html)
    return found


def check_columns(html: str) -> None:
    """Numbers are right-aligned in the rows of a column and in its head alike."""
    for table in inside(html, "table"):
        head, *rows = (CELL.findall(row) for row in inside(table, "tr"))
        for row in rows:
            for (top, name), (kind, number) in zip(head, row, strict=False):
                alike = ("number" in top) == ("number" in kind)
                assert alike or not name or not number, (name, number)


def tags(html: str, name: str) -> list[dict[str, str]]:
    """Returns the attributes of every element of a name."""
    found = re.findall(rf"<{name}\b([^>]*)>", html)
    return [
        {key: unescape(one or two or three) for key, one, two, three in ATTRIBUTE.findall(own)}
        for own in found
    ]


def inside(html: str, name: str) -> list[str]:
    """Returns what stands in every element of a name, none of which is in another."""
    return re.findall(rf"<{name}\b[^>]*>(.*?)</{name}>", html, re.DOTALL)


def images(html: str) -> list[NDArray[np.uint8]]:
    """Returns the colours (rows, columns, 3) of every image, pictures of a drawing among them."""
    data = re.findall(r"""(?:src|href)=["']data:image/png;base64,([^"']*)""", html)
    return [np.asarray(Image.open(BytesIO(b64decode(own))).convert("RGB")) for own in data]


def bars(html: str) -> list[float]:
    """Returns the lengths of the bars, the longest as 1."""
    found = [float(width) for width in WIDTH.findall(html)]
    return [width / max(found) for width in found]


def text(html: str) -> str:
    """Returns the words of some HTML."""
    return " ".join(unescape(re.sub("<[^>]*>", "", html)).split())
