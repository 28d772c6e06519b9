"""The laws of products, by value: what may be multiplied, turned and bent first."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ncd
from ncd import Einsum, Id, Unit, Wire
from tests.support.properties import same, values


@st.composite
def products(draw: st.DrawFn) -> tuple[str, str, str]:
    """Patterns p, q and r such that "p then q" is r: three arrays, multiplied two by two."""
    letters = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True)
    one, two, three = draw(letters), draw(letters), draw(letters)
    every = list(dict.fromkeys([*one, *two, *three]))
    out = draw(st.lists(st.sampled_from(every), unique=True))
    early = [a for a in dict.fromkeys([*one, *two]) if a in three or a in out]
    later = [a for a in dict.fromkeys([*one, *two]) if a not in early and draw(st.booleans())]
    kept = draw(st.permutations([*early, *later]))

    def text(axes: list[str]) -> str:
        return " ".join(axes) or "()"

    return (
        f"{text(one)}, {text(two)} -> {text(kept)}",
        f"{text(kept)}, {text(three)} -> {text(out)}",
        f"{text(one)}, {text(two)}, {text(three)} -> {text(out)}",
    )


SIZES = ncd.Axes(a=2, b=3, c=1, d=4, e=2)


@settings(max_examples=60, deadline=None)
@given(products())
def test_an_einsum_of_einsums_is_one_einsum(patterns: tuple[str, str, str]) -> None:
    first, second, both = (Einsum(pattern) for pattern in patterns)
    composite, single = SIZES(first >> second), SIZES(both)
    assert (composite.dom, composite.cod) == (single.dom, single.cod)
    inputs = ncd.example_inputs(single)
    same(values(composite, *inputs), values(single, *inputs))


def test_transposing_twice_is_the_identity() -> None:
    term = Einsum("y:3 x:4 -> x y") >> Einsum("x y -> y x")
    x = torch.randn(3, 4)
    same(values(term, x), (x,))


def test_a_unit_and_an_inner_product_are_a_straight_wire() -> None:
    bent = Id("y:2 i:4") >> Unit("i j") >> Wire("i j, y i -> y i, i j") >> Einsum("y i, i j -> y j")
    x = torch.randn(2, 4)
    same(values(bent, x), (x,))
    snake = Unit("i:4 j") @ Unit("j:4 k") >> Einsum("i j, j k -> i k")
    same(values(snake), (torch.eye(4),))


def test_diagonalising_is_the_diagonal_of_the_outer_product() -> None:
    a, b = torch.randn(4), torch.randn(4)
    sizes = ncd.Axes(h=4, g=4, i=4)
    (kept,) = values(sizes(Einsum("h, h -> h")), a, b)
    (outer,) = values(sizes(Einsum("h, g -> h g")), a, b)
    torch.testing.assert_close(kept, outer.diagonal())
    delta = torch.zeros(4, 4, 4)
    delta[range(4), range(4), range(4)] = 1  # the map that a dot on two wires stands for
    same(values(sizes(Einsum("g, i, g i h -> h")), a, b, delta), (kept,))
