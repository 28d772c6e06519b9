"""A component that shows a map of numbers, and redraws only the parts that have changed."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ncd.app.parts import heatmap, html_panel
from ncd.app.parts.html_panel import apply_component_selection, read_static, sent_value
from ncd.app.state.controls import Choice, Control, pick
from ncd.explain.colour_scale import ColourRange, PooledMaps
from ncd.language.axes import Axis
from ncd.site import markup
from ncd.site.markup import PANEL_CSS
from ncd.site.scripts import script

ZOOM = """
<div class="zoom" role="group" aria-label="Zoom">
<button type="button" data-zoom="in" aria-label="larger" title="Larger (+)">+</button>
<button type="button" data-zoom="out" aria-label="smaller" title="Smaller (−)">−</button>
<button type="button" data-zoom="fit" aria-label="all of it" title="All of it (0)">⤢</button>
</div>
"""
HTML = f"""
<div class="ncd maps"><div class="head"></div>
<div class="both"><div class="side"></div>
<div class="map" hidden>
<div class="title rows"></div><div class="title columns"></div>
<div class="ticks rows" aria-hidden="true"></div>
<div class="ticks columns" aria-hidden="true"></div>
<div class="frame" tabindex="0" role="application">
<div class="inner"><canvas></canvas><div class="cursor" hidden></div></div></div>
<div class="ramp" aria-hidden="true"><canvas></canvas><div><span></span><span></span></div></div>
{ZOOM}
<output class="tip" hidden></output>
</div><div class="aside"></div></div>
<p class="hint" hidden>Click a cell, or press Enter on it, to see how its number comes about.</p>
<div class="foot"></div></div>
"""

CELL, ONE, BEHIND = "cell", "one", "behind"  # actions: a cell, and a number in another array
COLOURS = Choice("colours", ("", "all"), "")  # whether they end before outliers, or not
SUBSCRIPT = re.compile(r"_(\d+)")
SUBSCRIPT_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
LIGHTS = re.compile(' data-axis="[^"]*"')

_maps = st.components.v2.component(
    "ncd_maps",
    html=HTML,
    css=PANEL_CSS + read_static("parts/map_component.css") + read_static("figure/cell.css"),
    js=script("app/parts/map_component.js"),
)


@dataclass(frozen=True)
class AxisLabels:
    """One side of a map: its title (HTML), the name of a position, the words at positions.

    ``picks`` is the control that a click on a cell sets to the position on this side.
    """

    title: str = ""
    position_label: str = ""
    tick_labels: Sequence[str] = ()
    picks: Control | None = None


@dataclass(frozen=True)
class CellFrame:
    """A frame around a cell or a whole row of a map; ``kind`` is its style."""

    kind: str
    row: int
    column: int | None = None


@dataclass(frozen=True)
class Heatmap:
    """A large map of numbers; its zoom is kept as long as ``id`` stays the same.

    With ``picks="cell"``, and where a side picks, a click picks a cell as ``"cell=3,5"``, the place
    of the first number in it. ``marks`` are frames around cells. A cell picked as ``ONE`` is
    explained below the map.
    """

    id: str
    label: str
    pooled_maps: PooledMaps
    ends: ColourRange
    rows: AxisLabels
    columns: AxisLabels
    value_label: str = ""
    square_cells: bool = False
    integer_values: bool = False
    pixels: NDArray[np.uint8] | None = None  # an image in place of the numbers
    marks: tuple[CellFrame, ...] = ()
    cell_action: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """Returns a map as the data that the browser needs."""
        numbers, ends = self.pooled_maps, self.ends
        clipped = ends.high < ends.largest
        high = ("≥ " if clipped else "") + markup.digits(ends.high)
        low = markup.digits(ends.low) if ends.low else "0"
        drawn = {"cells": _text(np.ascontiguousarray(numbers.maps, "<f4"))}
        if self.pixels is not None:
            drawn = {"pixels": _text(self.pixels)}
        sides = {"rows": (self.rows, 0), "columns": (self.columns, 1)}
        return {
            "id": self.id,
            "label": self.label,
            "said": self.value_label,
            "square": self.square_cells,
            "whole": self.integer_values and numbers.block == (1, 1),
            "low": ends.low,
            "high": ends.high,
            "ends": [f"≤ {low}" if clipped and ends.low else low, high],
            "palette": _colours(heatmap.scale(ends.low < 0)),
            "marks": [[mark.kind, mark.row, mark.column] for mark in self.marks],
            "picks": self.cell_action or CELL * any(self.click_controls),
            **drawn,
            **{name: self._side(*side) for name, side in sides.items()},
        }

    @property
    def click_controls(self) -> tuple[Control | None, Control | None]:
        """The controls of row and column that a click sets."""
        return self.rows.picks, self.columns.picks

    def _side(self, side: AxisLabels, n: int) -> dict[str, Any]:
        return {
            "title": side.title,
            "said": side.position_label,
            "names": list(side.tick_labels),
            "count": self.pooled_maps.shape[n],
            "cells": self.pooled_maps.maps.shape[n],
            "block": self.pooled_maps.block[n],
        }


@lru_cache
def _colours(stops: str) -> str:
    return _text(heatmap.palette(stops))


def _text(numbers: Any) -> str:
    return b64encode(bytes(numbers) if isinstance(numbers, bytes) else numbers.tobytes()).decode()


def render(
    key: str,
    controls: Sequence[Control] = (),
    on_pick: Callable[[str, str], None] | None = None,
    *,
    head: str = "",
    side: str = "",
    map: Heatmap | None = None,
    aside: str = "",
    foot: str = "",
) -> None:
    """Shows a map between other HTML: small pictures above, words below.

    A click on an element with ``data-pick="head=3"`` sets the control ``head``, and so does a
    change of an input with ``data-set="head"``; what sets no control calls ``on_pick`` with
    ``"head", "3"``.
    """

    def picked() -> None:
        name, _, value = str(sent_value(key, "pick") or "").partition("=")
        if name == CELL and map and any(map.click_controls):
            for control, at in zip(map.click_controls, value.split(","), strict=False):
                if control is not None:
                    control.put(at)
        elif not pick(controls, name, value) and on_pick is not None:
            on_pick(name, value)

    shown = {"head": head, "side": side, "map": map and map.data, "aside": aside, "foot": foot}
    html_panel.send(
        _maps,
        key,
        shown,
        on_select_change=lambda: apply_component_selection(key),
        on_pick_change=picked,
    )


def axis_text(axis: Axis) -> str:
    """Returns the name of an axis as plain text, as similar to its label as possible.

    >>> axis_text(Axis("n_0")), axis_text(Axis("n_b")), axis_text(Axis("c", label="c_{5-λ}"))
    ('n₀', 'n_b', 'c_{5-λ}')
    """
    return SUBSCRIPT.sub(lambda found: found[1].translate(SUBSCRIPT_DIGITS), axis.display_name)


def position_html(axis: Axis, at: int, side: str = "") -> str:
    """Returns a position on an axis as HTML without links, for use inside a button."""
    return f"{LIGHTS.sub('', markup.axis(axis))}{side and f' {side}'} = {at}"


def thumbnail_buttons(pictures: Sequence[tuple[str, str, str]], chosen: str) -> str:
    """Returns small pictures as buttons; each has a value to pick, a name and an image URL."""
    buttons = (
        _button(pick, pick == chosen, f'<img alt="" src="{address}">{name}')
        for pick, name, address in pictures
    )
    return _buttons("".join(buttons), len(pictures))


def sprite_buttons(sheet: str, names: Sequence[tuple[str, str]], chosen: str) -> str:
    """Returns small pictures as buttons, cut from one image in which they are stacked.

    >>> html = sprite_buttons("data:", [("a=0", ""), ("a=1", ""), ("a=2", "")], "a=0")
    >>> [part.partition("%")[0] for part in html.split("position-y:")[1:]]
    ['0.0', '50.0', '100.0']
    """
    last = max(len(names) - 1, 1)
    buttons = (
        _button(
            pick,
            pick == chosen,
            f'<span class="part" style="background-position-y:{100 * n / last}%"></span>{name}',
        )
        for n, (pick, name) in enumerate(names)
    )
    return _buttons("".join(buttons), len(names), f";--sheet:url('{sheet}');--parts:{len(names)}")


def _button(pick: str, pressed: bool, inner: str) -> str:
    return (
        f'<button type="button" data-pick="{markup.text(pick)}" '
        f'aria-pressed="{str(pressed).lower()}">{inner}</button>'
    )


def _buttons(inner: str, count: int, style: str = "") -> str:
    across, tall = (2, 84) if count <= 4 else (4, 64)
    return f'<div class="heads" style="--across:{across};--thumb:{tall}px{style}">{inner}</div>'


def colours(ends: ColourRange) -> ColourRange:
    """Returns the range of the colours that is chosen: up to outliers, or without them."""
    return ends.with_outliers if COLOURS.value else ends


def outlier_notice(ends: ColourRange, chosen: ColourRange) -> str:
    """Returns a sentence about outliers, with an offer to change the range."""
    if not ends.outliers:
        return ""
    far = markup.plural(ends.outliers, "number")
    verb = "is" if ends.outliers == 1 else "are"
    what = f"{far} {verb} much larger than all others, up to {markup.digits(ends.largest)} in size"
    if chosen.high < ends.largest:
        told, pick = "so the colours end before", "all"
        offer = f"Colours up to {markup.digits(ends.largest)}"
    else:
        told, pick = "so the others look alike", ""
        offer = f"Colours up to {markup.digits(ends.high)}"
    return (
        f'<span class="beyond">{what}, {told}. <button type="button" class="link" '
        f'data-pick="{COLOURS.action(pick)}">{offer}</button></span>'
    )


def pager(name: str, run: range, count: int) -> str:
    """Returns buttons to the previous and the next group of pictures."""
    if len(run) == count:
        return ""
    before, after = run.start - 1, run.stop
    buttons = [
        f'<button type="button" class="link" data-pick="{name}={at}">{word}</button>'
        for at, word in ((before, "earlier"), (after, "later"))
        if 0 <= at < count
    ]
    return f"<p>{run.start:,} to {run.stop - 1:,} of {count:,} {' '.join(buttons)}</p>"
