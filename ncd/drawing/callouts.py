"""Notes in the colour of the part that they point at, placed where there is room.

A place covers no mark, label, wire or callout; the best is near its part, and enlarges little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import hypot, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from ncd.circuit.circuit import Circuit, array_names
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, wrap
from ncd.drawing.elements.primitives import (
    Annotation,
    Dot,
    DrawnGlyph,
    DrawnWire,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    polygon,
    ribbon,
)
from ncd.drawing.placement.fences import rectangle
from ncd.errors import UnknownNameError, short_repr
from ncd.language.blocks import ROLES
from ncd.words import MAX_LISTED_NAMES, near_name, plain_text

# --- The parts of a drawing that callouts point at: their places, colours and highlights

PLACE = re.compile(r"[A-Z]_\S+")  # a name in memory, such as C_λ
AXIS = re.compile(r"axis (\w+)")
PALE = {"neutral", "repeat", "module", "model", ""}  # roles whose callouts are yellow


@dataclass(frozen=True)
class CalloutTarget:
    """A part: its id, box and colour, whether it is a fence, and what is highlighted behind it."""

    id: str
    box: Rectangle
    role: str = "note"
    fence: bool = False
    highlight: tuple[Outline | Dot, ...] = ()
    words: str = ""


def find_target(drawing: Drawing, circuit: Circuit, name: str) -> CalloutTarget | None:
    """Returns a part of the drawing; None for a memory name, an axis or arrays that are not drawn.

    Raises UnknownNameError for a part that the drawing has not.
    """
    if axis := AXIS.fullmatch(name):
        if not any(one.name == axis[1] for one in circuit.axes):
            raise _unknown_part_error(circuit, name)
        return _path(drawing, circuit, axis[1])
    fences = {fence.id: fence for fence in drawing.fences}
    glyphs = {glyph.node: glyph for glyph in drawing.glyphs}
    for id in _ids(drawing, circuit, name):
        if id in glyphs:
            return _op(drawing, glyphs[id])
        if id in fences:
            return CalloutTarget(id, fences[id].box, _colour(fences[id].role), True)
        if box := _names(drawing, id):
            return _arrays(drawing, [id]) or CalloutTarget(id, box)
    several = [id for one in name.split(", ") for id in _part_ids(circuit, one)]
    if "," in name and (found := _arrays(drawing, several)):
        return found
    if PLACE.fullmatch(name) or _hidden(circuit, name):
        return None
    raise _unknown_part_error(circuit, name)


def _hidden(circuit: Circuit, names: str) -> bool:
    """Returns whether all names are those of arrays, which lie in a collapsed block."""
    every = (_part_ids(circuit, one) for one in names.split(", "))
    return all(any(id in circuit.values for id in ids) for ids in every)


def _unknown_part_error(circuit: Circuit, part: str) -> UnknownNameError:
    cells = circuit.cells
    titles = [fence.title for fence in circuit.fences if fence.title]
    shown = list(dict.fromkeys([*(cell.name or cell.op.display_name for cell in cells), *titles]))
    arrays = array_names(circuit).values()
    cure = near_name(part, [*shown, *(cell.op.display_name for cell in cells), *arrays])
    if axis := AXIS.fullmatch(part):
        names = sorted({each.name for each in circuit.axes})
        near = near_name(axis[1], names)
        every = f"one of {', '.join(f'axis {name}' for name in names)}"
        cure = f"axis {near}" if near else every
    elif not cure and cells and len(shown) <= MAX_LISTED_NAMES:
        cure = f"one of {', '.join(shown)}, or an id such as {cells[0].id}"
    cure = cure or "the name of an op, the title of a block, or an id, as ncd show lists them"
    return UnknownNameError(f"there is no part {short_repr(part)} to note", cure=cure)


def _colour(role: str) -> str:
    return role if role in ROLES and role not in PALE else "note"


def _op(drawing: Drawing, glyph: DrawnGlyph) -> CalloutTarget:
    """Returns an op in the colour of the block that it fills, or highlighted in yellow."""
    box = Rectangle.union(glyph.ink or (glyph.hit_box,))
    alike = [fence.box for fence in drawing.fences if fence.role == glyph.role]
    if any(fence.meets(box) for fence in alike):
        return CalloutTarget(glyph.node, box, _colour(glyph.role))
    if glyph.node.startswith("f") or glyph.role == "note":  # a box of its own
        return CalloutTarget(glyph.node, box)
    field = Outline(rectangle(box.grown(style.HIGHLIGHT_ROOM)), "note")
    return CalloutTarget(
        glyph.node, box.grown(style.HIGHLIGHT_ROOM), highlight=(field,)
    )  # the glyph has its words


# Arrays and axes ---------------------------------------------------------------------------------


def _arrays(drawing: Drawing, ids: Sequence[str]) -> CalloutTarget | None:
    """Returns the names of arrays, with one band behind them if they stand under each other."""
    boxes = {id: box for id in ids if (box := _names(drawing, id))}
    if not boxes:
        return None
    last = max(boxes, key=lambda id: boxes[id].y1)
    around = Rectangle.union(boxes.values())
    aligned = around.width < 1.5 * max(box.width for box in boxes.values())
    lit = [box.grown(style.HIGHLIGHT_ROOM) for box in ([around] if aligned else boxes.values())]
    band = tuple(Outline(rectangle(box), "data") for box in lit)
    return CalloutTarget(last, boxes[last].grown(style.HIGHLIGHT_ROOM), "data", highlight=band)


def _names(drawing: Drawing, array: str) -> Rectangle | None:
    """Returns the box of an array's first labels on its wires."""
    boxes = [text.box for text in drawing.labels if text.array == array]
    left = min((box.x0 for box in boxes), default=0.0)
    near = [box for box in boxes if box.x0 < left + style.AXIS_GAP]
    return Rectangle.union(near) if near else None


def _path(drawing: Drawing, circuit: Circuit, axis: str) -> CalloutTarget | None:
    """Returns the path of an axis from its first op on, highlighted; its last dot is pointed at.

    Returns None where a collapsed block hides the dots.
    """
    wires = [wire for wire in drawing.wires if wire.axis == axis and wire.path]
    if not wires:
        return None
    dots = [
        item.center
        for glyph in drawing.glyphs
        for item in glyph.items
        if isinstance(item, Dot) and any(_meets(item.center, wire) for wire in wires)
    ]
    if not dots and _is_axis_collapsed(drawing, circuit, axis):
        return None
    end = max(dots, default=wires[-1].path[0].a)
    half = style.HIGHLIGHT_ROOM + style.DOUBLE / 2 * wires[0].double
    lit = [Outline(ribbon(path, half), "note") for path in _continuous_paths(wires)]
    halos = [Dot(dot, style.DOT + style.HIGHLIGHT_ROOM, "note") for dot in dots]
    owner = next((g.node for g in drawing.glyphs for i in g.items if _is_dot(i, end)), "")
    return CalloutTarget(
        owner or wires[-1].array,
        Rectangle.from_center(end, style.DOT + style.HIGHLIGHT_ROOM),
        highlight=(*lit, *halos),
        words=f"the path of axis {axis}",
    )


def _is_axis_collapsed(drawing: Drawing, circuit: Circuit, axis: str) -> bool:
    """Returns whether an op in a collapsed block has arrays with an axis."""
    hidden = {id for glyph in drawing.glyphs for id in glyph.cells}
    cells = (cell for cell in circuit.cells if cell.id in hidden)
    return any(
        axis in value.array.names for cell in cells for value in (*cell.inputs, *cell.outputs)
    )


def _continuous_paths(wires: Sequence[DrawnWire]) -> list[Path]:
    """Returns the paths of the wires, those that continue each other as one."""
    found: list[Path] = []
    for wire in sorted(wires, key=lambda wire: wire.path[0].a.x):
        before = next((p for p in found if _is_near(p[-1].d, wire.path[0].a)), ())
        found = [path for path in found if path is not before] + [(*before, *wire.path)]
    return found


def _is_near(a: Point, b: Point) -> bool:
    return abs(a.x - b.x) + abs(a.y - b.y) < 1.0


def _meets(point: Point, wire: DrawnWire) -> bool:
    return _is_near(point, wire.path[0].a) or _is_near(point, wire.path[-1].d)


def _is_dot(item: object, center: Point) -> bool:
    return isinstance(item, Dot) and item.center == center


# Ids ---------------------------------------------------------------------------------------------


def _ids(drawing: Drawing, circuit: Circuit, part: str) -> Iterator[str]:
    """Yields the ids under which a part may be drawn: its own, then boxes around it."""
    hidden = {cell: glyph.node for glyph in drawing.glyphs for cell in glyph.cells}
    parents = {fence.id: fence.parent for fence in circuit.fences}
    named = list(_part_ids(circuit, part))
    yield from named
    yield from (
        g.node
        for g in drawing.glyphs
        if g.description.endswith(f" {plain_text(part)}") and g.role == "note"
    )
    yield from (hidden[id] for id in named if id in hidden)
    for id in named:
        while id := parents.get(id, ""):
            yield id


def _part_ids(circuit: Circuit, part: str) -> Iterator[str]:
    yield part
    yield from (f.id for f in circuit.fences if f.title == part)
    yield from (loop.id for loop in circuit.loops if loop.name == part)
    for cell in circuit.cells:
        label = cell.op.display_name  # such as "Function G"
        if part in (cell.name, cell.path, label, label.partition(" ")[2]):
            yield cell.id
    yield from (id for id, name in array_names(circuit).items() if name == part)


# --- Callouts: notes in the colour of the part that they point at, placed where there is room

WIRE, COVER = 18.0, 1000.0  # costs: a wire crossed, a sign covered
WIDER, HIGHER, OVER = 0.3, 1.2, 6.0  # costs of each unit by which the drawing or the page grows
SHAPES = (1.0, 1.4, 1.8)  # widths of a callout that are tried, as multiples of a compact one
SIGN = 12.0  # around the corner of a block, where the page has a sign to collapse it
MAX_PLACES = 80  # places that are tried along both sides of a large drawing


def with_callouts(
    drawing: Drawing, circuit: Circuit, notes: Mapping[str, str], width: float | None = None
) -> Drawing:
    """Returns the drawing with a callout for each part.

    A part is an op's name, a block's title, an id, or the names of arrays, such as ``q, k``, which
    get a band behind them. ``axis h`` is the path of an axis, which is highlighted. The part ``""``
    puts a text over the diagram. Callouts keep within ``width`` drawing units if possible.

    A memory name such as ``C_λ`` or an axis is skipped if it is not drawn; a part inside a
    collapsed block is pointed at by its box.

    >>> from ncd import draw
    >>> from ncd import elaborate
    >>> from ncd.ops import Linear
    >>> term = Linear("n:2 -> k:3", "Q")
    >>> found = with_callouts(draw(term), elaborate(term), {"Q": "It learns."})
    >>> [extra.words for extra in found.extras]
    ['', 'It learns.']

    Raises UnknownNameError for a part that the drawing has not.
    """
    for part, text in notes.items():
        if part and (found := find_target(drawing, circuit, part)):
            if found.highlight:
                lit = Annotation("path", found.highlight, found.words, found.id, behind=True)
                drawing = replace(drawing, extras=(*drawing.extras, lit))
            drawing = _with_annotation(drawing, _callout(drawing, found, text, width or inf))
    for part, text in notes.items():
        if not part:
            drawing = _with_annotation(drawing, _legend(drawing, text))
    return drawing


def _with_annotation(drawing: Drawing, note: Annotation) -> Drawing:
    box = Rectangle.union([drawing.box, note.box.grown(style.MARGIN)])
    return replace(drawing, box=box, extras=(*drawing.extras, note))


def _legend(drawing: Drawing, text: str) -> Annotation:
    """Returns a text above the diagram, at its left."""
    least, most = style.LEGEND_WIDE
    width = min(max(drawing.box.width - 2 * style.MARGIN, least), most)
    lines = wrap(text, width - 2 * style.CALLOUT_PAD, style.CALLOUT)
    wide, tall = _size(lines)
    x0, y1 = drawing.box.x0 + style.MARGIN, drawing.box.y0
    box = Rectangle(x0, y1 - tall, x0 + wide, y1)
    return Annotation(
        "note", (Outline(rectangle(box), "note"), *_texts(lines, box)), plain_text(text)
    )


def _size(lines: tuple[Label, ...]) -> tuple[float, float]:
    wide = max((line.width for line in lines), default=0.0) + 2 * style.CALLOUT_PAD
    return wide, len(lines) * style.CALLOUT_LEADING + 1.5 * style.CALLOUT_PAD


def _texts(lines: tuple[Label, ...], box: Rectangle) -> tuple[Text, ...]:
    x, y = box.x0 + style.CALLOUT_PAD, box.y0 + style.CALLOUT_PAD / 2
    return tuple(
        Text(line, Point(x, y + style.CALLOUT_LEADING * (n + 0.82))) for n, line in enumerate(lines)
    )


# Placing -----------------------------------------------------------------------------------------


def _callout(drawing: Drawing, found: CalloutTarget, text: str, width: float) -> Annotation:
    around = _CalloutPlacer(
        drawing, found.id, found.box, found.fence, max(width, drawing.box.width)
    )
    lowest, box = inf, found.box
    lines: tuple[Label, ...] = ()
    for wrapped in _shapes(text):
        cost, place = around.best(*_size(wrapped), lowest)
        if cost < lowest or not lines:
            lowest, box, lines = cost, place, wrapped
    outline = Outline(_pointing(box, around.tip(box)), found.role)
    under = around.crossing_cost(box) > 0  # a pointer lies below the wires that it crosses
    return Annotation("note", (outline, *_texts(lines, box)), plain_text(text), found.id, under)


def _shapes(text: str) -> Iterator[tuple[Label, ...]]:
    """Yields the text in lines of several widths."""
    least, most, by = style.CALLOUT_WIDE
    for factor in SHAPES:
        yield wrap(text, min(max(factor * by * sqrt(len(text)), least), most), style.CALLOUT)


@dataclass
class _CalloutPlacer:
    """The surroundings of a part that a callout points at."""

    drawing: Drawing
    id: str
    part: Rectangle
    fence: bool
    width: float  # of the page

    def __post_init__(self) -> None:
        picture = self.drawing
        own = [box for g in picture.glyphs if g.node == self.id for box in g.ink]
        marks = [box for g in picture.glyphs if g.node != self.id for box in g.ink]
        extras = [e.box for e in picture.extras if e.kind not in ("band", "path")]
        extras += [drawn.box for drawn in picture.thumbnails]
        lines = [line.path for line in picture.wires] + [line.path for line in picture.dashes]
        texts = [text.box for text in picture.texts]
        brackets = [box for f in picture.fences for path in f.brackets for box in _strip(path)]
        corners = [Rectangle(f.box.x0, f.box.y0, *f.box[:2]).grown(SIGN) for f in picture.fences]
        bands = [extra.box for extra in picture.extras if extra.kind == "band"]
        solid = [*marks, *texts, *extras, *brackets, *corners]
        wires = [box for path in lines for box in _strip(path)]
        # a pointer may cross its own part and a band, but a callout covers neither
        self.every = np.array([*solid, *wires, *own, *bands]).reshape(-1, 4)
        self.in_the_way = np.ascontiguousarray(self.every[: len(solid) + len(wires)].T)
        self.is_wire = np.arange(len(solid) + len(wires)) >= len(solid)

    def best(self, wide: float, tall: float, lowest: float) -> tuple[float, Rectangle]:
        """Returns the cheapest free place, after its cost; any place if none costs less."""
        places = self.places(wide, tall)
        growth = self.growth(places)
        bounds = growth + self.gap(places)
        found = Rectangle(*places[0].tolist())
        for at in np.argsort(bounds, kind="stable"):
            if bounds[at] >= lowest:
                break
            box = Rectangle(*places[at].tolist())
            cost = float(growth[at]) + self.reach(box)
            if cost < lowest and (cost := cost + self.crossing_cost(box)) < lowest:
                found, lowest = box, cost
        return lowest, found

    def places(self, wide: float, tall: float) -> NDArray[np.float64]:
        """Returns the places where a callout covers nothing, inside and beside the drawing."""
        page, gap = self.drawing.box.grown(-style.MARGIN), style.CALLOUT_GAP
        step = max(style.CALLOUT_STEP, (page.width + page.height) / MAX_PLACES)
        xs = _steps(page.x0 - gap - wide, page.x1 + gap, step)
        ys = _steps(page.y0 - gap - tall, page.y1 + gap, step)
        found = []
        for y in ys:
            near = self.every[(self.every[:, 3] > y - gap) & (self.every[:, 1] < y + tall + gap)]
            left, right = near[:, 0, None] - gap - wide, near[:, 2, None] + gap
            free = ~((xs > left) & (xs < right)).any(0)
            found += [(x, y, x + wide, y + tall) for x in xs[free].tolist()]
        return np.array(found)

    def tip(self, box: Rectangle) -> Point:
        """Returns the end of the pointer for a place: a point on the side of the part."""
        part = self.part.grown(-style.CALLOUT_TIP if self.fence else style.CALLOUT_TIP)
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        middle = (part.x0 + part.x1) / 2
        if box.y1 <= part.y0 or box.y0 >= part.y1:
            inset = min(style.CALLOUT_BASE, part.width / 3)
            x = min(max(x, part.x0 + inset), part.x1 - inset) if self.fence else middle
            return Point(x, part.y0 if box.y1 <= part.y0 else part.y1)
        return Point(part.x0 if x < middle else part.x1, min(max(y, part.y0), part.y1))

    def growth(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the cost of the growth of the drawing, for each place."""
        page, margin = self.drawing.box, style.MARGIN
        x0, y0, x1, y1 = places.T
        wide = np.maximum(x1 + margin, page.x1) - np.minimum(x0 - margin, page.x0)
        tall = np.maximum(y1 + margin, page.y1) - np.minimum(y0 - margin, page.y0)
        over = np.maximum(wide - self.width, 0.0)
        return WIDER * (wide - page.width) + HIGHER * (tall - page.height) + OVER * over

    def gap(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns how far each place is from the part: its pointer is no shorter."""
        part, inside = self.part, style.CALLOUT_TIP
        x0, y0, x1, y1 = places.T
        along = np.maximum(np.maximum(part.x0 - x1, x0 - part.x1) - inside, 0.0)
        down = np.maximum(np.maximum(part.y0 - y1, y0 - part.y1) - inside, 0.0)
        return np.hypot(along, down)

    def reach(self, box: Rectangle) -> float:
        """Returns the length of the pointer of a place; a large one if it lies on its own words."""
        tip = self.tip(box)
        if box.x0 < tip.x < box.x1 and box.y0 < tip.y < box.y1:
            return COVER
        base = _base(box, tip)
        return hypot(tip.x - base.x, tip.y - base.y)

    def crossing_cost(self, box: Rectangle) -> float:
        """Returns the cost of everything that the pointer of a place crosses."""
        tip = self.tip(box)
        x, y = _base(box, tip)
        near = Rectangle.from_points((tip, Point(x, y))).grown(2.0 + style.CALLOUT_BASE)
        x0, y0, x1, y1 = self.in_the_way
        met = (x0 < near.x1) & (x1 > near.x0) & (y0 < near.y1) & (y1 > near.y0)
        if not met.any():
            return 0.0
        x0, y0, x1, y1 = self.in_the_way[:, met]
        wire = self.is_wire[met]
        t = _shares(max(3, int(hypot(tip.x - x, tip.y - y) / 4)))
        xs, ys, half = x + t * (tip.x - x), y + t * (tip.y - y), 2.0 + (1 - t) * style.CALLOUT_BASE
        under = (xs + half > x0) & (xs - half < x1) & (ys + half > y0) & (ys - half < y1)
        covered = np.count_nonzero(under[:, ~wire].any(1))
        return COVER * covered + WIRE * np.count_nonzero(under[:, wire].any(0))


@lru_cache(256)
def _shares(count: int) -> NDArray[np.float64]:
    """Returns numbers from 0 to 1 in equal steps, as a column."""
    return np.linspace(0.0, 1.0, count)[:, None]


def _strip(path: Path) -> Iterator[Rectangle]:
    """Yields small boxes along a wire."""
    for curve in path:
        points = (
            [curve.a, curve.d] if curve.is_horizontal else [curve.point_at(n / 8) for n in range(9)]
        )
        yield from (Rectangle.from_points(pair).grown(1.0) for pair in pairwise(points))


def _steps(start: float, stop: float, step: float) -> NDArray[np.float64]:
    return np.linspace(start, stop, max(2, round((stop - start) / step) + 1))


# The shape ---------------------------------------------------------------------------------------


def _base(box: Rectangle, tip: Point) -> Point:
    """Returns the middle of the side at which the pointer begins."""
    base = style.CALLOUT_BASE
    x = min(max(tip.x, box.x0 + 1.5 * base), box.x1 - 1.5 * base)
    y = min(max(tip.y, box.y0 + base), box.y1 - base)
    if tip.y >= box.y1:
        return Point(x, box.y1)
    if tip.y <= box.y0:
        return Point(x, box.y0)
    return Point(box.x1 if tip.x > box.x1 else box.x0, y)


def _pointing(box: Rectangle, tip: Point) -> Path:
    """Returns a box with a pointer from one side to the tip."""
    x, y = _base(box, tip)
    base = style.CALLOUT_BASE
    x0, y0, x1, y1 = box
    corners = [Point(x0, y0), Point(x1, y0), Point(x1, y1), Point(x0, y1)]
    level = y in (y0, y1)
    side = 2 * (y == y1) if level else 1 + 2 * (x == x0)  # clockwise from the top
    along = base if side < 2 else -base
    dx, dy = (along, 0.0) if level else (0.0, along)
    corners[side + 1 : side + 1] = [Point(x - dx, y - dy), tip, Point(x + dx, y + dy)]
    return polygon(corners)
