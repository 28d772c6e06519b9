"""A fused loop over tiles equals the term: outputs, gradients, and the bytes that it moves."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
import torch

import ncd
from ncd.language.axes import Dim
from ncd.language.terms import Id, Term
from ncd.language.torch_code import Const, Infix, Position
from ncd.ops import (
    Add,
    Copy,
    Einsum,
    Elementwise,
    LayerNorm,
    Linear,
    Map,
    Reduce,
    RMSNorm,
    Scale,
    Softmax,
)
from ncd.rewrite.tile_loop import resize_expression


class Case(NamedTuple):
    """A term, its grouped axes and its streamed axis."""

    term: Term
    grouped: str
    streamed: str


ATTENTION = (
    Einsum("y k, x k -> y x", "scores")
    >> Scale("k")
    >> Softmax("x")
    >> Einsum("y x, x v -> y v", "out")
)
CASES = {
    "matrix product": Case(Einsum("a:11 b:13, b:13 c:9 -> a c"), "a c", "b"),
    "attention": Case(
        Id("y:9 k:4, x:14 k:4, x:14 v:5") >> ATTENTION,
        "y",
        "x",
    ),
    "heads": Case(ncd.catalogue["multi-head-attention"].build(y=7, x=9, m=6, k=3, h=2), "y", "x"),
    "causal": Case(
        ncd.catalogue["scaled-dot-product-attention"].build(y=8, x=8, k=3, causal=1), "y", "x"
    ),
    "feed-forward": Case(
        Id("y:9 m:6")
        >> Linear("m -> f:20", "up", True)
        >> Elementwise("gelu")
        >> Linear("f -> m:6", "down", True),
        "y",
        "f",
    ),
    "layer norm": Case(Id("y:5 m:16") >> LayerNorm("m") >> Linear("m -> k:3", "L"), "y", "m"),
    "plain norm": Case(
        Id("y:5 m:16") >> LayerNorm("m", affine=False) >> Linear("m -> k:3", "L"), "y", "m"
    ),
    "rms norm": Case(Id("y:5 m:16") >> RMSNorm("m") >> Linear("m -> k:3", "L"), "y", "m"),
    "norm beside": Case(Id("y:5 x:7 m:6") >> LayerNorm("m") >> Reduce("x ->", "mean"), "y", "x"),
    "sum": Case(Id("y:5 x:16") >> Reduce("x ->", "sum"), "y", "x"),
    "mean": Case(Id("y:5 x:16") >> Reduce("x ->", "mean"), "y", "x"),
    "max": Case(Id("y:5 x:16") >> Reduce("x ->", "max"), "y", "x"),
    "min": Case(Id("y:5 x:16") >> Reduce("x ->", "min"), "y", "x"),
    "product": Case(Id("y:5 x:6") >> Reduce("x ->", "product"), "y", "x"),
    "elementwise": Case(Id("y:5 x:16") >> Map("y x -> y x", "$1 * x + y"), "y", "x"),
    "used again": Case(
        Copy("y:5 x:16") >> Elementwise("gelu") @ Id("y x") >> Einsum("y x, y x -> y"), "y", "x"
    ),
    "no group": Case(Softmax("x:12") >> Einsum("x:12, x:12 k:3 -> k"), "", "x"),
}
DRAWS = 7  # tile sizes of each case: more than 100 in all


@pytest.mark.parametrize("name", CASES)
def test_tiles_of_any_size_give_the_whole(name: str) -> None:
    term, groups, streamed = CASES[name]
    draw = random.Random(name)
    module = ncd.compile(term, 0).double()
    given = [x.double().requires_grad_() for x in ncd.example_inputs(term, 0)]
    whole = module(*given)
    weight = torch.randn(whole.shape, generator=torch.Generator().manual_seed(1), dtype=whole.dtype)
    learned = [*given, *module.parameters()]
    wanted = torch.autograd.grad((whole * weight).sum(), learned)
    for _ in range(DRAWS):
        tiles = {axis: draw.randint(1, 10) for axis in groups.split()}
        loop = ncd.stream(term, tiles, (streamed, draw.randint(1, 17)))
        found = ncd.run_stream(loop, given, module)
        torch.testing.assert_close(found.outputs[0], whole, rtol=0, atol=1e-9)
        grads = torch.autograd.grad((found.outputs[0] * weight).sum(), learned)
        for one, other in zip(grads, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
        assert found.bytes_moved == loop.bytes_moved, tiles


@pytest.mark.parametrize("name", ["grouped-queries", "rotary", "gpt-2", "sliding-window"])
def test_the_scores_of_a_published_attention_are_one_loop(name: str) -> None:
    """Around the scores the axes have other names; inputs and outputs are arrays of the trace."""
    term = ncd.catalogue[name].build()
    trace = ncd.trace(ncd.compile(term, 0), *ncd.example_inputs(term, 0))
    loop = ncd.stream(term, {"y": 5}, ("x", 4), around=False)
    found = ncd.run_stream(loop, [trace.values[v.id] for v in loop.schedule.inputs])
    torch.testing.assert_close(found.outputs[0], trace.values[loop.schedule.outputs[0].id])
    assert found.bytes_moved == loop.bytes_moved


def test_large_scores_do_not_overflow() -> None:
    """Without the maximum that is kept, the exponential of 1,000 would be infinite."""
    term, _, _ = CASES["attention"]
    given = [1000 * x for x in ncd.example_inputs(term, 0)]
    whole = ncd.compile(term, 0)(*given)
    found = ncd.run_stream(ncd.stream(term, {"y": 4}, ("x", 3)), given)
    torch.testing.assert_close(found.outputs[0], whole)


def test_the_kept_numbers_are_those_of_the_tiles_so_far() -> None:
    scores = torch.tensor([1.0, 3.0, 2.0, 5.0])
    seen = []
    term = Softmax("x:4") >> Einsum("x:4 ->")
    loop = ncd.stream(term, {}, ("x", 2))
    ncd.run_stream(loop, [scores], watch=lambda cut, kept: seen.append((cut["x"], kept)))
    for (_, end), kept in seen:
        top = scores[:end].max()
        assert kept["n0.m"].item() == top
        torch.testing.assert_close(kept["n0.s"].squeeze(), (scores[:end] - top).exp().sum())


def test_another_number_of_inputs_is_refused() -> None:
    loop = ncd.stream(Softmax("x:4") >> Einsum("x:4 ->"), {}, ("x", 2))
    with pytest.raises(ncd.MismatchError) as error:
        ncd.run_stream(loop, [])
    assert str(error.value) == "the loop reads (x), not 0 arrays. Try (x)."


@pytest.mark.parametrize(("cut", "size", "start"), [((0, 3), 3, 0), ((3, 5), 2, 3), (None, 5, 0)])
def test_a_position_counts_from_the_start_of_the_whole_axis(
    cut: tuple[int, int] | None, size: int, start: int
) -> None:
    whole, tile, rest = Dim("x", 0, 5), Dim("x", 0, size), Dim("y", 0, 2)
    position, moved = Position(whole, (whole, rest)), Position(tile, (tile, rest))
    found = resize_expression(position, {"z": (4, 6)} if cut is None else {"x": cut, "z": (4, 6)})
    assert found == (Infix("+", moved, Const(start)) if start else moved)


def test_of_two_places_with_both_axes_the_first_is_the_loop() -> None:
    two = Softmax("x") @ Elementwise("relu") >> Reduce("x ->") @ Reduce("x ->", "max") >> Add()
    loop = ncd.stream(Id("y:3 x:4, y x") >> two, {"y": 2}, ("x", 2), around=False)
    assert [op.cell.op.display_name for op in loop.schedule.ops] == ["Softmax", "Reduce sum"]
