"""What a fused loop moves and needs, as formulas and bytes, and refusals."""

from __future__ import annotations

import math

import pytest

import ncd
from ncd.language.terms import Id
from ncd.ops import Einsum, Elementwise, LayerNorm, Linear, Softmax

PRODUCT = Einsum("a:512 b:512, b:512 c:512 -> a c")


def test_a_matrix_product_moves_each_side_once_for_each_group_of_the_other() -> None:
    """Reads ab·⌈c/g⌉ + bc·⌈a/g⌉ and writes ac: with g² numbers kept about 2abc/√M + ac.

    Source: *FlashAttention on a Napkin* for H of a grouped and streamed product; Hong and Kung
    1981, "I/O Complexity: The Red-Blue Pebble Game", for the order abc/√M.
    """
    loop = ncd.stream(PRODUCT, {"a": 32, "c": 32}, ("b", 1))
    assert str(loop.moved_numbers) == "a·b·⌈c/g_c⌉ + b·c·⌈a/g_a⌉ + a·c"
    assert str(loop.fast) == "g_a·g_b + g_b·g_c + g_a·g_c"
    numbers, kept = loop.bytes_moved // 4, loop.fast_bytes // 4
    assert (numbers, kept) == (2 * 512**3 // 32 + 512**2, 32 * 32 + 2 * 32)
    assert numbers == pytest.approx(2 * 512**3 / math.sqrt(kept) + 512**2, rel=0.04)


def test_attention_moves_keys_once_for_each_group_of_queries() -> None:
    """Queries and results once, keys and values once for each group of queries.

    Source: *FlashAttention on a Napkin*; FlashAttention-2 (Dao 2023), algorithm 1, whose outer
    loop is over the queries.
    """
    term = ncd.catalogue["scaled-dot-product-attention"].build(y=64, x=96, k=16)
    loop = ncd.stream(term, {"y": 8}, ("x", 16), around=False)
    assert str(loop.moved_numbers) == "2·k·y + 2·k·x·⌈y/g_y⌉"
    assert str(loop.fast) == "2·k·g_y + k·g_x + g_x·g_y + 2·g_y"
    assert loop.bytes_moved == 4 * (2 * 16 * 64 + 2 * 16 * 96 * 8)
    assert loop.fast_bytes == 4 * (2 * 16 * 8 + 16 * 16 + 16 * 8 + 2 * 8)


def test_formats_change_what_moves() -> None:
    term = (
        Id("y:8 m:4") >> Linear("m -> f:6", "up") >> Elementwise("relu") >> Linear("f -> m:4", "d")
    )
    plain = ncd.stream(term, {"y": 2}, ("f", 3))
    small = ncd.stream(term, {"y": 2}, ("f", 3), formats=ncd.Formats("int4", "bfloat16"))
    arrays, weights = 2 * 8 * 4, 2 * 6 * 4 * 4
    assert plain.bytes_moved == 4 * (arrays + weights)
    assert small.bytes_moved == 2 * arrays + weights // 2
    assert small.fast_bytes < plain.fast_bytes


def test_a_loop_over_the_budget_is_refused() -> None:
    with pytest.raises(ncd.LimitError) as error:
        ncd.stream(PRODUCT, {"a": 64, "c": 64}, ("b", 8), budget=16_000)
    assert str(error.value) == (
        "the loop needs 20,480 bytes of fast memory at Einsum (g_a·g_b + g_b·g_c + g_a·g_c "
        "numbers), and there are 16,000. Try a = 32, c = 32, b = 32."
    )
    assert ncd.stream(PRODUCT, {"a": 32, "c": 32}, ("b", 32), budget=16_000).fast_bytes <= 16_000


@pytest.mark.parametrize("budget", (12, 100, 3000, 16_000, 10**6))
def test_the_tiles_that_fit_move_least(budget: int) -> None:
    """No other powers of two that fit move less; three numbers are the least that is needed."""
    best = ncd.stream(PRODUCT, {"a": 2, "c": 2}, ("b", 2)).fitting(budget)
    assert best is not None
    loop = ncd.stream(PRODUCT, {"a": best["a"], "c": best["c"]}, ("b", best["b"]), budget=budget)
    for group in (1, 2, 4, 8, 16, 32, 64):
        for tile in (1, 8, 64):
            other = ncd.stream(PRODUCT, {"a": group, "c": group}, ("b", tile))
            assert other.fast_bytes > budget or other.bytes_moved >= loop.bytes_moved


def test_a_loop_that_no_tile_makes_fit_asks_for_memory() -> None:
    with pytest.raises(ncd.LimitError, match=r"and there are 8\. Try more fast memory\.$"):
        ncd.stream(PRODUCT, {"a": 1, "c": 1}, ("b", 1), budget=8)


REFUSED = {
    "a second pass": (
        Softmax("x:6"),
        "",
        "x",
        "the result (x) is only known after the last tile of x, when its first tiles have left the "
        "fast memory. Try a sum over it in the same loop, or two loops.",
    ),
    "not linear": (
        Softmax("x:6") >> Elementwise("relu") >> Einsum("x:6 ->"),
        "",
        "x",
        "Elementwise relu is not linear in what an op before it only knows after the last tile of "
        "x. Try another streamed axis, or two loops.",
    ),
    "grouped sum": (
        Id("y:4 x:6") >> Einsum("y x -> y"),
        "x",
        "y",
        "Einsum adds up all of x, so groups of x are not apart. Try x as the streamed axis.",
    ),
    "one axis twice": (
        Id("y:4 m:6") >> Linear("m -> m", "L"),
        "y",
        "m",
        "Linear L takes m and gives m, which are not the same tiles. Try another name for one of "
        "them, such as m -> m_2.",
    ),
    "an unknown axis": (
        Id("y:4 m:6") >> LayerNorm("m"),
        "",
        "z",
        "stream: there is no axis 'z'. Try one of m, y.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_cut_says_why(name: str) -> None:
    term, grouped, streamed, words = REFUSED[name]
    with pytest.raises(ncd.NCDError) as error:
        ncd.stream(term, dict.fromkeys(grouped.split(), 2), (streamed, 2))
    assert words in str(error.value)


def test_every_op_answers_for_every_axis() -> None:
    """Each op has a rule for an axis, or a reason why it has none."""
    from ncd.language.axes import Type
    from ncd.ops import CATALOGUE

    for kind in CATALOGUE:
        for sample in kind.examples():
            site = sample.op.apply_to(Type.parse(sample.dom))
            for axis in site.axes:
                try:
                    rule = sample.op.tiling_rule(site, axis.name)
                except ncd.MismatchError as error:
                    assert axis.name in str(error)
                else:
                    assert not (rule.tile_reduction and rule.parts)
