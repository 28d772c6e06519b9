"""The signs of convolution and pooling: the trapezoid, and what its window axis ends in."""

import pytest

from ncd import Conv, ConvTranspose, Id, MaxPool, Window, draw
from ncd.drawing.elements import style
from ncd.drawing.lint.lint import lint
from tests.drawing.sign_parts import around, only, painted, said, strokes, texts, wire

IMAGE = Id("b:2 c:3 x:8x8")


@pytest.mark.parametrize(
    ("places", "label"), [("x:8", "3"), ("x:8x8", "3 squared"), ("x:8x8x8", "3 cubed")]
)
def test_the_window_runs_from_the_trapezoid_to_the_letter(places, label):
    drawing = draw(Id(f"c:3 {places}") >> Conv("c x -> d:4 y", kernel=3, stride=2, padding=1))
    glyph = only(drawing)
    assert said(glyph) == ["2", "L sub plus", label]
    window = around(painted(glyph, "window")[0])
    letter = texts(glyph)[1].box
    lines = [s.path[0] for s in strokes(glyph) if s.path[0].a.x == window.x1]
    assert len(lines) == (1 if places == "x:8" else 2)  # a double wire for several dimensions
    for line in lines:
        assert window.y0 < line.a.y < window.y1
        assert letter.x0 - 2 * style.GAP < line.d.x < letter.x0
        assert letter.y0 < line.d.y < letter.y1
    assert lint(drawing) == []


def test_the_channels_enter_the_letter_beside_the_window():
    drawing = draw(IMAGE >> Conv("c x -> d:4 y", kernel=3, stride=2))
    letter = texts(only(drawing))[1].box
    (end,) = [w.path[-1].d for w in drawing.wires if w.axis == "c"]
    begin = wire(drawing, "d").path[0].a
    assert end.x == letter.x0 - style.GAP
    assert begin.x == letter.x1 + style.GAP
    assert letter.y0 < end.y < letter.y1


def test_the_places_run_straight_through_the_trapezoid():
    drawing = draw(IMAGE >> Conv("c x -> d:4 y", kernel=3, stride=2))
    before, behind = wire(drawing, "x"), wire(drawing, "y")
    assert {p.y for w in (before, behind) for c in w.path for p in c} == {before.path[0].a.y}


def test_a_convolution_that_keeps_the_places_is_a_box():
    glyph = only(draw(IMAGE >> Conv("c x -> d:4 x", kernel=3)))
    assert said(glyph) == ["3"]
    assert painted(glyph, "convolution")
    assert not painted(glyph, "window")


def test_the_t_of_a_transposed_convolution_stands_beside_its_trapezoid():
    drawing = draw(IMAGE >> ConvTranspose("c x -> d:4 y"))
    glyph = only(drawing)
    window = around(painted(glyph, "window")[0])
    (sign,) = [t for t in texts(glyph) if t.label.words == "T"]
    assert sign.box.x0 > window.x1
    assert window.y0 < sign.box.y0 < sign.box.y1 < window.y1
    assert lint(drawing) == []


def test_the_window_of_a_max_pooling_ends_in_max_and_an_arrow():
    drawing = draw(IMAGE >> MaxPool("x -> y"))
    glyph = only(drawing)
    assert said(glyph) == ["2", "Max", "2 squared"]
    word = texts(glyph)[1].box
    heads = [around(s) for s in painted(glyph, "ink")]
    assert any(word.x1 <= head.x0 <= word.x1 + style.NUDGE + 0.01 for head in heads)
    assert lint(drawing) == []  # also the channels go round it


def test_the_axis_of_windows_leaves_the_trapezoid():
    drawing = draw(Id("x:8") >> Window("x -> y w", 3))
    window = around(painted(only(drawing), "window")[0])
    for axis in ("y", "w"):
        start = wire(drawing, axis).path[0].a
        assert start.x == window.x1
        assert window.y0 < start.y < window.y1
