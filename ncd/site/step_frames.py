"""The pictures of "Read it in 90 seconds": a step at a size, drawn with its numbers on the wires.

Cells have one size in all steps, so that what stood there keeps its look; an array's words stand
beside its rows, and the row of the word that is followed is outlined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from ncd.circuit.circuit import Circuit, Value
from ncd.circuit.elaborate import elaborate
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.labels import sans
from ncd.drawing.elements.primitives import (
    Annotation,
    DrawnThumbnail,
    PictureTile,
    Point,
    Rectangle,
    Text,
    Thumbnail,
)
from ncd.drawing.pipeline import draw
from ncd.explain.colour_scale import ColourRange, map_png
from ncd.explain.thumbnails import COLOUR_STOPS, POSITIVE, shown_values
from ncd.site.page_tables import inert
from ncd.systems.lessons.ninety_seconds import (
    QUERY,
    STEPS,
    WORDS,
    StepRun,
    signed_number,
    trained_arrays,
)

TEXT = 15.5  # the height of words beside rows
GAP = 5.0  # between tiles, and between words and tiles
MARGIN = 36.0  # the room of words, and of a number's digits
ONE_ARRAY_STEPS = (1, 2, 3)  # the steps of one array, whose words fit a phone
Kind = Literal["input", "scores", "shares", "mix"]


@dataclass(frozen=True)
class FrameStyle:
    """Sizes of cells and the arrays that are shown, in windows of one width.

    ``feature``, ``head_feature`` and ``pair`` are the widths of a cell of a feature, of one in one
    of several heads, and of a pair of words; ``row`` is a row's height, and ``width`` that for
    which a diagram is drawn, all in drawing units. ``left_out`` are the kinds of arrays that have
    no room in a step, and ``worded_steps`` the steps whose rows have their words beside them.
    """

    feature: float
    head_feature: float
    pair: float
    row: float
    width: float
    left_out: Mapping[int, tuple[Kind, ...]]
    worded_steps: Collection[int]
    column_count: int = 2  # tiles of pairs of words, side by side


WIDE_STYLE = FrameStyle(7.0, 1.8, 16.0, 16.0, 1200.0, {7: ("scores",)}, range(1, 8))
NARROW_STYLE = FrameStyle(
    feature=4.0,
    head_feature=1.6,
    pair=13.0,
    row=14.0,
    width=400.0,
    left_out={5: ("input",), 6: ("input", "scores"), 7: ("input", "scores", "mix")},
    worded_steps=ONE_ARRAY_STEPS,
)
NARROW_FIRST = replace(NARROW_STYLE, feature=7.0, row=17.0)
LAST_NARROW_STYLE = replace(NARROW_STYLE, column_count=1)


def style_of(number: int, narrow: bool) -> FrameStyle:
    """Returns the style of a step in a window that is wide, or narrow as a phone's."""
    if not narrow:
        return WIDE_STYLE
    return (
        NARROW_FIRST
        if number in ONE_ARRAY_STEPS
        else LAST_NARROW_STYLE
        if number == len(STEPS)
        else NARROW_STYLE
    )


@dataclass(frozen=True)
class Frame:
    """A picture as SVG, its box in drawing units, and the picture in words."""

    svg: str
    box: Rectangle
    description: str


@lru_cache(512)
def frame(number: int, size: int, narrow: bool, dark: bool) -> Frame:
    """Returns the picture of a step, counted from 1, at one of its sizes.

    >>> frame(2, 8, False, False).svg[:4]
    '<svg'
    """
    step = STEPS[number - 1]
    drawing = picture(number, step.run(size), narrow, dark)
    return Frame(inert(drawing.svg(fonts=False)), drawing.box, drawing.description)


@lru_cache(32)
def room(number: int, narrow: bool) -> Rectangle:
    """Returns the box that holds a step's pictures at all sizes: the room that each of them has."""
    sizes = STEPS[number - 1].range
    return Rectangle.union(frame(number, size, narrow, False).box for size in sizes)


def picture(number: int, found: StepRun, narrow: bool, dark: bool) -> Drawing:
    """Returns the drawing of a step's run, its numbers as cells, with words beside their rows."""
    circuit, style = elaborate(found.term), style_of(number, narrow)
    cells = {
        value.id: ArrayCells(circuit, value, found, style, number)
        for value in shown_values(circuit)
        if kind_of(circuit, value) not in style.left_out.get(number, ())
    }
    pictures = {id: _thumbnail(own, dark) for id, own in cells.items()}
    title = STEPS[number - 1].title
    drawing = draw(found.term, width=style.width, dark=dark, thumbnails=pictures, title=title)
    texts = [text for drawn in drawing.thumbnails for text in _words(cells[drawn.array], drawn)]
    return replace(drawing, extras=(*drawing.extras, Annotation("words", tuple(texts))))


def kind_of(circuit: Circuit, value: Value) -> Kind:
    """Returns what an array is: an input, scores, shares, or a mix of words by their shares."""
    maker = circuit.producers.get(value.id)
    if maker is None:
        return "input"
    if maker.op.role == "softmax":
        return "shares"
    return "scores" if "x" in value.array.names else "mix"


# --- An array as cells


@dataclass(frozen=True)
class ArrayCells:
    """An array of a step's run: a tile for each head, a row for each word."""

    circuit: Circuit
    value: Value
    run: StepRun
    style: FrameStyle
    number: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its axes."""
        return self.value.array.names

    @property
    def kind(self) -> Kind:
        """The kind of the array."""
        return kind_of(self.circuit, self.value)

    @property
    def has_words(self) -> bool:
        """Whether its rows have their words beside them; shares stand next to their scores."""
        is_next = self.kind == "shares" and "scores" not in self.style.left_out.get(self.number, ())
        return self.number in self.style.worded_steps and len(self.names) > 1 and not is_next

    @property
    def tiles(self) -> tuple[Tensor, ...]:
        """Its numbers, as tables."""
        numbers = self.run.values[self.value.id].detach()
        tables = numbers.unbind(-1) if "h" in self.names else (numbers,)
        return tuple(table if table.dim() == 2 else table[None] for table in tables)

    @property
    def scale(self) -> ColourRange:
        """From 0 to 1 for shares, else about zero; an input has one scale at all of its sizes."""
        if self.kind == "shares":
            return ColourRange(0.0, 1.0)
        if self.kind == "input":
            numbers = trained_arrays()[self.circuit.inputs.index(self.value)]
            high = (numbers if "h" in self.names else numbers[..., 0]).abs().max()
        else:
            high = torch.stack(self.tiles).abs().max()
        return ColourRange(-float(high), float(high))

    @property
    def cell(self) -> tuple[float, float]:
        """The width and the height of a cell."""
        style = self.style
        if self.names == ("k",):
            high = style.row * 1.5
            return (high if self.tiles[0].numel() == 1 else style.feature), high
        heads = len(self.tiles) > 1
        feature = style.head_feature if heads else style.feature
        return (style.pair if self.kind in ("scores", "shares") else feature), style.row

    @property
    def boxes(self) -> Iterator[Rectangle]:
        """The boxes of its tiles."""
        (wide, high), (rows, columns) = self.cell, self.tiles[0].shape
        left = MARGIN if self.has_words else 0.0
        across = self.style.column_count if self.kind in ("scores", "shares") else len(self.tiles)
        for n in range(len(self.tiles)):
            x = left + n % across * (columns * wide + GAP)
            y = n // across * (rows * high + GAP)
            yield Rectangle(x, y, x + columns * wide, y + rows * high)

    @property
    def marks(self) -> Iterator[Rectangle]:
        """The row of the word that is followed, in each tile."""
        if self.names[0] == "y" and self.tiles[0].shape[0] > QUERY:
            top, high = QUERY * self.style.row, self.style.row
            for x0, y0, x1, _ in self.boxes:
                yield Rectangle(x0, y0 + top, x1, y0 + top + high)


def _thumbnail(cells: ArrayCells, dark: bool) -> Thumbnail:
    stops, boxes = (POSITIVE if cells.kind == "shares" else COLOUR_STOPS)[dark], list(cells.boxes)
    pictures = tuple(
        PictureTile(box, map_png(tile.numpy(), cells.scale, stops))
        for box, tile in zip(boxes, cells.tiles, strict=True)
    )
    whole = Rectangle.union(boxes)
    digits = MARGIN + GAP if cells.value.array.numel == 1 else 0
    said = f"{' × '.join(cells.names)}, {cells.value.array.numel} numbers"
    return Thumbnail(whole.x1 + digits, whole.y1, pictures, tuple(cells.marks), said)


def _words(cells: ArrayCells, drawn: DrawnThumbnail) -> Iterator[Text]:
    """Yields the words of the rows, left of the first tile of each line; or a number's digits."""
    tiles = [tile.box for tile in drawn.tiles]
    if cells.value.array.numel == 1:
        label, (box,) = sans(signed_number(cells.tiles[0].item()), TEXT), tiles
        yield Text(label, Point(box.x1 + GAP, (box.y0 + box.y1) / 2 + TEXT / 3))
    elif cells.has_words:
        for box in {box.y0: box for box in reversed(tiles)}.values():
            yield from _row_words(box, cells.tiles[0].shape[0], cells.names[0] == "y")


def _row_words(box: Rectangle, count: int, follows: bool) -> Iterator[Text]:
    high = box.height / count
    for n, word in enumerate(WORDS[:count]):
        label = sans(word, TEXT, 700 if follows and n == QUERY else 400)
        yield Text(label, Point(box.x0 - GAP - label.width, box.y0 + (n + 0.5) * high + TEXT / 4))
