"""Terms that are hard to draw: each has once been drawn wrong, or as another term."""

from __future__ import annotations

from collections.abc import Callable

from ncd import (
    Add,
    Axes,
    BatchNorm,
    Block,
    Concat,
    Conv,
    Copy,
    Einsum,
    Elementwise,
    Group,
    Id,
    LayerNorm,
    Linear,
    Map,
    Named,
    Reduce,
    Repeat,
    Scale,
    Softmax,
    Split,
    Swap,
    Term,
    Then,
    Wire,
    seq,
    space,
)

SIZES = Axes(a=2, b=3, c=4, d=5, e=6)
IMAGES = Axes(b=2, c=3, g=2, x=space(4, 4), y=space(4, 4))
ROLES = ("shortcut", "module", "activate", "einsum")


def n01_five_arrays() -> Term:
    return SIZES(
        Id("a b, b c, c d, d e, e a")
        >> Einsum("a b, b c -> a c")
        >> Einsum("a c, c d -> a d")
        >> Einsum("a d, d e -> a e")
        >> Einsum("a e, e a -> a")
    )


def n02_three_operand() -> Term:
    return SIZES(Einsum("a b, b c, c d -> a d"))


def n03_three_share() -> Term:
    return SIZES(Einsum("a b, a c, b c -> a"))


def n05_full_reverse() -> Term:
    return SIZES(Einsum("a b c d e -> e d c b a"))


def n06_swaps() -> Term:
    return SIZES(Id("a, b, c") >> Swap("a", "b") >> Id("b") @ Swap("a", "c") >> Swap("b", "c"))


def n07_swap_big() -> Term:
    return SIZES(Swap("a b c", "d e") >> Swap("d e", "a b c"))


def n09_skip_over_skip() -> Term:
    term: Term = Copy("a b") >> Copy("a b") >> Copy("a b")
    for name in ("A1", "A2", "A3"):
        term = term >> Linear("b -> b", name) >> Add()
    return SIZES(term)


def n10_nested_residuals() -> Term:
    term: Term = Linear("b -> b", "W")
    for level, role in enumerate(ROLES):
        inner = Block(term, f"Level {level}", "residual")
        term = Block(Copy("a b") >> inner @ Id("a b") >> Add(), f"Residual {level}", role)
    return SIZES(term)


def n11_deep_fences() -> Term:
    term: Term = Linear("b -> b", "W")
    for level in range(8):
        term = Block(term, f"Fence number {level}", ROLES[level % 4])
    return SIZES(Id("b") >> term)


def n12_long_title() -> Term:
    title = "A very long title indeed for one little activation that nobody reads"
    return SIZES(Id("b") >> Block(Elementwise("relu"), title, "activate"))


def n13_skip_past_tall() -> Term:
    return SIZES(Copy("a") >> Linear("a -> b c d", "W") >> Linear("b c d -> a", "V") >> Add())


def n15_waiting_bottom() -> Term:
    return SIZES(
        Id("a, b c d, b") >> Linear("a -> b c d", "W") >> Add() >> Einsum("b c d, b -> c d")
    )


def n16_outer5() -> Term:
    return SIZES(Einsum("a, b, c, d, e -> a b c d e"))


def n17_outer_reversed() -> Term:
    return SIZES(Einsum("a, b, c, d, e -> e d c b a"))


def n18_diagonal_of_three() -> Term:
    return Axes(h=2, a=3, b=4, c=5)(Einsum("a h, b h, c h -> h a b c"))


def n21_double_wires() -> Term:
    return IMAGES(
        Id("c x, c y") >> Einsum("c x, c y -> x y") >> Softmax("y") >> Einsum("x y -> y x")
    )


def n23_repeat_in_repeat() -> Term:
    inner = Repeat((Linear("b -> b", "W") >> Elementwise("relu"),) * 3, "inner")
    return SIZES(Repeat((Block(inner >> LayerNorm("b", "ln"), "Stage"),) * 2, "outer"))


def n24_repeat_beside() -> Term:
    left = Repeat((Linear("b -> b", "W"),) * 3, "left")
    right = Repeat((Linear("c -> c", "V") >> Elementwise("relu"),) * 5, "right")
    return SIZES(left @ right)


def n26_long_names() -> Term:
    maps = Linear("channels -> embedding", "W") @ Linear("channels -> query_position", "V")
    return Axes(channels=3, embedding=4, query_position=5)(
        maps >> Einsum("embedding, query_position -> embedding query_position")
    )


def n27_scalar() -> Term:
    return SIZES(Id("a, a") >> Einsum("a, a -> ") >> Elementwise("relu") >> Scale("a"))


def n28_sum_all() -> Term:
    return SIZES(Einsum("a b c -> ") >> Elementwise("relu"))


def n29_broadcast_bottom() -> Term:
    return SIZES(
        Id("a b c d") >> Linear("a -> e:7", "W") >> Linear("c -> f:8", "V") >> Softmax("b")
    )


def n30_linear_nonadjacent() -> Term:
    return SIZES(Id("a b c d") >> Linear("a c -> e:7", "W"))


def n31_beside_unequal() -> Term:
    long = Then(*(Linear("a -> a", f"A{n}") for n in range(1, 5)))
    short = Block(Linear("b -> b", "B1"), "Short")
    return SIZES(Block(long, "Long") @ short >> Einsum("a, b -> a b"))


def n32_concat_chain() -> Term:
    return IMAGES(Wire("c x -> c x, c x, c x") >> Concat("c, c -> d") >> Concat("d, c -> e"))


def n33_split_group() -> Term:
    return Axes(d=24, h=2, k=3)(
        Id("y:5 d")
        >> Split("d -> h k j")
        >> Einsum("y h k j -> y j h k")
        >> Group("h k -> q")
        >> Group("j q -> r")
    )


def n34_norm_far() -> Term:
    return SIZES(Id("a b c d") >> BatchNorm("a d", "bn"))


def n35_norm_batch_below() -> Term:
    return Axes(b=2, c=3, x=4)(Id("x b c") >> BatchNorm("b c", "bn"))


def n36_dense_net() -> Term:
    """A dense block: each layer sees all arrays before it."""
    steps = []
    for n in (1, 2, 3):
        before, after = "c" if n == 1 else f"c_{n - 1}", f"c_{n}"
        layer = Conv(f"{before} x -> g x", f"k{n}", 3)
        steps.append(Copy(f"{before} x") >> layer >> Concat(f"g, {before} -> {after}"))
    return IMAGES(Then(*steps))


def n38_gating() -> Term:
    gate = Linear("m -> d", "W") >> Elementwise("sigmoid")
    return Axes(m=4, d=8)(
        Copy("x:3 m")
        >> gate @ Linear("m -> d", "V")
        >> Einsum("x d, x d -> x d")
        >> Linear("d -> m", "O")
    )


def cross_attention(layers: int = 1) -> Term:
    """Decoder layers that all see the same memory."""
    attend = (
        Linear("m -> k h", "Q") @ Linear("m -> k h", "K") @ Linear("m -> k h", "V")
        >> Block(
            Einsum("y k h, x k h -> y x h")
            >> Scale("k")
            >> Softmax("x")
            >> Einsum("y x h, x k h -> y k h"),
            "Attention",
            "einsum",
        )
        >> Linear("k h -> m", "O")
    )
    inner = Block(Id("y m, x m, x m") >> attend, "Cross-Attention", "residual")
    layer = Block(
        Wire("y m, x m -> y m, x m, x m, y m, x m") >> inner >> Add(), "Decoder Layer", "module"
    )
    sizes = Axes(x=seq(8), y=seq(6), m=32, k=8, h=4)
    return sizes(Id("y m, x m") >> Then(*(layer for _ in range(layers))))


def two_cross_attentions() -> Term:
    return cross_attention(2)


def saved_by_the_first() -> Term:
    """The array that the first body saves, which is drawn there, is loaded by a single body."""
    down = Repeat((Linear("b -> b", "down") >> Copy("a b"),) * 2, "downs")
    up = Repeat((Add(),), "ups")
    return SIZES(Id("a b") >> down >> Id("a b") @ Softmax("b") >> Id("a b") @ up)


def named_behind_an_op() -> Term:
    """The name of an array that an op gives, whose wires only pass over that op."""
    return SIZES(Id("a b") >> Softmax("b") >> Elementwise("relu") >> Named("a b", "x"))


def box_beside_a_map_of_a_number() -> Term:
    """The map has no wire before it, and the box is higher there than its output is."""
    sizes = Axes(a=2, b=3, c=4, e=6)
    quotient = Map("a b c, a c -> a b c", "$1 / $2")
    return sizes(Id("a b c, a c, ()") >> quotient @ Linear("() -> e", "Q"))


def softmax_beside_a_minimum() -> Term:
    """Both bend towards each other, as their outputs change places behind them."""
    sizes = Axes(b=2, c=3, d=4, m=2, n=3, u=space(4, 4))
    both = Softmax("u") @ Reduce("c d -> ()", "min") @ Id("n m")
    return sizes(Id("u, b c d, n m") >> both >> Wire("u, b, n m -> n m, u, b"))


TERMS: dict[str, Callable[[], Term]] = {
    term.__name__: term
    for term in (
        n01_five_arrays,
        n02_three_operand,
        n03_three_share,
        n05_full_reverse,
        n06_swaps,
        n07_swap_big,
        n09_skip_over_skip,
        n10_nested_residuals,
        n11_deep_fences,
        n12_long_title,
        n13_skip_past_tall,
        n15_waiting_bottom,
        n16_outer5,
        n17_outer_reversed,
        n18_diagonal_of_three,
        n21_double_wires,
        n23_repeat_in_repeat,
        n24_repeat_beside,
        n26_long_names,
        n27_scalar,
        n28_sum_all,
        n29_broadcast_bottom,
        n30_linear_nonadjacent,
        n31_beside_unequal,
        n32_concat_chain,
        n33_split_group,
        n34_norm_far,
        n35_norm_batch_below,
        n36_dense_net,
        n38_gating,
        cross_attention,
        two_cross_attentions,
        saved_by_the_first,
        named_behind_an_op,
        box_beside_a_map_of_a_number,
        softmax_beside_a_minimum,
    )
}
