"""Each edit makes the term that it says, and trained weights survive where they fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ncd
from ncd import (
    Add,
    Block,
    Copy,
    Einsum,
    Elementwise,
    Id,
    LayerNorm,
    Linear,
    Map,
    NCDError,
    Repeat,
    Rewrite,
    Softmax,
    Split,
    Term,
    Wire,
)
from ncd.rewrite.law_check import carried_weights
from ncd.rewrite.rewriting import rewrite_change

SQUARE = Linear("m:3 -> m", "A", True)


def edit(term: Term, name: str, at: str, **options: object) -> Term:
    return ncd.apply(term, Rewrite(name, at, tuple(options.items())))


def trained(term: Term, name: str, at: str, **options: object) -> tuple[Term, dict[str, Tensor]]:
    """The new term, with the parameters that it has from the old one."""
    change = rewrite_change(term, Rewrite(name, at, tuple(options.items())))
    old = ncd.compile(term, 0).state_dict()
    return change.term, carried_weights(change, old, ncd.compile(change.term, 1).state_dict())


def run(term: Term, weights: dict[str, Tensor], *inputs: Tensor) -> Tensor:
    module = ncd.compile(term).eval()
    module.load_state_dict(weights)
    (found,) = module.execute(inputs)
    return found


def test_a_residual_adds_what_goes_in() -> None:
    new = edit(SQUARE, "residual", "n0")
    assert new == Wire("m:3 -> m:3, m:3") >> SQUARE @ Id("m:3") >> Add()


def test_an_op_with_its_residual_is_taken_out_of_a_sum() -> None:
    term = Copy("m:3") >> (LayerNorm("m") >> SQUARE) @ Id("m:3") >> Add() >> Elementwise("relu")
    assert edit(term, "bypass", "n3", keep=2) == Id("m:3") >> Elementwise("relu")
    assert edit(term, "bypass", "n3", keep=1) == (
        Id("m:3") >> LayerNorm("m") >> SQUARE >> Elementwise("relu")
    )


def test_a_repetition_keeps_the_weights_in_its_first_layer() -> None:
    new, weights = trained(SQUARE, "repeat", "n0", times=3)
    assert new == Repeat((SQUARE,) * 3)
    old = ncd.compile(SQUARE, 0).state_dict()
    torch.testing.assert_close(weights["layers.0.A.weight"], old["A.weight"])
    assert not torch.equal(weights["layers.1.A.weight"], old["A.weight"])


def test_layers_share_their_weights_and_get_their_own_again() -> None:
    term = Repeat((SQUARE,) * 2)
    new, weights = trained(term, "share-weights", "f0", shared=True)
    assert new == Repeat((SQUARE,) * 2, shared=True)
    old = ncd.compile(term, 0).state_dict()
    torch.testing.assert_close(weights["layers.A.weight"], old["layers.0.A.weight"])
    back, weights = trained(new, "share-weights", "f0", shared=False)
    assert back == term and torch.equal(weights["layers.0.A.weight"], weights["layers.1.A.weight"])


def test_layers_are_added_and_taken_away() -> None:
    term = Repeat((SQUARE,) * 2)
    assert edit(term, "layer-count", "f0", count=5) == Repeat((SQUARE,) * 5)


def test_an_adapter_begins_with_nothing() -> None:
    new, weights = trained(SQUARE, "low-rank-adapter", "n0", rank=2)
    x = torch.randn(3, generator=torch.Generator().manual_seed(0))
    old = ncd.compile(SQUARE, 0).state_dict()
    torch.testing.assert_close(run(new, weights, x), run(SQUARE, old, x))
    assert ncd.cost(new).parameters - ncd.cost(SQUARE).parameters == 2 * (3 + 3)


def test_a_duplicate_has_weights_of_its_own() -> None:
    new, weights = trained(SQUARE, "duplicate", "n0")
    x = torch.randn(3, generator=torch.Generator().manual_seed(0))
    one, two = (x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"] for name in ("A", "A_2"))
    torch.testing.assert_close(run(new, weights, x), one + two)


def test_a_fence_goes_and_its_layers_keep_their_weights() -> None:
    term = Linear("m:3 -> k:2", "A") >> Block(Linear("k:2 -> m:3", "B"), "Part", name="part")
    new, weights = trained(term, "unwrap", "f0")
    assert new == Linear("m:3 -> k:2", "A") >> Linear("k:2 -> m:3", "B")
    torch.testing.assert_close(
        weights["B.weight"], ncd.compile(term, 0).state_dict()["part.B.weight"]
    )


def test_an_op_moves_along_its_wire() -> None:
    norm, relu = LayerNorm("m:3"), Elementwise("relu")
    term = norm >> SQUARE >> relu
    assert edit(term, "move", "n0", to="later") == SQUARE >> norm >> relu
    assert edit(term, "move", "n2", to="earlier") == norm >> relu >> SQUARE


def test_a_skip_crosses_blocks() -> None:
    """From before one block into the middle of another, which calls its axes by other names."""
    inner = Block(Elementwise("sin") >> Id("k") >> Elementwise("cos"), "Second", local=True)
    term = Elementwise("exp") >> Block(Elementwise("tanh"), "First") >> inner
    term = Id("m:3") >> term
    new = edit(term, "skip", "n3", **{"from": "v1"})
    x = torch.randn(3, generator=torch.Generator().manual_seed(0))
    expected = (x.exp().tanh().sin() + x.exp()).cos()
    torch.testing.assert_close(run(new, {}, x), expected)
    out_of_a_block = edit(term, "skip", "n3", **{"from": "v2"})
    torch.testing.assert_close(
        run(out_of_a_block, {}, x), (x.exp().tanh().sin() + x.exp().tanh()).cos()
    )


def test_a_skip_inside_a_layer_is_in_every_layer() -> None:
    body = Elementwise("sin") >> Elementwise("cos")
    new = edit(Id("m:3") >> Repeat((body,) * 2), "skip", "n1", **{"from": "v0"})
    x = torch.randn(3, generator=torch.Generator().manual_seed(0))
    for _ in range(2):
        x, before = x.sin(), x
        expected = (x + before).cos()
        x = expected
    first = torch.randn(3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(run(new, {}, first), expected)


def test_an_axis_has_another_name_in_formulas_as_well() -> None:
    term = Map("y:2 x:3 -> y x", "where(x > y, -inf, $1 / n_x)") >> Softmax("x")
    assert edit(term, "rename-axis", "axis:x", to="s") == (
        Map("y:2 s:3 -> y s", "where(s > y, -inf, $1 / n_s)") >> Softmax("s")
    )


def test_an_axis_gets_another_size_and_others_follow() -> None:
    term = ncd.Axes(m=6)(Id("m") >> Split("m -> h:2 k") >> Linear("k -> n:4"))
    new = edit(term, "resize-axis", "axis:n", size=8)
    assert str(new.cod.spec) == "h:2 n:8"


def test_an_axis_becomes_two() -> None:
    new = edit(
        Id("y:2 m:6") >> LayerNorm("m") >> Linear("m -> k:4"), "split-axis", "axis:m", first=2
    )
    assert new == Id("y:2 a:2 b:3") >> LayerNorm("a:2 b:3") >> Linear("a:2 b:3 -> k:4")


def test_grouped_heads_are_the_heads_where_these_agree() -> None:
    """With equal keys and values in a group, sharing them changes nothing."""
    term = ncd.catalogue["multi-head-attention"].build(h=4, k=2, m=6, y=3, x=5)
    softmax = next(c.id for c in ncd.elaborate(term).cells if isinstance(c.op, Softmax))
    change = rewrite_change(term, Rewrite("group-heads", softmax, (("heads", 2),)))
    module = ncd.compile(term, 0)
    old = module.state_dict()
    for name in ("K.weight", "V.weight"):  # its rows are k times h
        rows = old[name].view(2, 2, 2, 6)
        rows[:, :, 1] = rows[:, :, 0]
    new = carried_weights(change, old, ncd.compile(change.term, 1).state_dict())
    inputs = ncd.example_inputs(term)
    torch.testing.assert_close(run(change.term, new, *inputs), run(term, old, *inputs))
    assert ncd.cost(change.term).parameters == ncd.cost(term).parameters * 3 // 4


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: edit(SQUARE >> Elementwise("relu"), "skip", "n0", **{"from": "v2"}),
            "Add would need what is made from itself, by way of n0, n1. "
            "Try an array that is made before it.",
        ),
        (
            lambda: edit(Linear("m:3 -> k:2") >> Softmax("k"), "skip", "n1", **{"from": "v0"}),
            "Skip to n1: the array is (m), and here is (k). Bound so far: m 3, k 2. "
            "Try an array (k).",
        ),
        (
            lambda: edit(Id("m:3") >> Elementwise("sin") >> Repeat((SQUARE,) * 2), "skip", "n1",
                         **{"from": "v0"}),
            "Skip to n1: an array would pass the border of a repetition or a scan. "
            "Try an array and an op of the same layer.",
        ),
        (
            lambda: edit(Einsum("y:2 k:3, x:4 k -> y x"), "residual", "n0"),
            "Residual around n0: it takes (y k, x k) and gives (y x). "
            "Try an op or a block that takes one array of real numbers and gives one.",
        ),
        (
            lambda: edit(SQUARE, "repeat", "n0", times=0),
            "Repeat n0: times is 0, but it is a whole number from 1 to 64. Try times = 2.",
        ),
        (
            lambda: edit(SQUARE, "rename-axis", "axis:m", to="m"),
            "Rename m: there is an axis m, or a number of this name. Try m2.",
        ),
        (
            lambda: edit(Softmax("x:6"), "split-axis", "axis:x", first=4),
            "Split x: axis x has size 6, which 4 does not divide. Try a number that divides it.",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_says_why(work: Callable[[], object], message: str) -> None:
    with pytest.raises(NCDError) as error:
        work()
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("term", "single"),
    [
        (Softmax("m:3"), True),
        (ncd.Scale("m:3"), True),  # of a number without axes
        (Id("m:3, m:3") >> Add(), False),
        (Copy("m:3"), False),
        (Map("m:3 -> m#2", "$1 > 0"), False),
        (Map("m:3#2 -> m", "$1 + 0.5"), False),
        (ncd.Param("m:3", "w"), False),
    ],
)
def test_a_duplicate_takes_one_array_of_real_numbers_and_gives_one(
    term: Term, single: bool
) -> None:
    if single:
        assert isinstance(edit(term, "duplicate", "n0"), Term)
        return
    with pytest.raises(NCDError, match="takes one array of real numbers and gives one"):
        edit(term, "duplicate", "n0")


def test_what_stands_around_a_changed_block_stays_as_it_was() -> None:
    text = (
        "Axes(t=3, m=4)(Linear('t m -> t m', 'A') >> Wire('t m -> t m, t m') >> Block(Linear('m -> "
        "m', 'B') >> Scale('m') >> Elementwise('relu'), 'One') @ Block(Linear('m -> m', 'C'), "
        "'Two') >> Add())"
    )
    term = ncd.elaborate(ncd.parse(text)).term
    scale = next(c.id for c in ncd.elaborate(term).cells if isinstance(c.op, ncd.Scale))
    moved = ncd.apply(term, Rewrite("move", scale, (("to", "later"),)))
    swapped = text.replace("Linear('m -> m', 'B')", "Id('t m') >> Linear('m -> m', 'B')").replace(
        "Scale('m') >> Elementwise('relu')", "Elementwise('relu') >> Scale('m')"
    )
    assert ncd.spell(moved) == ncd.spell(ncd.parse(swapped))
