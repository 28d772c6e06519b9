"""The laws of the language, by value: what may be regrouped, moved past, or indexed first."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import ncd
from ncd import Block, Einsum, Elementwise, Id, Linear, Scale, Softmax, Term, Then, Type
from tests.strategies import terms, types

FEW = settings(max_examples=25, deadline=None)


def values(term: Term, *inputs: Tensor, seed: int = 0) -> tuple[Tensor, ...]:
    return ncd.trace(ncd.compile(term, seed=seed), *inputs).outputs


def same(one: tuple[Tensor, ...], two: tuple[Tensor, ...]) -> None:
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def steps_of(term: Term) -> tuple[Term, ...]:
    return term.steps if isinstance(term, Then) else (term,)


def cut(term: Term, at: int) -> tuple[Term, Term]:
    """A term as two, the second written on all the arrays that the first gives."""
    steps = steps_of(term)
    first = Then(*steps[: 1 + at % len(steps)])
    return first, Then(Id(first.cod), *steps[1 + at % len(steps) :])


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
    left = Then(Id(term.dom), *f, *g)
    right = Then(Id(left.cod), *h)
    assert (left >> right).cod == term.cod
    same(values(left >> right, *inputs), values(term, *inputs))
    fenced = Block(left, "f then g") >> right
    same(values(fenced, *inputs), values(term, *inputs))


@FEW
@given(terms())
def test_a_composite_is_its_steps_one_after_the_other(term: Term) -> None:
    whole = ncd.compile(term)
    layers = [whole.layer_of(cell) for cell in whole.circuit.cells]
    learned = iter([layer for layer in layers if layer is not None])
    arrays, state = list(term.dom), list(ncd.example_inputs(term))
    expected = whole.execute(tuple(state))
    for step in steps_of(term):
        alone = Then(Id(Type(arrays)), step)
        module = ncd.compile(alone)
        for cell in module.circuit.cells:
            if (layer := module.layer_of(cell)) is not None:
                layer.load_state_dict(next(learned).state_dict())
        arrays, state = list(alone.cod), list(module.execute(tuple(state)))
    assert tuple(arrays) == tuple(term.cod)
    same(tuple(state), expected)


# --- identity ------------------------------------------------------------------------------------


@FEW
@given(terms())
def test_identity_on_either_side_changes_nothing(term: Term) -> None:
    inputs = ncd.example_inputs(term)
    expected = values(term, *inputs)
    for other in (Id(term.dom) >> term, term >> Id(term.cod), Block(term, "fence")):
        assert (other.dom, other.cod) == (term.dom, term.cod)
        same(values(other, *inputs), expected)


@FEW
@given(types())
def test_identity_gives_what_it_takes(dom: Type) -> None:
    inputs = ncd.example_inputs(Id(dom))
    outputs = values(Id(dom), *inputs)
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


# --- einsums -------------------------------------------------------------------------------------


@st.composite
def products(draw: st.DrawFn) -> tuple[str, str, str]:
    """Patterns p, q and r such that "p then q" is r: three arrays, multiplied two by two."""
    letters = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True)
    one, two, three = draw(letters), draw(letters), draw(letters)
    every = list(dict.fromkeys([*one, *two, *three]))
    out = draw(st.lists(st.sampled_from(every), unique=True))
    early = [a for a in dict.fromkeys([*one, *two]) if a in three or a in out]
    later = [a for a in dict.fromkeys([*one, *two]) if a not in early and draw(st.booleans())]
    kept = draw(st.permutations([*early, *later]))

    def text(axes: list[str]) -> str:
        return " ".join(axes) or "()"

    return (
        f"{text(one)}, {text(two)} -> {text(kept)}",
        f"{text(kept)}, {text(three)} -> {text(out)}",
        f"{text(one)}, {text(two)}, {text(three)} -> {text(out)}",
    )


SIZES = ncd.Axes(a=2, b=3, c=1, d=4, e=2)


@settings(max_examples=60, deadline=None)
@given(products())
def test_an_einsum_of_einsums_is_one_einsum(patterns: tuple[str, str, str]) -> None:
    first, second, both = (Einsum(pattern) for pattern in patterns)
    composite, single = SIZES(first >> second), SIZES(both)
    assert (composite.dom, composite.cod) == (single.dom, single.cod)
    inputs = ncd.example_inputs(single)
    same(values(composite, *inputs), values(single, *inputs))


def test_transposing_twice_is_the_identity() -> None:
    term = Einsum("y:3 x:4 -> x y") >> Einsum("x y -> y x")
    x = torch.randn(3, 4)
    same(values(term, x), (x,))


def test_a_unit_and_an_inner_product_are_a_straight_wire() -> None:
    x, unit = torch.randn(2, 4), torch.eye(4)
    sizes = ncd.Axes(y=2, i=4, j=4, k=4)
    bent = sizes(Einsum("y i, i j -> y j"))
    same(values(bent, x, unit), (x,))
    snake = sizes(Einsum("i j, j k -> i k") >> Einsum("i k, k -> i"))
    v = torch.randn(4)
    same(values(snake, unit, unit, v), (v,))


def test_diagonalising_is_the_diagonal_of_the_outer_product() -> None:
    a, b = torch.randn(4), torch.randn(4)
    sizes = ncd.Axes(h=4, g=4, i=4)
    (kept,) = values(sizes(Einsum("h, h -> h")), a, b)
    (outer,) = values(sizes(Einsum("h, g -> h g")), a, b)
    torch.testing.assert_close(kept, outer.diagonal())
    delta = torch.zeros(4, 4, 4)
    delta[range(4), range(4), range(4)] = 1  # the map that a dot on two wires stands for
    same(values(sizes(Einsum("g, i, g i h -> h")), a, b, delta), (kept,))


# --- what every term keeps -----------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(terms())
def test_the_outputs_have_the_shapes_of_the_codomain(term: Term) -> None:
    run = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    assert [tuple(x.shape) for x in run.outputs] == [array.shape for array in term.cod]
    circuit = ncd.elaborate(term)
    assert set(run.values) == set(circuit.values)
    for id, value in circuit.values.items():
        assert tuple(run.values[id].shape) == value.array.shape, id


@settings(max_examples=60, deadline=None)
@given(terms())
def test_text_and_json_give_the_same_term_back(term: Term) -> None:
    for again in (eval(repr(term), vars(ncd)), ncd.from_json(ncd.to_json(term))):
        assert again == term
        assert hash(again) == hash(term)
        assert (repr(again), again.cod.spec) == (repr(term), term.cod.spec)
        assert ncd.elaborate(again) == ncd.elaborate(term)


@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_text_and_json_give_the_same_system_back(entry: ncd.Entry) -> None:
    term = entry.build()
    assert eval(repr(term), vars(ncd)) == term
    assert ncd.from_json(ncd.to_json(term)) == term
    assert entry.build() == term
    knob = entry.knobs[0]
    assert entry.build(**{knob.name: knob.min}) != term


@FEW
@given(terms())
def test_elaboration_is_the_same_every_time(term: Term) -> None:
    from ncd import circuit

    first = ncd.elaborate(term)
    circuit._elaborate.cache_clear()
    again = ncd.elaborate(ncd.from_json(ncd.to_json(term)))
    assert again is not first
    assert (again.states, again.steps, again.fences) == (first.states, first.steps, first.fences)


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
