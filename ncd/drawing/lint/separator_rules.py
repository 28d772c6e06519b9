"""Lint rules for separators: they run through nothing and cross no wire."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ncd.drawing.base.primitives import Box
from ncd.drawing.lint.crossing_rules import crossed
from ncd.drawing.lint.flat_drawing import Flat, Numbers, as_boxes, distinct, meeting, piercing

BORDER = 2.0  # units from a border within which a separator looks like a part of it
SPRING = 16.0  # units from a separator's end within which it may touch a wire


def dashes(flat: Flat) -> Iterator[str]:
    drawing = flat.drawing
    _, j = piercing(flat.dashes, flat.text_boxes)
    for (t,) in distinct(j):
        yield f"a dashed line runs through label {flat.texts[t].label.words!r}"
    ink, of = flat.ink
    _, j = piercing(flat.dashes, ink)
    for (g,) in distinct(of[j]):
        glyph = drawing.glyphs[g]
        yield f"a dashed line runs through the glyph of {glyph.node} ({glyph.words})"
    boxes, of = flat.extras
    _, j = piercing(flat.dashes, boxes)
    for (e,) in distinct(of[j]):
        yield f"a dashed line runs through the {drawing.extras[e].kind} {drawing.extras[e].words!r}"
    yield from _on_borders(flat)
    yield from _on_wires(flat)


def _on_borders(flat: Flat) -> Iterator[str]:
    """Finds separators along a fence's upper or lower border, where they look like a part of it."""
    fences = [fence for fence in flat.drawing.fences if not fence.brackets]
    edges = as_boxes(
        Box(x0, y - BORDER, x1, y + BORDER)
        for x0, y0, x1, y1 in (fence.box for fence in fences)
        for y in (y0, y1)
    )
    pieces = flat.dashes.boxes[flat.dashes.a[:, 1] == flat.dashes.b[:, 1]]
    i, j = meeting(_grown(pieces, 0.01), edges)
    along = np.minimum(pieces[i, 2], edges[j, 2]) - np.maximum(pieces[i, 0], edges[j, 0])
    for (n,) in distinct(j[along > 2 * BORDER] // 2):
        yield f"a dashed line runs along the border of {fences[n].words or fences[n].id!r}"


def _on_wires(flat: Flat) -> Iterator[str]:
    """Finds separators that touch a wire other than at their own ends."""
    lines, wires = flat.dashes, flat.wires
    i, j = meeting(_grown(lines.boxes, 0.5), _grown(wires.boxes, 0.5))
    met, at = crossed(lines.a[i], lines.b[i], wires.a[j], wires.b[j])
    dash, w, at = lines.of[i[met]], wires.of[j[met]], at[met]
    nowhere = ((np.nan, np.nan),) * 2
    tips = [(one.path[0].a, one.path[-1].d) if one.path else nowhere
            for one in flat.drawing.dashes]  # fmt: skip
    ends = np.array(tips, dtype=float).reshape(-1, 2, 2)[dash]
    inner = (np.hypot(*(ends - at[:, None]).transpose(2, 0, 1)) > SPRING).all(1)
    places = dict(zip(w[inner].tolist()[::-1], at[inner, 0].tolist()[::-1], strict=True))
    for n, x in sorted(places.items()):
        wire = flat.drawing.wires[n]
        yield f"a dashed line crosses wire {wire.axis} of {wire.array}, at {x:.0f}"


def _grown(boxes: Numbers, by: float) -> Numbers:
    return boxes + np.array([-by, -by, by, by])
