"""Inputs by name alone, and objects of which a module reads attributes, are assumed."""

from __future__ import annotations

import pytest
from torch import nn

from ncd.notation.call_form import call_form
from ncd.read.python_source.source_reader import read_source
from ncd.read.python_source.structured_inputs import by_name

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
NAMED = f"""{HEAD}
class Mix(nn.Module):
    def __init__(self, heads: int, d_model: int):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))
    def forward(self, *, query, key, value, mask=None):
        scores = self.q(query) @ self.k(key).transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return scores.softmax(-1) @ self.v(value)
"""
GRAPH = f"""{HEAD}
from somewhere.nn import GraphConv, mean_pool
class Net(nn.Module):
    def __init__(self, dataset):
        super().__init__()
        self.conv = GraphConv(dataset.num_features, 16)
        self.head = nn.Linear(16, dataset.num_classes)
    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = F.relu(self.conv(x, edge_index))
        return self.head(mean_pool(x, data.batch))
"""
NESTED = f"""{HEAD}
class Places(nn.Module):
    def __init__(self, num_pos_feats=64):
        super().__init__()
        self.n = num_pos_feats
    def forward(self, images):
        mask = images.mask
        assert mask is not None
        rows = (~mask).cumsum(1, dtype=torch.float32)
        return (rows[:, :, :, None] / torch.arange(1.0, self.n + 1)), images.tensors.shape[1] * rows
"""
FOR_A_CONDITION = f"""{HEAD}
class Net(nn.Module):
    def __init__(self, in_channels, d_cond=24):
        super().__init__()
        self.time, self.first = nn.Linear(1, 16), nn.Conv2d(in_channels, 16, 3, padding=1)
        self.mix = nn.Linear(d_cond, 16)
    def forward(self, x, t, cond):
        y = self.first(x) + self.time(t.float()[:, None])[:, :, None, None]
        return y + self.mix(cond).mean(1)[:, :, None, None]
"""
KINDS = {
    "named": (NAMED, ((1, 64),), ("query", "key", "value")),
    "graph": (GRAPH, ((10, 10),), ("data.x", "data.edge_index", "data.batch")),
    "nested": (NESTED, ((1, 64, 64, 64), (1, 64, 64)), ("images.tensors", "images.mask")),
    "condition": (FOR_A_CONDITION, ((1, 16, 32, 32),), ("x", "t", "cond")),
}


@pytest.mark.parametrize("name", KINDS)
def test_inputs_are_assumed_and_the_form_continues_them(name: str) -> None:
    source, shapes, inputs = KINDS[name]
    found = read_source(source)
    assert found.failure is None
    assert found.shapes == shapes
    again = read_source(f"{source}{found.call.line}")
    assert again.shapes == shapes and again.failure is None
    fields = [each.name for each in call_form(source, found.call).fields if each.kind == "shape"]
    assert fields == [*inputs]


def test_a_missing_input_by_name_is_a_blank_of_its_own() -> None:
    assert "query=torch.randn(1, 64)" in read_source(NAMED).call.line


def test_inputs_are_split_into_those_by_place_and_by_name() -> None:
    class Sum(nn.Module):
        def forward(self, x: int, *, y: int, z: int = 0) -> int:
            return x + y + z

    assert by_name(Sum(), (1, 2)) == ((1,), {"y": 2})
    assert by_name(nn.ReLU(), (1,)) == ((1,), {})
