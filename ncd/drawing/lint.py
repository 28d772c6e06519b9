"""The lint: a drawing is checked, not only looked at.

No two labels overlap; no label lies on a glyph or on a foreign wire; no glyph overlaps another;
every wire is continuous from its source to its end; wires cross only where the term permutes,
copies, joins or contracts; and nothing is cut off.
"""

from __future__ import annotations

from itertools import combinations, pairwise

from ncd.drawing.data import Box, DrawnWire, Path, Picture, Point

SLACK = 0.75  # what may overlap by rounding, in drawing units


def lint(drawing: Picture) -> list[str]:
    """What is wrong with a drawing, a sentence each; an empty list for a sound one.

    >>> import ncd
    >>> lint(ncd.draw(ncd.catalogue["multi-head-attention"].build()))
    []
    """
    return [
        *_labels(drawing),
        *_labels_on_glyphs(drawing),
        *_labels_on_wires(drawing),
        *_glyphs(drawing),
        *_continuity(drawing),
        *_crossings(drawing),
        *_cut_off(drawing),
    ]


def _labels(drawing: Picture) -> list[str]:
    return [
        f"labels {a.label.words!r} and {b.label.words!r} overlap"
        for a, b in combinations(drawing.texts, 2)
        if a.box.meets(b.box, SLACK)
    ]


def _labels_on_glyphs(drawing: Picture) -> list[str]:
    titles = [text for fence in drawing.fences for text in fence.title]
    return [
        f"label {text.label.words!r} lies on the glyph of {glyph.node} ({glyph.words})"
        for text in (*drawing.labels, *titles)
        for glyph in drawing.glyphs
        if any(text.box.meets(box, SLACK) for box in glyph.ink)
    ]


def _labels_on_wires(drawing: Picture) -> list[str]:
    found = []
    for text in drawing.texts:
        for wire in drawing.wires:
            own = (wire.array, wire.axis) == (text.array, text.axis)
            if not own and _meets(wire.path, text.box):
                found.append(
                    f"label {text.label.words!r} lies on a wire {wire.axis} ({wire.array})"
                )
    return found


def _glyphs(drawing: Picture) -> list[str]:
    return [
        f"the glyphs of {a.node} ({a.words}) and {b.node} ({b.words}) overlap"
        for a, b in combinations(drawing.glyphs, 2)
        if any(p.meets(q, SLACK) for p in a.ink for q in b.ink)
    ]


def _continuity(drawing: Picture) -> list[str]:
    found = []
    for wire in drawing.wires:
        name = f"wire {wire.axis} of {wire.array}"
        if not wire.path:
            found.append(f"{name} is not drawn")
            continue
        if any(_apart(a.d, b.a) for a, b in pairwise(wire.path)):
            found.append(f"{name} has a gap")
        if any(c.d.x < c.a.x - 0.01 for c in wire.path):
            found.append(f"{name} runs backwards")
        found += [f"{name} {what}" for what in _loose_ends(drawing, wire)]
    return found


def _loose_ends(drawing: Picture, wire: DrawnWire) -> list[str]:
    """An end is sound at the op that the wire comes from or goes to, or where it goes on.

    Where the op's glyph says nothing of a wire it ends in the open, as it should.
    """
    found = []
    for node, at, what in (
        (wire.made_by, wire.path[0].a, "begins"),
        (wire.taken_by, wire.path[-1].d, "ends"),
    ):
        glyph = next((g for g in drawing.glyphs if g.node == node), None)
        if glyph is None or what in wire.open:
            continue
        ends = [w.path[-1].d for w in drawing.wires if w.taken_by == node and w.path]
        starts = [w.path[0].a for w in drawing.wires if w.made_by == node and w.path]
        others = starts if what == "ends" else ends
        meets = any(not _apart(at, other) for other in others)
        touches = any(_within(at, box.grown(9)) for box in glyph.ink)
        capped = sum(not _apart(at, other) for other in ends) > 1
        if not (meets or touches or capped):
            found.append(f"{what} in the open, at {at.x:.0f}, {at.y:.0f}")
    return found


def _crossings(drawing: Picture) -> list[str]:
    """Wires may cross only inside the stretch of one op that takes or makes them both."""
    found = []
    for a, b in combinations(drawing.wires, 2):
        if {a.made_by, a.taken_by} & {b.made_by, b.taken_by} - {""}:
            continue
        if a.path and b.path and _cross(a.path, b.path):
            found.append(f"wires {a.axis} of {a.array} and {b.axis} of {b.array} cross")
    return found


def _cross(a: Path, b: Path) -> bool:
    start = max(a[0].a.x, b[0].a.x)
    end = min(a[-1].d.x, b[-1].d.x)
    if end - start < 1:
        return False
    xs = [start + (end - start) * n / 60 for n in range(61)]
    signs = {_row(a, x) > _row(b, x) for x in xs}
    return len(signs) > 1


def _row(path: Path, x: float) -> float:
    """The y of a path at an x."""
    for curve in path:
        if curve.a.x <= x <= curve.d.x:
            low, high = 0.0, 1.0
            for _ in range(20):
                middle = (low + high) / 2
                low, high = (middle, high) if curve.at(middle).x < x else (low, middle)
            return curve.at(low).y
    return path[-1].d.y


def _cut_off(drawing: Picture) -> list[str]:
    page = drawing.box
    boxes = [(text.box, f"label {text.label.words!r}") for text in drawing.texts]
    boxes += [(fence.box, f"fence {fence.words!r}") for fence in drawing.fences]
    boxes += [(box, f"glyph {g.node}") for g in drawing.glyphs for box in g.ink]
    return [
        f"{what} is cut off"
        for box, what in boxes
        if box.x0 < page.x0 or box.y0 < page.y0 or box.x1 > page.x1 or box.y1 > page.y1
    ]


def _meets(path: Path, box: Box) -> bool:
    inner = Box(box.x0 + SLACK, box.y0 + SLACK, box.x1 - SLACK, box.y1 - SLACK)
    for curve in path:
        if max(curve.a.x, curve.d.x) < inner.x0 or min(curve.a.x, curve.d.x) > inner.x1:
            continue
        if curve.straight:
            if inner.y0 < curve.a.y < inner.y1:
                return True
            continue
        if any(_within(curve.at(n / 24), inner) for n in range(25)):
            return True
    return False


def _within(point: Point, box: Box) -> bool:
    return box.x0 <= point.x <= box.x1 and box.y0 <= point.y <= box.y1


def _apart(a: Point, b: Point) -> bool:
    return abs(a.x - b.x) > 0.05 or abs(a.y - b.y) > 0.05
