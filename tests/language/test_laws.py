"""The laws of the language, by value: what may be regrouped, moved past, or indexed first."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ncd
from ncd import (
    Add,
    Beside,
    Block,
    Concat,
    Copy,
    Cut,
    Einsum,
    Elementwise,
    Equation,
    Id,
    Index,
    Linear,
    Map,
    Param,
    Rename,
    Repeat,
    Scale,
    Scan,
    Softmax,
    Term,
    Then,
    Type,
    Wire,
)
from tests.support.properties import PROPERTIES, Skipped, same, settled, values
from tests.support.strategies import terms, types

FEW = settings(max_examples=25, deadline=None)
EXAMPLES = dict.fromkeys(PROPERTIES, 40) | {"source": 25, "drawing": 25}


def steps_of(term: Term) -> tuple[Term, ...]:
    return term.steps if isinstance(term, Then) else (term,)


def cut(term: Term, at: int) -> tuple[Term, Term]:
    """A term as two, the second written on all the arrays that the first gives."""
    steps = steps_of(passing(term.dom) >> term)
    first = Then(*steps[: 1 + at % len(steps)])
    return first, Then(passing(first.cod), *steps[1 + at % len(steps) :])


def passing(arrays: Type) -> Term:
    """Arrays that pass on, each by itself: two may have an axis of one name and two sizes."""
    return Beside(*(Id(Type((array,))) for array in arrays)) if arrays else Id("")


def renamed(term: Term, prefix: str) -> Term:
    """The same term whose layers have names of their own, and so weights of their own."""
    return ncd.from_json(ncd.to_json(term).replace('"name": "', f'"name": "{prefix}'))


# --- associativity -------------------------------------------------------------------------------

F, G, H = Linear("m -> k:3", "F"), Softmax("k"), Linear("k -> m:5 h:2", "G")


def test_then_groups_as_one_likes() -> None:
    start = Id("y:4 m:5")
    left, right = ((start >> F) >> G) >> H, start >> (F >> (G >> H))
    assert left == right
    assert hash(left) == hash(right)
    assert ncd.elaborate(left) == ncd.elaborate(right)


def test_beside_groups_as_one_likes() -> None:
    f, g, h = Id("y:4") @ Id("x:2"), Softmax("z:3"), Elementwise("relu")
    assert (f @ g) @ h == f @ (g @ h)


@FEW
@given(terms(), st.integers(0, 5), st.integers(0, 5))
def test_grouping_does_not_change_values(term: Term, i: int, j: int) -> None:
    steps = steps_of(term)
    i, j = sorted((i % (len(steps) + 1), j % (len(steps) + 1)))
    f, g, h = steps[:i], steps[i:j], steps[j:]
    inputs = ncd.example_inputs(term)
    left = Then(passing(term.dom), *f, *g)
    right = Then(passing(left.cod), *h)
    assert (left >> right).cod == term.cod
    same(values(left >> right, *inputs), values(term, *inputs))
    fenced = Block(left, "f then g") >> right
    same(values(fenced, *inputs), values(term, *inputs))


# --- identity ------------------------------------------------------------------------------------


@FEW
@given(terms())
def test_identity_on_either_side_changes_nothing(term: Term) -> None:
    inputs = ncd.example_inputs(term)
    expected = values(term, *inputs)
    for other in (passing(term.dom) >> term, term >> passing(term.cod), Block(term, "fence")):
        assert (other.dom, other.cod) == (term.dom, term.cod)
        same(values(other, *inputs), expected)


@FEW
@given(types())
def test_identity_gives_what_it_takes(dom: Type) -> None:
    inputs = ncd.example_inputs(Id(dom))
    outputs = ncd.compile(Id(dom)).execute(inputs)
    assert all(a is b for a, b in zip(inputs, outputs, strict=True))


# --- interchange ---------------------------------------------------------------------------------


@FEW
@given(terms(steps=3, arrays=2), terms(steps=3, arrays=2), st.integers(0, 3), st.integers(0, 3))
def test_interchange(one: Term, two: Term, i: int, j: int) -> None:
    f, h = cut(renamed(one, "one_"), i)
    g, k = cut(renamed(two, "two_"), j)
    across, along = (f @ g) >> (h @ k), (f >> h) @ (g >> k)
    assert (across.dom, across.cod) == (along.dom, along.cod)
    inputs = ncd.example_inputs(across)
    same(values(across, *inputs), values(along, *inputs))


def test_the_order_of_things_beside_each_other_is_kept() -> None:
    f, g = Scale("y:2", "1"), Scale("x:3", "1")
    one, two = values(Id("y:2, x:3") >> f @ g, torch.ones(2), torch.ones(3))
    assert one.tolist() == [2, 2]
    assert two.tolist() == [3, 3, 3]


# --- waiting arrays ------------------------------------------------------------------------------


def test_what_a_step_does_not_want_waits_below() -> None:
    term = Id("y:2, x:3, z:4") >> Scale("y", "1") >> Einsum("y, x -> x y")
    assert str(term.cod) == "x y, z"
    out, z = values(ncd.Axes(y=2, x=3, z=4)(term), torch.ones(2), torch.arange(3.0), torch.ones(4))
    assert out.tolist() == [[0, 0], [2, 2], [4, 4]]
    assert z.tolist() == [1, 1, 1, 1]


def test_what_a_step_wants_and_lacks_comes_from_the_left() -> None:
    term = Softmax("x:3") >> Einsum("x, x k:2 -> k")
    assert str(term.dom) == "x, x k"


# --- structure -----------------------------------------------------------------------------------


def test_an_axis_by_another_name_and_back_is_free() -> None:
    x = torch.randn(3, 4)
    term = Id("y:3 m:4") >> Rename("y -> x") >> Rename("x -> y")
    (out,) = ncd.compile(term).execute((x,))
    assert out is x


def test_cutting_and_joining_undo_each_other() -> None:
    x = torch.randn(2, 6)
    same(values(Id("y:2 d:6") >> Cut("d -> a:1, b:2, c") >> Concat("a, b, c -> d"), x), (x,))


def test_a_wire_after_a_wire_is_one_wire() -> None:
    two = Id("a:2, b:3, c:4") >> Wire("a, b, c -> c, a, a") >> Wire("c, a, a -> a, c, c")
    same(values(two), values(Id("a:2, b:3, c:4") >> Wire("a, b, c -> a, c, c")))


def test_a_wire_tells_arrays_apart_by_their_kind() -> None:
    term = Id("y:3, y:3#v:9") >> Wire("y, y#v -> y#v, y")
    ids, x = torch.tensor([7, 0, 3]), torch.randn(3)
    same(values(term, x, ids), (ids, x))


@FEW
@given(terms(steps=2, arrays=2, axes=3))
def test_a_repetition_of_one_body_is_the_body(body: Term) -> None:
    once, named = Repeat((body,), "part", shared=True), Block(body, "", name="part")
    assert (once.dom, once.cod) == (body.dom, body.cod)
    same(values(once), values(named))  # the layers have the same paths, and so the same weights


def test_a_scan_is_its_body_at_every_position() -> None:
    step = Map("n, n -> n", "$1 / 2 + $2") >> Copy("n")
    scan = Scan(Id("n:3, n:3") >> step, "t:4")
    state, x = torch.randn(3), torch.randn(4, 3)
    last, rows, now = *values(scan, state, x), state.double()
    for i in range(4):
        now = now / 2 + x[i]
        torch.testing.assert_close(rows[i], now)
    torch.testing.assert_close(last, now)


def test_a_local_block_does_not_care_what_its_axes_are_called() -> None:
    attend = Softmax("x") >> Einsum("y x, x m -> y m")
    inner = Id("y:2 x:3, x:3 m:4") >> attend
    outer = Id("a:2 b:3, b:3 c:4") >> Block(inner, "Attend", local=True)
    assert outer.cod.spec == "a:2 c:4"
    inputs = ncd.example_inputs(inner)
    same(values(outer, *inputs), values(inner, *inputs))


def test_the_sides_of_an_equation_are_as_alone() -> None:
    left, right = Copy("m:3") >> Add(), Id("m:3") >> Map("m -> m", "2 * $1")
    both = values(Equation(left, right))
    same(both, values(left) + values(right))
    assert ncd.prove(Equation(left, right)).difference < 1e-12
    assert ncd.prove(Equation(left, Id("m:3"))).difference > 0.1


def test_a_table_looked_up_at_every_place_is_the_table() -> None:
    term = Map("-> y:5#v:5", "y") @ Param("v:5 m:3", "table") >> Index("y#v, v m -> y m")
    module, _ = settled(term)
    torch.testing.assert_close(module(), module.table)


# --- what every term keeps -----------------------------------------------------------------------


@pytest.mark.parametrize("name", PROPERTIES)
def test_of_random_terms(name: str) -> None:
    @settings(max_examples=EXAMPLES[name], deadline=None)
    @given(terms())
    def holds(term: Term) -> None:
        with suppress(Skipped):
            PROPERTIES[name](term)

    holds()


@pytest.mark.few(15)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_text_and_json_give_the_same_system_back(entry: ncd.Entry) -> None:
    term = entry.build()
    assert eval(repr(term), vars(ncd)) == term
    assert ncd.from_json(ncd.to_json(term)) == term
    assert entry.build() == term
    knob = entry.knobs[0]
    assert entry.build(**{knob.name: knob.max}) != term  # which is no default, and fits any index


def test_a_long_chain() -> None:
    term = Then(Id("y:3"), *[Scale("y:3", "1"), Scale("y:3", "-1")] * 200)
    assert len(ncd.elaborate(term).cells) == 400
    same(values(term, torch.ones(3)), (torch.ones(3),))
    assert ncd.from_json(ncd.to_json(term)) == term


def test_deep_blocks() -> None:
    term: Term = Softmax("x:3")
    for depth in range(100):
        term = Block(term, str(depth))
    assert len(ncd.elaborate(term).fences) == 100
    assert eval(repr(term), vars(ncd)) == term
    assert ncd.from_json(ncd.to_json(term)) == term
    same(values(term, torch.zeros(3)), (torch.full((3,), 1 / 3),))
