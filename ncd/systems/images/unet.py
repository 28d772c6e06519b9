"""The U-Net (notebook, figure 27; Ronneberger et al. 2015)."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes, elaborate
from ncd.circuit.knob import Knob, switch
from ncd.errors import NCDError, SizeError
from ncd.language.axes import space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Concat, Conv, ConvTranspose, Copy, Elementwise, MaxPool, Rename
from ncd.systems.catalogue_entry import Entry, Preset


def unet(depth: int = 4, c: int = 4, x: int = 32, y: int = 3, skips: int = 0) -> Term:
    """Returns the class of every pixel of an x × x image, with ``depth`` halvings of the image.

    Level λ has c_λ = c · 2^λ channels, as in the figure (there 64 · 2^λ), and the way back takes
    what each level has saved. As published, what the first one saves is not taken. With ``skips``
    the levels are written one by one, so that what they save is drawn as wires.

    Raises SizeError for an image that does not halve so often.
    """
    levels = range(1, depth + 2)
    names = "c" if skips else "cqr"
    channels = {f"{name}_{i}": c * 2**i for name in names for i in levels}
    if not skips:
        channels |= {f"s_{i}": c * 2 ** (i - 1) for i in levels}
    sizes = Axes(c_0=1, y=y, x_1=space(x, x), **channels)
    try:
        return sizes(_level_by_level(depth) if skips else _with_repetitions(depth))
    except NCDError as error:
        raise _plainer(error, x, depth, skips) from error


def _plainer(error: NCDError, x: int, depth: int, skips: int) -> NCDError:
    """Returns the error about the image, at the pooling layer that cannot halve it."""
    step = 2**depth
    if x % step == 0:
        return error
    nearest = max(step, (2 * x + step) // (2 * step) * step)
    told = SizeError(
        f"an image of {x} × {x} cannot be halved {depth} times, as {x} is no multiple of {step}",
        cure=f"x = {nearest}",
        axis="x",
        nearest=nearest,
    )
    pools = [cell.op for cell in elaborate(error.sketch).cells if isinstance(cell.op, MaxPool)]
    odd = next(i for i in range(depth) if (x >> i) % 2)
    told.op = pools[odd if skips else 0]  # of a repetition only the first is drawn
    told.sketch = error.sketch
    return told


@lru_cache
def _with_repetitions(depth: int) -> Term:
    """Returns the network as the figure's two repetitions, with axes named by the counter λ."""
    top, below = depth, depth + 1
    saved = ", ".join(f"q_{i} u_{i}" for i in range(depth, 1, -1))
    return (
        Repeat(tuple(_down_by_counter(i) for i in range(1, below)), "down")
        >> Rename(f"q_{top} v_{top} -> c_{top} x_{below}") @ Id(saved) @ Wire("q_1 u_1 ->")
        >> _middle(depth)
        >> Repeat(tuple(_up_by_counter(i, depth) for i in range(depth, 1, -1)), "ups")
        >> Rename("s_2 z_2 -> c_1 x_1")
        >> FINAL
    )


@lru_cache
def _level_by_level(depth: int) -> Term:
    """Returns the network without repetitions, every level as a block with its own axes."""
    downs = [
        _down_level(f"c_{i - 1}", f"c_{i}", f"x_{i}", f"x_{i + 1}", f"down_{i}")
        for i in range(1, depth + 1)
    ]
    ups = [
        _up_level(
            Id(f"c_{i} x_{i}, c_{i} x_{i}"),
            f"c_{i}",
            f"2c_{i}",
            f"c_{i - 1}",
            f"x_{i}",
            f"x_{i - 1}",
            f"up_{i}",
        )
        for i in range(depth, 1, -1)
    ]
    first, *rest = downs
    unused = Id("c_1 x_2") @ Wire("c_1 x_1 ->")
    return Then(first, unused, *rest, _middle(depth), *ups, FINAL)


FINAL = Conv("c_1 x_1 -> y x_1", "final")


def _middle(depth: int) -> Term:
    top, below = depth, depth + 1
    return _double(f"c_{top}", f"c_{below}", f"x_{below}", "middle") >> ConvTranspose(
        f"c_{below} x_{below} -> c_{top} x_{top}", "up"
    )


def _double(old: str, new: str, x: str, name: str) -> Term:
    return Block(
        Conv(f"{old} {x} -> {new} {x}", f"{name}_1", 3)
        >> Elementwise("relu")
        >> Conv(f"{new} {x} -> {new} {x}", f"{name}_2", 3)
        >> Elementwise("relu"),
        "Double Convolution",
        "activate",
    )


def _down_level(old: str, new: str, x: str, half: str, name: str = "") -> Term:
    """Returns a level of the way down, which saves its array."""
    return Block(
        _double(old, new, x, "conv")
        >> Copy(f"{new} {x}")
        >> MaxPool(f"{x} -> {half}") @ Id(f"{new} {x}"),
        "Down Scale Block",
        "folded" if name else "neutral",
        name,
    )


def _up_level(
    before: Term, new: str, twice: str, less: str, x: str, double: str, name: str = ""
) -> Term:
    """Returns a level of the way up; ``before`` renames the array below and the loaded one."""
    return Block(
        before
        >> Block(Concat(f"{new}, {new} -> {twice}"), "", "concat")
        >> _double(twice, new, x, "conv")
        >> ConvTranspose(f"{new} {x} -> {less} {double}", "up"),
        "Up Scale Block",
        "folded" if name else "neutral",
        name,
    )


def _down_by_counter(i: int) -> Term:
    old, new, x, half = f'p_{i}"c_{{λ-1}}"', f'q_{i}"c_λ"', f'u_{i}"x_λ"', f'v_{i}"x_{{λ+1}}"'
    before = f"q_{i - 1} v_{i - 1}" if i > 1 else "c_0 x_1"
    return Rename(f"{before} -> {old} {x}") >> _down_level(old, new, x, half)


def _up_by_counter(i: int, depth: int) -> Term:
    n = depth + 1
    new, less, twice = f'r_{i}"c_{{{n}-λ}}"', f's_{i}"c_{{{depth}-λ}}"', f't_{i}"2c_{{{n}-λ}}"'
    x, double = f'w_{i}"x_{{{n}-λ}}"', f'z_{i}"x_{{{depth}-λ}}"'
    before = f"s_{i + 1} z_{i + 1}" if i < depth else f"c_{depth} x_{depth}"
    renamed = Rename(f"{before} -> {new} {x}") @ Rename(f"q_{i} u_{i} -> {new} {x}")
    return _up_level(renamed, new, twice, less, x, double)


def _notes(skips: int, **sizes: int) -> dict[str, str]:
    """Returns the figure's callouts, or those of the network without repetitions."""
    legend = "Legend: $x_i = x · 2^{1-i}$, $c_0 = 1$, $c_i = c · 2^i$"
    if skips:
        unused = "What the first level has seen is not taken, as in the figure."
        return {"": legend, "Down Scale Block": unused}
    return {
        "": legend,
        "C_λ": "The $C_λ$ values are saved to memory…",
        "Up Scale Block": "…and loaded from memory. Concatenation is a view over a tuple. It is "
        "linear, so can be simultaneously broadcast with other linear operations: here over the "
        "pixels.",
    }


_HALVES = "the image has to halve that often; with fewer than two nothing is handed over"

UNET = Entry(
    name="unet",
    title="U-Net",
    source="Notebook, figure 27",
    knobs=(
        Knob("depth", 2, 5, 4, help="levels", reason=_HALVES, most=8),
        Knob("c", 1, 64, 4, help="channels, doubled at every level", reason="64 in the figure"),
        Knob("x", 16, 128, 32, 16, "height and width", "512 in the figure", least=1),
        Knob("y", 2, 4, 3, help="classes of a pixel", reason="background and two kinds of shape"),
        switch(
            "skips",
            0,
            "skip wires",
            "draws what the levels hand over as wires, not as notes of what is saved",
        ),
    ),
    system=unet,
    section="Images",
    type="c_0 x_1 -> y x_1",
    presets=(
        Preset(
            "figure-27",
            {"depth": 4, "c": 64, "x": 512, "y": 2},
            "the notebook, figure 27",
            "The notebook's figure",
        ),
        Preset(
            "ronneberger-2015",
            {"depth": 4, "c": 32, "x": 512, "y": 2},
            'Ronneberger et al. 2015, "U-Net: Convolutional Networks for Biomedical Image '
            'Segmentation", figure 1, for the channels; there nothing is padded, so that images '
            "of 572 × 572 give 388 × 388, and the first level is handed over too",
            "The channels of the 2015 U-Net",
        ),
    ),
    notes=_notes,
    width=800.0,
)
