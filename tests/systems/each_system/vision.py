"""ViT, the identity ResNet (figure 26), the U-Net (figure 27) and visual attention (figure 28)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd import (
    Add,
    Axes,
    Block,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Einsum,
    Elementwise,
    Group,
    Id,
    Index,
    LayerNorm,
    Linear,
    MaxPool,
    Param,
    Repeat,
    Term,
    space,
)
from ncd.systems.images.resnet import identity_resnet
from ncd.systems.transformers.encoder_decoder import encoder_layer
from tests.systems.each_system.system import System, Weights, as_torch, run, under

# --- ViT -----------------------------------------------------------------------------------------


def vit(x: int, c: int, h: int, k: int, d: int) -> Term:
    """Patches of 2 × 2 and a class token through one encoder layer; the class from the token."""
    return Axes(x=space(2 * x, 2 * x), c=c, m=h * k, h=h, k=k, d=d, y=3)(
        Conv("c x -> m p", "patch", kernel=2, stride=2, padding=0)
        >> Group("p -> n")
        >> Einsum("m n -> n m")
        >> Param("1 m", "cls", "normal")
        >> Concat("1, n -> t")
        >> Param("t m", "pos", "normal")
        >> Add()
        >> Block(encoder_layer(pre=True), "Encoder", name="encoder")
        >> Index("t m", t=0)
        >> LayerNorm("m", "norm")
        >> Linear("m -> y", "head", True)
    )


def vit_reference(w: Weights, image: Tensor, *, h: int, d: int, **sizes: int) -> Tensor:
    patches = F.conv2d(image[None], w["patch.weight"], w["patch.bias"], stride=2)[0]
    x = torch.cat((w["cls"], patches.flatten(1).T)) + w["pos"]
    layer = nn.TransformerEncoderLayer(x.shape[-1], h, d, 0.0, batch_first=True, norm_first=True)
    x = run(layer, as_torch(under(w, "encoder"), "self_attn"), x)
    x = F.layer_norm(x[0], x.shape[-1:], w["norm.weight"], w["norm.bias"])
    return F.linear(x, w["head.weight"], w["head.bias"])


# --- the identity ResNet -------------------------------------------------------------------------


def resnet(b: int, x: int, n: int, times: int, s: int) -> Term:
    """Figure 26 as a whole; n, 4n, 8n and 16n channels."""
    return identity_resnet(b=b, x=x, N=times, n1=n, n2=4 * n, n3=8 * n, n4=16 * n, s=s, y=10)


def resnet_reference(w: Weights, x: Tensor, /, *, times: int, s: int, **sizes: int) -> Tensor:
    """After the notebook, with separate weights in the repetition."""

    def active(own: Weights, name: str, x: Tensor) -> Tensor:
        weight, bias = own[f"{name}.weight"], own[f"{name}.bias"]
        return F.batch_norm(x, None, None, weight, bias, True).relu()

    def conv(own: Weights, name: str, x: Tensor, **options: int) -> Tensor:
        return F.conv2d(x, own[f"{name}.weight"], own[f"{name}.bias"], **options)

    def main(own: Weights, x: Tensor, stride: int = 1) -> Tensor:
        x = active(own, "norm_1", conv(own, "conv_1", x, stride=stride))
        x = active(own, "norm_2", conv(own, "conv_2", x, padding=1))
        return conv(own, "conv_3", x)

    x = conv(w, "conv", x, padding=1)
    for i, stride in ((1, 1), (2, s), (3, s)):
        own = under(w, f"block_{i}")
        x = active(own, "norm_0", x)
        x = main(own, x, stride) + conv(own, "skip.conv", x, stride=stride)
        for j in range(times - 1):
            inner = under(own, f"components.{j}")
            x = main(inner, active(inner, "norm_0", x)) + x
    x = active(w, "norm", x).mean((-2, -1))
    return F.linear(x, w["L.weight"], w["L.bias"]).softmax(-1)


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
    """Leaves C_λ behind, for the way up."""
    return Block(
        double(f"c_{i - 1}", f"c_{i}", f"x_{i}", "conv")
        >> Copy(f"c_{i} x_{i}")
        >> MaxPool(f"x_{i} -> x_{i + 1}"),
        "Down-Scale Block",
    )


def up(i: int) -> Term:
    """Takes the latest C_λ that waits."""
    return Block(
        Id(f"c_{i} x_{i}, c_{i} x_{i}")
        >> Concat(f"c_{i}, c_{i} -> 2c_{i}")
        >> double(f"2c_{i}", f"c_{i}", f"x_{i}", "conv")
        >> ConvTranspose(f"c_{i} x_{i} -> c_{i - 1} x_{i - 1}", "up"),
        "Up-Scale Block",
    )


def unet(height: int, width: int, c: int, c0: int) -> Term:
    """Figure 27: four levels down, three up; the first level's array is saved, never loaded."""
    channels = {f"c_{i}": c * i for i in range(1, 6)}
    return Axes(c_0=c0, y=2, x_1=space(16 * height, 16 * width), **channels)(
        Repeat(tuple(down(i) for i in (1, 2, 3, 4)), "down")
        >> double("c_4", "c_5", "x_5", "middle")
        >> ConvTranspose("c_5 x_5 -> c_4 x_4", "up")
        >> Repeat(tuple(up(i) for i in (4, 3, 2)), "ups")
        >> Conv("c_1 x_1 -> y x_1", "final")
    )


def unet_reference(w: Weights, x: Tensor, **sizes: int) -> tuple[Tensor, Tensor]:
    def double(own: Weights, name: str, x: Tensor) -> Tensor:
        for i in (1, 2):
            x = F.conv2d(x, own[f"{name}_{i}.weight"], own[f"{name}_{i}.bias"], padding=1).relu()
        return x

    def upward(own: Weights, x: Tensor) -> Tensor:
        return F.conv_transpose2d(x, own["up.weight"], own["up.bias"], stride=2)

    x, saved = x[None], []
    for i in range(4):
        x = double(under(w, f"down.{i}"), "conv", x)
        saved.append(x)
        x = F.max_pool2d(x, 2)
    x = upward(w, double(w, "middle", x))
    for i in range(3):
        own = under(w, f"ups.{i}")
        x = upward(own, double(own, "conv", torch.cat((x, saved.pop()), 1)))
    return F.conv2d(x, w["final.weight"], w["final.bias"])[0], saved.pop()[0]


# --- visual attention ----------------------------------------------------------------------------


def visual_reference(
    w: Weights, target: Tensor, source: Tensor, /, *, k: int, h: int, s: int, **sizes: int
) -> Tensor:
    """After the notebook's class, whose channels are k, then h, and which adds biases."""

    def layer(name: str, image: Tensor) -> Tensor:
        return F.conv2d(image, w[f"{name}.weight"], None, s)

    q, keys, v = layer("Q", target), layer("K", source), layer("V", source)
    rows = q.shape[-2:]
    q, keys, v = (a.unflatten(0, (h, k)).flatten(2) for a in (q, keys, v))
    weights = (torch.einsum("hky,hkx->hyx", q, keys) / k**0.5).softmax(-1)
    out = torch.einsum("hyx,hkx->hky", weights, v).flatten(0, 1).unflatten(-1, rows)
    return F.conv_transpose2d(out, w["O.weight"], None, s)


SYSTEMS = (
    System(
        "ViT",
        vit,
        vit_reference,
        (
            {"x": 3, "c": 3, "h": 3, "k": 5, "d": 7},
            {"x": 1, "c": 5, "h": 1, "k": 3, "d": 5},
            {"x": 5, "c": 1, "h": 5, "k": 3, "d": 9},
        ),
    ),
    System(
        "identity ResNet",
        resnet,
        resnet_reference,
        (
            {"b": 3, "x": 7, "n": 3, "times": 3, "s": 2},
            {"b": 5, "x": 5, "n": 1, "times": 1, "s": 1},
            {"b": 2, "x": 10, "n": 5, "times": 2, "s": 3},
        ),
    ),
    System(
        "U-Net",
        unet,
        unet_reference,
        (
            {"height": 3, "width": 5, "c": 3, "c0": 3},
            {"height": 1, "width": 1, "c": 1, "c0": 3},
            {"height": 3, "width": 1, "c": 5, "c0": 1},
        ),
    ),
    System(
        "visual attention",
        ncd.catalogue["visual-attention"].build,
        visual_reference,
        (
            {"x": 7, "y": 9, "c": 5, "k": 3, "h": 3, "w": 3, "s": 3},
            {"x": 5, "y": 3, "c": 3, "k": 1, "h": 1, "w": 1, "s": 1},
            {"x": 9, "y": 7, "c": 1, "k": 5, "h": 3, "w": 3, "s": 2},
        ),
    ),
)
