"""A convolution in two steps: along the picture in each channel, then across the channels."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import space
from ncd.language.blocks import Block
from ncd.language.terms import Term
from ncd.ops import Conv
from ncd.systems.catalogue_entry import Entry, Knob, Preset


def depthwise_separable(k: int = 3, s: int = 1, x: int = 32, c: int = 3, f: int = 16) -> Term:
    """Convolves each of c channels with a filter of its own, and mixes them into f maps.

    >>> depthwise_separable(s=2).cod.spec
    'f:16 y:16x16'
    """
    return Axes(x=space(x, x), c=c, f=f)(_separable(k, s, c))


@lru_cache
def _separable(k: int, s: int, c: int) -> Term:
    along = Conv("c x -> c y", "spatial", k, s, bias=False, groups=c)
    across = Conv("c y -> f y", "pointwise", bias=False)
    return Block(along, "In each channel", "window") >> Block(across, "Across channels", "linear")


DEPTHWISE_SEPARABLE = Entry(
    name="depthwise-separable",
    title="Depthwise separable convolution",
    source="Howard et al. 2017, section 3.1",
    knobs=(
        Knob("k", 1, 7, 3, help="kernel", reason="3 in MobileNet, 7 in ConvNeXt"),
        Knob("s", 1, 4, 1, help="stride", reason="of the first step"),
        Knob("x", 8, 64, 32, help="height and width", reason="as small pictures have", least=1),
        Knob("c", 1, 64, 3, help="channels in", reason="3 are red, green and blue"),
        Knob("f", 1, 64, 16, help="channels out", reason="maps that are mixed of them"),
    ),
    system=depthwise_separable,
    section="Convolution",
    type="c x -> f y",
    height=18,
    presets=(
        Preset(
            "mobilenet-first",
            {"k": 3, "s": 1, "x": 112, "c": 32, "f": 64},
            "Howard et al. 2017, table 1: the first separable layer",
            "MobileNet's first",
        ),
        Preset(
            "mobilenet-middle",
            {"k": 3, "s": 1, "x": 14, "c": 512, "f": 512},
            "Howard et al. 2017, table 1: the layer that comes five times",
            "MobileNet's middle",
        ),
    ),
)
