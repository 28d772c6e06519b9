"""What ``bench`` measures with: modules written by hand, a ResNet, a transformer of any depth."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec

import torch.nn.functional as F
from einops import einsum, rearrange
from torch import Tensor, nn

from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.ops import Add, Copy, Einsum, Elementwise, LayerNorm, Linear, Rename, Scale, Softmax
from ncd.run.module import CircuitModule
from ncd.systems.images.resnet import residual_block


class ByHand(nn.Module):
    """Multi-head attention as the notebook writes it (figure 21), with a module's weights."""

    def __init__(self, module: CircuitModule, k: int, h: int) -> None:
        super().__init__()
        self.k, self.h = k, h
        self.Q, self.K, self.V, self.O = (module.get_submodule(name) for name in "QKVO")

    def split(self, x: Tensor) -> Tensor:
        return rearrange(x, "... (k h) -> ... k h", h=self.h)

    def forward(self, target: Tensor, source: Tensor) -> Tensor:
        q, k, v = self.split(self.Q(target)), self.split(self.K(source)), self.split(self.V(source))
        x = einsum(q, k, "... y k h, ... x k h -> ... y x h") / math.sqrt(self.k)
        x = einsum(x.softmax(-2), v, "... y x h, ... x k h -> ... y k h")
        out: Tensor = self.O(rearrange(x, "... k h -> ... (k h)"))
        return out


class Fused(nn.Module):
    """The same in the order of axes that torch likes best, as one of torch's own functions.

    Its weights are those of the module in that order. The function wants a batch: it is fast only
    for tensors of four dimensions.
    """

    Q: nn.Module
    K: nn.Module
    V: nn.Module
    O: nn.Module  # noqa: E741

    def __init__(self, module: CircuitModule, k: int, h: int, causal: bool = False) -> None:
        super().__init__()
        self.h, self.causal = h, causal
        for name in "QKVO":
            weight = module.get_parameter(f"{name}.weight").detach()
            pattern = "m (k h) -> m (h k)" if name == "O" else "(k h) m -> (h k) m"
            ordered = rearrange(weight, pattern, h=h).contiguous()
            given, made = reversed(ordered.shape)
            layer = nn.Linear(given, made, bias=False, device="meta")
            layer.weight = nn.Parameter(ordered)
            self.add_module(name, layer)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.h, -1)).transpose(-3, -2)

    def forward(self, target: Tensor, source: Tensor) -> Tensor:
        target, source = target.unsqueeze(0), source.unsqueeze(0)
        q, k, v = self.split(self.Q(target)), self.split(self.K(source)), self.split(self.V(source))
        x = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        out: Tensor = self.O(x.transpose(-3, -2).flatten(-2))
        return out[0]


def layer(y: int) -> Term:
    """A layer of a transformer, small enough that its numbers take no time; its first axis is y."""
    self_attention = (
        LayerNorm("m:16", "norm")
        >> Copy(f"~y:{y} m")
        >> Linear("m -> h:2 k:8", "Q") @ (Rename("y -> x") >> Copy("x m"))
        >> Id("y h k") @ Linear("m -> h:2 k:8", "K") @ Linear("m -> h:2 k:8", "V")
        >> Einsum("y h k, x h k -> h y x")
        >> Scale("k")
        >> Softmax("x")
        >> Einsum("h y x, x h k -> y h k")
        >> Linear("h k -> m", "O")
    )
    feed_forward = (
        LayerNorm("m:16", "norm")
        >> Linear("m -> d:64", "up")
        >> Elementwise("relu")
        >> Linear("d -> m:16", "down")
    )
    return Block(
        _residual(self_attention, y, "attention") >> _residual(feed_forward, y, "feed_forward"),
        "Layer",
        "residual",
        name="layer",
    )


def _residual(body: Term, y: int, name: str) -> Term:
    array = f"~y:{y} m:16"
    return Copy(array) >> Block(body, "", "linear", name=name) @ Id(array) >> Add()


def resnet() -> Term:
    """Six residual blocks of three stages, on small pictures."""
    stages = ((16, 32, 16, 1), (32, 32, 16, 1), (32, 64, 16, 2), (64, 64, 8, 1), (64, 128, 8, 2))
    sizes = (*stages, (128, 128, 4, 1))
    blocks = (residual_block(b=2, n0=n0, n1=n1, x=x, s=s) for n0, n1, x, s in sizes)
    return Then(*(Block(block, "Residual Block", "residual", local=True) for block in blocks))


def seen_by_torchview(module: nn.Module, inputs: tuple[Tensor, ...]) -> Callable[[], bytes] | None:
    """A call that draws a module as SVG with torchview and dot; None where it is not installed."""
    if not find_spec("torchview"):  # only developers have it
        return None
    from torchview import draw_graph

    def call() -> bytes:
        graph = draw_graph(module, input_data=inputs, device="cpu").visual_graph
        picture: bytes = graph.pipe(format="svg")
        return picture

    return call
