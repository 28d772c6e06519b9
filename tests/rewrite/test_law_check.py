"""The comparison of the two sides of a law: what counts as a difference, and what is refused."""

from __future__ import annotations

from math import inf, nan

import pytest
import torch

from ncd import Id, Linear, MismatchError, Rewrite, Softmax, Term
from ncd.ops import Map, Reduce
from ncd.rewrite import law_check
from ncd.rewrite.law_check import Difference, _relative, compare_sides
from ncd.rewrite.rules.rule import Change


@pytest.mark.parametrize(
    ("one", "two", "difference"),
    [
        ([], [], 0),
        ([[]], [[]], 0),
        ([[1, 2]], [[1, 2]], 0),
        ([[1, 4]], [[1, 2]], 2 / 4),
        ([[-8, 1]], [[-8, 2]], 1 / 8),
        ([[0.25]], [[0.5]], 0.25),  # of small numbers the difference itself
        ([[4], [1]], [[3], [1.5]], 0.5),  # the worse of two arrays
        ([[1], [4]], [[1.5], [3]], 0.5),
        ([[inf, -inf, 2]], [[inf, -inf, 1]], 0.5),
        ([[nan, 2]], [[nan, 2]], 0),
        ([[inf]], [[-inf]], 1e30),
        ([[nan, 4]], [[1, 4]], 1e30 / 4),
        ([[1, 4]], [[nan, 4]], 1e30 / 4),
    ],
)
def test_a_difference_is_a_part_of_the_largest_number(
    one: list[list[float]], two: list[list[float]], difference: float
) -> None:
    arrays = [tuple(torch.tensor(x, dtype=torch.float64) for x in side) for side in (one, two)]
    assert _relative(*arrays) == pytest.approx(difference)


@pytest.mark.parametrize(
    ("two", "wrong"),
    [
        (Id("x:4") >> Softmax("x"), ()),
        (Id("x:4") >> Softmax("x") >> Map("x -> x", "2 * $1"), ("outputs", "gradients")),
        (Id("x:4") >> Softmax("x") >> Map("x -> x", "$1 + 1"), ("outputs",)),
    ],
)
def test_outputs_and_gradients_are_compared(
    two: Term, wrong: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(law_check, "rewrite_change", lambda term, rewrite: Change(two, dict))
    found = compare_sides(Softmax("x:4"), Rewrite("write", "n0"))
    far = {name for name in Difference._fields if getattr(found, name) > 1e-9}
    assert far == {*wrong}


def test_whole_numbers_alone_have_no_gradient() -> None:
    term = Id("x:3#v:4") >> Map("x#v -> x#v", "n_v - $1 - 1")
    found = compare_sides(term, Rewrite("fence", "n0", (("title", "A"),)))
    assert found == Difference(0, 0)


def test_sides_of_other_shapes_are_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Change(Id("x:4") >> Reduce("x ->"), dict)
    monkeypatch.setattr(law_check, "rewrite_change", lambda term, rewrite: other)
    with pytest.raises(MismatchError) as error:
        compare_sides(Softmax("x:4"), Rewrite("write", "n0", (("as", "steps"),)))
    assert str(error.value) == "Write out in its steps: the two sides give other arrays."


def test_a_layer_of_another_shape_gets_no_old_weights() -> None:
    wide = Change(Linear("m:3 -> k:4", "L"), dict)
    old = {"L.weight": torch.ones(2, 3)}
    new = {"L.weight": torch.zeros(4, 3)}
    assert law_check.carried_weights(wide, old, new) == new
