"""Functions and layers of torch that a source may name, with the shapes of torch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from ncd.read.python_source.source_reader import read_source

NET = "class Net(nn.Module):\n    def forward(self, x):\n        return {}\n# 2x4x8\n"
CALLS = (
    "F.rms_norm(x, (8,))",
    "F.interpolate(x, size=12, mode='linear', align_corners=True)",
    "F.scaled_dot_product_attention(x, x, x, attn_mask=torch.zeros(4, 4), scale=0.1)",
    "F.triplet_margin_loss(x, x + 1, x - 1)",
    "F.soft_margin_loss(x, x)",
    "x.tril() + torch.triu(x, 1)",
    "x.movedim(0, 1)",
    "torch.logcumsumexp(x, -1)",
    "x.repeat(2, 1, 1, 3)",
)
LINES = (
    "nn.LSTM(8, 5, bidirectional=True)(torch.randn(4, 2, 8))",
    "nn.EmbeddingBag(10, 4)(torch.randint(0, 10, (3, 5)))",
    "nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1)(torch.randn(1, 3, 8, 8))",
    "nn.TransformerDecoderLayer(8, 2)(torch.randn(5, 1, 8), torch.randn(4, 1, 8))",
    "nn.MarginRankingLoss()(torch.randn(4), torch.randn(4), torch.ones(4))",
    "nn.ZeroPad1d(2)(torch.randn(1, 2, 6))",
)


def test_listed_names_are_read_with_the_shapes_of_torch() -> None:
    names = {"torch": torch, "nn": nn, "F": F, "x": torch.randn(2, 4, 8)}
    texts = {call: NET.format(call) for call in CALLS} | {line: line for line in LINES}
    wrong = {}
    for call, text in texts.items():
        wanted = eval(call, names)
        some = wanted if isinstance(wanted, tuple) else (wanted,)
        found = read_source(text)
        shapes = [array.shape for array in found.term.cod]
        if shapes[0] != tuple(some[0].shape) or "torch's" in found.note:
            wrong[call] = (shapes, found.note)
    assert not wrong


def test_a_line_takes_the_range_of_an_embedding_and_the_order_of_a_recurrent_layer() -> None:
    found = read_source("nn.Embedding(100, 8)(2, 5)").term
    assert (found.dom.spec, found.cod.spec) == ("b:2 ~t:5#v:100", "b:2 ~t:5 m:8")
    assert read_source("nn.LSTM(64, 128)").term.dom.spec == "~t:16 b:2 m:64"
    assert read_source("nn.GRU(64, 128, batch_first=True)").term.dom.spec == "b:2 ~t:16 m:64"
