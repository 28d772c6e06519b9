"""Amounts of numbers: as text, in LaTeX, in bytes, and the tiles that a budget permits."""

from __future__ import annotations

from itertools import product
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ncd
from ncd.language.terms import Id
from ncd.ops import Copy, Einsum, Elementwise, Linear, Reduce, Softmax
from ncd.rewrite.tile_schedule import Factor, TrafficPolynomial

SIZE, TILE, TILES = (Factor(kind, "x") for kind in ("size", "tile", "tiles"))
FACTORS = st.lists(st.sampled_from((SIZE, TILE, TILES, Factor("size", "y"))), max_size=3)
TERMS = st.lists(st.tuples(st.integers(1, 3), FACTORS.map(tuple), st.sampled_from((4, 8, 16, 32))))
PRODUCT = Einsum("a:24 b:40, b:40 c:56 -> a c")


@given(TERMS, st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_an_amount_is_the_sum_of_its_products(terms, x: int, y: int, tile: int) -> None:
    amount = TrafficPolynomial.from_terms(terms)
    meant = {SIZE: x, TILE: tile, TILES: ceil(x / tile), Factor("size", "y"): y}
    numbers, bits = 0, dict[object, int]()
    for count, factors, width in terms:
        n = count
        for factor in factors:
            n *= meant[factor]
        numbers += n
        key = tuple(sorted(factors)), width
        bits[key] = bits.get(key, 0) + n * width
    sizes, tiles = {"x": x, "y": y}, {"x": tile}
    assert amount.numbers(sizes, tiles) == numbers
    assert amount.bytes(sizes, tiles) == sum(ceil(n / 8) for n in bits.values())
    names = {"g_x": tile, "⌈x/g_x⌉": ceil(x / tile), "x": x, "y": y}
    text = str(amount)
    for name in ("⌈x/g_x⌉", "g_x", "x", "y"):
        text = text.replace(name, f"({names[name]})")
    assert eval(text.replace("·", "*") or "0") == numbers


@pytest.mark.parametrize(
    ("terms", "text", "latex"),
    [
        ([], "", ""),
        ([(1, (), 32)], "1", "1"),
        ([(3, (), 32)], "3", "3"),
        ([(1, (SIZE,), 32)], "x", "x"),
        ([(2, (TILES, SIZE), 32)], "2·x·⌈x/g_x⌉", r"2\,x\,\lceil x / g_{x} \rceil"),
        ([(1, (SIZE,), 32), (1, (SIZE,), 16)], "2·x", "2\\,x"),
        ([(1, (SIZE,), 32), (1, (TILE,), 32)], "x + g_x", "x + g_{x}"),
    ],
)
def test_a_factor_of_one_is_not_written(terms, text: str, latex: str) -> None:
    assert (
        str(TrafficPolynomial.from_terms(terms)),
        TrafficPolynomial.from_terms(terms).latex(),
    ) == (text, latex)


@pytest.mark.parametrize("budget", (0, 400, 1000, 4096, 20_000, 10**6))
def test_fitting_tiles_are_those_that_move_least_of_all_that_fit(budget: int) -> None:
    loop = ncd.stream(PRODUCT, {"a": 4, "c": 4}, ("b", 1))
    found = loop.fitting(budget)
    best = None
    for group, tile in product((1, 2, 4, 8, 16, 32, 64), repeat=2):
        sizes = {"a": min(group, 24), "c": min(group, 56)}
        plan = ncd.stream(PRODUCT, sizes, ("b", min(tile, 40)))
        if plan.fast_bytes <= budget:
            rank = plan.bytes_moved, -sizes["a"] * sizes["c"] * min(tile, 40)
            best = rank if best is None else min(best, rank)
    if best is None:
        assert found is None
        return
    assert found is not None
    plan = ncd.stream(PRODUCT, {"a": found["a"], "c": found["c"]}, ("b", found["b"]))
    assert (plan.bytes_moved, -found["a"] * found["b"] * found["c"]) == best
    assert plan.fast_bytes <= budget


def test_a_budget_is_enough_to_the_byte() -> None:
    need = ncd.stream(PRODUCT, {"a": 4, "c": 4}, ("b", 2)).fast_bytes
    assert ncd.stream(PRODUCT, {"a": 4, "c": 4}, ("b", 2), budget=need).fast_bytes == need
    with pytest.raises(ncd.LimitError) as caught:
        ncd.stream(PRODUCT, {"a": 4, "c": 4}, ("b", 2), budget=need - 1)
    assert f"the loop needs {need} bytes of fast memory" in str(caught.value)
    assert f", and there are {need - 1}. Try " in str(caught.value)


def test_a_tile_is_no_larger_than_its_axis() -> None:
    loop = ncd.stream(PRODUCT, {"a": 25, "c": 56}, ("b", 1000))
    assert dict(loop.tiles) == {"a": 24, "c": 56, "b": 40}
    assert loop.bytes_moved == 4 * (24 * 40 + 40 * 56 + 24 * 56)


def test_each_op_alone_reads_and_writes_all_of_its_arrays() -> None:
    term = Id("y:3 m:5") >> Copy("y m") >> Elementwise("relu") @ Linear("m -> m:5", "L")
    loop = ncd.stream(term, {"y": 2}, formats=ncd.Formats("int4", "bfloat16"))
    assert loop.alone == [
        ("Elementwise relu", 0, 2 * 2 * 15),
        ("Linear L", 2 * 3 * 5 * 5, 2 * 2 * 15 + 13),  # 25 numbers of 4 bits
    ]
    assert loop.apart_bytes == 60 + 60 + 13


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("sum", "Reduce sum adds up all of x, so groups of x are not apart. Try x as the streamed"),
        ("max", "Reduce max joins all of x, so groups of x are not apart. Try x as the streamed"),
    ],
)
def test_groups_of_what_is_joined_are_refused(how: str, words: str) -> None:
    with pytest.raises(ncd.MismatchError) as caught:
        ncd.stream(Id("y:3 x:4") >> Reduce("x ->", how), {"x": 2})
    assert words in str(caught.value)


def test_what_is_known_after_the_last_tile_only_needs_a_sum_behind_it() -> None:
    weights = Id("y:3 x:4") >> Softmax("x")
    assert ncd.stream(weights >> Reduce("x ->", "sum"), {"y": 1}, ("x", 2)).bytes_moved == 4 * 15
    for behind, words in (
        (Id("x"), "the result (y x) is only known after the last tile of x, when its first tiles"),
        (Elementwise("relu"), "Elementwise relu is not linear in what an op before it only knows"),
        (Reduce("x ->", "max"), "Reduce max is not linear in what an op before it only knows"),
        (Softmax("x"), "Softmax is not linear in what an op before it only knows after the last"),
    ):
        with pytest.raises(ncd.MismatchError) as caught:
            ncd.stream(weights >> behind, {"y": 1}, ("x", 2))
        assert words in str(caught.value)
