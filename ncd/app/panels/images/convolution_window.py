"""Panels about a window: it moves over a picture, and how many places come out of it."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import streamlit as st
import torch
from torch import Tensor
from torch.nn import functional as F

from ncd.app.parts import heatmap, html_panel
from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.scene.panel import Panel, Settings
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import GridPlace, Place, pick, slider
from ncd.circuit.circuit import Cell, Circuit
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.ops.pad_roll import CONSTANT, SPARE
from ncd.ops.sliding_window import SlidingWindowOp, WindowWalk, per_dimension
from ncd.site import markup
from ncd.site.markup import GREY, PANEL_CSS
from ncd.site.scripts import script
from ncd.systems.images.convolution_layers import PADDING_MODES, padding_before

# --- The Window panel: a window moves over a picture, and one number of the result is written out


WINDOW_PLACE = GridPlace("window")  # row and column of the written number
MAP = Place("map")
DEEP = Place("depth", None)  # the slice of a volume's result; the middle one at first
KEY = "convolution window"
MOST, SHOWN = 16, 12  # maps of the result and planes of the input that are shown
LARGEST = 200_000  # numbers of a picture that are drawn
COLOURS = ("red", "green", "blue")
CHOICES = {"filter": "filter", "kind": "kind", "mode": "padding"}  # knobs above, and their names
PADDINGS = {"reflect": "edge mirrored", "replicate": "edge repeated", "circular": "going round"}

_window = st.components.v2.component(
    "ncd_window",
    html=read_static("panels/images/convolution_window.html"),
    css=PANEL_CSS
    + read_static("panels/images/convolution_window.css", "panels/images/layer_rows.css"),
    js=script("app/panels/images/convolution_window.js"),
)


# --- Numbers: what one map of the result is made of


@dataclass(frozen=True)
class WindowPlanes:
    """A map of the result, with the planes of the padded input and the weights that make it.

    A plane is a channel of a picture, or one of its slices in a volume; a line is a picture of one
    row. ``planes`` has the shape (planes, height, width), ``weights`` (planes, rows, columns), and
    ``result`` (height, width). With ``largest`` the largest product is taken, and not their sum.
    ``sources`` says for each row, and for each column, of a padded plane which one its numbers are
    copies of; it is empty where constants stand at the padding.
    """

    names: tuple[str, ...]
    planes: CellGrid
    weights: CellGrid
    result: CellGrid
    bias: float
    walk: WindowWalk
    largest: bool = False
    sources: tuple[list[int], ...] = ()

    def sum_text(self, row: int, column: int) -> float:
        """Returns the sum of all products of a window, with the bias, or the largest of them."""
        (down, across), (far, wide) = self.walk.stride, self.walk.dilation
        _, high, broad = self.weights.shape
        rows = row * down + far * np.arange(high)
        columns = column * across + wide * np.arange(broad)
        seen = self.planes[:, rows[:, None], columns]
        products = seen.astype(float) * self.weights
        return float(products.max() if self.largest else products.sum() + self.bias)


def sliding_cell(scene: Scene) -> Cell:
    """Returns the op of a page whose window slides."""
    return next(cell for cell in scene.circuit.cells if isinstance(cell.op, SlidingWindowOp))


def about_window(circuit: Circuit, id: str) -> Settings | None:
    """Returns no settings, for the first op whose window slides and for its output; else None."""
    cells = (cell for cell in circuit.cells if isinstance(cell.op, SlidingWindowOp))
    found = next(cells, None)
    return {} if found and id in (found.id, found.outputs[0].id) else None


def window_planes(scene: Scene, map: int, depth: int = 0) -> WindowPlanes:
    """Returns what one map is made of, from the numbers of the run.

    Args:
        map: The channel of the result.
        depth: The slice of the result, if it is a volume.
    """
    cell = sliding_cell(scene)
    op = cell.op
    assert isinstance(op, SlidingWindowOp)
    pad, taken = padding_before(scene.circuit, cell)
    x = scene.trace.values[taken.id].detach().float().cpu()
    made = scene.trace.outputs[0].detach().float().cpu()[map]
    weight, bias = _weights(scene, cell, x.dim() - 1)
    n, channels, each = x.dim() - 1, len(x), weight.shape[1]
    first = map // (len(weight) // (channels // each)) * each  # of its group
    walk, mode = op.walk(n), pad.mode if pad else CONSTANT
    if pad:
        walk = walk._replace(before=(pad.before,) * n, after=(pad.after,) * n)
    ends = [end for pair in zip(walk.before[::-1], walk.after[::-1], strict=True) for end in pair]
    largest = cell.op.role != "window" and not cell.name
    x = _spread(x[first : first + each], walk.apart)
    sources = _sources(x.shape[1:], walk, mode) if pad else ()
    x = F.pad(x, ends, mode, -math.inf if largest else 0.0)
    if n == 3:
        x = x[:, depth * walk.stride[0] + walk.dilation[0] * torch.arange(weight.shape[2])]
    return WindowPlanes(
        _names(first, each, channels, weight.shape[2] if n == 3 else 0),
        _flat(x, n),
        _flat(weight[map], n),
        (made[depth] if n == 3 else made.view(-1, made.shape[-1])).numpy(),
        float(bias[map]),
        WindowWalk(*(_last_two(own, one) for own, one in zip(walk, (0, 0, 1, 1, 1), strict=True))),
        largest,
        sources,
    )


def _sources(shape: Sequence[int], walk: WindowWalk, mode: str) -> tuple[list[int], ...]:
    """Returns for each padded row, and for each column, the one that its numbers come from.

    >>> _sources((3,), WindowWalk((2,), (1,), (1,), (1,), (1,)), "reflect")
    ([0], [4, 3, 2, 3, 4, 3])
    """
    found: list[list[int]] = [[0]]
    for size, before, after in zip(shape, walk.before, walk.after, strict=True):
        places = torch.arange(before, before + size, dtype=torch.float64)[None]
        found.append(F.pad(places, (before, after), mode)[0].long().tolist())
    return tuple(found[-2:])


def _spread(x: Tensor, apart: Sequence[int]) -> Tensor:
    """Returns (channels, places, …) with zeros between the places, which are so far apart."""
    sizes = [(n - 1) * step + 1 for n, step in zip(x.shape[1:], apart, strict=True)]
    found = x.new_zeros(len(x), *sizes)
    found[(slice(None), *(slice(None, None, step) for step in apart))] = x
    return found


def _weights(scene: Scene, cell: Cell, n: int) -> tuple[Tensor, Tensor]:
    """Returns weights (maps, channels, window, …) and biases (maps).

    A pooling has one weight for all, 1 where it takes the largest, and biases of 0. Those of a
    transposed convolution are turned round.
    """
    op, maps = cell.op, cell.inputs[0].array.shape[0]
    assert isinstance(op, SlidingWindowOp)
    if cell.name:
        own = (scene.module.get_parameter(f"{cell.path}.{name}") for name in ("weight", "bias"))
        weight, bias = (each.detach().float().cpu() for each in own)
        if op.is_transposed:
            weight = weight.transpose(0, 1).flip([*range(2, n + 2)])
        return weight, bias
    sides = per_dimension(op.kernel, n)
    one = 1 / prod(sides) if op.role == "window" else 1.0
    return torch.full((maps, 1, *sides), one), torch.zeros(maps)


def _flat(numbers: Tensor, n: int) -> CellGrid:
    """Returns planes (planes, height, width) of a line, a picture, or slices of a volume."""
    if n == 1:
        numbers = numbers.unsqueeze(1)
    found: CellGrid = (numbers.flatten(0, 1) if n == 3 else numbers).numpy()
    return found


def _last_two(own: tuple[int, ...], missing: int) -> tuple[int, int]:
    """Returns a setting along height and width.

    >>> _last_two((2,), 0), _last_two((3, 1, 2), 0)
    ((0, 2), (1, 2))
    """
    *_, high, wide = (missing, *own)
    return high, wide


def _names(first: int, some: int, channels: int, slices: int) -> tuple[str, ...]:
    """Returns what ``some`` of the channels are called, from the ``first`` on, and their slices.

    >>> _names(0, 3, 3, 0), _names(1, 1, 3, 0), _names(0, 1, 1, 0), _names(0, 1, 1, 3)
    (('red', 'green', 'blue'), ('green',), ('picture',), ('slice 1', 'slice 2', 'slice 3'))
    """
    every = {1: ("picture",), 3: COLOURS}.get(channels) or [
        f"channel {i + 1}" for i in range(channels)
    ]
    own = every[first : first + some]
    if not slices:
        return tuple(own)
    if channels == 1:
        return tuple(f"slice {i + 1}" for i in range(slices))
    return tuple(f"{name}, slice {i + 1}" for name, i in product(own, range(slices)))


# --- The panel


def show_convolution_window(scene: Scene) -> None:
    """Shows the picture with its window, the products, the map, and how its size comes about."""
    cell = sliding_cell(scene)
    shape = scene.circuit.outputs[0].array.shape
    map, slices = MAP.among(shape[0]), shape[1] if scene.settings["n"] == 3 else 1
    depth = DEEP.among(slices, slices // 2)
    if cell.inputs[0].array.numel > LARGEST:
        said = f"The window is drawn on at most {LARGEST:,} numbers."
        html_panel.render(f"<p>{said}</p><p>{_cost(scene)}</p>", KEY)
        return
    key = (*scene.run_key, map, depth, scene.dark)
    found = cached_value("window", scene.term, *key, make=lambda: window_planes(scene, map, depth))
    learns = bool(scene.cost.parameters)
    at = _place(found, learns)
    grey = bool(scene.inputs_spec.pictures) and not learns
    data = {
        **_numbers(found),
        "learns": learns,
        "at": at,
        "taken": _input_addresses(scene, found),
        "made": _plane_address(found.result, grey),
        "maps": _maps(scene, map, depth, grey),
        "filters": _filters(scene),
        "sizes": _sizes(scene),
        "foot": f"{_cost(scene)} <span class='muted'>{numbers_origin(scene)}</span>",
        "title": _title(scene),
    }
    _window(key=KEY, data=data, on_pick_change=lambda: _pick(scene), on_select_change=lambda: None)


CONVOLUTION_WINDOW = Panel(
    "Window", show_convolution_window, controls=(WINDOW_PLACE, MAP, DEEP), about=about_window
)


def _pick(scene: Scene) -> None:
    """Sets a control of the panel, or a knob; a callback."""
    name, _, value = str(sent_value(KEY, "pick") or "").partition("=")
    knob = next((knob for knob in scene.entry.knobs if knob.name == name), None)
    if knob is None:
        pick(CONVOLUTION_WINDOW.controls, name, value)
    elif value.isascii() and value.isdecimal() and len(value) < 6:
        knobs.set_values({name: knob.legal(int(value))})


def _place(found: WindowPlanes, learns: bool) -> tuple[int, int]:
    """Returns the row and column of the written number; at first of the largest one.

    Where nothing is learned it is the one that differs most from the one before. At the border a
    filter finds the end of the picture, so that it begins inside.
    """
    high, wide = found.result.shape
    if chosen := WINDOW_PLACE.among(high, wide):
        return chosen
    sizes = np.abs(found.result if learns else np.diff(found.result, prepend=found.result[:, :1]))
    (top, left), (down, across) = found.walk.before, found.walk.stride
    edge = -(-top // down), -(-left // across)
    inner = sizes[edge[0] : high - edge[0], edge[1] : wide - edge[1]]
    if not inner.size:
        inner, edge = sizes, (0, 0)
    row, column = divmod(int(inner.argmax()), inner.shape[1])
    return row + edge[0], column + edge[1]


def _numbers(found: WindowPlanes) -> dict[str, Any]:
    """Returns the numbers that the browser multiplies and adds up."""
    return {
        "names": found.names,
        "planes": _base64_floats(found.planes),
        "shape": found.planes.shape[1:],
        "weights": _base64_floats(found.weights),
        "kernel": found.weights.shape[1:],
        "result": _base64_floats(found.result),
        "count": found.result.shape,
        "bias": found.bias,
        **found.walk._asdict(),
        "largest": found.largest,
        "sources": found.sources,
    }


def _base64_floats(numbers: CellGrid) -> str:
    return b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode()


def _title(scene: Scene) -> str:
    what = {1: "line", 2: "picture", 3: "volume"}[scene.settings["n"]]
    if "o" in scene.settings:
        between = scene.settings["s"] - 1
        return f"The {what}, {between or 'no'} zero{'s' * (between != 1)} between its pixels"
    if not scene.settings["p"]:
        return f"The {what}"
    pad, _ = padding_before(scene.circuit, sliding_cell(scene))
    return f"The {what}, {PADDINGS[pad.mode] if pad else 'with its padding'}"


# --- as pictures ----------------------------------------------------------------------------------


def _input_addresses(scene: Scene, found: WindowPlanes) -> list[str]:
    """Returns the padded planes as pictures: together in colours, or each for itself."""
    planes, pictured = found.planes, bool(scene.inputs_spec.pictures)
    if pictured and found.names == COLOURS:
        pixels = np.round(255 * np.moveaxis(planes.clip(0, 1), 0, -1)).astype(np.uint8)
        return [heatmap.image_url(pixels)]
    return [_plane_address(plane, pictured) for plane in planes[:SHOWN]]


def _plane_address(plane: CellGrid, pictured: bool) -> str:
    return heatmap.data_url(plane, ColourRange(0, 1), GREY) if pictured else _address(plane)


def _address(numbers: CellGrid) -> str:
    """Returns numbers as a picture in two hues, white (or dark) where they are 0."""
    return heatmap.data_url(
        numbers, ColourRange.from_numbers(numbers, signed=True), heatmap.scale(True)
    )


def _maps(scene: Scene, map: int, depth: int, grey: bool) -> str:
    """Returns the maps of the result as buttons, in grey or in two hues."""
    whole = scene.trace.outputs[0].detach().float().cpu().numpy()
    slices = whole.shape[1]
    if scene.settings["n"] == 3:
        whole = whole[:, depth]
    elif scene.settings["n"] == 1:
        whole = whole[:, None]
    deep = DEEP.html(f"slice {depth + 1}", slices, depth) if scene.settings["n"] == 3 else ""
    if len(whole) == 1:
        return deep
    shown = heatmap.visible_range(len(whole), map, MOST)
    small = {i: _plane_address(heatmap.pool(whole[i], 64).maps, grey) for i in shown}
    buttons = "".join(
        MAP.button(i, f'<img alt="map {i + 1}" src="{address}">', i == map)
        for i, address in small.items()
    )
    more = f'<span class="muted">of {len(whole):,}</span>' if len(shown) < len(whole) else ""
    return f"{deep}{buttons}{more}"


def _filters(scene: Scene) -> str:
    """Returns the knobs of the filters, of the kind of pooling, and of the padding, as lists."""
    return "".join(
        f'<label>{CHOICES[knob.name]} <select data-set="{knob.name}">'
        f"{_options(knob.names, scene.settings[knob.name])}</select></label>"
        for knob in scene.entry.knobs
        if knob.name in CHOICES
    )


def _options(names: Sequence[str], now: int) -> str:
    return "".join(
        f'<option value="{i}"{" selected" if i == now else ""}>{name}</option>'
        for i, name in enumerate(names)
    )


# --- how the size comes about ---------------------------------------------------------------------


def _sizes(scene: Scene) -> str:
    """Returns the sliders, and the size of the result derived step by step."""
    ranges = {knob.name: knob for knob in scene.entry.knobs}
    called = {"k": "kernel", "s": "stride", "p": "padding", "d": "dilation", "o": "output padding"}
    kind = TransposedSizes if "o" in ranges else WindowSizes
    own = kind(**{each.name: scene.settings.get(each.name, 1) for each in fields(kind)})
    ends = {name: scene.settings.get(knob.below, knob.max + 1) for name, knob in ranges.items()}
    mode = PADDING_MODES[scene.settings.get("mode", 0)]
    if mode in SPARE:  # no more places are copied than there are
        ends["p"] = min(ends["p"], own.x - SPARE[mode] + 1)
    sliders = "".join(
        slider(
            f"{word} {getattr(own, name)}",
            name,
            range(ranges[name].min, ends[name]),
            getattr(own, name),
            f"<span>{word} <i>{name}</i></span><b>{getattr(own, name)}</b>",
        )
        for name, word in called.items()
        if name in ranges
    )
    return f'<div class="knobs">{sliders}</div>{own.derivation("d" in ranges)}{own.strip()}'


def _times(ratio: float) -> str:
    return f"{round(ratio):,} times as many" if ratio >= 10 else f"{ratio:.2g} times as many"


def _cost(scene: Scene) -> str:
    """Returns its parameters and FLOPs beside those of a dense map of the same arrays."""
    ((taken,), (made,)) = (
        [value.array.numel for value in values]
        for values in (scene.circuit.inputs, scene.circuit.outputs)
    )
    if not scene.cost.parameters:
        return f"<span>Of {taken:,} numbers it makes {made:,}, with nothing to learn.</span>"
    pairs = (
        ("parameters", scene.cost.parameters, (taken + 1) * made),
        ("FLOPs", scene.cost.flops, 2 * taken * made),
    )
    told = "; ".join(
        f"<b>{own:,}</b> {what}, where a dense map has {dense:,}, {_times(dense / own)}"
        for what, own, dense in pairs
    )
    return f"<span>Of {taken:,} numbers it makes {made:,}: {told}.</span>"


# --- The number of places that come out of a window, derived beside its sliders


LONGEST = 300  # places along a side that are drawn
LEVELS = 6  # rows of lines that show which window reaches which place
READABLE = 20  # places along a side whose overlaps are written into them


@dataclass(frozen=True)
class WindowSizes:
    """A window along one dimension of so many places; the letters are those of the formula."""

    x: int
    k: int
    s: int
    p: int
    d: int

    @property
    def padded(self) -> int:
        """The places with the padding at both ends."""
        return self.x + 2 * self.p

    @property
    def span(self) -> int:
        """The places from the first to the last weight."""
        return self.d * (self.k - 1) + 1

    @property
    def room(self) -> int:
        """The number of places by which the first window can move on."""
        return self.padded - self.span

    @property
    def count(self) -> int:
        """The number of windows.

        >>> WindowSizes(x=32, k=5, s=2, p=0, d=1).count
        14
        """
        return self.room // self.s + 1

    @property
    def left(self) -> int:
        """The places at the far end that no window reaches."""
        return self.room % self.s

    def derivation(self, dilated: bool) -> str:
        """Returns the number of windows, step by step; ``dilated`` if they may be."""
        x, k, s, p, d = self.x, self.k, self.s, self.p, self.d
        span = ("<i>d</i>(<i>k</i> − 1) + 1", f"{d}·{k - 1} + 1") if dilated else ("<i>k</i>", "")
        under = "<i>d</i>(<i>k</i> − 1) − 1" if dilated else "<i>k</i>"
        steps = (
            (("<i>x</i> + 2<i>p</i>", f"{x} + 2·{p}"), self.padded, "places"),
            (span, self.span, "under the window"),
            ((f"{self.padded} − {self.span}",), self.room, "places to move on"),
            ((f"⌊{self.room} / {s}⌋ + 1",), self.count, "windows"),
        )
        formula = f"⌊(<i>x</i> + 2<i>p</i> − {under}) / <i>s</i>⌋ + 1"
        return _steps(steps, formula, self.count)

    def strip(self) -> str:
        """Returns one side as a row of cells, with a line for every window."""
        left = markup.plural(self.left, "place")
        said = (
            f"✂ {left} at the far end: in no window" if self.left else "Every place is in a window"
        )
        return _strip(self, [self._kind(i) for i in range(self.padded)], f"{said}.")

    def _kind(self, place: int) -> str:
        """Returns whether a place is padding, a pixel, or fallen off the far end."""
        if place >= self.padded - self.left:
            return "off"
        return "pad" if not self.p <= place < self.p + self.x else "pixel"


@dataclass(frozen=True)
class TransposedSizes:
    """The windows that places are spread over; the letters are those of the formula."""

    x: int
    k: int
    s: int
    p: int
    d: int
    o: int

    @property
    def span(self) -> int:
        """The places from the first to the last weight."""
        return self.d * (self.k - 1) + 1

    @property
    def reached(self) -> int:
        """The places from the first window's beginning to the last one's end."""
        return (self.x - 1) * self.s + self.span

    @property
    def count(self) -> int:
        """The number of places that come out.

        >>> TransposedSizes(x=16, k=3, s=2, p=1, d=1, o=1).count
        32
        """
        return self.reached - 2 * self.p + self.o

    @property
    def overlaps(self) -> list[int]:
        """The number of windows that reach each place that comes out.

        >>> TransposedSizes(x=4, k=3, s=2, p=1, d=1, o=0).overlaps
        [1, 2, 1, 2, 1, 2, 1]
        """
        found = np.zeros(self.reached + self.o, int)
        for weight in range(self.k):
            found[self.d * weight :][: (self.x - 1) * self.s + 1 : self.s] += 1
        return found[self.p : self.p + self.count].tolist()

    @property
    def inner_overlaps(self) -> set[int]:
        """The different overlaps of the places that no end of the picture is near to."""
        edge = max(0, self.span - 1 - self.p)
        most = self.reached - self.p - self.span + 1
        return set(self.overlaps[edge:most]) or set(self.overlaps)

    def derivation(self, dilated: bool) -> str:
        """Returns the number of places, step by step."""
        x, k, s, p, d, o = self.x, self.k, self.s, self.p, self.d, self.o
        steps = (
            (("(<i>x</i> − 1)·<i>s</i>", f"{x - 1}·{s}"), (x - 1) * s, "to the last"),
            (("<i>d</i>(<i>k</i> − 1) + 1", f"{d}·{k - 1} + 1"), self.span, "places in it"),
            ((f"{(x - 1) * s} + {self.span}",), self.reached, "places reached"),
            (("− 2<i>p</i> + <i>o</i>", f"{self.reached} − {2 * p} + {o}"), self.count, "places"),
        )
        formula = "(<i>x</i> − 1)<i>s</i> − 2<i>p</i> + <i>d</i>(<i>k</i> − 1) + <i>o</i> + 1"
        return _steps(steps, formula, self.count)

    def strip(self) -> str:
        """Returns one side as a row of cells with the number of windows over each of them."""
        inner = sorted(self.inner_overlaps)
        said = (
            f"Every inner place is in {markup.plural(inner[0], 'window')}: no checkerboard"
            if len(inner) == 1
            else f"Inner places are in {' or '.join(map(str, inner))} windows: a checkerboard"
        )
        kinds = [
            "pixel" if self.p <= i < self.p + self.count else "pad"
            for i in range(self.reached + self.o)
        ]
        counts = replace(self, p=0, o=0).overlaps + [0] * self.o
        return _strip(self, kinds, f"{said}.", counts)


def _steps(steps: tuple[tuple[tuple[str, ...], int, str], ...], formula: str, result: int) -> str:
    """Returns steps (what is computed, its result, what it is), and the whole formula."""
    rows = "".join(
        f"<p>{' = '.join(filter(None, how))} = <b>{number}</b> "
        f"<span class='muted'>{what}</span></p>"
        for how, number, what in steps
    )
    whole = f"<i>y</i> = {formula} = <b>{result}</b>"
    return f'<div class="steps">{rows}</div><p class="formula">{whole}</p>'


def _strip(
    own: WindowSizes | TransposedSizes, kinds: list[str], said: str, counts: list[int] | None = None
) -> str:
    """Returns places in a row, coloured by their kinds, with a line for every window below."""
    caption, places = f"<p class='fallen'>{said}</p>", len(kinds)
    if places > LONGEST:
        return caption
    windows = own.count if counts is None else own.x
    levels = min(-(-own.span // own.s), LEVELS)
    cells = "".join(_cell(i, kind, counts) for i, kind in enumerate(kinds))
    unit = places / 40  # a line is as thick at any number of cells
    lines = "".join(
        f'<line data-window="{i}" x1="{i * own.s + 0.1:.2f}" x2="{i * own.s + own.span - 0.1:.2f}" '
        f'y1="{1 + unit * (i % levels + 1):.2f}" y2="{1 + unit * (i % levels + 1):.2f}"/>'
        for i in range(windows)
    )
    high = 1 + unit * (levels + 1)
    return (
        f'<svg class="strip" viewBox="0 0 {places} {high:.2f}" role="img" aria-label="'
        f'{windows} windows of {own.span} on {places} places">{cells}{lines}</svg>{caption}'
    )


def _cell(place: int, kind: str, counts: list[int] | None) -> str:
    """Returns a place, the darker the more windows reach it, with their number."""
    box = f'x="{place + 0.06:.2f}" y="0.06" width="0.88" height="0.88" class="{kind}"'
    if counts is None or kind == "pad":
        return f"<rect {box}/>"
    share = counts[place] / max(counts)
    shade = f'style="fill:color-mix(in srgb, var(--here) {round(75 * share)}%, transparent)"'
    number = (
        f'<text x="{place + 0.5}" y="0.72">{counts[place]}</text>'
        if len(counts) <= READABLE
        else ""
    )
    return f"<rect {box} {shade}/>{number}"
