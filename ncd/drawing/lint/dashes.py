"""Rules for dashed lines: through nothing, and across no wire."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ncd.drawing.lint.crossings import crossed
from ncd.drawing.lint.flat import Flat, Numbers, distinct, meeting, piercing

SPRING = 16.0  # from an end of a dashed line


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
    yield from _on_wires(flat)


def _on_wires(flat: Flat) -> Iterator[str]:
    """Where a dashed line begins or ends it may spring from a wire; nowhere else it meets one."""
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
