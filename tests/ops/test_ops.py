"""Every op against plain torch, on its own axes and lifted over others."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ncd
from ncd import Array, Id, Op, Then, Type
from ncd.ops import CATALOGUE

Reference = Callable[..., Tensor | tuple[Tensor, ...]]

# An op, the arrays it stands on (its own axes only), and what torch says it gives. A learned op's
# layer comes first among the arguments of its reference.
SAMPLES: list[tuple[Op, str, Reference]] = [
    (ncd.Add(), "m:5, m:5", lambda a, b: a + b),
    (
        ncd.CausalMask("y x"),
        "y:3 x:4",
        lambda a: torch.where(torch.arange(3)[:, None] >= torch.arange(4), a, -torch.inf),
    ),
    (ncd.Concat("c, d -> e"), "c:2, d:3", lambda a, b: torch.cat((a, b))),
    (ncd.Concat("c, c -> 2c"), "c:2, c:2", lambda a, b: torch.cat((a, b))),
    (ncd.Conv("c x -> d:4 x", "conv", 3), "c:2 x:5x6", lambda f, a: F.conv2d(a, *f, padding=1)),
    (
        ncd.Conv("c x -> d:4 x/s", "conv", 3, stride=2),
        "c:2 x:7",
        lambda f, a: F.conv1d(a, *f, stride=2, padding=1),
    ),
    (
        ncd.Conv("c x -> d:4 u", "conv", 2, padding=0),
        "c:2 x:3x4x3",
        lambda f, a: F.conv3d(a, *f),
    ),
    (
        ncd.ConvTranspose("c x -> d:3 u", "up", 2, 2),
        "c:2 x:3x4",
        lambda f, a: F.conv_transpose2d(a, *f, stride=2),
    ),
    (ncd.Copy("y m"), "y:2 m:3", lambda a: (a, a)),
    (
        ncd.Einsum("y k h, x k h -> y x h"),
        "y:2 k:3 h:2, x:4 k:3 h:2",
        lambda a, b: torch.einsum("ykh,xkh->yxh", a, b),
    ),
    (ncd.Einsum("i j -> j i"), "i:2 j:3", lambda a: a.T),
    (ncd.Einsum("i, i -> i"), "i:4, i:4", lambda a, b: a * b),
    (ncd.Einsum("i, j -> i j"), "i:2, j:3", lambda a, b: torch.outer(a, b)),
    (ncd.Einsum("i j, j, k i -> k"), "i:2 j:3, j:3, k:4 i:2", lambda a, b, c: c @ (a @ b)),
    (ncd.Elementwise("relu"), "m:5", F.relu),
    (ncd.Elementwise("gelu"), "m:5", F.gelu),
    (ncd.Elementwise("sigmoid"), "m:5", torch.sigmoid),
    (ncd.Elementwise("tanh"), "m:5", torch.tanh),
    (ncd.Group("h k -> d"), "h:2 k:3", torch.flatten),
    (ncd.Group("x c -> d"), "x:2x3 c:2", torch.flatten),
    (ncd.LayerNorm("m"), "m:5", lambda f, a: F.layer_norm(a, (5,), *f)),
    (ncd.LayerNorm("y m"), "y:2 m:5", lambda f, a: F.layer_norm(a, (2, 5), *f)),
    (ncd.Linear("m -> k:3 h:2", "Q"), "m:5", lambda f, a: (f[0] @ a).view(3, 2)),
    (ncd.Linear("k h -> m:4", "O", True), "k:3 h:2", lambda f, a: f[0] @ a.flatten() + f[1]),
    (ncd.Linear("m -> ()", "one"), "m:5", lambda f, a: (f[0] @ a)[0]),
    (ncd.MaxPool("x -> u"), "x:4x6", lambda a: F.max_pool2d(a[None], 2)[0]),
    (ncd.MaxPool("x -> u", 3, 2), "x:9", lambda a: F.max_pool1d(a[None], 3, 2)[0]),
    (ncd.Named("y k", "Q"), "y:2 k:3", lambda a: a),
    (ncd.Scale("k:16"), "m:5", lambda a: a / 4),
    (ncd.Scale("k:3", "2"), "m:5", lambda a: a * 9),
    (ncd.Softmax("x"), "x:4", lambda a: a.softmax(0)),
    (ncd.Softmax("x"), "x:2x3", lambda a: a.flatten().softmax(0).view(2, 3)),
    (ncd.Split("d -> h:2 k"), "d:6", lambda a: a.view(2, 3)),
    (ncd.Swap("a", "c"), "a:2, c:3", lambda a, b: (b, a)),
]
NAMES = [f"{op!r} on {dom}" for op, dom, _ in SAMPLES]
ALONE = {ncd.BatchNorm}  # it looks along the axes that it is broadcast over


def test_every_op_has_a_sample() -> None:
    assert {type(op) for op, _, _ in SAMPLES} | ALONE == set(CATALOGUE)


def run(op: Op, dom: Type, *inputs: Tensor) -> tuple[Tensor, ...]:
    return ncd.trace(ncd.compile(Then(Id(dom), op)), *inputs).outputs


def expected(op: Op, dom: Type, reference: Reference, *inputs: Tensor) -> tuple[Tensor, ...]:
    layers = [*ncd.compile(Then(Id(dom), op)).children()]
    weights = [tuple(layer.parameters()) for layer in layers]
    out = reference(*weights, *inputs)
    return out if isinstance(out, tuple) else (out,)


def close(one: tuple[Tensor, ...], two: tuple[Tensor, ...]) -> None:
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("op", "text", "reference"), SAMPLES, ids=NAMES)
def test_an_op_is_what_torch_says(op: Op, text: str, reference: Reference) -> None:
    dom = Type.parse(text)
    inputs = ncd.example_inputs(Id(dom))
    close(run(op, dom, *inputs), expected(op, dom, reference, *inputs))


def lifted(array: Array, extra: str, at: int) -> Array:
    return Array((*array[:at], *Array.parse(extra), *array[at:]))


@pytest.mark.parametrize(("op", "text", "reference"), SAMPLES, ids=NAMES)
@pytest.mark.parametrize("extra", ["b:3", "b:3x2"])
@pytest.mark.parametrize("side", ["before", "after", "between"])
def test_lifting_commutes_with_indexing(
    op: Op, text: str, reference: Reference, extra: str, side: str
) -> None:
    """The op on a whole array, indexed, is the op on the index: for every index."""
    plain = Type.parse(text)
    places = {"before": lambda a: 0, "after": len, "between": lambda a: min(1, len(a))}
    dom = Type(lifted(array, extra, places[side](array)) for array in plain)
    inputs = ncd.example_inputs(Id(dom))
    term = Then(Id(dom), op)
    whole = run(op, dom, *inputs)
    assert [tuple(x.shape) for x in whole] == [array.shape for array in term.cod]
    for index in itertools.product(*map(range, Array.parse(extra).shape)):
        given = [at(x, array, index) for x, array in zip(inputs, dom, strict=True)]
        found = [at(x, array, index) for x, array in zip(whole, term.cod, strict=True)]
        close(tuple(found), expected(op, plain, reference, *given))


def at(x: Tensor, array: Array, index: tuple[int, ...]) -> Tensor:
    """The tensor at a place along axis b."""
    for dim, place in zip(array.dims("b"), index, strict=True):
        x = x.select(dim, place).unsqueeze(dim)
    return x.squeeze(array.dims("b"))


ONE_SIDED = [
    (ncd.Einsum("y k, x k -> y x"), "b:3 y:2 k:4, x:5 k:4", "b y x"),
    (ncd.Einsum("y k, x k -> y x"), "y:2 k:4, b:3 x:5 k:4", "b y x"),
    (ncd.Einsum("i, i -> ()"), "i:2 c:3, d:4 i:2", "d c"),
]


@pytest.mark.parametrize(("op", "text", "out"), ONE_SIDED)
def test_an_axis_of_one_array_only_is_kept_as_well(op: Op, text: str, out: str) -> None:
    dom = Type.parse(text)
    term = Then(Id(dom), op)
    assert str(term.cod) == out
    letters = [array.names for array in dom]
    pattern = f"{','.join(map(''.join, letters))}->{out.replace(' ', '')}"
    inputs = ncd.example_inputs(term)
    close(run(op, dom, *inputs), (torch.einsum(pattern, *inputs),))
