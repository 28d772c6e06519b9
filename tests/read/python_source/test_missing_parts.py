"""What a source leaves to other files or to its user: parts in lists, choices, widths of boxes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ncd
from ncd.read.python_source.source_reader import read_source

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
PAIRS = """
class Pair(nn.Module):
    def __init__(self, f, g):
        super().__init__()
        self.f, self.g = f, g
    def forward(self, x):
        return self.g(self.f(x)) + x
class Stack(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList([Pair(f, g) for f, g in blocks])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
LOOP = """
class Stack(nn.Module):
    def __init__(self, layers, routes={}):
        super().__init__()
        self.layers = layers
    def forward(self, x):
        both = list(zip(self.layers, [{}] * len(self.layers)))
        for (f, g), named in both:
            x = g(f(x, **named)) + x
        return x
"""
STAGES = """
class Net(nn.Module):
    def __init__(self, in_channels, channels, strides: list[int]):
        super().__init__()
        sizes = [in_channels, *channels]
        self.layers = nn.Sequential(*[
            nn.Conv2d(sizes[i], sizes[i + 1], 3, stride=s, padding=1) for i, s in enumerate(strides)
        ])
    def forward(self, x):
        return self.layers(x)
"""
CHOICE = """
class Net(nn.Module):
    def __init__(self, dim, kind):
        super().__init__()
        if kind == "wide":
            self.a = nn.Linear(dim, 48)
        elif kind == "narrow":
            self.a = nn.Linear(dim, 2)
        else:
            raise ValueError(kind)
    def forward(self, x):
        return self.a(x)
"""
CHECKED = """
from other.models import Language
class Trainer(nn.Module):
    def __init__(self, net):
        super().__init__()
        assert isinstance(net, Language), "it trains a Language"
        self.net = net
    def forward(self, x):
        return self.net(x).mean(dim=-1)
"""
FITTED = """
from other.parts import attended
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.out = nn.Linear(24, 48), nn.Linear(24, 6)
    def forward(self, x):
        return self.out(attended(self.q(x), x))
"""
GRAPH = """
from torch_geometric.nn import GINConv, MLP
class Net(nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.a = GINConv(nn=MLP([in_channels, 24, 12]))
        self.b = MLP([12, 7])
    def forward(self, x, edge_index, batch_size: int):
        return self.b(self.a(x, edge_index))[:batch_size]
"""
ANY = """
class Net(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, *args, **named):
        return self.net(*args, **named)
"""
CLASSES = """
from other.norms import Norm
class Block(nn.Module):
    def __init__(self, dim, norm_layer=Norm):
        super().__init__()
        self.norm, self.a = norm_layer(dim), nn.Linear(dim, 5)
    def forward(self, x):
        return self.a(self.norm(x))
class Net(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.block = Block(dim, norm_layer=Norm)
    def forward(self, x):
        return self.block(x)
"""
LENGTH = """
class Net(nn.Module):
    def __init__(self, dim, seq_len):
        super().__init__()
        self.a, self.mix = nn.Linear(dim, 6), nn.Parameter(torch.randn(seq_len, seq_len))
    def forward(self, x):
        return torch.einsum("b n d, m n -> b m d", self.a(x), self.mix)
"""
CASES = {
    "pairs of modules in a list": (PAIRS, ((1, 16, 64),)),
    "pairs of modules that a forward takes apart": (LOOP, ((1, 16, 64),)),
    "sizes for each stage": (STAGES, None),
    "a choice by a text": (CHOICE, ((1, 48),)),
    "a check of a class of another file": (CHECKED, None),
    "a box before a layer": (FITTED + "Net()(torch.randn(2, 5, 24))", ((2, 5, 6),)),
    "rows of a graph, and a whole number": (GRAPH, ((4, 7),)),
    "any inputs": (ANY, None),
    "a class of another file is no number": (CLASSES, ((10, 5),)),
    "a length that a setting fixes": (LENGTH, ((1, 32, 6),)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_source_that_leaves_parts_to_others_is_drawn_whole(name: str) -> None:
    source, shapes = CASES[name]
    found = read_source(HEAD + source)
    assert found.failure is None
    assert found.shapes and (shapes is None or found.shapes == shapes)


def test_the_width_that_a_layer_fixes_is_said_of_its_box() -> None:
    found = read_source(HEAD + FITTED + "Net()(torch.randn(2, 5, 24))")
    assert "in attended with the width that the next layer takes. Values end there." in found.note


OWN = """
from collections import namedtuple
from typing import NamedTuple
Sides = namedtuple("Sides", "low high", defaults=[2.0])
class Both(NamedTuple):
    one: torch.Tensor
    two: torch.Tensor
class Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sides):
        ctx.save_for_backward(x)
        return x.clamp(sides.low, sides.high) * 3
    @staticmethod
    def backward(ctx, grad):
        return grad, None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)
    def forward(self, x):
        low, high = Sides(-1.0)
        both = Both(self.a(x), two=Kept.apply(self.a(x), Sides(**Sides(low)._asdict())))
        return both.one + both[1] * high
3x4
"""


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        return y + 2 * 3 * y.clamp(-1.0, 2.0)


def test_named_tuples_and_functions_with_gradients_of_their_own_run_as_in_torch() -> None:
    found = read_source(HEAD + OWN)
    plain = Plain()
    x = torch.randn(3, 4)
    module = ncd.compile(found.term)
    module.load_state_dict(dict(zip(module.state_dict(), plain.state_dict().values(), strict=True)))
    torch.testing.assert_close(module(x), plain(x))
    assert "Kept is drawn by its forward: the gradient that it has of its own" in found.note


def test_many_numbers_of_a_constant_are_written_with_the_digits_that_tell_them_apart() -> None:
    table = "self.register_buffer('t', torch.arange(6400.).reshape(80, 80).sin() / 3)"
    found = read_source(
        f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        {table}\n    def forward(self, x):\n        return x + self.t\n80x80"
    )
    x = torch.randn(80, 80)
    expected = x + torch.arange(6400.0).reshape(80, 80).sin() / 3
    torch.testing.assert_close(ncd.compile(found.term)(x), expected, rtol=0, atol=0)
    assert len(str(found.term)) < 6400 * 16
