"""Marks of norms, collapsed blocks and memory notes, by the numbers of a small canvas."""

from __future__ import annotations

import pytest

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math, wrap
from ncd.drawing.elements.primitives import Rectangle
from ncd.drawing.marks.marks import MARKS
from tests.drawing.marks.mark_canvas import (
    MIDDLE,
    boxes,
    centred,
    dots,
    heads,
    lines,
    marked,
    shapes,
    spread,
    tails,
    words,
)

near = pytest.approx


@pytest.mark.parametrize(("outs", "side"), [((20, 60), -1), ((60, 20), 1)])
def test_the_last_wire_runs_through_a_ring_and_the_others_touch_it(outs, side: int) -> None:
    canvas, _ = marked("circle", "", outs, outs)
    (ring,) = dots(canvas)
    r, touch = style.CIRCLE, 0.7 * style.CIRCLE
    assert (ring.center, ring.radius, ring.paint) == ((MIDDLE, outs[-1]), r, "page")
    assert tails(canvas)[1] == (MIDDLE - r, outs[-1]) and heads(canvas)[1] == (MIDDLE + r, outs[-1])
    assert tails(canvas)[0] == near((MIDDLE - touch, outs[-1] + side * touch))
    assert heads(canvas)[0] == near((MIDDLE + touch, outs[-1] + side * touch))
    assert canvas.ink == [Rectangle(MIDDLE - r, outs[-1] - r, MIDDLE + r, outs[-1] + r)]


@pytest.mark.parametrize(("shape", "half"), [("barred", style.CIRCLE), ("rms", style.PILL[0])])
@pytest.mark.parametrize("rows", [(20,), (20, 60)])
def test_a_ring_stands_around_all_of_its_wires(shape: str, half: float, rows) -> None:
    canvas, mark = marked(shape, "", rows, rows)
    left, right, r = MIDDLE - half, MIDDLE + half, style.CIRCLE
    box = Rectangle(left, rows[0] - r, right, rows[-1] + r)
    assert canvas.ink[0] == box
    ring = canvas.items[0]
    points = [curve.point_at(n / 8) for curve in ring.path for n in range(9)]
    assert Rectangle.from_points(points) == near(box)
    for x, y in points:  # round at its corners
        inside_x, inside_y = min(x - box.x0, box.x1 - x), min(y - box.y0, box.y1 - y)
        if inside_x < r and inside_y < r:
            assert (r - inside_x) ** 2 + (r - inside_y) ** 2 == near(r**2, rel=1e-2)
        else:
            assert min(inside_x, inside_y) == near(0, abs=1e-6)
    assert (tails(canvas), heads(canvas)) == spread(left, right, rows, rows)
    assert MARKS[shape].width(mark) == 2 * half + style.PLUS_ROOM - 2 * style.CIRCLE
    if shape == "barred":
        assert lines(canvas) == [((MIDDLE, box.y0), (MIDDLE, box.y1))]
    else:
        (text,) = words(canvas)
        assert centred(text) == near((MIDDLE, (box.y0 + box.y1) / 2), abs=0.01)


@pytest.mark.parametrize("text", ["A", "Encoder", "Multi-Head\nAttention\nof the decoder"])
@pytest.mark.parametrize("rows", [(20,), (20, 41), (20, 41, 62, 83)])
def test_a_collapsed_block_is_as_large_as_its_text_and_its_wires(text: str, rows) -> None:
    canvas, mark = marked("folded", text, rows, rows)
    labels = [
        line for part in text.split("\n") for line in wrap(part, style.BLOCK_LINE, style.TITLE)
    ]
    half = max(style.BLOCK_HALF, max(line.width for line in labels) / 2 + style.BLOCK_INSET)
    high = rows[-1] - rows[0] + 2 * style.BLOCK_SIDE
    tall = max(high, style.LEADING * len(labels) + style.BLOCK_INSET)
    depth, middle = style.BLOCK_DEPTH, (rows[0] + rows[-1]) / 2
    x = MIDDLE - depth / 2
    left, right, top, bottom = x - half, x + half, middle - tall / 2, middle + tall / 2
    sky, side, front = shapes(canvas, "linear")
    assert front == [
        near(at) for at in ((left, top), (right, top), (right, bottom), (left, bottom))
    ]
    assert sky == [
        near(at)
        for at in (
            (left, top),
            (left + depth, top - depth),
            (right + depth, top - depth),
            (right, top),
        )
    ]
    assert side == [
        near(at)
        for at in (
            (right, top),
            (right + depth, top - depth),
            (right + depth, bottom - depth),
            (right, bottom),
        )
    ]
    assert canvas.ink[0] == near((left, top - depth, right + depth, bottom))
    assert tails(canvas) == {i: near((left, y)) for i, y in enumerate(rows)}
    for o, y in enumerate(rows):
        assert heads(canvas)[o] == near((right + depth if y < bottom - depth else right, y))
    lines_ = words(canvas)
    first = middle - style.LEADING * (len(labels) - 1) / 2 + style.DESCENT
    assert [line.position.y for line in lines_] == near(
        [first + style.LEADING * n for n in range(len(labels))]
    )
    assert [centred(line)[0] for line in lines_] == near([x] * len(labels))
    kind = MARKS["folded"]
    assert kind.width(mark) == near(2 * half + depth + 2 * style.STUB)
    need = style.LEADING * len(labels) + style.BLOCK_INSET
    spare = style.AXIS_GAP * (len(rows) - 1) + 2 * style.BLOCK_SIDE
    assert kind.headroom(mark) == near(depth + max(0, need - spare))


@pytest.mark.parametrize(("shape", "said"), [("save", "→ C_λ"), ("load", "C_λ →")])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_memory_note_is_forty_units_high_at_least(shape: str, said: str, count: int) -> None:
    rows = tuple(20 + style.AXIS_GAP * n for n in range(count))
    canvas, mark = marked(shape, "C_λ", rows, ())
    label = math(said, style.BIG)
    half = label.width / 2 + style.MEMORY_INSET
    room = max(style.SIDE, (style.MEMORY - style.AXIS_GAP * (count - 1)) / 2)
    (box,) = boxes(canvas, "note")
    assert box == near((MIDDLE - half, rows[0] - room, MIDDLE + half, rows[-1] + room))
    (text,) = words(canvas)
    assert text.label == label and centred(text) == near((MIDDLE, (box.y0 + box.y1) / 2), abs=0.01)
    assert tails(canvas) == {i: near((box.x0, y)) for i, y in enumerate(rows)}
    kind = MARKS[shape]
    assert kind.width(mark) == near(label.width + 2 * style.MEMORY_INSET + style.STUB)
    assert kind.headroom(mark) == kind.footroom(mark) == near(max(0, room - style.SIDE))
