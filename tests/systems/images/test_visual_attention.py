"""Figure 28: the notebook's module, retyped."""

from __future__ import annotations

import math

import einops
import pytest
import torch
from torch import Tensor, nn

import ncd
from tests.systems.retyped import given, layers, same


class VisualAttention(nn.Module):
    """With maps that add nothing, as **L** in the figure has no +."""

    def __init__(self, c: int, k: int, heads: int = 1, kernel: int = 1, stride: int = 1) -> None:
        super().__init__()
        self.c, self.k, self.h, self.w = c, k, heads, kernel
        self.Cq = nn.Conv2d(c, k * heads, kernel, stride, bias=False)
        self.Ck = nn.Conv2d(c, k * heads, kernel, stride, bias=False)
        self.Cv = nn.Conv2d(c, k * heads, kernel, stride, bias=False)
        self.Co = nn.ConvTranspose2d(k * heads, c, kernel, stride, bias=False)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """ykh, xkh, xkh -> ykh"""
        klength = k.size()[-2]
        x = einops.einsum(q, k, "... y k h, ... x k h -> ... y x h")
        x = torch.nn.Softmax(-2)(x / math.sqrt(klength))
        return einops.einsum(x, v, "... y x h, ... x k h -> ... y k h")

    def forward(self, EcY: Tensor, XcX: Tensor) -> Tensor:
        """cY, cX -> cY"""

        def unbind(x: Tensor) -> Tensor:
            return einops.rearrange(x, "N (k h) H W -> N (H W) k h", h=self.h)

        q = self.Cq(EcY)
        W = q.size()[-1]
        q, k, v = unbind(q), unbind(self.Ck(XcX)), unbind(self.Cv(XcX))
        o = self.attend(q, k, v)
        o = einops.rearrange(o, "N (H W) k h -> N (k h) H W", h=self.h, W=W)
        return self.Co(o)


@pytest.mark.parametrize(
    "sizes",
    [
        {"y": 16, "x": 16, "c": 33},  # the notebook's run
        {"y": 16, "x": 16, "c": 5, "h": 1, "w": 1, "s": 1},
        {"y": 9, "x": 7, "c": 1, "k": 5, "h": 3, "w": 2, "s": 1},
        {"y": 8, "x": 11, "c": 3, "k": 2, "h": 2, "w": 3, "s": 2},
        {"y": 9, "x": 9, "c": 2, "k": 3, "h": 2, "w": 2, "s": 4},
    ],
    ids=str,
)
def test_visual_attention(sizes: dict[str, int]) -> None:
    entry = ncd.catalogue["visual-attention"]
    n = entry.settings(sizes)
    module = ncd.compile(entry.build(**n), seed=1)
    hand = VisualAttention(n["c"], n["k"], n["h"], n["w"], n["s"])
    ours = (module.Q, module.K, module.V, module.O)
    pairs = [(m.weight, its.weight) for m, its in zip(ours, layers(hand), strict=True)]

    def heads_last(weight: Tensor) -> Tensor:
        return einops.rearrange(weight, "(h k) ... -> (k h) ...", h=n["h"])

    with torch.no_grad():
        for mine, its in pairs:
            its.copy_(heads_last(mine))

    def retyped(EcY: Tensor, XcX: Tensor) -> Tensor:
        return hand(EcY[None], XcX[None])[0]

    images = given([n["c"], n["y"], n["y"]], [n["c"], n["x"], n["x"]])
    same(module, retyped, images, pairs, heads_last)


def test_a_stride_that_does_not_divide_drops_pixels() -> None:
    """The size of the notebook's output."""
    term = ncd.catalogue["visual-attention"].build(y=16, x=16, c=33)
    assert term.cod[0].shape == (33, 15, 15)
