"""The edits that each search proposes for a failure, with what they cost: a small cost comes first."""

# ruff: noqa: E501

from __future__ import annotations

import ast

import pytest
import torch
from torch.nn import functional as F

from ncd.findings.cures.device_edits import device_edits
from ncd.findings.cures.layer_edits import (
    argument_edits,
    batch_first_edits,
    direction_edits,
    group_edits,
    mode_edits,
    norm_edits,
    padding_edits,
    parameter_edits,
    projection_edits,
    shortcut_edits,
    stride_edits,
    swap_edits,
    switch_edits,
)
from ncd.findings.cures.made_array_edits import mask_shape_edits, state_edits
from ncd.findings.cures.mask_edits import mask_edits
from ncd.findings.cures.scope_edits import carried_edits, layer_of_function_edits, name_edits
from ncd.findings.cures.shape_edits import (
    axis_edits,
    binary_loss_edits,
    call_edits,
    flattening_edits,
    rank_edits,
    shape_edits,
)
from ncd.findings.failures.failure import failure_of
from ncd.findings.reading.finding import apply_edits
from ncd.findings.reading.source_trace import SourceTrace


def net(takes: str, init: str, forward: str, call: str) -> str:
    """Returns a source with one class, whose ``forward`` is one line."""
    return (
        f"class Net(nn.Module):\n    def __init__(self, {takes}):\n        super().__init__()\n"
        f"        self.{init}\n    def forward(self, x):\n        return {forward}\n{call}"
    )


CHANNELS = """class Net(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.h = h
        self.f = nn.Linear(self.h * 2, 3)
    def forward(self, x):
        return self.f(x.flatten(1))
Net(5)(torch.randn(2, 5, 3, 3))"""
EXCHANGED_LETTERS = (
    "bhqd,kbd bhqd,dkb bhqd,bdk hbqd,bkd qhbd,bkd dhqb,bkd bqhd,bkd bdqh,bkd bhdq,bkd"
)
EXCHANGED = tuple(
    (f"torch.einsum('{pattern}->bhqk', torch.randn(2, 4, 5, 6), torch.randn(2, 4, 7, 6))", 0.5)
    for pattern in EXCHANGED_LETTERS.split()
)
CASES = (
    (argument_edits, "h = 6\nnn.Linear(h, 3)(torch.randn(2, 15))",
     (("nn.Linear(15, 3)(torch.randn(2, 15))", 0.9), ("nn.Linear(6, 3)(torch.randn(2, 15))", 0.9),)),
    (argument_edits, "h = 6\nw = 3\nx = torch.randn(2, 12)\nx.view(h * w, 2)\ny = h * w",
     (("x.view(12, 2)", 0.9), ("x.view(12, 2)\ny = 12", 0.85), ("x.view(24, 2)", 0.9), ("x.view(24, 2)\ny = 24", 0.85), ("x.view(36, 2)", 0.9), ("x.view(36, 2)\ny = 36", 0.85),)),
    (argument_edits, "h = 6\nnn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(h * 4, 10))(torch.randn(2, 1, 5, 7))",
     (("nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(h * 3 * 5, 10))(torch.randn(2, 1, 5, 7))", 0.9), ("nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(4 * 3 * 5, 10))(torch.randn(2, 1, 5, 7))", 1.0), ("nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(60, 10))(torch.randn(2, 1, 5, 7))", 1.1), ("nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(24, 10))(torch.randn(2, 1, 5, 7))", 0.9),)),
    (argument_edits, "h = 2\nnn.LayerNorm(h)(torch.randn(5, 2, 6))",  # 2 is the size of another axis
     (("nn.LayerNorm(h * 6)(torch.randn(5, 2, 6))", 1.9), ("nn.LayerNorm(2 * 6)(torch.randn(5, 2, 6))", 2.0), ("nn.LayerNorm(12)(torch.randn(5, 2, 6))", 2.1), ("nn.LayerNorm(6)(torch.randn(5, 2, 6))", 1.9), ("nn.LayerNorm(2)(torch.randn(5, 2, 6))", 1.9))),
    (argument_edits, "h = 1\nnn.Linear(h, 3)(torch.randn(5, 1, 6))",
     (("nn.Linear(h * 6, 3)(torch.randn(5, 1, 6))", 0.9), ("nn.Linear(1 * 6, 3)(torch.randn(5, 1, 6))", 1.0), ("nn.Linear(6 * h, 3)(torch.randn(5, 1, 6))", 1.1), ("nn.Linear(6, 3)(torch.randn(5, 1, 6))", 1.2), ("nn.Linear(1, 3)(torch.randn(5, 1, 6))", 0.9))),
    (argument_edits, net("h", "h, self.f = h, nn.Linear(h * 2, 3)", "self.f(x.flatten(1))", "Net(5)(torch.randn(2, 5, 3, 3))"),
     (("        self.h, self.f = h, nn.Linear(h * 3 * 3, 3)", 0.9), ("        self.h, self.f = h, nn.Linear(5 * 3 * 3, 3)", 1.0), ("        self.h, self.f = h, nn.Linear(45, 3)", 1.1), ("        self.h, self.f = h, nn.Linear(10, 3)", 0.9))),
    (argument_edits, CHANNELS, (("        self.f = nn.Linear(self.h * 3 * 3, 3)", 0.9), ("        self.f = nn.Linear(5 * 3 * 3, 3)", 1.0), ("        self.f = nn.Linear(45, 3)", 1.1), ("        self.f = nn.Linear(10, 3)", 0.9))),
    (swap_edits, "a = 5\nb = 8\nnn.Linear(a, b)(torch.randn(2, 8))",
     (("nn.Linear(b, a)(torch.randn(2, 8))", 0.7),)),
    (swap_edits, "a = 5\nb = 8\nnn.Linear(a, a)(torch.randn(2, 8))",
     ()),
    (swap_edits, "nn.Conv2d(8, 5, 3)(torch.randn(2, 4, 9, 9))",
     ()),
    (parameter_edits, "n = 5\np = nn.Parameter(torch.zeros(1, n, 8))\nx = torch.randn(2, 6, 8)\nx + p",
     (("p = nn.Parameter(torch.zeros(1, n + 1, 8))", 0.7), ("p = nn.Parameter(torch.zeros(1, 6, 8))", 0.8),)),
    (parameter_edits, "n = 4\np = torch.zeros(n, 3)\nx = torch.ones(n + 3, 3)\nx + p",
     (("x = torch.ones(4, 3)", 0.7), ("p = torch.zeros(7, 3)", 0.7),)),
    (switch_edits, "nn.GRU(8, 5)(torch.randn(2, 7, 9))",
     (("nn.GRU(8, 5, batch_first=True)(torch.randn(2, 7, 9))", 0.5),)),
    (switch_edits, "nn.GRU(8, 5, batch_first=True)(torch.randn(2, 7, 9))",
     (("nn.GRU(8, 5, batch_first=False)(torch.randn(2, 7, 9))", 0.6),)),
    (switch_edits, "nn.MultiheadAttention(8, 2)(torch.randn(5, 2, 8), torch.randn(5, 2, 6), torch.randn(5, 2, 4))",
     (("nn.MultiheadAttention(8, 2, kdim=6, vdim=4)(torch.randn(5, 2, 8), torch.randn(5, 2, 6), torch.randn(5, 2, 4))", 0.4), ("nn.MultiheadAttention(8, 2, add_bias_kv=True)(torch.randn(5, 2, 8), torch.randn(5, 2, 6), torch.randn(5, 2, 4))", 4.5), ("nn.MultiheadAttention(8, 2, add_zero_attn=True)(torch.randn(5, 2, 8), torch.randn(5, 2, 6), torch.randn(5, 2, 4))", 4.5), ("nn.MultiheadAttention(8, 2, batch_first=True)(torch.randn(5, 2, 8), torch.randn(5, 2, 6), torch.randn(5, 2, 4))", 0.5),)),
    (switch_edits, "nn.MultiheadAttention(8, 2, add_zero_attn=True)(torch.randn(5, 2, 8), torch.randn(6, 3, 8), torch.randn(6, 3, 8))",
     (("nn.MultiheadAttention(8, 2, add_zero_attn=True, add_bias_kv=True)(torch.randn(5, 2, 8), torch.randn(6, 3, 8), torch.randn(6, 3, 8))", 4.5), ("nn.MultiheadAttention(8, 2, add_zero_attn=False)(torch.randn(5, 2, 8), torch.randn(6, 3, 8), torch.randn(6, 3, 8))", 4.6), ("nn.MultiheadAttention(8, 2, add_zero_attn=True, batch_first=True)(torch.randn(5, 2, 8), torch.randn(6, 3, 8), torch.randn(6, 3, 8))", 0.5),)),
    (batch_first_edits, "x = torch.randn(4, 7, 8)  # batch, steps, width\na = nn.GRU(8, 5)\nb = nn.MultiheadAttention(5, 1)\nb(a(x)[0], x, x)",
     (("a = nn.GRU(8, 5, batch_first=True)\nb = nn.MultiheadAttention(5, 1, batch_first=True)", 0.2),)),
    (batch_first_edits, "x = torch.randn(4, 7, 8)  # batch, steps, width\na = nn.GRU(8, 5, batch_first=False)\na(x)[0] @ x",
     ()),
    (batch_first_edits, "x = torch.randn(7, 4, 8)  # steps, batch, width\nnn.GRU(8, 5)(x)[0] @ x",
     ()),
    (batch_first_edits, "nn.GRU(8, 5)(torch.randn(2, 7, 9))",
     ()),
    (direction_edits, "m = nn.LSTM(8, 5, bidirectional=True)\nn = nn.LSTM(8, 5)\nx = torch.randn(7, 2, 8)\ny, h = m(x)\nn(x, h)",
     (("m = nn.LSTM(8, 5, bidirectional=False)", 1.0),)),
    (axis_edits, "torch.randn(2, 3) @ torch.randn(4, 3)",
     (("torch.randn(2, 3).transpose(0, 1) @ torch.randn(4, 3)", 0.65), ("torch.randn(2, 3) @ torch.randn(4, 3).transpose(0, 1)", 0.6),)),
    (axis_edits, "nn.LSTM(3, 2)(torch.randn(2, 3, 4))",
     (("nn.LSTM(3, 2)(torch.randn(2, 3, 4).transpose(0, 1))", 1.42), ("nn.LSTM(3, 2)(torch.randn(2, 3, 4).transpose(0, 2))", 1.42), ("nn.LSTM(3, 2)(torch.randn(2, 3, 4).transpose(-2, -1))", 0.6),)),
    (axis_edits, "x = torch.randn(2, 4, 4, 3)\nnn.Conv2d(3, 2, 1)(x)",
     (("nn.Conv2d(3, 2, 1)(x.permute(0, 3, 1, 2))", 0.6), ("nn.Conv2d(3, 2, 1)(x.permute(0, 2, 3, 1))", 0.61), ("nn.Conv2d(3, 2, 1)(x.transpose(0, 1))", 4.62), ("nn.Conv2d(3, 2, 1)(x.transpose(0, 2))", 4.62), ("nn.Conv2d(3, 2, 1)(x.transpose(0, 3))", 4.62), ("nn.Conv2d(3, 2, 1)(x.transpose(1, 2))", 0.62), ("nn.Conv2d(3, 2, 1)(x.transpose(1, 3))", 1.62), ("nn.Conv2d(3, 2, 1)(x.transpose(-2, -1))", 0.6),)),
    (axis_edits, "x = torch.randn(2, 3, 4)\ny = torch.randn(2, 4, 3)\nx + y",
     (("x.transpose(0, 1) + y", 1.47), ("x.transpose(0, 2) + y", 1.47), ("x.transpose(-2, -1) + y", 0.65), ("x + y.transpose(0, 1)", 1.42), ("x + y.transpose(0, 2)", 1.42), ("x + y.transpose(-2, -1)", 0.6),)),
    (axis_edits, "nn.Embedding(3, 2)(torch.arange(5))",
     ()),
    (call_edits, "x = torch.randn(2, 3, 4)\nx.view(2, 5, 3)",
     (("x.view(-1, 5, 3)", 1.8), ("x.view(2, -1, 3)", 1.2), ("x.view(2, 5, -1)", 1.8),)),
    (call_edits, "n = 5\nx = torch.randn(2, 3, 4)\nx.view(n, 2, n)",
     (("x.view(-1, 2, n)", 1.3), ("x.view(n, -1, n)", 1.2), ("x.view(n, 2, -1)", 1.3),)),
    (call_edits, "x = torch.randn(2, 3, 4)\nx.view(-1, 5)",
     (("x.view(x.size(0), -1)", 0.6),)),
    (call_edits, "x = torch.randn(2, 3, 4)\nx.reshape(-1, 5, 7)",
     ()),
    (call_edits, "x = torch.randn(2, 12)\nx.view(-1, 5)",
     ()),
    (call_edits, "x = torch.randn(2, 3, 4)\nx.view(5, -1)",
     ()),
    (call_edits, "(torch.randn(2, 3, 4) + 1).view(-1, 5)",
     ()),
    (call_edits, "torch.einsum('bhqd,bkd->bhqk', torch.randn(2, 4, 5, 6), torch.randn(2, 4, 7, 6))",
     (("torch.einsum('bhqd,bhkd->bhqk', torch.randn(2, 4, 5, 6), torch.randn(2, 4, 7, 6))", 0.4), ("torch.einsum('bhqd,bkqd->bhqk', torch.randn(2, 4, 5, 6), torch.randn(2, 4, 7, 6))", 0.4), *EXCHANGED)),
    (flattening_edits, "x = torch.randn(2, 3, 4, 5)\nnn.Linear(60, 2)((x + 1).reshape(-1))",
     (("nn.Linear(60, 2)((x + 1).flatten(1))", 0.2),)),
    (flattening_edits, "x = torch.randn(3, 4, 5)\nnn.Linear(20, 2)(torch.flatten(x))",
     (("nn.Linear(20, 2)(torch.flatten(x, 1))", 0.2),)),
    (flattening_edits, "x = torch.randn(2, 60)\nnn.Linear(50, 2)(x.flatten(1))",
     ()),
    (shape_edits, net("n=9", "p = nn.Parameter(torch.zeros(1, n, 4))", "x + self.p", "Net()(torch.randn(2, 5, 4))"),
     (("        return x + self.p[:, :x.size(1)]", 0.5),)),
    (shape_edits, net("n=9", "p = nn.Parameter(torch.zeros(n, 4))", "self.p + x", "Net()(torch.randn(2, 5, 4))"),
     (("        return self.p[:x.size(1)] + x", 0.5),)),
    (shape_edits, net("n=3", "p = nn.Parameter(torch.zeros(1, n, 4))", "x + self.p", "Net()(torch.randn(2, 5, 4))"),
     ()),
    (shape_edits, net("n=9", "p = nn.Parameter(torch.zeros(1, n, 7))", "x + self.p", "Net()(torch.randn(2, 5, 4))"),
     ()),
    (call_edits, "q = torch.randn(1, 8, 5, 4)\nk = torch.randn(1, 2, 5, 4)\nF.scaled_dot_product_attention(q, k, k)",
     (("F.scaled_dot_product_attention(q, k, k, enable_gqa=True)", 0.3),)),
    (call_edits, "q = torch.randn(1, 8, 5, 4)\nk = torch.randn(1, 3, 5, 4)\nF.scaled_dot_product_attention(q, k, k)",
     ()),
    (call_edits, "q = torch.randn(8, 5, 4)\nk = torch.randn(2, 5, 4)\nF.scaled_dot_product_attention(q, k, k)",
     ()),
    (call_edits, "x = torch.randn(2, 3, 4)\ny = torch.randn(4, 2)\ntorch.einsum('b i d, b d -> b i', x, y)",
     (("torch.einsum('b i d, d b -> b i', x, y)", 0.5), ("torch.einsum('i b d, b d -> b i', x, y)", 0.5), ("torch.einsum('d i b, b d -> b i', x, y)", 0.5), ("torch.einsum('b d i, b d -> b i', x, y)", 0.5),)),
    (call_edits, "nn.Embedding(9, 4)(torch.randn(3))",
     (("nn.Embedding(9, 4)(torch.randint(0, 9, (3,)))", 0.5),)),
    (call_edits, "nn.Embedding(9, 4)(torch.rand(3, 2))",
     (("nn.Embedding(9, 4)(torch.randint(0, 9, (3, 2)))", 0.5),)),
    (call_edits, net("d=8", "e = nn.Embedding(9, 4)", "self.e(x)", "3x5"),
     (("3x5#9", 0.4),)),
    (call_edits, "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(5, 3, 4).long()\na(x, x, x)",
     (("a(x.long(), x, x)", 0.8), ("a(x.float(), x, x)", 0.9), ("a(x, x.long(), x)", 0.8), ("a(x, x.float(), x)", 0.9), ("a(x, x, x.long())", 0.8), ("a(x, x, x.float())", 0.9), ("a(x.float(), x.float(), x.float())", 0.85))),
    (call_edits, "y = torch.randn(3)\nx = torch.ones(3)\nnn.Embedding(9, 4)(x)",
     (("y = torch.randint(0, 9, (3,))", 0.5), ("nn.Embedding(9, 4)(x.long())", 0.8), ("nn.Embedding(9, 4)(x.float())", 0.9))),
    (shape_edits, "nn.Linear(24, 2)(torch.randn(5, 2, 3, 4))",
     (("nn.Linear(24, 2)(torch.randn(5, 2, 3, 4).flatten(1))", 0.3), ("nn.Linear(24, 2)(torch.randn(5, 2, 3, 4).flatten(1))", 0.95),)),
    (shape_edits, "nn.Linear(12, 2)(torch.randn(5, 2, 3, 4))",
     (("nn.Linear(12, 2)(torch.randn(5, 2, 3, 4).flatten(2))", 0.3), ("nn.Linear(12, 2)(torch.randn(5, 2, 3, 4).flatten(1))", 0.95),)),
    (shape_edits, "nn.Linear(7, 2)(torch.randn(5, 2, 3))",
     ()),
    (shape_edits, "F.linear(torch.randn(5, 2, 3), torch.randn(4, 6))",
     (("F.linear(torch.randn(5, 2, 3).flatten(1), torch.randn(4, 6))", 0.3),)),
    (shape_edits, "nn.Conv2d(1, 2, 3)(torch.randn(5, 9, 8))",
     (("nn.Conv2d(1, 2, 3)(torch.randn(5, 9, 8).unsqueeze(1))", 0.4),)),
    (shape_edits, "nn.Conv2d(1, 2, 3)(torch.randn(9, 8))",
     (("nn.Conv2d(1, 2, 3)(torch.randn(9, 8)[None, None])", 0.5),)),
    (shape_edits, "nn.Conv2d(3, 2, 3)(torch.randn(9, 3))",
     (("nn.Conv2d(3, 2, 3)(torch.randn(9, 3)[:, :, None, None])", 0.4),)),
    (shape_edits, "nn.Conv2d(3, 2, 3)(torch.randn(9, 48))",
     (("nn.Conv2d(3, 2, 3)(torch.randn(9, 48).view(-1, 3, 4, 4))", 0.5),)),
    (shape_edits, "nn.Conv2d(3, 2, 3)(torch.randn(9, 45))",
     ()),
    (shape_edits, "nn.Conv2d(2, 2, 3)(torch.randn(9, 8, 8))",
     ()),
    (shape_edits, "nn.Conv2d(1, 2, 3)(torch.randn(9))",
     ()),
    (shape_edits, "nn.LSTM(1, 2)(torch.randn(9, 8))",
     (("nn.LSTM(1, 2)(torch.randn(9, 8).unsqueeze(-1))", 0.4),)),
    (shape_edits, "nn.LSTM(3, 2)(torch.randn(9, 1, 8, 1))",
     (("nn.LSTM(3, 2)(torch.randn(9, 1, 8, 1).squeeze(1))", 0.4), ("nn.LSTM(3, 2)(torch.randn(9, 1, 8, 1).squeeze(3))", 0.4),)),
    (shape_edits, "x = torch.randn(4, 5)\nx.gather(1, torch.zeros(4).long())",
     (("x.gather(1, torch.zeros(4).long().unsqueeze(0))", 0.4), ("x.gather(1, torch.zeros(4).long().unsqueeze(1))", 0.3),)),
    (shape_edits, "x = torch.randn(4, 3)\ny = torch.zeros(4, 1).long()\nF.cross_entropy(x, y)",
     (("F.cross_entropy(x, y.squeeze(1))", 0.3),)),
    (shape_edits, "x = torch.randn(4, 3)\ny = torch.ones(4, 3).long()\nF.cross_entropy(x, y)",
     (("F.cross_entropy(x, y.argmax(1))", 0.3),)),
    (shape_edits, "x = torch.randn(4, 3, 1)\ny = torch.zeros(4).long()\nF.cross_entropy(x, y)",
     (("F.cross_entropy(x, y.unsqueeze(1))", 0.3),)),
    (shape_edits, "x = torch.rand(4, 1)\ny = torch.zeros(4)\nF.binary_cross_entropy(x, y)",
     (("F.binary_cross_entropy(x, y.unsqueeze(1))", 0.3),)),
    (shape_edits, "x = torch.randn(4)\ny = torch.zeros(4, 1)\nF.binary_cross_entropy_with_logits(x, y)",
     (("F.binary_cross_entropy_with_logits(x, y.squeeze(1))", 0.3),)),
    (shape_edits, "x = torch.randn(4)\ny = torch.zeros(4).long()\nF.binary_cross_entropy_with_logits(x, y)",
     (("F.binary_cross_entropy_with_logits(x, y.float())", 0.3),)),
    (shape_edits, "x = torch.randn(4, 3)\ny = torch.zeros(3, 4)\nF.mse_loss(x, y)",
     ()),
    (shape_edits, "x = torch.randn(4, 3, 2)\ny = torch.zeros(4, 2, 1).long()\nF.nll_loss(x, y)",
     (("F.nll_loss(x, y.squeeze(2))", 0.3),)),
    (shape_edits, "nn.Sequential(nn.Conv2d(1, 4, 3), nn.Linear(36, 10))(torch.randn(2, 1, 5, 5))",
     (("nn.Sequential(nn.Conv2d(1, 4, 3), nn.Linear(36, 10))(torch.randn(2, 1, 5, 5).flatten(1))", 0.3), ("nn.Sequential(nn.Conv2d(1, 4, 3), nn.Linear(36, 10))(torch.randn(2, 1, 5, 5).flatten(1))", 0.95), ("nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(36, 10))(torch.randn(2, 1, 5, 5))", 0.2),)),
    (shape_edits, "nn.Sequential(nn.Conv1d(1, 4, 3), nn.Linear(37, 10))(torch.randn(2, 1, 5))",
     (("nn.Sequential(nn.Conv1d(1, 4, 3), nn.Flatten(), nn.Linear(37, 10))(torch.randn(2, 1, 5))", 0.8),)),
    (shape_edits, "x = torch.randn(1, 2, 4, 4)\ny = torch.randn(1, 3, 8, 8)\ntorch.cat([x, y], 1)",
     (("torch.cat([nn.functional.interpolate(x, size=y.shape[2:]), y], 1)", 1.2), ("torch.cat([x, nn.functional.interpolate(y, size=x.shape[2:])], 1)", 1.4),)),
    (shape_edits, "from torch.nn import functional as F\nx = torch.randn(1, 2, 4, 8)\ny = torch.randn(1, 2, 4, 4)\nx + y",
     (("x + F.interpolate(y, size=x.shape[2:])", 1.2), ("F.interpolate(x, size=y.shape[2:]) + y", 1.4),)),
    (shape_edits, "x = torch.randn(2, 4, 4)\ny = torch.randn(3, 8, 8)\ntorch.cat([x, y], 1)",
     ()),
    (shortcut_edits, net("d=8", "a = nn.Conv2d(d, 6, 3, stride=2, padding=1)", "self.a(x) + x", "Net()(torch.randn(2, 8, 9, 9))"),
     (("        self.shortcut = nn.Conv2d(d, 6, 1, stride=2)\n        return self.a(x) + self.shortcut(x)", 0.4),)),
    (shortcut_edits, net("d=8", "a = nn.Conv2d(3, d, 3, padding=1)", "x + self.a(x)", "Net()(torch.randn(2, 3, 9, 9))"),
     (("        self.shortcut = nn.Conv2d(3, d, 1)\n        return self.shortcut(x) + self.a(x)", 0.4),)),
    (shortcut_edits, net("d=8, stride=2", "a = nn.Conv2d(3, d, 3, stride=stride, padding=1)", "x + self.a(x)", "Net()(torch.randn(2, 3, 9, 9))"),
     (("        self.shortcut = nn.Conv2d(3, d, 1, stride=stride)\n        return self.shortcut(x) + self.a(x)", 0.4),)),
    (shortcut_edits, net("d=8", "a = nn.Conv2d(3, d, 2)", "x + self.a(x)", "Net()(torch.randn(2, 3, 2, 2))"),
     (("        self.shortcut = nn.Conv2d(3, d, 1, stride=2)\n        return self.shortcut(x) + self.a(x)", 0.4),)),
    (shortcut_edits, net("d=8", "a = nn.Linear(d, 2 * d)", "self.a(x) + x", "Net(4)(torch.randn(2, 3, 4))"),
     (("        self.shortcut = nn.Linear(d, d * 2)\n        return self.a(x) + self.shortcut(x)", 0.4),)),
    (shortcut_edits, net("d=8", "a = nn.Linear(d, 6)", "self.a(x) * x", "Net(4)(torch.randn(2, 3, 4))"),
     ()),
    (shortcut_edits, net("d=8", "a = nn.Linear(d, 6)", "self.a(x) + x", "Net(4)(torch.randn(3, 4))"),
     ()),
    (shortcut_edits, net("d=8", "a = nn.Conv1d(d, d, 3)", "self.a(x) + x", "Net(4)(torch.randn(2, 4, 9))"),
     ()),
    (projection_edits, "a = nn.MultiheadAttention(8, 2)\nx = torch.randn(2, 3, 4)\na(x, x, x)",
     ()),
    (projection_edits, net("d=8", "a = nn.MultiheadAttention(d, 2)", "self.a(x, x, x)", "Net()(torch.randn(2, 3, 4))"),
     (("        self.projection = nn.Linear(4, d)\n        return self.a(self.projection(x), x, x)", 1.4), ("        self.projection = nn.Linear(4, d)\n        return self.a(x, self.projection(x), x)", 1.4), ("        self.projection = nn.Linear(4, d)\n        return self.a(x, x, self.projection(x))", 1.4),)),
    (mode_edits, "m = nn.BatchNorm1d(4)\nx = torch.randn(1, 4)\ny = m(x)",
     (("y = m.eval()(x)", 6.0),)),
    (mode_edits, net("d=8", "a = nn.BatchNorm1d(d)", "self.a(x)", "Net()(torch.randn(1, 8))"),
     (("Net().eval()(torch.randn(1, 8))", 6.0),)),
    (padding_edits, "c = nn.Conv1d(2, 2, 5)\nx = torch.randn(1, 2, 9)\nc(x) + x",
     (("c = nn.Conv1d(2, 2, 5, padding=2)", 0.8),)),
    (padding_edits, "c = nn.Conv1d(2, 2, 4)\nx = torch.randn(1, 2, 9)\nc(x) + x",
     ()),
    (padding_edits, "k = 3\nc = nn.Conv1d(2, 2, k, padding=k)\nd = nn.Conv1d(2, 2, k, 1, 2 * k)\nx = torch.randn(1, 2, 9)\nc(x) + x",
     (("c = nn.Conv1d(2, 2, k, padding=k // 2)", 0.9), ("d = nn.Conv1d(2, 2, k, 1, 2 * k // 2)", 0.9),)),
    (padding_edits, "c = nn.Conv1d(2, 2, 3, padding=2)\nx = torch.randn(1, 2, 9)\nc(x) + x",
     ()),
    (padding_edits, "c = nn.Conv1d(2, 2, 3, stride=2, padding=1)\nd = nn.ConvTranspose1d(2, 2, 3, stride=3, padding=1)\nx = torch.randn(1, 2, 10)\nF.mse_loss(d(c(x)), x)",
     (("d = nn.ConvTranspose1d(2, 2, 3, stride=3, padding=1, output_padding=2)", 0.6),)),
    (padding_edits, "c = nn.Conv1d(2, 2, 3, stride=2, padding=1)\nd = nn.ConvTranspose1d(2, 2, 3, stride=1, padding=1)\nx = torch.randn(1, 2, 10)\nF.mse_loss(d(c(x)), x)",
     ()),
    (padding_edits, "s = 2\nc = nn.Conv1d(2, 2, 3, s, 1)\nd = nn.ConvTranspose1d(2, 2, 3, s, 1)\ne = nn.ConvTranspose1d(2, 2, 3, 2, 1)\nx = torch.randn(1, 2, 10)\nd(c(x)) + x",
     (("d = nn.ConvTranspose1d(2, 2, 3, s, 1, output_padding=1)\ne = nn.ConvTranspose1d(2, 2, 3, 2, 1, output_padding=1)", 1.6), ("d = nn.ConvTranspose1d(2, 2, 3, s, 1, output_padding=1)", 1.6), ("e = nn.ConvTranspose1d(2, 2, 3, 2, 1, output_padding=1)", 1.6),)),
    (padding_edits, "nn.Conv2d(3, 8, 5, stride=2, padding='same')(torch.randn(1, 3, 9, 9))",
     (("nn.Conv2d(3, 8, 5, stride=2, padding=2)(torch.randn(1, 3, 9, 9))", 0.3),)),
    (padding_edits, "k = 5\nnn.Conv2d(3, 8, k, stride=2, padding='same')(torch.randn(1, 3, 9, 9))",
     (("nn.Conv2d(3, 8, k, stride=2, padding=k // 2)(torch.randn(1, 3, 9, 9))", 0.3),)),
    (stride_edits, net("s", "a, self.b = nn.Conv2d(3, 8, 3, s, padding=1), nn.Conv2d(3, 8, 1)", "self.a(x) + self.b(x)", "Net(2)(torch.randn(1, 3, 9, 9))"),
     (("        self.a, self.b = nn.Conv2d(3, 8, 3, s, padding=1), nn.Conv2d(3, 8, 1, stride=s)", 0.5),)),
    (stride_edits, net("k", "a, self.b = nn.Conv1d(3, 8, k, padding=1), nn.Conv1d(3, 8, 1, stride=3)", "torch.cat([self.b(x), self.a(x)])", "Net(3)(torch.randn(1, 3, 9))"),
     (("        self.a, self.b = nn.Conv1d(3, 8, k, padding=1, stride=3), nn.Conv1d(3, 8, 1, stride=3)", 1.0),)),
    (stride_edits, net("s", "a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(3, 8, 1, stride=(2, 1))", "self.a(x) + self.b(x)", "Net(2)(torch.randn(1, 3, 8, 8))"),
     ()),  # the sides do not shrink alike
    (stride_edits, net("s", "a = nn.Conv2d(3, 8, 3)", "self.a(x) + x", "Net(2)(torch.randn(1, 3, 1024, 1024))"),
     ()),  # two rows less is no stride
    (stride_edits, net("s", "a = nn.Conv2d(3, 8, 3, s)", "self.a(x) @ x", "Net(2)(torch.randn(1, 3, 8, 8))"),
     ()),  # nothing is joined
    (state_edits, "r = nn.GRU(3, 4, 2)\nx = torch.ones(5, 7, 3)\nh = torch.zeros(7, 2, 4)\nr(x, h)",
     (("r(x, h.transpose(0, 1).contiguous())", 0.3), ("h = torch.zeros(2, 7, 4)", 0.5))),
    (state_edits, "r = nn.LSTM(3, 4, 2)\nx = torch.ones(5, 7, 3)\nh = torch.zeros(7, 4)\nr(x, (h, h))",
     (("r(x, (h.repeat(2, 1, 1), h.repeat(2, 1, 1)))", 0.3),)),
    (state_edits, "r = nn.LSTM(3, 4, batch_first=True, bidirectional=True)\nn = 1\nx = torch.ones(7, 5, 3)\nh = torch.zeros(n, 6, 4)\nc = torch.zeros(n, 6, 4)\nr(x, (h, c))",
     (("h = torch.zeros(n * 2, 7, 4)\nc = torch.zeros(n * 2, 7, 4)", 0.5),)),
    (state_edits, "r = nn.RNN(3, 4, batch_first=True)\nn = 6\nx = torch.ones(7, 5, 3)\nh = torch.zeros(1, n, 4)\nr(x, h)",
     (("h = torch.zeros(1, x.size(0), 4)", 0.5),)),
    (state_edits, "r = nn.GRU(3, 4, 2, True, True)\nn = 2\nx = torch.ones(7, 5, 3)\nh = torch.zeros(x.size(0), n, 4)\nr(x, h)",
     (("r(x, h.transpose(0, 1).contiguous())", 0.3), ("h = torch.zeros(n, x.size(0), 4)", 0.5))),
    (state_edits, "r = nn.GRUCell(3, 4)\nx = torch.ones(7, 3)\nh = torch.zeros(1, 7, 4)\nr(x, h)",
     (("r(x, h.squeeze(0))", 0.3),)),
    (state_edits, "r = nn.GRU(3, 4, 2)\nx = torch.ones(5, 7, 3)\nh = torch.zeros(1, 7, 4)\nr(x, h)",
     (("r(x, h.repeat(2, 1, 1))", 0.6), ("h = torch.zeros(2, 7, 4)", 0.5))),
    (state_edits, "r = nn.GRU(3, 4)\nx = torch.ones(5, 7, 3)\nh = torch.zeros(7, 4)\nr(x, h)",
     (("r(x, h.unsqueeze(0))", 0.3),)),
    (state_edits, "r = nn.LSTMCell(3, 4)\nx = torch.ones(7, 3)\nh = torch.zeros(6, 4)\nc = torch.zeros(6, 4)\nr(x, (h, c))",
     (("h = torch.zeros(7, 4)\nc = torch.zeros(7, 4)", 0.5),)),
    (state_edits, "r = nn.LSTM(3, 4, proj_size=2)\nx = torch.ones(5, 7, 3)\nh = torch.zeros(1, 7, 4)\nr(x, (h, h))",
     ()),
    (state_edits, "r = nn.GRU(3, 4)\nx = torch.ones(5, 7, 6)\nh = torch.zeros(1, 7, 4)\nr(x, h)",
     ()),
    (state_edits, "r = nn.LSTM(3, 4, 2, batch_first=True)\nn = 2\nx = torch.ones(7, 5, 3)\nh = torch.zeros(n, 4)\nr(x, (h, h))",  # without a batch
     (("h = torch.zeros(n, x.size(0), 4)", 0.5),)),
    (state_edits, "r = nn.GRU(3, 4, 2)\nx = torch.ones(7, 5, 3)\nr(x, torch.zeros((2, 4)))",
     (("r(x, torch.zeros((2, x.size(1), 4)))", 0.5),)),
    (name_edits, net("d=8, k=3", "f = nn.Linear(k, 2)", "self.f(x)", "Net()(torch.randn(5, 8))"),  # d is another 8
     ()),
    (name_edits, net("h=4, k=6", "m, inner = k, k * 2\n        w = h * k\n        other = w / 2\n        self.f = nn.Conv2d(in_channels=h, out_channels=k, kernel_size=1)", "self.f(x)", "Net()(torch.randn(5, 24, 3, 3))"),
     (("        self.f = nn.Conv2d(in_channels=w, out_channels=k, kernel_size=1)", 0.7),)),
    (name_edits, net("c=9", "a = nn.Linear(3, c)\n        self.b = nn.BatchNorm1d(5)", "self.b(self.a(x))", "Net()(torch.randn(5, 3))"),
     (("        self.b = nn.BatchNorm1d(c)", 0.7),)),
    (name_edits, net("c=9", "a = nn.Linear(3, c)\n        self.r = nn.GRU(5, 2)", "self.r(self.a(x))", "Net()(torch.randn(4, 3))"),
     (("        self.r = nn.GRU(c, 2)", 0.7),)),
    (name_edits, net("c=9", "b = nn.BatchNorm1d(5)", "self.b(x)", "Net()(torch.randn(9))"),
     ()),
    (name_edits, net("c=2", "f = nn.Linear(5, 4)", "self.f(x)", "Net(2)(torch.randn(3, 2))"),
     ()),
    (name_edits, net("d=8", "e = nn.Embedding(d, 3)", "self.e(x)", "Net()(torch.randn(5, 8))"),
     ()),
    (name_edits, "nn.Linear(5, 4)(torch.randn(3, 7))",
     ()),
    (name_edits, "nn.Conv2d(1, 4, 3)(torch.randn(2, 3, 8, 8))",  # a 1 is no number that is followed
     (("nn.Conv2d(3, 4, 3)(torch.randn(2, 3, 8, 8))", 1.0),)),
    (name_edits, net("d=4, k=5", "a = nn.Linear(3, d)\n        self.b = nn.Linear(d, 2)", "self.b(torch.cat((self.a(x), x[:, :2], x), 1))", "Net()(torch.randn(7, 3))"),
     (("        self.b = nn.Linear(d + k, 2)", 0.8),)),  # 4 and 5 of 9
    (carried_edits, "n = 3\nlayers = []\nfor h in [5, 7]:\n    layers.append(nn.Linear(n, h))\n    layers.append(nn.ReLU())\nnn.Sequential(*layers)(torch.randn(2, 3))",
     (("    n = h", 0.4),)),
    (carried_edits, "layers = []\nfor h in [5, 7]:\n    layers.append(nn.Linear(h, 3))\nnn.Sequential(*layers)(torch.randn(2, 5))",
     ()),
    (carried_edits, "n = 3\nfor h in [5, 7]:\n    pass\nnn.Linear(n, h)(torch.randn(2, 5))",
     ()),
    (binary_loss_edits, "loss = nn.CrossEntropyLoss()\ny = torch.randint(0, 2, (6,))\nloss(torch.randn(6, 1), y)",
     (("loss = nn.BCEWithLogitsLoss()\nloss(torch.randn(6, 1), y.float().unsqueeze(1))", 0.3),)),
    (binary_loss_edits, "loss = nn.CrossEntropyLoss()\ny = torch.randint(0, 2, (6,))\nloss(torch.sigmoid(torch.randn(6, 1)), y)",
     (("loss = nn.BCELoss()\nloss(torch.sigmoid(torch.randn(6, 1)), y.float().unsqueeze(1))", 0.3),)),
    (binary_loss_edits, "loss = nn.CrossEntropyLoss()\ny = torch.randint(0, 3, (6,))\nloss(torch.randn(6, 2), y)",
     ()),
    (binary_loss_edits, "F.cross_entropy(torch.randn(6, 1), torch.randint(0, 2, (6,)))",
     ()),
    (layer_of_function_edits, "nn.Sequential(nn.Linear(3, 4), F.relu, nn.Tanh, torch.flatten, F.interpolate)",
     (("nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Tanh(), nn.Flatten(), F.interpolate)", 0.2),)),
    (layer_of_function_edits, "nn.ModuleList([nn.Linear(3, 4), nn.ReLU])",
     (("nn.ModuleList([nn.Linear(3, 4), nn.ReLU()])", 0.2),)),
    (layer_of_function_edits, "nn.Linear(3, 4)(torch.randn(2, 5))",
     ()),
    (group_edits, "a = 6\nb = 8\nnn.Conv2d(a, b, 3, groups=a)",
     (("nn.Conv2d(a, a, 3, groups=a)", 0.6),)),
    (group_edits, "nn.Conv2d(5, 8, 3, groups=2)",
     ()),
    (group_edits, "nn.MultiheadAttention(9, 2)",
     ()),
    (rank_edits, "nn.Conv1d(3, 2, 1)(torch.randn(1, 1, 3, 9))",
     (("nn.Conv1d(3, 2, 1)(torch.randn(1, 1, 3, 9).squeeze(0))", 0.4), ("nn.Conv1d(3, 2, 1)(torch.randn(1, 1, 3, 9).squeeze(1))", 0.3), ("nn.Conv1d(3, 2, 1)(torch.randn(1, 1, 3, 9).flatten(0, 1))", 0.5))),
    (rank_edits, "nn.Conv2d(3, 2, 1)(torch.randn(4, 5, 3, 9, 9))",
     (("nn.Conv2d(3, 2, 1)(torch.randn(4, 5, 3, 9, 9).flatten(0, 1))", 0.5),)),
    (rank_edits, "nn.Conv1d(4, 2, 1)(torch.randn(5, 6, 3, 9))",
     ()),
    (rank_edits, "x = torch.zeros((9, 8))\nnn.Conv2d(3, 2, 1)(x)",
     (("x = torch.zeros((1, 3, 9, 8))", 0.9),)),
    (rank_edits, net("d=8", "c = nn.Conv2d(3, 2, 1)", "self.c(x)", "Net()(torch.ones(9, 7))"),
     (("Net()(torch.ones(1, 3, 9, 7))", 0.9),)),
    (rank_edits, "x = torch.arange(9.)\nnn.Conv1d(3, 2, 1)(x)",
     ()),
    (rank_edits, "nn.Conv2d(3, 2, 1)(torch.randn(9, 8, 3))",
     (("nn.Conv2d(3, 2, 1)(torch.randn(9, 8, 3).permute(2, 0, 1))", 0.5),)),
    (rank_edits, "nn.Conv1d(3, 2, 1)(torch.randn(9, 3))",
     ()),
    (rank_edits, "nn.Linear(3, 2)(torch.randn(9, 4))",
     ()),
    (batch_first_edits, "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\na(x, x, x, key_padding_mask=torch.zeros(9, 3).bool())",
     (("a = nn.MultiheadAttention(4, 2, batch_first=True)", 0.2),)),
    (batch_first_edits, "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\na(x, x, x, key_padding_mask=torch.zeros(9, 4).bool())",
     ()),
    (mask_shape_edits, "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\nm = torch.zeros(7, 7)\na(x, x, x, attn_mask=m)",
     (("m = torch.zeros(9, 9)", 0.5),)),
    (mask_shape_edits, "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\nm = torch.triu(torch.ones(7, 7), 1).bool()\na(x, x, x, attn_mask=m)",
     (("m = torch.triu(torch.ones(9, 9), 1).bool()", 0.5),)),
    (mask_shape_edits, "a = nn.TransformerEncoderLayer(4, 2, 8)\nx = torch.ones(9, 3, 4)\nm = nn.Transformer.generate_square_subsequent_mask(7)\na(x, src_mask=m)",
     (("m = nn.Transformer.generate_square_subsequent_mask(9)", 0.5),)),
    (mask_shape_edits, "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\nm = torch.zeros(9, 3).bool()\na(x, x, x, key_padding_mask=m)",
     (("m = torch.zeros(3, 9).bool()", 0.7),)),
    (mask_edits, "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\nm = torch.zeros(9, 3).bool()\na(x, x, x, key_padding_mask=m)",
     (("a(x, x, x, key_padding_mask=m.transpose(0, 1))", 0.3),)),
    (mask_edits, "a = nn.MultiheadAttention(4, 2)\nq = torch.ones(5, 3, 4)\nx = torch.ones(9, 3, 4)\na(q, x, x, attn_mask=torch.zeros(9, 5))",
     (("a(q, x, x, attn_mask=torch.zeros(9, 5).transpose(0, 1))", 0.3),)),
    (norm_edits, "b = nn.BatchNorm2d(4)\nx = torch.ones(4, 5, 5)\nb(x)",
     (("b(x.unsqueeze(0))", 0.3),)),
    (norm_edits, "b = nn.BatchNorm2d(4)\nx = torch.ones(5, 4)\nb(x)",
     (("b = nn.BatchNorm1d(4)", 0.35),)),
    (norm_edits, "b = nn.BatchNorm1d(4)\nx = torch.ones(5, 4, 3, 3)\nb(x)",
     (("b = nn.BatchNorm2d(4)", 0.35),)),
    (norm_edits, "b = nn.BatchNorm3d(4)\nx = torch.ones(5, 4, 3, 3)\nb(x)",
     (("b = nn.BatchNorm2d(4)", 0.35),)),
    (norm_edits, "b = nn.InstanceNorm3d(4)\nx = torch.ones(5, 4, 3)\nb(x)",
     (("b = nn.InstanceNorm1d(4)", 0.35),)),
    (norm_edits, "b = nn.BatchNorm2d(4)\nx = torch.ones(5, 3)\nb(x)",
     ()),
    (device_edits, "f = nn.Linear(4, 2).to('cuda:1')\nx = torch.ones(3, 4)\nf(x)",
     (('x = torch.ones(3, 4, device="cuda")', 0.25), ('f(x.to("cuda"))', 0.3), ('f.to("cuda")(x)', 0.4))),
    (device_edits, "d = torch.device('cuda')\ne = 'cuda'\nf = nn.Linear(4, 2).to(d)\nx = torch.ones(3, 4).relu()\nf(x)",
     (("x = torch.ones(3, 4, device=d).relu()", 0.25), ("f(x.to(d))", 0.3), ("x = torch.ones(3, 4, device=e).relu()", 0.3), ("f(x.to(e))", 0.35), ("f.to(d)(x)", 0.4), ("f.to(e)(x)", 0.4))),
    (device_edits, "n = 'no device'\nx = torch.ones(4, 4, device='cuda')\nx @ torch.eye(4)",
     (('x.to("cuda") @ torch.eye(4)', 0.3), ('x @ torch.eye(4, device="cuda")', 0.25), ('x @ torch.eye(4).to("cuda")', 0.3))),
    (device_edits, "d = 'cuda'\na = torch.ones(3)\nx = torch.ones(3).to(d)\na + x\na = torch.full((3,), 2.0)",
     (("a = torch.ones(3, device=d)", 0.25), ("a.to(d) + x", 0.3), ("x = torch.ones(3, device=d).to(d)", 0.25), ("a + x.to(d)", 0.3))),
    (device_edits, "d = nn.Linear(4, 2).to('cuda')\ny = d(torch.ones(3, 4, device='cpu'))",
     (("y = d(torch.ones(3, 4, device='cpu').to(\"cuda\"))", 0.3), ("y = d.to(\"cuda\")(torch.ones(3, 4, device='cpu'))", 0.4))),
    (device_edits, net("d=4", "p = torch.arange(4)", "x + self.p", "device = 'cuda'\nNet()(torch.ones(4).to(device))"),
     (("        return x + self.p.to(x.device)", 0.3),)),
    (device_edits, net("d=4", "f = nn.Linear(4, 2)", "self.f(x) + torch.zeros(2)", "Net().cuda()(torch.ones(4).cuda())"),
     ()),
    (device_edits, "nn.Linear(4, 2)(torch.ones(3, 5))",
     ()),
)  # fmt: skip


@pytest.mark.parametrize(("search", "text", "edits"), CASES)
def test_a_search_proposes_these_edits(search, text, edits) -> None:
    failure = failure_of(SourceTrace(text).read())
    assert failure is not None
    rows = text.split("\n")
    proposed = [
        (
            "\n".join(row for row in apply_edits(text, one.edits).split("\n") if row not in rows),
            one.cost,
        )
        for one in search(failure)
    ]
    assert [words for words, _ in proposed] == [words for words, _ in edits]
    assert [cost for _, cost in proposed] == pytest.approx([cost for _, cost in edits])


def test_a_call_that_ends_with_a_comma_gets_a_further_argument() -> None:
    text = "nn.MultiheadAttention(\n    8,\n    2,\n)(torch.randn(2, 5, 8), {0}, {0})"
    text = text.format("torch.randn(2, 7, 8)")
    failure = failure_of(SourceTrace(text).read())
    assert failure is not None
    cured = text.replace("2,\n)", "2,\nbatch_first=True)")
    assert cured in [apply_edits(text, one.edits) for one in switch_edits(failure)]
    assert SourceTrace(cured).read().refusal is None


@pytest.mark.parametrize("call", ["x.transpose(0, 1).view(24)", "x.mT.contiguous().mT.view(2, 12)"])
def test_a_view_of_moved_axes_may_be_a_reshape(call: str) -> None:
    text = f"x = torch.randn(2, 3, 4)\ny = {call}"
    failure = failure_of(SourceTrace(text, False).read())
    assert failure is not None
    first = next(call_edits(failure))
    assert apply_edits(text, first.edits) == text.replace(".view(", ".reshape(")
    assert (first.cost, first.kind) == (0.3, "memory")


def test_an_einsum_that_loses_a_letter_sums_over_it_in_both_operands() -> None:
    start, made = "torch.einsum('", "torch.randn(2, 4, 5), torch.randn(2, 5, 7))"
    text = f"{start}bqk, bqd->bqd', {made}"
    failure = failure_of(SourceTrace(text).read())
    assert failure is not None
    first, *others = [apply_edits(text, one.edits) for one in call_edits(failure)]
    assert first == f"{start}bqk, bkd->bqd', {made}"
    assert others, "letters are exchanged too"
    assert torch.einsum("bqk, bkd->bqd", torch.ones(2, 4, 5), torch.ones(2, 5, 7)).shape == (
        2,
        4,
        7,
    )


@pytest.mark.parametrize(
    ("target", "steps", "reduction", "shape"),
    [
        ("(6, 3)", 6, "mean", ()),
        ("(18,)", 6, "sum", ()),
        ("(6, 3)", 6, "none", (6,)),
        ("(8, 3)", 6, "mean", None),
        ("(6, 3)", 8, "mean", None),
    ],
)
def test_a_connectionist_loss_is_that_of_torch(target, steps, reduction, shape) -> None:
    made = (
        f"F.ctc_loss(torch.randn(9, 6, 5), torch.ones({target}).long(), torch.full(({steps},), 9), "
        f"torch.full(({steps},), 3), reduction='{reduction}')"
    )
    trace = SourceTrace(f"y = {made}", False).read()
    wanted = ast.literal_eval(target)
    lengths = torch.full((steps,), 9), torch.full((steps,), 3)
    scores = torch.zeros(9, 6, 5).log_softmax(2)
    if shape is None:
        with pytest.raises(RuntimeError):
            F.ctc_loss(scores, torch.ones(wanted).long(), *lengths, reduction=reduction)
        assert failure_of(trace) is not None
        cures = [apply_edits(trace.text, one.edits) for one in axis_edits(failure_of(trace))]
        assert any("torch.randn(9, 6, 5).transpose(0, 1)" in each for each in cures)
        return
    assert (
        F.ctc_loss(scores, torch.ones(wanted).long(), *lengths, reduction=reduction).shape == shape
    )
    assert trace.message == "" and trace.shape_of(trace.result) == (shape,)
