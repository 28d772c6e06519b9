"""Lint rules for the size of a drawing, compared with the sum of its contents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ncd.drawing.base import style
from ncd.drawing.base.primitives import DrawnFence
from ncd.drawing.lint.flat_drawing import Flat, Numbers

COLUMNS = 256  # x at which the needed height is computed
TALLER, SPARE = 1.6, 60.0  # a height may be so many times the needed one, plus so much
EMPTY = 60.0  # the greatest length of a stretch with nothing but horizontal wires


def high(flat: Flat) -> Iterator[str]:
    """Checks that the height is about what the fullest column needs."""
    need, have = needed_height(flat), flat.drawing.box.height
    if have > TALLER * need + SPARE:
        yield f"the drawing is {have:.0f} high, where {need:.0f} would do"


def needed_height(flat: Flat) -> float:
    """Returns the total height of the contents of the fullest column."""
    drawing = flat.drawing
    arrays: dict[str, tuple[float, float]] = {}
    spans = []
    for wire, ((a, _), (b, _)) in zip(drawing.wires, flat.ends.tolist(), strict=True):
        spans.append((a, b, style.AXIS_GAP + (style.DOUBLE if wire.double else 0.0)))
        low, high = arrays.get(wire.array, (a, b))
        arrays[wire.array] = (min(a, low), max(b, high))
    between = style.ARRAY_GAP - style.AXIS_GAP
    spans += [(a, b, between) for a, b in arrays.values()]
    spans += [(a, b, style.ARRAY_GAP + style.HEADROOM_SIGN) for a, b in _numbers(flat)]
    spans += [(fence.box.x0, fence.box.x1, _frame(fence)) for fence in drawing.fences]
    spans += [_spread(flat, n) for n in np.unique(flat.extras[1]).tolist()]
    if not spans:
        return style.EMPTY[1]
    rows = np.array(spans)
    xs = np.linspace(drawing.box.x0, drawing.box.x1, COLUMNS)[:, None]
    there = (rows[:, 0] <= xs) & (xs <= rows[:, 1])
    return float((there * rows[:, 2]).sum(1).max()) + 2 * style.MARGIN


def _numbers(flat: Flat) -> list[tuple[float, float]]:
    """Returns the ranges of x with arrays that have no axes, and so no wire."""
    page = flat.drawing.box
    found: dict[str, tuple[float, float]] = {}
    for glyph in flat.drawing.glyphs:
        taken, made = (glyph.unit.inputs, glyph.unit.outputs) if glyph.unit else ((), ())
        for value in (value for value in taken if not value.array):
            found[value.id] = (found.get(value.id, (page.x0, 0.0))[0], glyph.hit.x1)
        for value in (value for value in made if not value.array):
            found[value.id] = (glyph.hit.x0, found.get(value.id, (0.0, page.x1))[1])
    return list(found.values())


def _frame(fence: DrawnFence) -> float:
    """Returns the height that a fence adds to its contents."""
    if fence.brackets:
        return 2 * style.BRACKET_ROOM
    title = style.LEADING * len(fence.title) + style.TITLE_ROOM[1]
    return (title if fence.title else 0.0) + 2 * style.INNER + style.BETWEEN


def _spread(flat: Flat, n: int) -> tuple[float, float, float]:
    """Returns the range of x and the height of an extra."""
    boxes, of = flat.extras
    (x0, y0), (x1, y1) = boxes[of == n, :2].min(0), boxes[of == n, 2:].max(0)
    return float(x0), float(x1), float(y1 - y0)


def wide(flat: Flat) -> Iterator[str]:
    """Checks that no stretch contains nothing but horizontal wires."""
    for a, b in empty(flat):
        if b - a > EMPTY:
            yield f"nothing stands between {a:.0f} and {b:.0f}"


def empty(flat: Flat) -> list[tuple[float, float]]:
    """Returns the ranges of x without a label, mark, bend or border."""
    pieces, page = flat.wires, flat.drawing.box
    bent = pieces.boxes[pieces.a[:, 1] != pieces.b[:, 1]]
    fences = [fence.box for fence in flat.drawing.fences]
    borders = [(x - style.PAD, x + style.PAD) for box in fences for x in (box.x0, box.x1)]
    parts: list[Numbers] = [
        flat.text_boxes[:, [0, 2]],
        flat.ink[0][:, [0, 2]],
        flat.extras[0][:, [0, 2]],
        bent[:, [0, 2]],
        np.array(borders).reshape(-1, 2),
    ]
    spans = np.concatenate(parts)
    spans = spans[np.argsort(spans[:, 0])]
    starts = np.append(spans[:, 0], page.x1 - style.MARGIN)
    reached = np.maximum.accumulate(np.insert(spans[:, 1], 0, page.x0 + style.MARGIN))
    gaps = np.flatnonzero(starts > reached)
    return [(float(reached[n]), float(starts[n])) for n in gaps]
