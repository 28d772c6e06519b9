"""Functions and layers of torch that a source may name, with the shapes of torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ncd
from ncd.notation.term_reader import TextError
from ncd.read.python_source.attributes import TENSOR_METHODS
from ncd.read.python_source.source_reader import read_source
from ncd.read.python_source.torch_names import FUNCTIONS, TORCH

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


BAGS = (
    "nn.EmbeddingBag(10, 4, mode='sum', padding_idx=2)(torch.tensor([[1, 2, 4], [2, 2, 9]]))",
    "nn.EmbeddingBag(10, 4)(torch.tensor([1, 2, 4, 5, 4, 9]), torch.tensor([0, 3, 3, 5]))",
    "nn.EmbeddingBag(10, 4, padding_idx=4)(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 1]))",
    "nn.EmbeddingBag(10, 4, mode='sum', include_last_offset=True)(IDS, torch.tensor([0, 3, 6]))",
    "nn.EmbeddingBag(10, 4, mode='max')(IDS, torch.tensor([0, 5]))",
)
BAG = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = {}
    def forward(self, x):
        return self.e({}) + x
# 1x4"""


def test_bags_of_any_length_and_with_padding_have_the_values_of_torch() -> None:
    for line in BAGS:
        made, _, called = line.replace("IDS", "torch.tensor([1, 2, 4, 5, 4, 9])").partition(")(")
        names = {"torch": torch, "nn": nn}
        theirs: nn.Module = eval(f"{made})", names)
        ours = ncd.compile(read_source(BAG.format(f"{made})", called[:-1])).term)
        (weight,) = ours.parameters()
        weight.data.copy_(theirs.weight.data)
        x = torch.randn(1, 4)
        wanted = theirs(*eval(f"({called[:-1]},)", names)) + x
        torch.testing.assert_close(ours(x), wanted)


def test_what_a_tensor_can_do_is_a_function_of_torch_as_well() -> None:
    here = {"cpu"}
    both = {name for name in TENSOR_METHODS if hasattr(torch, name) and name[-1] != "_"} - here
    assert not both - {*TORCH.names}
    methods = {name for name in FUNCTIONS.split() if hasattr(torch.Tensor, name)}
    assert not methods - TENSOR_METHODS


ALIKE = (
    "torch.index_select(x, 2, torch.tensor([7, 0, 0]))",
    "torch.index_select(input=x, dim=0, index=torch.arange(0, 2))",
    "torch.index_fill(x, 1, torch.tensor([2]), 5.0)",
    "torch.arctan2(x, x + 3)",
    "torch.greater(x, 0)",
    "torch.ravel(x)",
    "x.exp2()",
    "x.less_equal(0.5)",
)


def test_both_names_of_a_function_have_the_values_of_torch() -> None:
    x = torch.randn(2, 4, 8)
    for call in ALIKE:
        ours = ncd.compile(read_source(NET.format(call)).term)
        wanted = eval(call, {"torch": torch, "x": x})
        assert torch.allclose(ours(x).float(), wanted.float(), atol=1e-6), call


def test_a_generator_changes_no_shape() -> None:
    for call in (
        "x + torch.randn(x.shape, generator=torch.Generator().manual_seed(0))",
        "x[:, torch.randperm(4, generator=torch.Generator(device=x.device))]",
        "x * torch.bernoulli(torch.full_like(x, 0.5), generator=torch.Generator())",
    ):
        assert [array.shape for array in read_source(NET.format(call)).term.cod] == [(2, 4, 8)]


def test_a_number_of_classes_that_numbers_decide_is_refused_in_plain_words() -> None:
    with pytest.raises(TextError, match="depends on the numbers of an array") as raised:
        found = read_source(NET.format("F.one_hot(x.argmax(-1))"))
        raise found.failure or AssertionError
    assert raised.value.cure == "its size as an argument"
