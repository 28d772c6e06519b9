"""One transposed convolution: every setting of ``nn.ConvTranspose2d`` but groups."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import space
from ncd.language.terms import Term
from ncd.ops import ConvTranspose
from ncd.systems.catalogue_entry import Entry, Knob, Preset
from ncd.systems.images.convolution_layer import RANDOM

STAMPS = ("box", "tent", "single pixel")  # what a page's filters can be: written, or random


def transposed_convolution(
    k: int = 3,
    s: int = 2,
    p: int = 1,
    o: int = 1,
    d: int = 1,
    x: int = 16,
    c: int = 1,
    f: int = 2,
    n: int = 2,
    filter: int = 0,
) -> Term:
    """Spreads each of x places along n dimensions over a window, from c channels to f.

    ``filter`` chooses the weights that a page begins with; the term is the same for all of them.

    >>> transposed_convolution().cod.spec
    'f:2 y:32x32'
    >>> transposed_convolution(n=1, x=5, k=4, s=3, p=0, o=2, d=2).cod.spec
    'f:2 y:21'
    """
    return Axes(x=x if n == 1 else space(*[x] * n), c=c, f=f)(_transposed_term(k, s, p, o, d))


@lru_cache
def _transposed_term(k: int, s: int, p: int, o: int, d: int) -> Term:
    return ConvTranspose("c x -> f y", "up", k, s, p, output_padding=o, dilation=d)


TRANSPOSED_CONVOLUTION = Entry(
    name="transposed-convolution",
    title="Transposed convolution",
    source="torch.nn.ConvTranspose2d",
    knobs=(
        Knob("k", 1, 16, 3, help="kernel", reason="16, as in HiFi-GAN; most have 2 to 5"),
        Knob("s", 1, 8, 2, help="stride", reason="places from one window to the next"),
        Knob("p", 0, 8, 1, help="padding", reason="places cut off at each end", least=0),
        Knob("o", 0, 7, 1, help="output padding", reason="below the stride", below="s"),
        Knob("d", 1, 4, 1, help="dilation", reason="places from one weight to the next"),
        Knob("x", 2, 32, 16, help="height and width", reason="of the small picture", least=1),
        Knob("c", 1, 12, 1, help="channels in", reason="3 are red, green and blue"),
        Knob("f", 1, 16, 2, help="filters, the channels out", reason="each makes a map"),
        Knob("n", 1, 3, 2, help="dimensions", reason="a line, a picture, a volume", most=3),
        Knob(
            "filter",
            0,
            len(STAMPS),
            0,
            help="of the first map",
            reason="the maps that follow have the next ones",
            names=(*STAMPS, RANDOM),
        ),
    ),
    system=transposed_convolution,
    section="Convolution",
    type="c x -> f y",
    height=14,
    presets=(
        Preset(
            "unet-up",
            {"k": 2, "s": 2, "p": 0, "o": 0, "d": 1, "x": 28, "c": 1024, "f": 512, "n": 2},
            "Ronneberger et al. 2015, figure 1: the first up-conv 2×2 of the U-Net",
            "U-Net's first",
        ),
        Preset(
            "dcgan-up",
            {"k": 4, "s": 2, "p": 1, "o": 0, "d": 1, "x": 4, "c": 512, "f": 256, "n": 2},
            "Radford et al. 2016, as their code dcgan.torch has it: from 4×4 to 8×8",
            "DCGAN's second",
        ),
        Preset(
            "cyclegan-up",
            {"k": 3, "s": 2, "p": 1, "o": 1, "d": 1, "x": 64, "c": 256, "f": 128, "n": 2},
            "Zhu et al. 2017, as pytorch-CycleGAN-and-pix2pix has it: from 64×64 to 128×128",
            "CycleGAN's first",
        ),
        Preset(
            "sam-up",
            {"k": 2, "s": 2, "p": 0, "o": 0, "d": 1, "x": 64, "c": 256, "f": 64, "n": 2},
            "Kirillov et al. 2023, Segment Anything: the mask decoder's first upscaling",
            "SAM's first",
        ),
        Preset(
            "hifi-gan-up",
            {"k": 16, "s": 8, "p": 4, "o": 0, "d": 1, "x": 32, "c": 512, "f": 256, "n": 1},
            "Kong et al. 2020, HiFi-GAN V1: the first upsampling, from 32 frames to 256",
            "HiFi-GAN's first",
        ),
    ),
)
