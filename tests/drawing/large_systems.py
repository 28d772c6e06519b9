"""Systems too large for one row: they fold, and break into rows."""

from __future__ import annotations

from ncd import (
    Add,
    Axes,
    BatchNorm,
    Block,
    Conv,
    Copy,
    Elementwise,
    Id,
    LayerNorm,
    Linear,
    MaxPool,
    Reduce,
    Repeat,
    Softmax,
    Term,
    Then,
    Wire,
    seq,
    space,
)
from ncd.systems.transformers.encoder_decoder import decoder_layer, encoder_layer
from tests.systems.each_system.vision import unet

LAYERS = 12


def _sized(term: Term) -> Term:
    return Axes(t=seq(40), s=seq(50), m=512, h=8, k=64, d=2048)(term)


def repeated_transformer() -> Term:
    """An encoder and a decoder of 12 layers each, as repetitions."""
    encoder = Repeat((encoder_layer(True),) * LAYERS) >> LayerNorm("m", "norm")
    decoder = Repeat((decoder_layer(True),) * LAYERS, memory=1) >> LayerNorm("m", "norm")
    return _sized(
        Id("t m, s m")
        >> Id("t m") @ Block(encoder, "Encoder", "module", "encoder", local=True)
        >> Block(decoder, "Decoder", "module", "decoder")
    )


def unrolled_transformer() -> Term:
    """The same, written out layer by layer; each layer of the decoder hands the memory on."""
    layer = Block(encoder_layer(True), "Encoder Layer")
    encoder = Then(*(layer,) * LAYERS) >> LayerNorm("m", "norm")
    keep = Wire("t m, s m -> t m, s m, s m")
    other = Block(keep >> decoder_layer(True) @ Id("s m"), "Decoder Layer")
    decoder = Then(*(other,) * LAYERS) >> Wire("t m, s m -> t m") >> LayerNorm("m", "norm")
    return _sized(
        Id("t m, s m")
        >> Id("t m") @ Block(encoder, "Encoder", "module", "encoder", local=True)
        >> Block(decoder, "Decoder", "module", "decoder")
    )


def _norm(n: str, name: str) -> Term:
    return BatchNorm(f"b {n}", name)


def _bottleneck(i: int, old: str, x: str, stride: int = 1) -> Term:
    """1 × 1, 3 × 3 and 1 × 1 beside a shortcut, with a convolution in it if the shape changes."""
    n, w, y = f"n_{i}", f"w_{i}", f"x_{i}"
    main = Block(
        Conv(f"{old} {x} -> {w} {x}", "conv1")
        >> _norm(w, "bn1")
        >> Elementwise("relu")
        >> Conv(f"{w} {x} -> {w} {y}", "conv2", 3, stride=stride)
        >> _norm(w, "bn2")
        >> Elementwise("relu")
        >> Conv(f"{w} {y} -> {n} {y}", "conv3")
        >> _norm(n, "bn3"),
        "Residual Component",
        "residual",
    )
    same = old == n
    beside = Id(f"b {n} {x}") if same else Conv(f"{old} {x} -> {n} {y}", "down", stride=stride)
    both = main @ (beside if same else beside >> _norm(n, "bn"))
    add = Copy(f"b {old} {x}") >> both >> Add() >> Elementwise("relu")
    return Block(add, "Bottleneck" if same else "Bottleneck (down)")


def resnet_50() -> Term:
    """Stages of 3, 4, 6 and 3 bottlenecks, written out one by one."""
    stages = []
    for i, times in enumerate((3, 4, 6, 3), start=1):
        old = "n_0" if i == 1 else f"n_{i - 1}"
        x = f"x_{i - 1}"
        first = _bottleneck(i, old, x, 1 if i == 1 else 2)
        rest = (_bottleneck(i, f"n_{i}", f"x_{i}"),) * (times - 1)
        stages.append(Block(Then(first, *rest), f"Stage {i}", "shortcut", f"layer{i}"))
    wide = {"n_0": 64, **{f"n_{i}": 128 * 2**i for i in range(1, 5)}}
    narrow = {f"w_{i}": 32 * 2**i for i in range(1, 5)}
    return Axes(b=8, c=3, x=space(224, 224), y=1000, **wide, **narrow)(
        Id("b c x")
        >> Conv("c x -> n_0 x/2", "conv1", 7, stride=2)
        >> _norm("n_0", "bn1")
        >> Elementwise("relu")
        >> MaxPool("x/2 -> x_0", 3, 2, 1)
        >> Then(*stages)
        >> Reduce("x_4 ->", "mean")
        >> Linear("n_4 -> y", "fc", True)
        >> Softmax("y")
    )


def deep_unet() -> Term:
    """Four levels down and three up."""
    return unet(32, 32, 64, 3)


LARGE = {
    "transformer, repeated": repeated_transformer,
    "transformer, unrolled": unrolled_transformer,
    "ResNet-50": resnet_50,
    "U-Net": deep_unet,
}
