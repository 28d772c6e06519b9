"""Section 2.4 of the notebook, retyped: attention as einsum, and graphical linear algebra."""

from itertools import pairwise
from math import sqrt

import einops
import pytest
import torch
from torch import Tensor

import ncd
from ncd.run.module import CircuitModule
from ncd.systems.tensors.graphical_algebra import pair
from tests.systems.retyped import close, given, matrix, same

es = einops.einsum


@pytest.mark.parametrize(
    "sizes", [{}, {"y": 1, "x": 7, "k": 5, "h": 3}, {"y": 9, "x": 2, "k": 1, "h": 1}], ids=str
)
def test_einsum_attention(sizes: dict[str, int]) -> None:
    n = ncd.catalogue["einsum-attention"].settings(sizes)

    def both(Q: Tensor, K: Tensor) -> tuple[Tensor, Tensor]:
        X = es(K, "x k h -> k x h")
        X = es(Q, X, "y k1 h, k2 x h -> y k1 k2 x h")
        X = es(X, "y k k x h -> y x h")
        return X / sqrt(n["k"]), es(Q, K, "y k h, x k h -> y x h") / sqrt(n["k"])

    arrays = given([n["y"], n["k"], n["h"]], [n["x"], n["k"], n["h"]])
    same(ncd.compile(ncd.catalogue["einsum-attention"].build(**n)), both, arrays)


SIZES = ({}, {"a": 5, "b": 3, "c": 7, "d": 1}, {"a": 1, "b": 1, "c": 2, "d": 9})
EVERY = pytest.mark.parametrize("sizes", SIZES, ids=str)


def linear(letter: str, size: int, *out: int) -> Tensor:
    """The numbers of a linear map, as the notebook has them: what goes in first."""
    numbers = matrix(letter, torch.Size(out).numel(), size) / sqrt(size)
    return numbers.T.reshape(size, *out)


def sides(step: int, sizes: dict[str, int]) -> tuple[CircuitModule, dict[str, int]]:
    entry = ncd.catalogue["linear-algebra"]
    n = entry.settings(sizes | {"step": step})
    return ncd.compile(entry.build(**n)), n


def test_a_step_of_the_walk_is_a_line_or_two_sides_of_the_middle_one() -> None:
    lines = [ncd.catalogue["linear-algebra"].build(step=step) for step in (1, 3, 7)]
    assert [pair(1), pair(7)] == [lines[0], lines[2]]
    assert [pair(step).sides for step in range(3, 7)] == [*pairwise(lines[1].sides)]
    bent, straight = (ncd.compile(side) for side in pair(2, b=3).sides)
    (x,) = given([3])
    close(bent(x), straight(x))


@EVERY
def test_a_linear_map_is_transposed_in_two_ways(sizes: dict[str, int]) -> None:
    module, n = sides(1, sizes)
    F_matrix = linear("F", n["a"], n["b"], n["c"])

    def F_func(Xa: Tensor) -> Tensor:
        """F: a -> b c"""
        return es(Xa, F_matrix, "a, a b c -> b c")

    F_broadcast = torch.vmap(F_func, 0, 0)

    def F_broadcast_transpose(Xba: Tensor) -> Tensor:
        """(b F) (.b c): b a -> c"""
        return es(F_broadcast(Xba), "b b c -> c")

    F_outerproduct = es(torch.eye(n["b"]), F_matrix, "b0 b1, a b2 c -> b0 b1 a b2 c")
    F_linear_transpose = es(F_outerproduct, "b B a B c -> b a c")

    def both(Xba: Tensor) -> tuple[Tensor, Tensor]:
        return F_broadcast_transpose(Xba), es(Xba, F_linear_transpose, "b a, b a c -> c")

    same(module, both, given([n["b"], n["a"]]))


@EVERY
def test_unit_and_inner_product_are_the_identity_along_which_a_map_is_shifted(
    sizes: dict[str, int],
) -> None:
    n = ncd.catalogue["linear-algebra"].settings(sizes)
    G, H = linear("G", n["a"], n["b"]), linear("H", n["b"], n["c"])

    def outer_unit(Xb: Tensor) -> Tensor:
        return es(Xb, torch.eye(n["b"]), "b0, b1 b2 -> b0 b1 b2")

    def dot_outer(Xbbb: Tensor) -> Tensor:
        return es(Xbbb, "b0 b0 b1 -> b1")

    def by_steps(Xa: Tensor) -> Tensor:
        return es(dot_outer(outer_unit(es(Xa, G, "a, a b -> b"))), H, "b, b c -> c")

    (Xb,) = given([n["b"]], seed=2)
    close(Xb, dot_outer(outer_unit(Xb)))
    for step in range(2, 7):
        module, _ = sides(step, sizes)
        count = len(module.term.cod)
        same(module, lambda x, count=count: (by_steps(x),) * count, given([n["a"]]))


@EVERY
def test_an_outer_product_is_shifted(sizes: dict[str, int]) -> None:
    module, n = sides(7, sizes)
    G, H = linear("G", n["a"], n["b"]), linear("H", n["b"], n["c"])
    K = linear("K", n["b"] * n["c"], n["d"]).view(n["b"], n["c"], n["d"])

    def both(Xa: Tensor, Xb: Tensor) -> tuple[Tensor, Tensor]:
        before = es(es(Xa, Xb, "a, b -> a b"), G, H, "a b, a p, b c -> p c")
        behind = es(es(Xa, G, "a, a p -> p"), es(Xb, H, "b, b c -> c"), "p, c -> p c")
        return es(before, K, "p c, p c d -> d"), es(behind, K, "p c, p c d -> d")

    same(module, both, given([n["a"]], [n["b"]]))
