"""Convolutions one after the other, and which places of the picture a place of the result reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import space
from ncd.language.terms import Id, Term
from ncd.ops import Conv
from ncd.systems.catalogue_entry import Entry, Knob, Preset, switch

LAYERS = 8  # of a stack, at most


@dataclass(frozen=True)
class ConvolutionSizes:
    """Kernel, stride, padding and dilation of a convolution, the same along every dimension."""

    kernel: int
    stride: int
    padding: int
    dilation: int

    @property
    def reach(self) -> int:
        """The places from the first to the last that a window reads, less one."""
        return self.dilation * (self.kernel - 1)


Stack = tuple[ConvolutionSizes, ...]


def stack_of(n: int, k: int, s: int, d: int, double: int, **_: int) -> Stack:
    """Returns the layers of a stack; with ``double`` each dilation is twice the one before."""
    gaps = (d * 2**i if double else d for i in range(n))
    return tuple(ConvolutionSizes(k, s, gap * (k - 1) // 2, gap) for gap in gaps)


def field_sizes(stack: Stack) -> list[int]:
    """Returns how many places of the picture each layer sees along a side: 1 + Σ d (k - 1) Π s.

    Source: Araujo, Norris and Sim 2019, Computing Receptive Fields of Convolutional Networks.

    >>> field_sizes(stack_of(n=3, k=3, s=1, d=1, double=0))
    [3, 5, 7]
    >>> field_sizes(stack_of(n=3, k=3, s=2, d=1, double=0))
    [3, 7, 15]
    """
    found, field, jump = [], 1, 1
    for layer in stack:
        field += layer.reach * jump
        jump *= layer.stride
        found.append(field)
    return found


def field_start(stack: Stack, place: int) -> int:
    """Returns the first place of the picture, or before it, that a place of the result sees."""
    for layer in reversed(stack):
        place = place * layer.stride - layer.padding
    return place


def seen_places(stack: Stack, size: int, place: int) -> list[set[int]]:
    """Returns which places of the picture, then of every layer, the one of the result depends on.

    >>> stack = stack_of(n=2, k=2, s=2, d=1, double=0)
    >>> [sorted(places) for places in seen_places(stack, 8, 1)]
    [[4, 5, 6, 7], [2, 3], [1]]
    """
    sizes = [size]
    for layer in stack:
        sizes.append((sizes[-1] + 2 * layer.padding - layer.reach - 1) // layer.stride + 1)
    found = [{place}]
    for layer, wide in zip(reversed(stack), reversed(sizes[:-1]), strict=True):
        starts = (at * layer.stride - layer.padding for at in found[0])
        read = {at + j * layer.dilation for at in starts for j in range(layer.kernel)}
        found.insert(0, {at for at in read if 0 <= at < wide})
    return found


# --- The system


def receptive_field(
    n: int = 4, k: int = 3, s: int = 1, d: int = 1, double: int = 0, x: int = 32, f: int = 8
) -> Term:
    """Sends a grey picture through n convolutions, each padded so that its middle stays.

    >>> receptive_field(n=2, s=2).cod.spec
    'f:8 x_2:8x8'
    """
    stack = stack_of(n, k, s, d, double)
    return Axes(x=space(x, x), c=1, f=f)(_stack(stack))


@lru_cache
def _stack(stack: Stack) -> Term:
    term: Term = Id("c x")
    taken = "c x"
    for i, layer in enumerate(stack, 1):
        made = f"f x_{i}"
        sizes = (layer.kernel, layer.stride, layer.padding)
        term >>= Conv(f"{taken} -> {made}", f"conv{i}", *sizes, dilation=layer.dilation)
        taken = made
    return term


SMALL_PICTURE_REASON = "as small pictures have"

RECEPTIVE_FIELD = Entry(
    name="receptive-field",
    title="Receptive field",
    source="Araujo et al. 2019, Luo et al. 2016",
    knobs=(
        Knob("n", 1, LAYERS, 4, help="layers", reason="one after the other", most=LAYERS),
        Knob("k", 1, 7, 3, help="kernel", reason="3 in most networks"),
        Knob("s", 1, 3, 1, help="stride", reason="of every layer", most=8),
        Knob("d", 1, 4, 1, help="dilation", reason="of the first layer", most=16),
        switch("double", 0, "dilations that double", "1, 2, 4 and so on, from layer to layer"),
        Knob("x", 16, 64, 32, help="height and width", reason=SMALL_PICTURE_REASON, least=1),
        Knob("f", 1, 16, 8, help="channels of a layer", reason="the field does not depend on it"),
    ),
    system=receptive_field,
    section="Convolution",
    height=14,
    presets=(
        Preset(
            "vgg-two",
            {"n": 2, "k": 3, "s": 1, "d": 1, "double": 0},
            "Simonyan and Zisserman 2015, section 2.3: two layers of 3 × 3 see as much as 5 × 5",
            "VGG: two of 3 × 3",
        ),
        Preset(
            "vgg-three",
            {"n": 3, "k": 3, "s": 1, "d": 1, "double": 0},
            "Simonyan and Zisserman 2015, section 2.3: three see as much as one of 7 × 7",
            "VGG: three of 3 × 3",
        ),
        Preset(
            "context-module",
            {"n": 5, "k": 3, "s": 1, "d": 1, "double": 1, "x": 64},
            "Yu and Koltun 2016, section 2: with dilations of 1, 2, 4 and so on, layer i sees "
            "2^(i + 1) − 1 places along a side",
            "Dilated convolutions",
        ),
    ),
)
