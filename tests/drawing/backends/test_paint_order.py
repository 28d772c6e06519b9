"""What is painted over what, in which order it is read, and where double wires begin."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from ncd.drawing.backends.painting import (
    Stroke,
    commands,
    double_wire_paths,
    is_flat,
    is_soft,
    layers,
    number,
    reading_order,
    wire_ends,
)
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import (
    Curve,
    Dot,
    Outline,
    Point,
    Rectangle,
    line,
    ribbon,
    s_curve,
)
from tests.drawing.lint.tiny_pictures import (
    dash,
    extra,
    fence,
    glyph,
    outline,
    picture,
    run,
    text,
    wire,
)

near = pytest.approx
BODY, INK = outline((0, 0, 9, 9), "linear"), outline((1, 1, 2, 2), "ink")
LINE = Outline(run((0, 5), (9, 5)), "none", style.WIRE, False)
DOT, RING = Dot(Point(5, 5), 4.0), Dot(Point(5, 5), 9.5, "page", 2.25)
WORDS, NAME, TITLE = text((0, 0, 9, 9), "in it"), text((0, 0, 9, 9), "m"), text((0, 0, 9, 9), "T")


def kinds(drawing) -> list[str]:
    known = {
        id(WORDS): "words",
        id(NAME): "name",
        id(TITLE): "title",
        id(DOT): "dot",
        id(RING): "ring",
    }
    found = []
    for part in layers(drawing):
        if not isinstance(part, Stroke):
            found.append(known[id(part)])
        elif part.is_dashed:
            found.append("dash")
        elif part.has_shadow or part.line == "edge":
            found.append(f"soft {part.fill}")
        else:
            found.append(f"{part.fill} {part.line} {part.width:g}")
    return found


def test_regions_lie_under_wires_and_dots_and_names_over_them() -> None:
    drawing = picture(
        fences=(fence((0, 0, 50, 50), "F", TITLE),),
        dashes=(dash((0, 1), (9, 1)),),
        wires=(wire((0, 5), (9, 5)),),
        glyphs=(glyph((20, 0, 29, 9), items=(INK, BODY, LINE, DOT, RING, WORDS)),),
        labels=(NAME,),
        extras=(extra((0, 0, 3, 3)), extra((0, 0, 3, 3), behind=True, kind="band")),
    )
    assert kinds(drawing) == [
        "soft linear",
        "title",
        "soft note",  # what lies behind
        "dash",
        "linear ink 0",  # the body of the mark, under the wire
        "none ink 1.25",
        "ink ink 0",
        "none ink 1.25",
        "ring",
        "words",
        "dot",
        "name",
        "soft note",
    ]


def test_brackets_are_lines_with_round_ends_and_a_region_has_a_border_or_a_shadow() -> None:
    brackets = fence((0, 0, 50, 50), brackets=(run((0, 0), (1, 9)), run((9, 0), (8, 9))))
    strokes = list(layers(picture(fences=(brackets,))))
    assert [(s.width, s.round, s.is_closed, s.has_shadow) for s in strokes] == [
        (style.BRACKET, True, False, False)
    ] * 2
    drawing = picture(fences=(fence((1, 2, 30, 40)),))
    (region,) = layers(drawing)
    assert (region.fill, region.line, region.width) == ("linear", "edge", style.EDGE)
    assert region.is_closed and not region.has_shadow
    (region,) = layers(replace(drawing, palette="paper"))
    assert region.has_shadow and region.is_closed and (region.fill, region.width) == ("linear", 0)
    assert Rectangle.from_points(p for curve in region.path for p in curve) == (1, 2, 30, 40)


def test_beside_the_circuit_only_coloured_shapes_have_a_shadow() -> None:
    for item, soft in ((BODY, True), (INK, False), (LINE, False), (DOT, False), (WORDS, False)):
        assert is_soft(item) == soft
    opened = Outline(BODY.path, "linear", 1.0, False)
    assert not is_soft(opened)


def test_parts_are_read_from_left_to_right_and_then_down() -> None:
    first, second = wire((0, 9), (9, 9), name="a x"), wire((0, 5), (9, 5), name="b x")
    op = glyph((0, 0, 9, 9), hit=Rectangle(0, 0, 9, 9))
    lost = wire(path=(), name="c x")
    after = wire((20, 0), (29, 0), name="d x")
    found = reading_order(picture(wires=(after, first, second, lost), glyphs=(op,)))
    assert found == [lost, second, first, op, after]  # an op just behind the wires that begin there
    half = glyph((0, 0, 9, 9), hit=Rectangle(-0.5, 0, 9, 9))
    assert reading_order(picture(wires=(second,), glyphs=(half,)))[0] is half


def test_a_double_wire_is_two_lines_with_the_page_between() -> None:
    one = wire((0, 5), (9, 5), double=True)
    ink, gap = layers(picture(wires=(one,)))
    assert (ink.line, ink.width, ink.round) == ("ink", style.DOUBLE + style.WIRE, False)
    assert (gap.line, gap.width, gap.path) == ("page", style.DOUBLE - style.WIRE, one.path)


@pytest.mark.parametrize(("end", "joins"), [((9, 5), True), ((9.01, 5), False), ((9, 5.001), True)])
def test_a_double_wire_begins_a_little_before_where_it_continues_another(end, joins) -> None:
    before = wire((0, 5), end, name="u x", double=True)
    after = wire((9, 5), (30, 5), name="v x", double=True)
    ends = wire_ends(picture(wires=(before, after)))
    ink, gap = double_wire_paths(after, ends)
    assert (ink[0].a, gap[0].a) == (
        (near((9 - style.SEAM / 2, 5)), near((9 - style.SEAM, 5))) if joins else ((9, 5), (9, 5))
    )
    assert ink[-1].d == gap[-1].d == (30, 5)
    steep = wire((9, 5), (9, 30), name="v x", double=True)
    assert double_wire_paths(steep, ends)[1][0].a == (
        near((9, 5 - style.SEAM)) if joins else (9, 5)
    )
    plain = wire((0, 5), (9, 5), name="u x"), wire((9, 5), (30, 5), name="v x")
    assert wire_ends(picture(wires=plain)) == frozenset()
    mixed = (*plain, wire(path=(), name="w x", double=True))
    assert len(wire_ends(picture(wires=mixed))) == 2


# --- paths in text --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("curve", "flat"),
    [
        (line(Point(0, 0), Point(9, 0)), True),
        (line(Point(0, 0), Point(9, 4)), True),
        (line(Point(3, 0), Point(3, 9)), True),
        (s_curve(Point(0, 0), Point(9, 4)), False),
        (Curve(Point(0, 0), Point(3, 1), Point(6, 0), Point(9, 0)), False),
        (Curve(Point(0, 0), Point(3, -1), Point(6, 0), Point(9, 0)), False),
        (Curve(Point(0, 0), Point(3, 0), Point(6, 1), Point(9, 0)), False),
        (Curve(Point(0, 0), Point(3, 0), Point(6, -1), Point(9, 0)), False),
        (Curve(Point(0, 0), Point(1, 0), Point(8, 0), Point(9, 0)), True),
    ],
)
def test_a_curve_is_flat_if_its_controls_lie_on_its_chord(curve: Curve, flat: bool) -> None:
    assert is_flat(curve) == flat


@pytest.mark.parametrize(
    ("points", "closed", "written"),
    [
        ([(0, 0), (9, 0), (12, 0)], False, "M0 0h12"),
        ([(0, 0), (9, 0), (7, 0)], False, "M0 0h9h-2"),
        ([(0, 0), (0, 4), (0, 9)], False, "M0 0v9"),
        ([(0, 0), (9, 0), (9, 4)], False, "M0 0h9v4"),
        ([(0, 0), (3, 4), (5, 4)], False, "M0 0l3 4h2"),
        ([(0, 0), (3, -4)], False, "M0 0l3-4"),
        ([(-1, -2), (3, -2)], False, "M-1-2h4"),
        ([(0, 0), (9, 0), (9, 4), (0, 0)], True, "M0 0h9v4z"),
        ([(0, 0), (9, 0), (9, 4), (0, 0)], False, "M0 0h9v4l-9-4"),
        ([(0, 0), (9, 0), (9, 4), (5, 4)], True, "M0 0h9v4h-4z"),
    ],
)
def test_a_path_is_written_in_relative_steps(points, closed, written) -> None:
    assert commands(run(*points), closed) == written


def test_a_path_in_two_parts_moves_between_them() -> None:
    assert commands((*run((0, 0), (9, 0)), *run((20, 1), (29, 1)))) == "M0 0h9M20 1h9"
    assert (
        commands((*run((0, 0), (9, 0)), *run((9.001, 0), (20, 0)))) == "M0 0h20"
    )  # the same in text
    assert [number(value) for value in (0.004, 0.006, -10.5, 100)] == ["0", ".01", "-10.5", "100"]


def test_a_ribbon_is_the_outline_on_both_sides_of_a_line() -> None:
    for points, corners in (
        ([(0, 0), (9, 0)], [(0, -2), (9, -2), (9, 2), (0, 2)]),
        ([(0, 0), (0, 9)], [(2, 0), (2, 9), (-2, 9), (-2, 0)]),
        ([(0, 0), (3, 4)], [(1.6, -1.2), (4.6, 2.8), (1.4, 5.2), (-1.6, 1.2)]),
    ):
        found = ribbon(run(*points), 2)
        assert [curve.a for curve in found] == [near(at) for at in corners]
        assert found[-1].d == found[0].a
    bent = ribbon(run((0, 0), (9, 0), (9, 9)), 2)
    assert all(one.d == two.a for one, two in pairwise(bent))
    assert near((9, -2)) in [curve.d for curve in bent] and near((11, 0)) in [
        curve.a for curve in bent
    ]
