"""Plans: the wires of a state from top to bottom, and the fences around its arrays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ncd
from ncd import Block, Copy, Elementwise, Id, Linear, Repeat, Term, elaborate
from ncd.drawing.elements.plan_columns import SCALAR, Plan, PlanFence, ports, ports_or_scalar
from ncd.drawing.plan.build_plan import plan

RELU = Elementwise("relu")


def planned(term: Term) -> Plan:
    return plan(elaborate(term))


def fenced(depth: int, body: Term) -> Term:
    for n in range(depth):
        body = Block(body, f"B{n}", "linear")
    return body


def borders_there(made: Plan, s: int) -> Iterator[PlanFence]:
    return (f for f in made.fences if s in (f.first_column, f.last_column))


def test_wires_run_down_and_in_pictures_up() -> None:
    value, scalar = elaborate(Id("a:2 b:3 c:4, ()") >> Copy("a b c")).inputs
    ids = [(value.id, i) for i in range(3)]
    assert ports(value, False) == tuple(ids) and ports(value, True) == tuple(ids[::-1])
    assert ports(scalar, False) == () and ports_or_scalar(scalar, False) == ((scalar.id, SCALAR),)
    assert ports_or_scalar(value, True) == ports(value, True)


def test_a_unit_knows_which_wires_are_of_one_array() -> None:
    made = planned(Id("a:2 b:3, c:4") >> ncd.Wire("a b, c -> c, a b"))
    (unit,) = made.steps[0]
    assert unit.arrays == (((0, 1), (2,)), ((0,), (1, 2)))
    assert unit.continued_inputs == {0: 2, 1: 0, 2: 1}
    assert not unit.passes and unit.node == "n0"
    image = planned(Id("c:3 x:4x4") >> RELU)
    assert image.upward and image.steps[0][0].arrays[0] == ((1, 0),)
    beside = planned(Id("a:2, b:3") >> RELU @ Id("b"))
    assert [unit.passes for unit in beside.steps[0]] == [False, True]
    assert beside.steps[0][1].outs == beside.steps[0][1].ins


@pytest.mark.parametrize(
    ("term", "panels"),
    [
        (fenced(1, RELU), [True]),
        (fenced(2, RELU), [True, False]),  # the outermost alone
        (fenced(1, RELU) >> RELU, [False]),  # not over every state
        (Copy("m:4") >> fenced(1, RELU) @ Id("m"), [False]),  # nor around every array
        (Repeat((RELU, RELU)), [False]),  # brackets
    ],
)
def test_a_panel_is_the_one_fence_around_everything(term: Term, panels: list[bool]) -> None:
    made = planned(Id("m:4") >> term if term.dom.spec != "m:4" else term)
    assert [made.is_panel(fence) for fence in made.fences] == panels


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_borders_are_counted_from_a_fence_inwards(depth: int) -> None:
    made = planned(Id("m:4") >> fenced(depth, RELU) >> RELU)
    counts = [*range(depth, 0, -1)]
    assert [made.opening[f.id] for f in made.fences] == counts
    assert [made.closing[f.id] for f in made.fences] == counts
    first, last = made.fences[0].first_column, made.fences[0].last_column
    assert made.borders[first] == (0, depth) and made.borders[last] == (depth, 0)


def test_a_state_in_which_one_fence_closes_and_another_opens_has_both_borders() -> None:
    made = planned(Id("m:4") >> fenced(2, RELU) >> fenced(3, RELU) >> fenced(1, RELU))
    assert made.borders == [(0, 2), (2, 3), (3, 1), (1, 0)]
    for s, (closing, opening) in enumerate(made.borders):
        fences = [*borders_there(made, s)]
        assert sum(f.last_column == s for f in fences) == closing
        assert sum(f.first_column == s for f in fences) == opening


def test_brackets_count_as_two_borders_and_an_inner_one_only_where_it_ends_alike() -> None:
    loop = planned(Id("m:4") >> Repeat((fenced(1, RELU),) * 2))
    outer, inner = loop.fences
    assert (outer.ends is not None, inner.ends) == (True, None)
    assert (loop.opening[outer.id], loop.opening[inner.id]) == (3, 1)
    late = planned(Id("m:4") >> Block(RELU >> fenced(1, RELU), "A", "linear"))
    outer, inner = late.fences
    assert (late.opening[outer.id], late.closing[outer.id]) == (1, 2)
    assert (late.opening[inner.id], late.closing[inner.id]) == (1, 1)


def test_arrays_know_the_fences_around_them_the_outermost_first() -> None:
    made = planned(Copy("m:4") >> fenced(2, Linear("m -> k:3", "L")) @ Id("m"))
    whole = [fence.title for fence in made.fences]
    assert whole == ["B1", "B0"]
    for s, state in enumerate(made.states):
        for value in state:
            around = made.enclosing_fences[s].get(value.id, ())
            assert [f.title for f in around] in (whole, [])
            assert all(value.id in f.holds[s - f.first_column] for f in around)
    assert any(made.enclosing_fences[-1].values())


def test_the_units_around_an_array() -> None:
    made = planned(Id("m:4") >> Linear("m -> k:3", "L") >> RELU)
    for s, step in enumerate(made.steps):
        for unit in step:
            assert all(made.consumers[s][v.id] is unit for v in unit.inputs)
            assert all(made.producers[s][v.id] is unit for v in unit.outputs)
    (value,) = made.states[0]
    assert made.array_wires(value) == made.places(value) == ((value.id, 0),)
    scalar = planned(Id("m:4") >> ncd.Reduce("m -> ()", "sum"))
    (total,) = scalar.states[-1]
    assert scalar.array_wires(total) == () and scalar.places(total) == ((total.id, SCALAR),)
