"""Which wires an op wants level with which, and how much; and what passes over its marks."""

from __future__ import annotations

import pytest

import ncd
from ncd import Add, Copy, Einsum, Group, Id, Index, Linear, Softmax
from ncd.drawing.elements import style
from ncd.drawing.marks.marks import bend_side, foreign
from ncd.drawing.placement import coordinates as rows
from ncd.drawing.placement.axis_labels import names
from ncd.drawing.placement.repeated_parts import repeats
from ncd.drawing.plan.build_plan import plan
from ncd.language.op import Glyph, Mark
from ncd.language.terms import Term, Then

GAP = style.AXIS_GAP


@pytest.mark.parametrize(
    ("term", "wishes"),
    [
        # what passes stays level; what a map makes stands where its input was
        (Id("y:2 m:3") >> Linear("m -> k:2"),
         [("v0.0", "v1.0", 0, rows.THROUGH), ("v0.1", "v1.1", 0, rows.ALIKE)]),
        (Id("y:2 m:3") >> Linear("m -> a:2 b:2"),
         [("v0.0", "v1.0", 0, rows.THROUGH), ("v0.1", "v1.1", 0, rows.MARK),
          ("v0.1", "v1.2", GAP, rows.MARK)]),
        (Id("a:3 b:4") >> Group("a b -> g"), [("v0.0", "v1.0", 0, rows.MARK)]),
        # after a contraction wires may come down
        (Einsum("a:2 b:3, b c:4 -> a c"),
         [("v0.0", "v2.0", 0, rows.LOWERED_COST), ("v1.1", "v2.1", 0, rows.LOWERED_COST)]),
        (Einsum("a:2, a:2 ->"), [("v1.0", "v2.-1", 0, rows.LOWERED_COST)]),
        # copies and what joins pull a little
        (Copy("m:3"), [("v0.0", "v1.0", 0, rows.THROUGH), ("v0.0", "v2.0", 0, rows.COPY)]),
        (Id("m:3, m:3") >> Add(),
         [("v0.0", "v2.0", 0, rows.THROUGH), ("v1.0", "v2.0", 0, rows.COPY)]),
        (Id("y:2#v:5, v:5 m:3") >> Index("y#v, v m -> y m"),
         [("v0.0", "v2.0", 0, rows.THROUGH), ("v1.1", "v2.1", 0, rows.THROUGH)]),
    ],
    ids=str,
)  # fmt: skip
def test_what_an_op_wants_level(term: Term, wishes) -> None:
    (unit,) = plan(ncd.elaborate(term)).steps[0]
    found = [
        (f"{a[0]}.{a[1]}", f"{b[0]}.{b[1]}", apart, cost)
        for a, b, apart, cost in rows.wants(unit, frozenset())
    ]
    assert found == wishes
    if unit.glyph.caps and unit.outputs[0].array:  # none where the result may be spread
        spread = rows.wants(unit, {unit.outputs[0].id})
        assert {cost for *_, cost in spread} == {rows.THROUGH}


def test_an_array_beside_an_op_wants_most_to_be_level() -> None:
    passing, _ = plan(ncd.elaborate(Id("y:2") @ Softmax("m:3"))).steps[0]
    assert [want[2:] for want in rows.wants(passing, ())] == [(0.0, rows.PASSES)]


@pytest.mark.parametrize(
    ("mark", "bends", "over"),
    [
        (Mark("word", "f", (2,), (2,)), "", [0, 5, 10]),  # everywhere on its way
        (Mark("word", "f", (2, 3), (2,)), "behind", [0]),
        (Mark("word", "f", (2,), (2, 3)), "before", [10]),
        (Mark("arrow", "f"), "", [0, 5, 10, 40, 45, 50]),
    ],
)
def test_the_rows_in_which_wires_pass_over_a_mark(mark: Mark, bends: str, over) -> None:
    glyph = Glyph(through=((0, 0), (2, 2)), marks=(mark,))
    assert bend_side(glyph) == bends
    assert foreign(glyph, [0, 20, 40, 60], [10, 30, 50, 70]) == over


def test_wires_that_join_bend_with_those_that_pass() -> None:
    bar = Mark("bar", "", (2, 3), (1,))
    glyph = Glyph(through=((0, 0),), joins=((1, 0),), marks=(bar,))
    assert foreign(glyph, [0, 20, 40, 60], [10, 50]) == [0, 20]
    assert foreign(Glyph(through=((0, 0),), joins=((1, 0),)), [0, 20], [10]) == [0, 5, 10]


def test_parts_with_other_labels_are_not_alike() -> None:
    layers = Then(*[Softmax("m:3") >> Softmax("m")] * 3)
    made = plan(ncd.elaborate(layers))
    cuts, labels = [0, 2, 4, 6], names(made, "names", every=True)
    assert [(r.first_state, r.last_state, r.model) for r in repeats(made, labels, cuts)] == [
        (2, 4, 0),
        (4, 6, 0),
    ]
    other = [*labels]
    ((port, label),) = labels[3].items()
    other[3] = {port: ncd.drawing.elements.labels.math("z")}
    assert [r.first_state for r in repeats(made, other, cuts)] == [4]
    other[3] = {}
    assert [r.first_state for r in repeats(made, other, cuts)] == [4]
    other[3] = {port: label, ("v9", 0): label}
    assert [r.first_state for r in repeats(made, other, cuts)] == [4]
