"""Section 3.1 and 3.4: a digit recogniser, the identity ResNet, the U-Net (figures 19, 26, 27)."""

from __future__ import annotations

from ncd import (
    Add,
    Axes,
    BatchNorm,
    Block,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Elementwise,
    Equation,
    Group,
    Id,
    Linear,
    MaxPool,
    Named,
    Reduce,
    Rename,
    Repeat,
    Softmax,
    Term,
    Then,
    Window,
    Wire,
    seq,
    space,
)
from ncd.lang.marked import plain
from tests.figures.figure import Figure


def imagerec() -> Figure:
    """Figure 19."""
    sizes = Axes(
        x=seq(28, label="x=28"),
        y=seq(28, label="y=28"),
        d=plain("x*y", label="28^2"),
        k=plain(10, label="k=10"),
    )
    stack = (
        Linear("d -> 512", "L", True)
        >> Elementwise("relu")
        >> Linear('512 -> e"512":512', "L", True)
        >> Elementwise("relu")
        >> Linear('e"512" -> k', "L", True)
    )
    term = (
        Named("x y", "X")
        >> Block(Group("x y -> d"), "", "reshape")
        >> Block(Block(stack, "Linear", "residual"), "", "window")
        >> Block(Softmax("k"), "SoftMax", "softmax")
        >> Named("k", "Ŷ")
    )
    return Figure(
        (sizes(term),),
        signs="X L+ R L+ R L+ Ŷ",
        titles=("Linear", "SoftMax"),
        names="x=28 y=28 282 512 k=10",
    )


# --- the identity ResNet -------------------------------------------------------------------------


def norm_activate(channels: str, name: str, title: str = "") -> Term:
    return Block(BatchNorm(f"b {channels}", name) >> Elementwise("relu"), title, "activate")


def component(first: Term, n: str, nb: str, x: str, stride: int) -> Term:
    return Block(
        first
        >> norm_activate(nb, "norm_1")
        >> Conv(f"{nb} {x} -> {nb} {x}", "conv_2", 3)
        >> norm_activate(nb, "norm_2")
        >> Conv(f"{nb} {x} -> {n} {x}", "conv_3"),
        "Residual Component",
        "residual",
    )


def stage(
    stride: int,
    times: int,
    n: tuple[str, str, str] = ("n_0", "n_1", "n_b"),
    x: str = "x",
    y: str = "",
) -> Term:
    """The figure's Block (s, N): to n₁ channels, then N - 1 components that keep them."""
    old, new, narrow = n
    y = y or 'x/s"x/s"'
    to_narrow = Conv(f"{old} {x} -> {narrow} {y}", "conv", stride=stride)
    skip = Conv(f"{old} {x} -> {new} {y}", "conv", stride=stride)
    first = norm_activate(old, "norm_0") >> Block(
        Copy(f"b {old} {x}")
        >> component(Block(to_narrow, "", "convolution"), new, narrow, y, stride)
        @ Block(skip, "", "convolution")
        >> Add(),
        "",
        "shortcut",
    )
    again = norm_activate(new, "norm_0") >> Conv(f"{new} {y} -> {narrow} {y}", "conv_1")
    rest = Block(
        Copy(f"b {new} {y}") >> component(again, new, narrow, y, 1) @ Id(f"b {new} {y}") >> Add(),
        "",
        "shortcut",
    )
    return first >> Repeat((rest,) * (times - 1), "rest")


def resnet_block() -> Figure:
    """Figure 26: one block of three, folded and open. Both paths begin behind the activation."""
    sizes = Axes(b=3, n_0=16, n_1=64, n_b="n_1/4", x=space(16, 16))
    body = stage(2, 3)
    folded = Block(body, "Block $(s, N)$", "folded")
    return Figure(
        (sizes(Equation(folded, body)),),
        options={
            "folded": ("Block $(s, N)$",),
            "width": 800.0,
            "notes": {
                "": "Legend: $n_b = n_1/4$",
                "rest": "Parentheses are fed back to themselves, ranging $λ$ from its minimum to "
                "its maximum value.",
            },
        },
        signs="Block(s,N) = R 12 L+ R 3 R 1 12 L+ + R 1 R 3 R 1 +",
        titles=("Residual Component", "Residual Component"),
        names="x n0 b x/s nb n1",
    )


def resnet() -> Figure:
    """Figure 26 as a whole."""
    sizes = Axes(
        b=3,
        c=plain(3, label="3"),
        x_0=space(32, 32, label="x"),
        x_1=space(32, 32, label="x"),
        x_2=space(16, 16, label="x/2"),
        x_3=space(8, 8, label="x/4"),
        y=plain(10, label="10"),
        **{f"n_{i}": plain(16 * 2 ** (i + (i > 0)), label=f"n_{i + 1}") for i in range(4)},
        **{f"n_b{i}": f"n_{i}/4" for i in (1, 2, 3)},
    )
    stages = (
        Block(
            stage(s, 3, (f"n_{i - 1}", f"n_{i}", f"n_b{i}"), f"x_{i - 1}", f"x_{i}"),
            f"Block $({s}, N)$",
            "folded",
        )
        for i, s in ((1, 1), (2, 2), (3, 2))
    )
    pooled = Window('x_3 -> u"1^2" w"8^2"', 8, 8) >> Reduce("u w ->", "mean")
    body = (
        Id("b c x_0")
        >> Conv("c x_0 -> n_0 x_0", "conv", 3)
        >> Then(*stages)
        >> norm_activate("n_3", "norm", "BatchNorm & Activate")
        >> Block(pooled, "AvgPool", "residual")
        >> Block(Linear("n_3 -> y", "L", True), "Linear", "residual")
        >> Block(Softmax("y"), "SoftMax", "softmax")
    )
    title = "Identity ResNet $(N = 3, n_μ = [16, 64, 128, 256])$"
    folded = Block(body, title, "folded")
    return Figure(
        (sizes(Equation(folded, body)),),
        options={"folded": (title, "Block $(1, N)$", "Block $(2, N)$")},
        signs="3 Block(1,N) Block(2,N) Block(2,N) R 𝔼 L+ =",
        titles=("BatchNorm & Activate", "AvgPool", "Linear", "SoftMax"),
        names="x 3 b n1 n2 x/2 n3 x/4 n4 82 12 10",
    )


# --- the U-Net -----------------------------------------------------------------------------------


def double(old: str, new: str, x: str, name: str) -> Term:
    return Block(
        Conv(f"{old} {x} -> {new} {x}", f"{name}_1", 3)
        >> Elementwise("relu")
        >> Conv(f"{new} {x} -> {new} {x}", f"{name}_2", 3)
        >> Elementwise("relu"),
        "Double Convolution",
        "activate",
    )


def down(i: int) -> Term:
    """Inside, axes are called by the counter λ."""
    old, new, x, half = f'p_{i}"c_{{λ-1}}"', f'q_{i}"c_λ"', f'u_{i}"x_λ"', f'v_{i}"x_{{λ+1}}"'
    before = f"q_{i - 1} v_{i - 1}" if i > 1 else "c_0 x_1"
    return Rename(f"{before} -> {old} {x}") >> Block(
        double(old, new, x, "conv")
        >> Copy(f"{new} {x}")
        >> MaxPool(f"{x} -> {half}") @ Id(f"{new} {x}"),
        "Down Scale Block",
    )


def up(i: int) -> Term:
    new, less, twice = f'r_{i}"c_{{5-λ}}"', f's_{i}"c_{{4-λ}}"', f't_{i}"2c_{{5-λ}}"'
    x, double_x = f'w_{i}"x_{{5-λ}}"', f'z_{i}"x_{{4-λ}}"'
    before = f"s_{i + 1} z_{i + 1}" if i < 4 else "c_4 x_4"
    return Rename(f"{before} -> {new} {x}") @ Rename(f"q_{i} u_{i} -> {new} {x}") >> Block(
        Concat(f"{new}, {new} -> {twice}")
        >> double(twice, new, x, "conv")
        >> ConvTranspose(f"{new} {x} -> {less} {double_x}", "up"),
        "Up Scale Block",
    )


def unet() -> Figure:
    """Figure 27; the first level's array is saved and then dropped, as published."""
    channels = {f"{name}_{i}": 2 * 2**i for name in "cqr" for i in range(1, 6)}
    channels |= {f"s_{i}": 2**i for i in range(1, 6)}
    sizes = Axes(c_0=1, y=2, x_1=space(64, 64), **channels)
    middle = double("c_4", "c_5", "x_5", "middle") >> ConvTranspose("c_5 x_5 -> c_4 x_4", "up")
    body = (
        Repeat(tuple(down(i) for i in (1, 2, 3, 4)), "down")
        >> Rename("q_4 v_4 -> c_4 x_5") @ Id("q_4 u_4, q_3 u_3, q_2 u_2") @ Wire("q_1 u_1 ->")
        >> middle
        >> Repeat(tuple(up(i) for i in (4, 3, 2)), "ups")
        >> Rename("s_2 z_2 -> c_1 x_1")
        >> Conv("c_1 x_1 -> y x_1", "final")
    )
    title = "UNet (with padding)"
    notes = {
        "": "Legend: $x_i = 512 * 2^{1-i}$, $c_0 = 1$, $c_i = 64 * 2^i$, $y = 2$",
        "Down Scale Block": "The $C_λ$ values are saved to memory…",
        "Up Scale Block": "…and loaded from memory. Concatenation is a view over a tuple. It is "
        "linear, so can be simultaneously broadcast with other linear operations.",
    }
    return Figure(
        (sizes(Equation(Block(body, title, "folded"), body)),),
        options={"folded": (title,), "notes": notes},
        signs="= 3 R 3 R →Cλ 22 Max 3 R 3 R T 22 L+ C5−λ→ 3 R 3 R T 22 L+ 1",
        titles=("Down Scale Block", "Double Convolution", "Double Convolution", "Up Scale Block"),
        names="x1 c0 xλ cλ−1 cλ xλ+1 x5 c4 c5 x4 x5−λ c5−λ 2c5−λ x4−λ c4−λ c1 y",
    )
