"""Steps on named arrays are those of the term that they are read from, and make it again."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings

import ncd
from ncd import Add, Block, Copy, Elementwise, Id, Linear, MismatchError, Repeat, Term, elaborate
from ncd.rewrite.rules.block_steps import BlockStep, BlockSteps, read_steps, written_anew
from ncd.systems.catalogue_entry import Entry
from tests.support.properties import settled
from tests.support.sampling import count
from tests.support.strategies import terms

LARGEST = 10**9  # operations of a system that is run


def steps_of(term: Term) -> BlockSteps:
    return read_steps(elaborate(term))


def anew(term: Term) -> Term:
    return elaborate(written_anew(steps_of(term)).term()).term


def layers(term: Term) -> Counter[str]:
    return Counter(cell.path for cell in elaborate(term).cells if cell.name)


def assert_same(term: Term, new: Term) -> None:
    """Of two terms with the same layers: the types, the names of layers, and the values."""
    assert (new.dom, new.cod) == (term.dom, term.cod)
    assert layers(new) == layers(term)
    module, inputs = settled(term)
    other = ncd.compile(new, seed=2).double()
    other.load_state_dict(module.state_dict())
    other.train(module.training)
    with torch.no_grad():
        results = module.eval().execute(inputs), other.eval().execute(inputs)
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(two, one, equal_nan=True)


@settings(max_examples=count(40, 400), deadline=None)
@given(terms())
def test_a_term_comes_back_from_its_steps(term: Term) -> None:
    term = elaborate(term).term
    new = anew(term)
    assert_same(term, new)
    titles = [Counter(fence.title for fence in elaborate(one).fences) for one in (term, new)]
    assert titles[0] == titles[1]


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_a_system_comes_back_from_its_steps(entry: Entry) -> None:
    term = entry.build()
    if ncd.cost(term).flops > LARGEST:
        pytest.skip("it is too large to run twice")
    assert_same(elaborate(term).term, anew(term))


def test_what_has_not_changed_is_not_written_anew() -> None:
    term = Block(Linear("m:3 -> k:2") >> Elementwise("relu"), "Part") >> Linear("k -> m", "O")
    assert steps_of(term).term() is elaborate(term).term


def test_copies_are_the_array_that_they_copy() -> None:
    steps = steps_of(Copy("m:3") >> Elementwise("relu") @ Id("m") >> Add())
    assert [(step.id, step.takes, step.gives) for step in steps.steps] == [
        ("n1", ("s0",), ("v3",)),
        ("n2", ("v3", "s0"), ("v4",)),
    ]
    assert [steps.slots[id] for id in ("v0", "v1", "v2")] == ["s0"] * 3


def test_equal_bodies_stay_equal() -> None:
    term = Repeat((Linear("m:3 -> m") >> Elementwise("relu"),) * 3)
    (loop,) = written_anew(steps_of(term)).steps
    new = loop.write_applied().term
    assert isinstance(new, Repeat)
    assert new.bodies[0] is new.bodies[1] is new.bodies[2]


def test_steps_are_put_in_order() -> None:
    found = steps_of(Elementwise("relu") >> Elementwise("tanh"))
    late = BlockSteps(found.inputs, found.outputs, found.steps[::-1], found.arrays, found.slots)
    assert late.term() == Elementwise("relu") >> Elementwise("tanh")


def test_a_circle_is_refused() -> None:
    found = steps_of(Id("m:2") >> Elementwise("relu") >> Elementwise("tanh"))
    one, two = found.steps
    first = BlockStep(Add(), (found.inputs[0], two.gives[0]), one.gives, one.id)
    circle = BlockSteps(found.inputs, found.outputs, (first, two), found.arrays, found.slots)
    with pytest.raises(MismatchError) as error:
        circle.term()
    assert str(error.value) == (
        "n0 would need what is made from itself, by way of n1. Try an array that is made before it."
    )


def test_a_step_has_weights_if_a_layer_stands_in_it_however_deep() -> None:
    relu, layer = Elementwise("relu"), Linear("m:4 -> m:4", "L")
    terms = relu, layer, Block(relu, "B"), Block(relu >> layer, "B"), Block(Block(layer, "A"), "B")
    steps = [BlockStep(term, (), ()) for term in terms]
    assert [step.has_weights for step in steps] == [False, True, False, True, True]
