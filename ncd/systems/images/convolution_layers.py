"""Layers that slide a window: convolutions, transposed, in two steps, in a stack, and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import space
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.ops import Conv, ConvTranspose, MaxPool, Pad, Reduce, Window
from ncd.systems.catalogue_entry import Entry, Preset

# What a page's filters can be: written by hand, learned, or random.
FILTER_NAMES = ("upright edges", "level edges", "outline", "blur", "sharpen")
LEARNED, RANDOM = "learned by LeNet", "random"
FILTERS = (*FILTER_NAMES, LEARNED, RANDOM)
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")  # as torch's layers call them


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
    mode: int = 0,
) -> Term:
    """Convolves c channels of x places along each of n dimensions with f filters.

    With several groups there are c channels and f filters in each, apart from all others.
    ``filter`` chooses the weights that a page begins with; the term is the same for all of them.
    ``mode`` is a place in ``PADDING_MODES``: what stands at the p places at each end.

    >>> convolution(x=32, k=5, s=2, p=0).cod.spec
    'f:4 y:14x14'
    >>> convolution(n=1, x=7, d=2, g=3).cod.spec
    'b"gf":12 y:5'
    >>> convolution(mode=1).cod.spec
    'f:4 y:32x32'
    """
    places = x if n == 1 else space(*[x] * n)
    sizes = Axes(x=places, c=c, f=f, a=g * c, b=g * f)
    return sizes(_convolution(k, s, p, d, g, PADDING_MODES[mode] if p else "zeros"))


@lru_cache
def _convolution(k: int, s: int, p: int, d: int, g: int, mode: str) -> Term:
    taken, made = ("c", "f") if g == 1 else ('a"gc"', 'b"gf"')
    if mode == "zeros":
        return Conv(f"{taken} x -> {made} y", "conv", k, s, p, dilation=d, groups=g)
    slid = Conv(f"{taken} u -> {made} y", "conv", k, s, 0, dilation=d, groups=g)
    return Id(f"{taken} x") >> Pad("x -> u", p, p, mode=mode) >> slid


def padding_before(circuit: Circuit, cell: Cell) -> tuple[Pad | None, Value]:
    """Returns the op that pads what a window slides over, if one does, and the array before it."""
    (taken,) = cell.inputs
    before = circuit.producers.get(taken.id)
    if before is not None and isinstance(before.op, Pad):
        return before.op, before.inputs[0]
    return None, taken


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
            help="the first map",
            reason="the maps that follow have the next ones",
            names=tuple(FILTERS),
        ),
        Knob(
            "mode",
            0,
            len(PADDING_MODES) - 1,
            0,
            help="padding mode",
            reason="what stands at the places that are added",
            names=PADDING_MODES,
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
            {"k": 11, "s": 4, "p": 2, "d": 1, "x": 224, "c": 3, "f": 64, "g": 1, "n": 2, "mode": 0},
            "Krizhevsky 2014, One weird trick, as torchvision.models.alexnet has it",
            "AlexNet's first",
        ),
        Preset(
            "resnet-conv1",
            {"k": 7, "s": 2, "p": 3, "d": 1, "x": 224, "c": 3, "f": 64, "g": 1, "n": 2, "mode": 0},
            "He et al. 2015, Deep Residual Learning, table 1: conv1; its bias is left out there",
            "ResNet's first",
        ),
        Preset(
            "vit-patches",
            {
                "k": 16,
                "s": 16,
                "p": 0,
                "d": 1,
                "x": 224,
                "c": 3,
                "f": 768,
                "g": 1,
                "n": 2,
                "mode": 0,
            },
            "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, table 1: the patches of ViT-B",
            "ViT-B/16's patches",
        ),
        Preset(
            "mobilenet-depthwise",
            {"k": 3, "s": 1, "p": 1, "d": 1, "x": 112, "c": 1, "f": 1, "g": 32, "n": 2, "mode": 0},
            "Howard et al. 2017, MobileNets, table 1: the first depthwise layer",
            "MobileNet's depthwise",
        ),
        Preset(
            "cyclegan-conv1",
            {"k": 7, "s": 1, "p": 3, "d": 1, "x": 256, "c": 3, "f": 64, "g": 1, "n": 2, "mode": 1},
            "Zhu et al. 2017, appendix 7.2: c7s1-64, with reflection padding against artifacts",
            "CycleGAN's first",
        ),
    ),
)


# --- One transposed convolution: every setting of ``nn.ConvTranspose2d`` but groups


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
            help="the first map",
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


# --- A convolution in two steps: along the picture in each channel, then across the channels


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


# --- Convolutions one after the other, and which places of the picture a place of the result reads


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
    """Returns the layers of a stack; with ``double`` each dilation is twice the one before.

    >>> [(own.dilation, own.padding) for own in stack_of(n=3, k=4, s=1, d=3, double=1)]
    [(3, 4), (6, 9), (12, 18)]
    """
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


def visible_places(stack: Stack, size: int, place: int) -> list[set[int]]:
    """Returns which places of the picture, then of every layer, the one of the result depends on.

    >>> stack = stack_of(n=2, k=2, s=2, d=1, double=0)
    >>> [sorted(places) for places in visible_places(stack, 8, 1)]
    [[4, 5, 6, 7], [2, 3], [1]]
    >>> stack = stack_of(n=2, k=3, s=2, d=1, double=0)
    >>> [sorted(places) for places in visible_places(stack, 5, 1)]  # at the end of each layer
    [[1, 2, 3, 4], [1, 2], [1]]
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


# --- One pooling: the largest number of each window, or their mean


MAX, MEAN = 0, 1


def pooling(
    k: int = 2, s: int = 2, p: int = 0, x: int = 32, c: int = 1, n: int = 2, kind: int = MAX
) -> Term:
    """Pools c channels of x places along each of n dimensions, each channel for itself.

    >>> pooling().cod.spec, pooling(k=3, s=2, x=7, n=1, kind=MEAN).cod.spec
    ('c:1 y:16x16', 'c:1 y:3')
    """
    return Axes(x=x if n == 1 else space(*[x] * n), c=c)(_pooling(k, s, p, kind))


@lru_cache
def _pooling(k: int, s: int, p: int, kind: int) -> Term:
    if kind == MAX:
        return Id("c x") >> MaxPool("x -> y", k, s, p)
    return Id("c x") >> Window("x -> y w", k, s, p) >> Reduce("w ->", "mean")


POOLING = Entry(
    name="pooling",
    title="Pooling",
    source="torch.nn.MaxPool2d, AvgPool2d",
    knobs=(
        Knob("k", 1, 7, 2, help="kernel", reason="height and width of the window"),
        Knob("s", 1, 7, 2, help="stride", reason="places from one window to the next"),
        Knob("p", 0, 1, 0, help="padding", reason="at most half a window", least=0),
        Knob("x", 8, 64, 32, help="height and width", reason="as small pictures have", least=1),
        Knob("c", 1, 12, 1, help="channels", reason="1 is grey; 3 are red, green and blue"),
        Knob("n", 1, 3, 2, help="dimensions", reason="a line, a picture, a volume", most=3),
        Knob("kind", 0, 1, MAX, help="pooling", reason="max, average", names=("max", "average")),
    ),
    system=pooling,
    section="Convolution",
    type="c x -> c y",
    height=14,
    presets=(
        Preset(
            "lenet-pool",
            {"k": 2, "s": 2, "p": 0, "x": 28, "c": 6, "n": 2, "kind": MEAN},
            "LeCun et al. 1998, section II.B: S2 of LeNet-5, there with a learned scale and bias",
            "LeNet-5, S2",
        ),
        Preset(
            "alexnet-pool",
            {"k": 3, "s": 2, "p": 0, "x": 55, "c": 64, "n": 2, "kind": MAX},
            "Krizhevsky 2014, One weird trick, as torchvision.models.alexnet has it: overlapping",
            "AlexNet's first",
        ),
        Preset(
            "resnet-pool",
            {"k": 3, "s": 2, "p": 1, "x": 112, "c": 64, "n": 2, "kind": MAX},
            "He et al. 2015, Deep Residual Learning, table 1: the pooling before conv2_x",
            "ResNet's only one",
        ),
    ),
)
