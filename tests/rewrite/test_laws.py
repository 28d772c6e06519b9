"""Laws: both sides of each compute the same, outputs and gradients, on random terms in 64 bits."""

from __future__ import annotations

import random

import pytest
import torch

import ncd
from ncd import Einsum, Elementwise, Id, Linear, NCDError, Repeat, Rewrite, Scale, Softmax, Term
from ncd.rewrite.law_check import carried_weights, compare_sides
from ncd.rewrite.rewriting import rewrite_change
from ncd.rewrite.rule_catalogue import EDITS, LAWS
from tests.rewrite.law_terms import LAW_TERMS
from tests.support.sampling import count

CLOSE = 1e-11
LAW_NAMES = sorted(rule.name for rule in (*EDITS, *LAWS) if rule.is_law)


def of_law(term: Term, name: str) -> list[Rewrite]:
    circuit = ncd.elaborate(term)
    places = [*circuit.cells_by_id, *(fence.id for fence in circuit.fences)]
    found = (one for at in places for one in ncd.rewrites(term, at))
    return [one for one in found if one.name == name]


def test_every_law_is_tried() -> None:
    assert sorted(LAW_TERMS) == LAW_NAMES


@pytest.mark.parametrize("name", LAW_NAMES)
def test_both_sides_of_a_law_are_equal(name: str) -> None:
    tried = 0
    for seed in range(count(12, 200)):
        term = LAW_TERMS[name](random.Random(seed))
        for one in of_law(term, name):
            found = compare_sides(term, one, seed)
            assert found.outputs < CLOSE and found.gradients < CLOSE, (term, one, found)
            tried += 1
    assert tried >= count(6, 100)


def test_trained_weights_are_made_from_the_old_ones() -> None:
    term = Linear("m:3 -> k:4", "A") >> Linear("k -> n:2", "B", True)
    change = rewrite_change(term, Rewrite("compose-linear", "n0"))
    assert change.term == Linear("m:3 -> n:2", "B", True)
    old = ncd.compile(term, 0).state_dict()
    new = carried_weights(change, old, ncd.compile(change.term, 1).state_dict())
    torch.testing.assert_close(new["B.weight"], old["B.weight"] @ old["A.weight"])
    torch.testing.assert_close(new["B.bias"], old["B.bias"])


def test_the_weights_of_each_layer_are_made_from_its_own() -> None:
    term = Repeat((Linear("m:3 -> m", "A") >> Scale("k:4"),) * 2)
    change = rewrite_change(term, Rewrite("absorb-scale", "n1", (("into", "before"),)))
    assert change.term == Repeat((Linear("m:3 -> m", "A"),) * 2)
    old = ncd.compile(term, 0).state_dict()
    made = change.weights(old)
    for i in (0, 1):
        torch.testing.assert_close(made[f"layers.{i}.A.weight"], old[f"layers.{i}.A.weight"] / 2)


def test_linear_attention_from_the_order_of_products() -> None:
    """Without a softmax, keys and values can be multiplied first: the cost is linear in y."""
    attend = Einsum("y:64 k:4, x:64 k -> y x") @ Id("x:64 v:4") >> Einsum("y x, x v -> y v")
    merged = ncd.apply(attend, Rewrite("merge-einsums", "n0"))
    ordered = ncd.apply(merged, Rewrite("best-order", "n0"))
    assert [
        str(cell.op.signature) for cell in ncd.elaborate(ordered).cells if cell.op.role == "einsum"
    ] == [
        "x k, x v -> k v",
        "y k, k v -> y v",
    ]
    assert (ncd.cost(attend).flops, ncd.cost(ordered).flops) == (65_536, 4_096)
    inputs = tuple(x.double() for x in ncd.example_inputs(attend))
    one, two = (ncd.compile(term)(*inputs) for term in (attend, ordered))
    torch.testing.assert_close(one, two)


def test_a_law_does_not_apply_where_it_would_not_hold() -> None:
    used_twice = Linear("m:3 -> k:4", "A") >> ncd.Copy("k") >> Linear("k -> n:2", "B") @ Id("k:4")
    assert of_law(used_twice, "compose-linear") == []
    with pytest.raises(NCDError) as error:
        ncd.apply(Softmax("x:3") >> Elementwise("relu"), Rewrite("compose-linear", "n0"))
    assert str(error.value) == (
        "Compose with the linear map behind it: it does not apply at n0. "
        "Try one of Linear that fits."
    )
