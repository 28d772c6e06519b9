"""What a fused loop is not asked for, or not given, is refused in words; nothing else is wrong."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
import torch
from hypothesis import given, settings, strategies

import ncd
from ncd import Copy, Einsum, Elementwise, Id, Index, Linear, Reduce, Repeat, Softmax, Term, Top
from tests.support.properties import calm
from tests.support.sampling import count
from tests.support.strategies import terms

SUM = Id("y:3 x:4") >> Reduce("x -> ", "sum")
LAYER = Id("y:3 x:4") >> Linear("x -> k:2", "L")
GRID = (
    "stream: the axis x has 2 dimensions (4×6), and tiles are cut along one. Try an axis for each "
    "of them in place of x."
)
PAIR = 'but it is an axis and a tile of it. Try streamed=("x", 4).'
ONES = torch.ones(3, 4)
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a sum over a grid": (
        lambda: ncd.stream(Id("y:3 x:4x6") >> Reduce("x -> ", "sum"), {}, ("x", 5)),
        GRID,
    ),
    "tiles of a grid": (
        lambda: ncd.stream(Id("y:3 x:4x6") >> Elementwise("relu"), {"y": 2}, ("x", 5)),
        GRID,
    ),
    "groups of a grid": (
        lambda: ncd.stream(Id("y:3 x:4x6") >> Linear("y -> k:2", "L"), {"x": 5}),
        GRID,
    ),
    "one axis in both": (
        lambda: ncd.stream(Id("y:3 x:4") >> Elementwise("relu"), {"y": 2}, ("y", 2)),
        "stream: the axis y is grouped and streamed, and its tiles are cut in one way. Try one of "
        "the two.",
    ),
    "a bound": (
        lambda: ncd.stream(Id("y:3#v:5") >> ncd.Map("y#v -> y", "$1"), {}, ("v", 2)),
        "stream: there is no axis 'v'. Try one of y.",
    ),
    "a name alone": (
        lambda: ncd.stream(SUM, {}, "x"),  # type: ignore[arg-type]
        f"stream: streamed is 'x', {PAIR}",
    ),
    "a number alone": (
        lambda: ncd.stream(SUM, {}, 4),  # type: ignore[arg-type]
        f"stream: streamed is 4, {PAIR}",
    ),
    "three": (
        lambda: ncd.stream(SUM, {}, ("x", 4, 5)),  # type: ignore[arg-type]
        f"stream: streamed is ('x', 4, 5), {PAIR}",
    ),
    "a number as a name": (
        lambda: ncd.stream(SUM, {3: 4}),  # type: ignore[dict-item]
        'stream: an axis is 3, but it is text. Try "x".',
    ),
    "a list of groups": (
        lambda: ncd.stream(SUM, ["y"], ("x", 2)),  # type: ignore[arg-type]
        "stream: grouped is ['y'], but it is the size of a group for each axis. Try "
        'grouped={"y": 4}.',
    ),
    "no tile": (
        lambda: ncd.stream(SUM, {}, ("x", 0)),
        "a tile of x has size 0. Try x = 1.",
    ),
    "a text as a tile": (
        lambda: ncd.stream(SUM, {"y": "2"}),  # type: ignore[dict-item]
        "a tile of y has size '2'. Try y = 1.",
    ),
    "a text as a budget": (
        lambda: ncd.stream(SUM, {}, ("x", 2), budget="lots"),  # type: ignore[arg-type]
        "stream: the budget is 'lots', but it is a whole number of bytes. Try budget=100_000.",
    ),
    "a text to fit": (
        lambda: ncd.stream(SUM, {}, ("x", 2)).fitting("lots"),  # type: ignore[arg-type]
        "fitting: the budget is 'lots', but it is a whole number of bytes. Try budget=100_000.",
    ),
    "a text as formats": (
        lambda: ncd.stream(SUM, {}, ("x", 2), formats="int8"),  # type: ignore[arg-type]
        "stream: formats is 'int8', but it is number formats. Try formats=ncd.Formats(\"int8\").",
    ),
    "no tiles and a budget": (
        lambda: ncd.stream(Softmax("x:5"), budget=1),
        "the loop needs 20 bytes of fast memory at Softmax (x numbers), and there are 1. Try tiles "
        "of an axis.",
    ),
    "a second pass": (
        lambda: ncd.stream(
            Copy("x:4") >> Reduce("x ->") @ Id("x") >> Einsum("(), x -> x"), {}, ("x", 2)
        ),
        "Einsum needs all tiles of x before it starts again with the first: that is a second pass. "
        "Try two loops, one behind the other.",
    ),
    "a result without groups": (
        lambda: ncd.stream(Id("y:3, k:5") >> Elementwise("relu") @ Elementwise("tanh"), {"y": 2}),
        "the result (k) has no axis y, so its groups do not give parts of it. Try y as the "
        "streamed axis.",
    ),
    "a repetition": (
        lambda: ncd.stream(Repeat((Linear("m:3 -> m", "A"),) * 2), {}, ("m", 2)),
        "a repetition is no single loop over tiles. Try one of its bodies, as a term.",
    ),
    "weights that wait": (
        lambda: ncd.stream(Id("y:3 x:4") >> Softmax("x"), {}, ("x", 2)),
        "the result (y x) is only known after the last tile of x, when its first tiles have left "
        "the fast memory. Try a sum over it in the same loop, or two loops.",
    ),
    "a bend of what waits": (
        lambda: ncd.stream(Id("y:3 x:4") >> Softmax("x") >> Elementwise("tanh"), {}, ("x", 2)),
        "Elementwise tanh is not linear in what an op before it only knows after the last tile of "
        "x. Try another streamed axis, or two loops.",
    ),
    "groups of what is joined": (
        lambda: ncd.stream(Softmax("x:4"), {"x": 2}),
        "Softmax joins all of x, so groups of x are not apart. Try x as the streamed axis.",
    ),
    "groups of what is summed": (
        lambda: ncd.stream(SUM, {"x": 2}),
        "Reduce sum adds up all of x, so groups of x are not apart. Try x as the streamed axis.",
    ),
    "too little memory": (
        lambda: ncd.stream(SUM, {}, ("x", 2), budget=1),
        "the loop needs 36 bytes of fast memory at Reduce sum (g_x·y + y numbers), and there are "
        "1. Try more fast memory.",
    ),
    "no loop": (
        lambda: ncd.run_stream(3, []),  # type: ignore[arg-type]
        "run_stream: 3 is not a fused loop. Try ncd.stream(term).",
    ),
    "another shape": (
        lambda: ncd.run_stream(ncd.stream(SUM, {}, ("x", 2)), [ONES.T]),
        "run_stream: the array (y x) has shape (3, 4), but is given one of shape (4, 3). Try a "
        "tensor of shape (3, 4).",
    ),
    "a batch": (
        lambda: ncd.run_stream(ncd.stream(SUM, {}, ("x", 2)), [torch.ones(2, 3, 4)]),
        "run_stream: the array (y x) has shape (3, 4), but is given one of shape (2, 3, 4). Try a "
        "tensor of shape (3, 4).",
    ),
    "no tensor": (
        lambda: ncd.run_stream(ncd.stream(SUM, {}, ("x", 2)), ["x"]),  # type: ignore[list-item]
        "run_stream: the array (y x) has shape (3, 4), but is given 'x'. Try a tensor of shape "
        "(3, 4).",
    ),
    "no list": (
        lambda: ncd.run_stream(ncd.stream(SUM, {}, ("x", 2)), 3),  # type: ignore[arg-type]
        "the loop reads (y x), not 3. Try (y x).",
    ),
    "whole numbers": (
        lambda: ncd.run_stream(ncd.stream(SUM, {}, ("x", 2)), [ONES.long()]),
        "the array (y x) holds real numbers, but the tensor is of type torch.int64. Bound so far: "
        "y 3, x 4. Try x.float().",
    ),
    "numbers beyond a bound": (
        lambda: ncd.run_stream(
            ncd.stream(Index("y:2#v:3, v:3 m:4 -> y:2 m:4")),
            [torch.tensor([0, 7]), torch.ones(3, 4)],
        ),
        "the array (y#v) holds whole numbers from 0 to 2, but the tensor has 7. Bound so far: y 2, "
        "v 3. Try x.clamp(0, 2).",
    ),
    "no module": (
        lambda: ncd.run_stream(ncd.stream(LAYER, {}, ("x", 2)), [ONES]),
        "run_stream: the loop reads the weights L.weight of a module. Try "
        "module=ncd.compile(term).",
    ),
    "another module": (
        lambda: ncd.run_stream(
            ncd.stream(LAYER, {}, ("x", 2)), [ONES], ncd.compile(Linear("x:4 -> k:2", "M"))
        ),
        "run_stream: the loop reads the weights L.weight, which the module lacks. Try "
        "module=ncd.compile(term).",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(ncd.NCDError) as error:
        call()
    assert str(error.value) == words


def test_a_name_of_two_sizes_is_refused() -> None:
    two = ncd.Param("x:2x3 m:2", "a") @ ncd.Param("x:4 k:3", "b")
    with pytest.raises(ncd.MismatchError) as error:
        ncd.stream(two, {}, ("k", 2))
    assert str(error.value) == (
        "stream: the axis x has size 2×3 in one array and 4 in another. Try another name for one "
        "of them."
    )


def test_nothing_is_cut_and_nothing_fits_less() -> None:
    assert ncd.stream(Softmax("x:5")).fitting(10) is None


GRIDS = {
    "behind the streamed axis": ("y:5 s:2x3 x:4", Reduce("x ->"), "x"),
    "before it": ("s:2x3 y:5 x:4", Elementwise("tanh"), "x"),
    "summed": ("y:5 x:4 s:2x3", Reduce("s ->") >> Softmax("x") >> Reduce("x ->"), "x"),
    "the largest of each group": ("y:5 e:4", Top("e -> k:2"), ""),
    "of two dimensions": ("s:2x3 y:5 x:4, x:4 s:2x3", Einsum("s y x, x s -> y s"), "x"),
}


@pytest.mark.parametrize("name", GRIDS)
def test_axes_of_two_dimensions_beside_those_that_are_cut(name: str) -> None:
    dom, op, streamed = GRIDS[name]
    assert_whole(Id(dom) >> op, {"y": 2}, (streamed, 3) if streamed else None)


def assert_whole(term: Term, grouped: dict[str, int], streamed: tuple[str, int] | None) -> None:
    """The loop gives the arrays of a trace, and moves the bytes that it states."""
    loop = ncd.stream(term, grouped, streamed)
    module = calm(ncd.compile(term).double())
    inputs = [x.double() if x.is_floating_point() else x for x in ncd.example_inputs(term)]
    run = ncd.trace(module, *inputs)
    found = ncd.run_stream(loop, [run.values[v.id] for v in loop.schedule.inputs], module)
    for value, x in zip(loop.schedule.outputs, found.outputs, strict=True):
        torch.testing.assert_close(
            x, run.values[value.id], equal_nan=True, rtol=1e-8, atol=1e-8, msg=repr(loop.tiles)
        )
    assert found.bytes_moved == loop.bytes_moved, loop.tiles


@settings(max_examples=count(60, 2000), deadline=None)
@given(terms(), strategies.randoms(use_true_random=False))
def test_a_random_loop_is_right_or_refused(term: Term, draw: Random) -> None:
    term = ncd.elaborate(term).term
    cells = ncd.elaborate(term).cells
    names = sorted({axis.name for cell in cells for axis in cell.site.axes_by_name.values()})
    if not names:
        return
    grouped = {name: draw.randint(1, 4) for name in draw.sample(names, draw.choice((0, 0, 1)))}
    streamed = (draw.choice(names), draw.randint(1, 4)) if draw.random() < 0.8 else None
    try:
        assert_whole(term, grouped, streamed)
    except ncd.NCDError as error:
        assert error.cure or error.fact
