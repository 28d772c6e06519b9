"""One convolution: every setting of ``nn.Conv2d``, over one to three dimensions."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import space
from ncd.language.terms import Term
from ncd.ops import Conv
from ncd.systems.catalogue_entry import Entry, Knob, Preset

# What a page's filters can be: written by hand, learned, or random.
FILTER_NAMES = ("upright edges", "level edges", "outline", "blur", "sharpen")
LEARNED, RANDOM = "learned by LeNet", "random"
FILTERS = (*FILTER_NAMES, LEARNED, RANDOM)


def convolution(
    k: int = 3,
    s: int = 1,
    p: int = 1,
    d: int = 1,
    x: int = 32,
    c: int = 1,
    f: int = 4,
    g: int = 1,
    n: int = 2,
    filter: int = 0,
) -> Term:
    """Convolves c channels of x places along each of n dimensions with f filters.

    With several groups there are c channels and f filters in each, apart from all others.
    ``filter`` chooses the weights that a page begins with; the term is the same for all of them.

    >>> convolution(x=32, k=5, s=2, p=0).cod.spec
    'f:4 y:14x14'
    >>> convolution(n=1, x=7, d=2, g=3).cod.spec
    'b"gf":12 y:5'
    """
    places = x if n == 1 else space(*[x] * n)
    return Axes(x=places, c=c, f=f, a=g * c, b=g * f)(_convolution(k, s, p, d, g))


@lru_cache
def _convolution(k: int, s: int, p: int, d: int, g: int) -> Term:
    pattern = "c x -> f y" if g == 1 else 'a"gc" x -> b"gf" y'
    return Conv(pattern, "conv", k, s, p, dilation=d, groups=g)


CONVOLUTION = Entry(
    name="convolution",
    title="Convolution",
    source="torch.nn.Conv2d",
    knobs=(
        Knob("k", 1, 11, 3, help="kernel", reason="11, as AlexNet's first; most have 3"),
        Knob("s", 1, 8, 1, help="stride", reason="places from one window to the next"),
        Knob("p", 0, 8, 1, help="padding", reason="places added at each end", least=0),
        Knob("d", 1, 4, 1, help="dilation", reason="places from one weight to the next"),
        Knob("x", 8, 64, 32, help="height and width", reason="as small pictures have", least=1),
        Knob("c", 1, 12, 1, help="channels in", reason="in each group; 3 are red, green and blue"),
        Knob(
            "f",
            1,
            16,
            4,
            help="filters, the channels out",
            reason="in each group; each makes a map",
        ),
        Knob("g", 1, 8, 1, help="groups", reason="of channels that do not see one another"),
        Knob("n", 1, 3, 2, help="dimensions", reason="a line, a picture, a volume", most=3),
        Knob(
            "filter",
            0,
            len(FILTERS) - 1,
            0,
            help="of the first map",
            reason="the maps that follow have the next ones",
            names=tuple(FILTERS),
        ),
    ),
    system=convolution,
    section="Convolution",
    height=14,
    presets=(
        Preset(
            "lenet-conv1",
            {"k": 5, "s": 1, "p": 0, "d": 1, "x": 32, "c": 1, "f": 6, "g": 1, "n": 2},
            "LeCun et al. 1998, section II.B: the layer C1 of LeNet-5, with 156 parameters",
            "LeNet-5, C1",
        ),
        Preset(
            "alexnet-conv1",
            {"k": 11, "s": 4, "p": 2, "d": 1, "x": 224, "c": 3, "f": 64, "g": 1, "n": 2},
            "Krizhevsky 2014, One weird trick, as torchvision.models.alexnet has it",
            "AlexNet's first",
        ),
        Preset(
            "resnet-conv1",
            {"k": 7, "s": 2, "p": 3, "d": 1, "x": 224, "c": 3, "f": 64, "g": 1, "n": 2},
            "He et al. 2015, Deep Residual Learning, table 1: conv1; its bias is left out there",
            "ResNet's first",
        ),
        Preset(
            "vit-patches",
            {"k": 16, "s": 16, "p": 0, "d": 1, "x": 224, "c": 3, "f": 768, "g": 1, "n": 2},
            "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, table 1: the patches of ViT-B",
            "ViT-B/16's patches",
        ),
        Preset(
            "mobilenet-depthwise",
            {"k": 3, "s": 1, "p": 1, "d": 1, "x": 112, "c": 1, "f": 1, "g": 32, "n": 2},
            "Howard et al. 2017, MobileNets, table 1: the first depthwise layer",
            "MobileNet's depthwise",
        ),
    ),
)
