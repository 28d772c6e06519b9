"""Rules for labels, marks and the size of the whole: nothing overlaps, is cut off or wasted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import DrawingData, DrawnFence, Rectangle, extent
from ncd.drawing.lint.flat_drawing import (
    SLACK,
    DrawingArrays,
    Numbers,
    Pairs,
    Segments,
    as_boxes,
    distinct,
    meeting,
    piercing,
)

# --- Lint rules for the size of a drawing, compared with the sum of its contents

COLUMNS = 256  # x at which the needed height is computed
TALLER, SPARE = 1.6, 60.0  # a height may be so many times the needed one, plus so much
MAX_EMPTY_LENGTH = 60.0  # the greatest length of a stretch with nothing but horizontal wires


def check_height(flat: DrawingArrays) -> Iterator[str]:
    """Checks that the height is about what the fullest column needs."""
    need, have = needed_height(flat), flat.drawing.box.height
    if have > TALLER * need + SPARE:
        yield f"the drawing is {have:.0f} high, where {need:.0f} would do"


def needed_height(flat: DrawingArrays) -> float:
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
        return style.EMPTY_PAGE[1]
    rows = np.array(spans)
    xs = np.linspace(drawing.box.x0, drawing.box.x1, COLUMNS)[:, None]
    there = (rows[:, 0] <= xs) & (xs <= rows[:, 1])
    return float((there * rows[:, 2]).sum(1).max()) + 2 * style.MARGIN


def _numbers(flat: DrawingArrays) -> list[tuple[float, float]]:
    """Returns the ranges of x with arrays that have no axes, and so no wire."""
    page = flat.drawing.box
    found: dict[str, tuple[float, float]] = {}
    for glyph in flat.drawing.glyphs:
        taken, made = (glyph.unit.inputs, glyph.unit.outputs) if glyph.unit else ((), ())
        for value in (value for value in taken if not value.array):
            found[value.id] = (found.get(value.id, (page.x0, 0.0))[0], glyph.hit_box.x1)
        for value in (value for value in made if not value.array):
            found[value.id] = (glyph.hit_box.x0, found.get(value.id, (0.0, page.x1))[1])
    return list(found.values())


def _frame(fence: DrawnFence) -> float:
    """Returns the height that a fence adds to its contents."""
    if fence.brackets:
        return 2 * style.BRACKET_ROOM
    title = style.LEADING * len(fence.title) + style.TITLE_ROOM[1]
    return (title if fence.title else 0.0) + 2 * style.INNER + style.FENCE_GAP


def _spread(flat: DrawingArrays, n: int) -> tuple[float, float, float]:
    """Returns the range of x and the height of an extra."""
    boxes, of = flat.extras
    (x0, y0), (x1, y1) = boxes[of == n, :2].min(0), boxes[of == n, 2:].max(0)
    return float(x0), float(x1), float(y1 - y0)


def check_width(flat: DrawingArrays) -> Iterator[str]:
    """Checks that no stretch contains nothing but horizontal wires."""
    for a, b in empty_ranges(flat):
        if b - a > MAX_EMPTY_LENGTH:
            yield f"nothing stands between {a:.0f} and {b:.0f}"


def empty_ranges(flat: DrawingArrays) -> list[tuple[float, float]]:
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


# --- Lint rules for labels and for the ink of marks: no overlaps, nothing cut off

LEAST_TEXT = 11.0  # pixels
EDGE = 1.0  # units by which marks may overlap a border


def texts(flat: DrawingArrays) -> Iterator[str]:
    words = [text.label.words for text in flat.texts]
    i, j = meeting(flat.text_boxes, flat.text_boxes, SLACK)
    for a, b in distinct(i[i < j], j[i < j]):
        yield f"labels {words[a]!r} and {words[b]!r} overlap"


def texts_on_glyphs(flat: DrawingArrays) -> Iterator[str]:
    drawing = flat.drawing
    own = len(drawing.labels) + sum(len(fence.title) for fence in drawing.fences)
    ink, of = flat.ink
    i, j = meeting(flat.text_boxes[:own], ink, SLACK)
    for a, b in distinct(i, of[j]):
        glyph = drawing.glyphs[b]
        words = flat.texts[a].label.words
        yield f"label {words!r} lies on the glyph of {glyph.node} ({glyph.description})"


def texts_on_wires(flat: DrawingArrays) -> Iterator[str]:
    i, j = piercing(flat.wires, flat.text_boxes)
    for w, t in distinct(flat.wires.path_index[i], j):
        wire, text = flat.drawing.wires[w], flat.texts[t]
        if (wire.array, wire.axis) != (text.array, text.axis):
            words = text.label.words
            yield f"label {words!r} lies on a wire {wire.axis} ({wire.array})"


def glyphs(flat: DrawingArrays) -> Iterator[str]:
    ink, of = flat.ink
    i, j = meeting(ink, ink, SLACK)
    other = of[i] < of[j]
    for n, m in distinct(of[i[other]], of[j[other]]):
        a, b = flat.drawing.glyphs[n], flat.drawing.glyphs[m]
        yield f"the glyphs of {a.node} ({a.description}) and {b.node} ({b.description}) overlap"


def borders(flat: DrawingArrays) -> Iterator[str]:
    """Checks that fences are nested or apart, and that their borders run through nothing.

    A callout hides the border of a coloured region behind it, but may not cover a bracket.
    """
    drawing = flat.drawing
    names = [fence.words or fence.id for fence in drawing.fences]
    fences = as_boxes(fence.box for fence in drawing.fences)
    i, j = _cut(fences, fences)
    for a, b in distinct(i[i < j], j[i < j]):
        yield f"the fences {names[a]!r} and {names[b]!r} overlap"
    ink, of = flat.ink
    i, j = _cut(fences, ink)
    for a, g in distinct(i, of[j]):
        node, words = drawing.glyphs[g].node, drawing.glyphs[g].description
        yield f"the border of {names[a]!r} runs through the glyph of {node} ({words})"
    i, j = _cut(fences, flat.text_boxes)
    notes = {id(item) for e in drawing.extras if e.kind == "note" for item in e.items}
    for a, t in distinct(i, j):
        brackets = map(extent, drawing.fences[a].brackets)
        if id(flat.texts[t]) in notes and not any(b.meets(flat.texts[t].box) for b in brackets):
            continue
        yield f"the border of {names[a]!r} runs through label {flat.texts[t].label.words!r}"


def _cut(a: Numbers, b: Numbers) -> Pairs:
    """Returns the pairs of boxes that overlap without one containing the other."""
    i, j = meeting(a, b, EDGE)
    out = [(p[:, :2] < q[:, :2] - EDGE).any(1) | (p[:, 2:] > q[:, 2:] + EDGE).any(1)
           for p, q in ((a[i], b[j]), (b[j], a[i]))]  # fmt: skip
    keep = out[0] & out[1]
    return i[keep], j[keep]


def extras(flat: DrawingArrays) -> Iterator[str]:
    """Checks that arrows, signs, callouts and cells lie on nothing but their own part."""
    drawing, (boxes, of) = flat.drawing, flat.extras
    if not len(boxes):
        return
    names = [f"{extra.kind} {extra.words or extra.target_id!r}" for extra in flat.annotations]
    about = [extra.target_id for extra in flat.annotations]
    i, j = meeting(boxes, boxes, SLACK)
    other = of[i] < of[j]
    for a, b in distinct(of[i[other]], of[j[other]]):
        yield f"the {names[a]} and the {names[b]} overlap"
    ink, ink_of = flat.ink
    i, j = meeting(boxes, ink, SLACK)
    for a, g in distinct(of[i], ink_of[j]):
        if about[a] != drawing.glyphs[g].node:
            yield f"the {names[a]} lies on the glyph of {drawing.glyphs[g].node}"
    fixed = len(drawing.labels) + sum(len(fence.title) for fence in drawing.fences)
    i, j = meeting(boxes, flat.text_boxes[:fixed], SLACK)
    for a, t in distinct(of[i], j):
        yield f"the {names[a]} lies on label {flat.texts[t].label.words!r}"
    i, j = piercing(flat.wires, boxes)
    for w, a in distinct(flat.wires.path_index[i], of[j]):
        wire = drawing.wires[w]
        if not about[a] or about[a] not in (wire.array, wire.made_by, wire.taken_by):
            yield f"the {names[a]} lies on a wire {wire.axis} ({wire.array})"


def cut_off(flat: DrawingArrays) -> Iterator[str]:
    drawing, page = flat.drawing, flat.drawing.box
    boxes = [(text.box, f"label {text.label.words!r}") for text in flat.texts]
    boxes += [(fence.box, f"fence {fence.words!r}") for fence in drawing.fences]
    boxes += [(box, f"glyph {g.node}") for g in drawing.glyphs for box in g.ink]
    every, of = flat.extras
    for box, n in zip(every.tolist(), of.tolist(), strict=True):
        boxes.append((Rectangle(*box), f"{flat.annotations[n].kind} {flat.annotations[n].words!r}"))
    found = [what for box, what in boxes if _is_off_page(box, page)]
    for w in _paths_off_page(flat.wires, page):
        found.append(f"wire {drawing.wires[w].axis} of {drawing.wires[w].array}")
    found += ["a dashed line"] * bool(_paths_off_page(flat.dashes, page))
    yield from (f"{what} is cut off" for what in dict.fromkeys(found))


def _paths_off_page(pieces: Segments, page: Rectangle) -> list[int]:
    """Returns the indexes of the paths that leave the page."""
    beyond = (pieces.boxes[:, :2] < page[:2]).any(1) | (pieces.boxes[:, 2:] > page[2:]).any(1)
    found: list[int] = np.unique(pieces.path_index[beyond]).tolist()
    return found


def _is_off_page(box: Rectangle, page: Rectangle) -> bool:
    return box.x0 < page.x0 or box.y0 < page.y0 or box.x1 > page.x1 or box.y1 > page.y1


def too_small(drawing: DrawingData, width: float | None) -> Iterator[str]:
    """Checks that text is readable at the given width, to which a wide drawing shrinks."""
    if width is None:
        return
    scale = min(1.0, width / drawing.box.width)
    sizes = {text.label.words: text.label.size for text in drawing.texts}
    small = [words for words, size in sizes.items() if size * scale < LEAST_TEXT - 0.05]
    if small:
        least = min(sizes[words] for words in small) * scale
        yield (
            f"at {width:.0f} pixels {len(small)} labels are less than {LEAST_TEXT:.0f} high,"
            f" such as {small[0]!r}; the least is {least:.1f}"
        )
