"""The U-Net (notebook, figure 27; Ronneberger et al. 2015)."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.blocks import Block
from ncd.lang.elaborate import Axes
from ncd.lang.loops import Repeat
from ncd.lang.marked import space
from ncd.lang.terms import Id, Term
from ncd.lang.wire import Wire
from ncd.models.entry import Entry, Knob
from ncd.ops import Concat, Conv, ConvTranspose, Copy, Elementwise, MaxPool, Rename


def unet(depth: int = 4, c: int = 8, x: int = 32, y: int = 3) -> Term:
    """A class for every pixel of an x × x image, after ``depth`` halvings of it.

    Level λ has c_λ = c · 2^λ channels, as in the figure (there 64 · 2^λ), and the way back takes
    what each level has saved. As published, what the first one saves is not taken.
    """
    levels = range(1, depth + 2)
    channels = {f"{name}_{i}": c * 2**i for name in "cqr" for i in levels}
    channels |= {f"s_{i}": c * 2 ** (i - 1) for i in levels}
    return Axes(c_0=1, y=y, x_1=space(x, x), **channels)(_unet(depth))


@lru_cache
def _unet(depth: int) -> Term:
    top, below = depth, depth + 1
    saved = ", ".join(f"q_{i} u_{i}" for i in range(depth, 1, -1))
    kept = Id(saved) @ Wire("q_1 u_1 ->") if saved else Wire("q_1 u_1 ->")
    body = (
        Repeat(tuple(_down(i) for i in range(1, below)), "down")
        >> Rename(f"q_{top} v_{top} -> c_{top} x_{below}") @ kept
        >> _double(f"c_{top}", f"c_{below}", f"x_{below}", "middle")
        >> ConvTranspose(f"c_{below} x_{below} -> c_{top} x_{top}", "up")
    )
    if depth > 1:
        body >>= Repeat(tuple(_up(i, depth) for i in range(depth, 1, -1)), "ups")
        body >>= Rename("s_2 z_2 -> c_1 x_1")
    return body >> Conv("c_1 x_1 -> y x_1", "final")


def _double(old: str, new: str, x: str, name: str) -> Term:
    return Block(
        Conv(f"{old} {x} -> {new} {x}", f"{name}_1", 3)
        >> Elementwise("relu")
        >> Conv(f"{new} {x} -> {new} {x}", f"{name}_2", 3)
        >> Elementwise("relu"),
        "Double Convolution",
        "activate",
    )


def _down(i: int) -> Term:
    """A level down; in its brackets the axes are called by the counter λ."""
    old, new, x, half = f'p_{i}"c_{{λ-1}}"', f'q_{i}"c_λ"', f'u_{i}"x_λ"', f'v_{i}"x_{{λ+1}}"'
    before = f"q_{i - 1} v_{i - 1}" if i > 1 else "c_0 x_1"
    return Rename(f"{before} -> {old} {x}") >> Block(
        _double(old, new, x, "conv")
        >> Copy(f"{new} {x}")
        >> MaxPool(f"{x} -> {half}") @ Id(f"{new} {x}"),
        "Down Scale Block",
    )


def _up(i: int, depth: int) -> Term:
    """A level up, with what the way down has saved there."""
    n = depth + 1
    new, less, twice = f'r_{i}"c_{{{n}-λ}}"', f's_{i}"c_{{{depth}-λ}}"', f't_{i}"2c_{{{n}-λ}}"'
    x, double_x = f'w_{i}"x_{{{n}-λ}}"', f'z_{i}"x_{{{depth}-λ}}"'
    before = f"s_{i + 1} z_{i + 1}" if i < depth else f"c_{depth} x_{depth}"
    return Rename(f"{before} -> {new} {x}") @ Rename(f"q_{i} u_{i} -> {new} {x}") >> Block(
        Concat(f"{new}, {new} -> {twice}")
        >> _double(twice, new, x, "conv")
        >> ConvTranspose(f"{new} {x} -> {less} {double_x}", "up"),
        "Up Scale Block",
    )


_HALVES = "the image has to halve that often"

UNET = Entry(
    name="unet",
    title="U-Net",
    source="Notebook, figure 27",
    knobs=(
        Knob("depth", 1, 5, 4, help="levels", reason=_HALVES, most=8),
        Knob("c", 1, 64, 8, help="channels, doubled at every level", reason="64 in the figure"),
        Knob("x", 16, 128, 32, 16, "height and width", "512 in the figure", least=1),
        Knob("y", 2, 4, 3, help="classes of a pixel", reason="background and two kinds of shape"),
    ),
    system=unet,
    section="Images",
    type="c_0 x_1 -> y x_1",
)
