"""Of a file the whole model is drawn, with sizes and inputs that it speaks of itself."""

from __future__ import annotations

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source

HEAD = """import torch
from torch import nn
"""
LAYER = """
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 3)
    def forward(self, x):
        return self.linear(x)
"""
NET = """
class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = Layer(dim)
    def forward(self, x):
        return self.layer(x)
"""
POST = """
class Post(nn.Module):
    def forward(self, x):
        return x.softmax(-1)
"""
UNSET = NET.replace("dim)", "dim, depth=None)", 1).replace(
    "self.layer = ",
    "assert depth is not None, 'depth must be given'\n        self.layer = ",
)
BUILDER = f"""{LAYER}
class Net(nn.Module):
    def __init__(self, dim=4, flat=False):
        super().__init__()
        self.flat, self.conv, self.layer = flat, nn.Conv2d(3, dim, 8), Layer(dim)
    def forward(self, x):
        x = self.conv(x)
        return self.layer(x.mean((2, 3)) if self.flat else x)
def net_small(**named):
    return Net(**dict(dim=5, flat=True, **named))
"""
CALLED = f"""{LAYER}{NET}
def main(width=7):
    if width:
        size = 20
    return Net(size).train(data, epochs)
"""
FRAMES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 2, 8, stride=4)
        self.linear = nn.Linear(20 * 20 * 2, 3)
    def forward(self, x):
        return self.linear(self.conv(x).reshape(-1, 20 * 20 * 2))
"""
COLUMNS = FRAMES.replace("20", "7").replace("4, 2, 8", "4, 2, 4")  # with 224, 64 times the batch
DENSE = """
class Net(nn.Module):
    def __init__(self, in_features, num_classes):
        super().__init__()
        self.linear = nn.Linear(in_features, num_classes)
    def forward(self, x, adj_mat):
        return adj_mat @ self.linear(x)
"""
GRAPH = """
from torch_geometric.nn import GraphConv
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = GraphConv(12, 16), nn.Linear(32, 5)
    def forward(self, data):
        x = self.conv(data.x, data.edge_index)
        return self.linear(torch.cat([x, x], dim=1))
"""


@pytest.mark.parametrize(
    ("text", "line", "shape"),
    [
        (LAYER + NET + POST, "Net(dim=64)(torch.randn(1, 64))", (1, 3)),
        (LAYER + UNSET, "Net(dim=64, depth=2)(torch.randn(1, 64))", (1, 3)),
        (BUILDER, "net_small()(torch.randn(1, 3, 32, 32))", (1, 3)),
        (CALLED, "Net(dim=20)(torch.randn(1, 20))", (1, 3)),
        (f"{FRAMES}# an 84x84 frame becomes 20x20", "Net()(torch.randn(1, 4, 84, 84))", (1, 3)),
        (COLUMNS, "Net()(torch.randn(1, 4, 28, 28))", (1, 3)),
        (
            DENSE,
            "Net(in_features=64, num_classes=10)(torch.randn(10, 64), torch.randn(10, 10))",
            (10, 10),
        ),
        (
            GRAPH,
            "GraphConv.result = torch.empty(10, 16)\nfrom types import SimpleNamespace\n"
            "Net()(SimpleNamespace(x=torch.randn(10, 12), edge_index=torch.randint(10, (2, 20))))",
            (10, 5),
        ),
    ],
    ids=["parts", "unset", "builder", "called", "frames", "columns", "dense", "graph"],
)
def test_the_whole_model_is_drawn_with_its_own_sizes(
    text: str, line: str, shape: tuple[int, ...]
) -> None:
    found = read_source(HEAD + text)
    assert (found.call.line, found.shapes) == (line, (shape,))
    assert not found.failure and "is not drawn" not in found.note


WRAPPER = """
class Trainer(nn.Module):
    def __init__(self, net, image_size):
        super().__init__()
        self.first, self.net = Layer(image_size), net
    def forward(self, x):
        return self.net(x) + self.first(x)
"""
ELSEWHERE = """
from detection import Detector
class Whole(Detector):
    def __init__(self, width):
        super().__init__(Layer(width))
"""


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (WRAPPER, "Trainer is not drawn: it needs net."),
        (ELSEWHERE, "Whole is not drawn: what it does stands in another file."),
    ],
)
def test_a_part_that_is_drawn_says_which_whole_is_not(text: str, note: str) -> None:
    found = read_source(HEAD + LAYER + text)
    assert found.call.line == "Layer(width=64)(torch.randn(1, 64))"
    assert note in found.note


SETTINGS = """
from configs import BaseConfigs
class Configs(BaseConfigs):
    model: Layer
"""


def test_settings_that_name_a_module_are_no_whole() -> None:
    assert "Configs" not in read_source(HEAD + LAYER + SETTINGS).note


def test_a_part_without_weights_is_not_drawn_instead_of_the_whole() -> None:
    whole = NET.replace("x)", "x, pos)", 1).replace("(x)", "(x).reshape(7, 11) + pos")
    with pytest.raises(TextError) as error:
        read_source(HEAD + POST + whole.replace("Layer(dim)", "Post()"))
    assert str(error.value).startswith("line 1, column 1: Net takes inputs (x, pos), of which no")
    assert error.value.call is not None
    assert error.value.call.line == "Net(dim=64)(..., ...)"


@pytest.mark.parametrize(
    "call",
    [
        "self.f(x)",
        "self.f(x, None)",
        "self.f(x, None, None)",
        "self.f(x, None, None, False)",
        "self.f(x, is_causal=False)",
        "self.g(x, x)",
        "self.g(x, x, None, None, None, None)",
        "self.g(x, x, None, None, None, None, False)",
        "self.g(x, x, None, None, None, None, False, False)",
        "self.g(x, x, tgt_is_causal=False)",
    ],
)
def test_a_stack_of_torch_takes_all_its_arguments_by_place_or_name(call: str) -> None:
    text = f"""class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1)
        self.g = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1)
    def forward(self, x):
        return {call}
Net()(torch.randn(5, 3, 8))"""
    found = read_source(text)
    assert found.failure is None and found.shapes == ((5, 3, 8),)
