"""One pooling: the largest number of each window, or their mean."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import space
from ncd.language.terms import Id, Term
from ncd.ops import MaxPool, Reduce, Window
from ncd.systems.catalogue_entry import Entry, Knob, Preset

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
        Knob("kind", 0, 1, MAX, help="of pooling", reason="max, average", names=("max", "average")),
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
