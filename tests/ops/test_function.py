"""Function, Reduce and Dropout."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pytest
import torch
from torch import Tensor

from ncd.errors import NCDError
from ncd.language.axes import Type
from ncd.language.torch_code import Arg, Call, Const, Layer
from ncd.ops.abstract_function import Function
from ncd.ops.elementwise import Dropout
from ncd.ops.reductions import Reduce
from tests.ops.values import values


def real(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def matrix(op: Function, n: int) -> torch.Tensor:
    """The matrix of a linear map of n numbers."""
    (rows,) = values(op, f"row:{n} {op.dom[0]}:{n}", torch.eye(n, dtype=torch.float64))
    return rows.T


def test_a_transposed_map_has_the_transposed_matrix() -> None:
    there = matrix(Function("F", "a -> b:3"), 4)
    back = matrix(Function("F", "b -> a:4", of="a -> b"), 3)
    torch.testing.assert_close(back, there.T)
    square = matrix(Function("F", "a -> b:4"), 4)
    assert (square - square.T).abs().max() > 0.1
    assert (matrix(Function("G", "a -> b:3"), 4) - there).abs().max() > 0.1


def test_some_axes_of_a_map_are_turned() -> None:
    """``F: a -> b c`` with b on the other side, and with all of it on the right."""
    every = torch.eye(4, dtype=torch.float64)
    (numbers,) = values(Function("F", "a -> b:2 c:3"), "row:4 a:4", every)
    x = real(2, 4)
    (found,) = values(Function("F", "b a -> c:3", of="a -> b c"), "b:2 a:4", x)
    torch.testing.assert_close(found, torch.einsum("ba,abc->c", x, numbers))
    (outer,) = values(Function("F", "() -> a:4 b:2 c:3", of="a -> b c"), "x:5", real(5))
    torch.testing.assert_close(outer, torch.einsum("x,abc->xabc", real(5), numbers))


def test_the_matrix_is_well_conditioned() -> None:
    assert torch.linalg.cond(matrix(Function("f", "a -> b:8"), 8)) < 1000


def test_several_arrays_each_broadcast_by_name() -> None:
    op = Function("f", "3, 4 2, 6 -> 1 2, 5", fn="tanh")
    dom = "b:7 3, c:2 4 2, 6"
    a, b, c = real(7, 3), real(2, 4, 2), real(6)
    one, two = values(op, dom, a, b, c)
    assert [str(array) for array in op.infer_outputs(Type.parse(dom))] == ["b c 1 2", "b c 5"]
    assert (one.shape, two.shape) == ((7, 2, 1, 2), (7, 2, 5))
    alone = values(op, "3, 4 2, 6", a[6], b[1], c)
    torch.testing.assert_close((one[6, 1], two[6, 1]), alone)
    batched = values(op, "3, 4 2, 6", a[:2], b, torch.stack((c, c)))
    torch.testing.assert_close(
        (batched[0][1], batched[1][1]), values(op, "3, 4 2, 6", a[1], b[1], c)
    )


def test_a_function_of_nothing_is_a_constant() -> None:
    (found,) = values(Function("f", "-> 2 3"), "")
    assert found.shape == (2, 3)
    assert len(found.unique()) == 6


def test_flops_are_those_of_the_products() -> None:
    op = Function("f", "3, 4 2 -> 5")
    assert op.flops(op.apply_to(Type.parse("b:7 3, 4 2"))) == 2 * 7 * 3 * 5 + 2 * 8 * 5


def product(x: Tensor) -> Callable[[int | tuple[int, ...]], Tensor]:
    """The product along one dimension or several, which torch takes one by one."""
    return lambda dims: reduce(
        torch.prod, sorted([dims] if isinstance(dims, int) else dims, reverse=True), x
    )


@pytest.mark.parametrize("how", ["max", "min", "mean", "product", "sum"])
def test_reduce_keeps_the_axes_around_between_and_after(how: str) -> None:
    x = real(2, 3, 5, 2, 2, 4)
    op, dom = Reduce("y x ->", how), "b:2 y:3 h:5 x:2x2 c:4"
    (found,) = values(op, dom, x)
    plain = {"max": x.amax, "min": x.amin, "mean": x.mean, "product": product(x), "sum": x.sum}[how]
    torch.testing.assert_close(found, plain((1, 3, 4)))
    assert str(op.infer_outputs(Type.parse(dom))) == "b h c"
    (kept,) = values(Reduce("y x -> x", how), dom, x)
    assert str(Reduce("y x -> x").infer_outputs(Type.parse(dom))) == "b h x c"
    torch.testing.assert_close(kept, plain(1))


def test_dropout_is_a_layer() -> None:
    op = Dropout(0.25, "drop")
    site = op.apply_to(Type.parse("y:2 m:3"))
    assert op.layer_call(site) == Call("nn.Dropout", (Const(0.25),))
    assert op.torch_code(site) == (Layer((Arg(0),)),)
    assert repr(op) == "Dropout(0.25, 'drop')"


REFUSED = [
    *(
        (
            lambda pattern=pattern, of=of: Function("F", pattern, of=of),
            f"Function Fᵀ ({pattern}): only a linear map of one array to one has a transposed one. "
            'Try fn="linear", and one array on each side.',
        )
        for pattern, of in (
            ("a, b -> c", "c -> a"),
            ("a -> c, b", "c -> a"),
            ("a -> c", "c, b -> a"),
            ("a -> c", "c -> a, b"),
        )
    ),
    (
        lambda: Function("F", "b -> a", "tanh", "a -> b"),
        "Function Fᵀ (b -> a): only a linear map of one array to one has a transposed one. "
        'Try fn="linear", and one array on each side.',
    ),
    (
        lambda: Function("F", "b -> a", of="a -> c"),
        "Function Fᵀ (b -> a): the transpose of a map (a -> c) has its axes, on other sides. "
        'Try "c -> a".',
    ),
    (
        lambda: Function("f", "a#v -> b"),
        "Function f (a#v -> b): it is of whole numbers, but a smooth map is of real ones. "
        "Try Map or Index, which take whole numbers.",
    ),
    (
        lambda: Function("f", "a -> b", "round"),
        "Function: fn is 'round', but it is one of gelu, linear, sigmoid, sin, softplus, tanh. "
        'Try fn="gelu".',
    ),
    (
        lambda: Function(" ", "a -> b"),
        "Function: letter is ' ', but it is a short name. Try \"f\".",
    ),
    (
        lambda: Reduce("y x -> x y"),
        "Reduce sum (y x -> x y): the right side is not some of the axes (y x), in their order. "
        'Try "y x -> x".',
    ),
    (
        lambda: Reduce("x -> x"),
        "Reduce sum (x -> x): the right side is not some of the axes (x), in their order. "
        'Try "x ->".',
    ),
    (
        lambda: Reduce("x#v ->"),
        "Reduce sum (x#v -> ()): it is of whole numbers, but only real ones are reduced. "
        'Try Map("x#v -> x", "$1") before it.',
    ),
    (
        lambda: Reduce("x ->", "median"),
        "Reduce: how is 'median', but it is one of max, mean, min, sum, product. Try how=\"max\".",
    ),
    (
        lambda: Dropout(1),
        "Dropout: p is 1, but it is a number from 0 up to, not including, 1. Try p=0.1.",
    ),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=[m[:50] for _, m in REFUSED])
def test_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(NCDError) as found:
        build()
    assert str(found.value) == message
