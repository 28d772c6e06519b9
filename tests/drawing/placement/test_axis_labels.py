"""Names where a reader needs them next, and dashed lines that run through nothing."""

import pytest

import ncd
from ncd import Block, Copy, Einsum, Elementwise, Id, Linear, Rename, Then
from ncd.drawing.elements.primitives import Point, Rectangle, line, s_curve
from ncd.drawing.elements.routing import ObstacleGrid
from ncd.drawing.placement.axis_labels import names
from ncd.drawing.plan.build_plan import plan


def named(term: ncd.Term) -> list[list[str]]:
    """The names at each state, from top to bottom."""
    made = plan(ncd.elaborate(term))
    return [
        [here[port].words for value in state for port in made.array_wires(value) if port in here]
        for state, here in zip(made.states, names(made, "names"), strict=True)
    ]


def test_a_name_stands_once_along_a_long_wire():
    assert named(Id("a:2 b:3") >> Then(*[Elementwise("relu")] * 6)) == [
        ["a", "b"],
        *[[]] * 5,
        ["a", "b"],
    ]


def test_names_stand_where_wires_begin_and_before_an_op_that_joins_them():
    """Multi-head attention: K and V are named at their maps, and x and h again at the product."""
    assert named(ncd.catalogue["multi-head-attention"].build()) == [
        ["y bar", "m", "x bar", "m"],
        ["x bar", "m"],
        ["k", "h", "k", "h", "k", "h"],
        [],
        [],
        ["x bar", "h", "x bar", "h"],
        ["k", "h"],
        ["y bar", "m"],
    ]


def test_names_stand_behind_a_crossing():
    scaled = Elementwise("relu")
    term = Id("a:2 b:3 c:4") >> Einsum("b c -> c b") >> scaled >> scaled
    assert named(term) == [["a", "b", "c"], ["c", "b"], [], ["a", "c", "b"]]


def test_a_new_name_stands_where_a_wire_gets_it():
    term = Id("a:2 b:3") >> Rename("a -> c") >> Elementwise("relu") >> Elementwise("relu")
    assert named(term)[1:3] == [["c"], []]


def test_a_line_ends_before_what_stands_in_its_way():
    ground = ObstacleGrid([Rectangle(40, 0, 60, 20)], [(line(Point(80, -50), Point(80, 50)),)])
    (one,) = ground.clear((line(Point(0, 9), Point(100, 9)),))
    assert (one[0].a, one[-1].d.x) == (Point(0, 9), pytest.approx(36))
    (whole,) = ground.clear((line(Point(0, 60), Point(100, 60)),))
    assert whole == (line(Point(0, 60), Point(100, 60)),)


def test_a_line_that_bends_ends_before_a_wire_that_bends():
    wire = (s_curve(Point(0, 0), Point(100, 100)),)
    pieces = [*ObstacleGrid([], [wire]).clear((s_curve(Point(0, 100), Point(100, 0)),))]
    assert len(pieces) == 2
    assert all(abs(end.y - 50) > 4 for path in pieces for end in (path[0].a, path[-1].d))


@pytest.mark.parametrize("name", ["multi-head-attention", "scaled-dot-product-attention"])
def test_the_dashed_lines_of_the_published_figures_are_level(name):
    drawing = ncd.draw(ncd.catalogue[name].build())
    assert len(drawing.dashes) == 2
    for dash in drawing.dashes:
        assert len({round(y, 6) for curve in dash.path for _, y in (curve.a, curve.d)}) == 1


def test_a_dashed_line_lies_between_the_fences_over_and_under_it():
    drawing = ncd.draw(
        Copy("a:2 b:3")
        >> Block(Linear("b -> c:4", "F"), "Upper", "linear")
        @ Block(Linear("b -> c:4", "G"), "Lower", "linear")
    )
    upper, lower = sorted((fence.box for fence in drawing.fences), key=lambda box: box.y0)
    assert upper.y1 < lower.y0
    for dash in drawing.dashes:
        assert all(upper.y1 < curve.a.y < lower.y0 for curve in dash.path)
