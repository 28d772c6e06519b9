"""What is offered at a place of a small term, as it stands in the menus."""

from __future__ import annotations

import pytest

import ncd
from ncd import (
    Add,
    Axes,
    Block,
    CausalMask,
    Concat,
    Copy,
    Cut,
    Einsum,
    Elementwise,
    Id,
    Index,
    LayerNorm,
    Linear,
    Param,
    Reduce,
    Rename,
    Repeat,
    Scale,
    Softmax,
    Term,
)
from ncd.language.axes import seq
from ncd.systems.shared_parts import self_attention

LEAVES = {"Remove", "Wrap in a residual connection", "Repeat × 2, each with weights of its own"}
FENCE = "Put a fence around it, titled Block"
ONE = {FENCE, "Duplicate beside, and add both"}  # of a part with one array in and one out
KEEPS = LEAVES | ONE  # of a part that keeps the axes as well
CURVES = {f"Replace by {name}" for name in ("ReLU", "GELU", "SiLU", "sigmoid", "tanh", "softplus")}
MAP = ONE | {
    "Replace by an affine map, with a bias",
    "Add a low-rank adapter of rank 4",
    "Write as a product and a sum over axes",
    "Split into two linear maps",
}
LAYER = Linear("m:3 -> m", "A")
OTHER = Linear("m:3 -> k:5", "A") >> Linear("k -> m:3", "B")

OFFERS: dict[str, tuple[Term, str, set[str]]] = {
    "a sum": (
        Id("y:3 x:4") >> Reduce("x ->"),
        "n0",
        ONE
        | {f"Replace by the {name}" for name in ("mean", "largest", "smallest")}
        | {"Write as a product and a sum over axes"},
    ),
    "a mean": (
        Id("y:3 x:4") >> Reduce("x ->", "mean"),
        "n0",
        ONE
        | {f"Replace by the {name}" for name in ("sum", "largest", "smallest")}
        | {"Write as a sum and a scale"},
    ),
    "a largest": (
        Id("y:3 x:4") >> Reduce("x ->", "max"),
        "n0",
        ONE | {f"Replace by the {name}" for name in ("mean", "sum", "smallest")},
    ),
    "a linear map": (Linear("x:4 -> k:2", "L"), "n0", MAP),
    "two maps": (
        Linear("m:3 -> k:2", "A") >> Linear("k -> n:4", "B"),
        "n0",
        MAP | {"Compose with the linear map behind it"},
    ),
    "a softmax": (
        Softmax("x:3"),
        "n0",
        KEEPS | {"Replace by sigmoid", "Replace by ReLU", "Write out in its steps"},
    ),
    "a curve": (
        Id("x:3") >> Elementwise("relu"),
        "n0",
        KEEPS | CURVES - {"Replace by ReLU"} | {"Write as a formula"},
    ),
    "a curve that has no formula in simpler ones": (
        Id("x:3") >> Elementwise("gelu"), "n0", KEEPS | CURVES - {"Replace by GELU"},
    ),
    "a curve between two ops": (
        Softmax("m:3") >> Elementwise("relu") >> Linear("m -> k:2"),
        "n1",
        KEEPS
        | CURVES - {"Replace by ReLU"}
        | {"Move before the op before it", "Add a skip from v0", "Write as a formula"},
    ),
    "a curve before an op that keeps the axes": (
        Elementwise("gelu") >> Softmax("m:3"),
        "n0",
        KEEPS | CURVES - {"Replace by GELU"} | {"Move behind the next op"},
    ),
    "a sum of two": (
        Id("x:3, x") >> Add(),
        "n0",
        {
            *(f"Remove, and keep only array {n}" for n in (1, 2)),
            "Add a skip from v1",
            FENCE,
            "Write as a concatenation and a sum",
        },
    ),
    "a copy": (Copy("x:3"), "n0", {FENCE}),
    "a product of two": (
        Id("y:3 k:2, x:4 k") >> Einsum("y k, x k -> y x"),
        "n0",
        {FENCE, "Write in simpler ops"},
    ),
    "an outer product": (Einsum("m:3, k:2 -> m k"), "n0", {FENCE}),
    "a product of three": (
        Einsum("m:3 k:2, k n:4, n p:2 -> m p"),
        "n0",
        {FENCE, "Write in simpler ops", "Contract two by two, in the cheapest order"},
    ),
    "a norm": (
        LayerNorm("x:3"), "n0", KEEPS | {"Replace by RMS norm", "Write out in its steps"},
    ),
    "a scale": (Id("x:3") >> Scale("x"), "n0", KEEPS),
    "a scale of an array without axes": (Scale("x:3"), "n0", KEEPS),
    "a scale before a map": (
        Scale("m:3") >> Linear("m -> k:2"),
        "n0",
        KEEPS | {"Absorb into the linear map behind it", "Scale after the next op"},
    ),
    "a scale behind a map": (
        Linear("k:2 -> m:3", "A") >> Scale("m"),
        "n1",
        KEEPS | {"Absorb into the linear map before it", "Scale before the op before it"},
    ),
    "a scale behind a curve": (
        Id("m:3") >> Elementwise("relu") >> Scale("m"),
        "n1",
        KEEPS | {"Move before the op before it", "Add a skip from v0"},
    ),
    "a scale before a curve": (
        Id("m:3") >> Scale("m") >> Elementwise("relu"), "n0", KEEPS | {"Move behind the next op"},
    ),
    "a scale of one of two copies": (
        Linear("k:2 -> m:3", "A") >> Copy("m") >> Scale("m") @ Id("m"), "n2", KEEPS,
    ),
    "a place of an axis": (Index("x:3 y:2", x=0), "n0", ONE),
    "a concatenation": (Concat("a:3, b:2 -> x"), "n0", {FENCE}),
    "a cut": (Cut("x:5 -> a:3, b:2"), "n0", {FENCE}),
    "a learned array": (Param("x:3", "b"), "n0", {FENCE}),
    "a mask": (CausalMask("y:3 x:3"), "n0", KEEPS | {"Write as a formula"}),
    "a new name": (Rename("x:3 -> y"), "n0", ONE),
    "equal layers": (
        Repeat((LAYER,) * 2),
        "f0",
        KEEPS
        | {
            "Repeat × 3",
            "Repeat × 1",
            "Share the weights of all layers",
            "Write its layers one after the other",
        },
    ),
    "layers that share their weights": (
        Repeat((LAYER,) * 2, shared=True),
        "f0",
        KEEPS | {"Repeat × 3", "Repeat × 1", "Give each layer its own weights"},
    ),
    "one layer": (
        Repeat((LAYER,)),
        "f0",
        KEEPS | {"Repeat × 2", "Take its frame away", "Write its layers one after the other"},
    ),
    "layers of other sizes": (
        Repeat((Linear("m:3 -> k:4", "A") >> Linear("k -> m:3", "B"), OTHER)),
        "f0",
        KEEPS | {"Write its layers one after the other"},
    ),
    "a block": (Block(LayerNorm("m:3"), "Part"), "f0", KEEPS | {"Take its frame away"}),
}  # fmt: skip


@pytest.mark.parametrize("name", OFFERS)
def test_what_is_offered_at_a_place(name: str) -> None:
    term, at, wanted = OFFERS[name]
    offered = [one.title for one in ncd.rewrites(term, at) if one.name != "insert"]
    assert len(offered) == len({*offered}) and {*offered} == wanted


CURVE_OPS = [f"Insert {name}" for name in ("ReLU", "GELU", "SiLU", "sigmoid", "tanh")]


@pytest.mark.parametrize(
    ("array", "offered"),
    [
        (
            "y:3 x:4",
            [
                *CURVE_OPS,
                *(f"Insert layer norm over {axis}" for axis in "xy"),
                *(f"Insert RMS norm over {axis}" for axis in "xy"),
                *(f"Insert linear map over {axis}" for axis in "xy"),
                "Insert dropout",
                *(f"Insert scale over {axis}" for axis in "xy"),
                *(f"Insert softmax over {axis}" for axis in "xy"),
            ],
        ),
        ("()", [*CURVE_OPS, "Insert dropout"]),
        ("y:3#v:5", []),
    ],
)
def test_what_can_be_inserted_on_an_array(array: str, offered: list[str]) -> None:
    assert [one.title for one in ncd.rewrites(Id(array), "v0")] == offered


@pytest.mark.parametrize(("heads", "groups"), [(1, []), (2, [1]), (4, [2, 1]), (6, [3, 1])])
def test_heads_are_grouped_in_halves_or_all(heads: int, groups: list[int]) -> None:
    term = ncd.catalogue["multi-head-attention"].build(y=3, x=4, m=4, k=2, h=heads)
    softmax = next(c.id for c in ncd.elaborate(term).cells if isinstance(c.op, Softmax))
    offered = [one.title for one in ncd.rewrites(term, softmax) if one.name == "group-heads"]
    share = "Share {} head{} of keys and values among all queries"
    assert offered == [share.format(n, "s" * (n > 1)) for n in groups]


def attention_over_a_batch() -> Term:
    """A block with names of its own, which is repeated at every place of b."""
    return Axes(b=2, t=seq(3), m=4, h=2, k=2)(Id("b t m") >> self_attention("attn"))


@pytest.mark.parametrize("place", ["n1", "n4", "n5", "n7", "n8", "v4", "v9", "f0", "f1", "axis:h"])
def test_all_that_is_offered_in_a_block_over_a_batch_can_be_done(place: str) -> None:
    term = ncd.elaborate(attention_over_a_batch()).term
    offered = ncd.rewrites(term, place)
    assert offered
    for one in offered:
        new = ncd.apply(term, one)
        assert ncd.elaborate(new).inputs[0].array == ncd.elaborate(term).inputs[0].array
        assert ncd.parse(ncd.spell(new)) == new


def test_no_op_along_the_batch_is_put_into_a_block_that_is_repeated_over_it() -> None:
    term = ncd.elaborate(attention_over_a_batch()).term
    inside = [value for value in ncd.elaborate(term).values.values() if "h" in value.array.names]
    assert len(inside) > 5 and all("b" in value.array.names for value in inside)
    for value in inside:
        options = [dict(one.options) for one in ncd.rewrites(term, value.id)]
        along = {own["axes"] for own in options if own.get("op") in ("softmax", "layer-norm")}
        assert along and "b" not in along
    (value, *_) = inside
    wrong = ncd.Rewrite("insert", value.id, (("op", "softmax"), ("axes", "b")))
    with pytest.raises(ncd.NCDError):
        ncd.apply(term, wrong)
