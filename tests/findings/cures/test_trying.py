"""Cures differ from each other, and no more edits are tried than may bring a nearer one."""

from __future__ import annotations

from typing import Any

import pytest

from ncd.findings.cures import cure_search
from ncd.findings.cures.cure_search import read_again
from ncd.findings.search import findings

LONG = 300.0  # on a busy machine
KERNELS = {
    "nn.Conv2d(3, 8, 5)(torch.randn(1, 3, 4, 4))": (
        "nn.Conv2d(3, 8, 5)(torch.randn(1, 3, 5, 5))",
        "nn.Conv2d(3, 8, 4)(torch.randn(1, 3, 4, 4))",
    ),
    "nn.Conv3d(3, 8, 5)(torch.randn(1, 3, 4, 4, 4))": (
        "nn.Conv3d(3, 8, 5)(torch.randn(1, 3, 5, 5, 5))",
        "nn.Conv3d(3, 8, 4)(torch.randn(1, 3, 4, 4, 4))",
    ),
    "nn.MaxPool2d(3)(torch.randn(1, 2, 2, 5))": (  # not with 3 channels too, which nothing needs
        "nn.MaxPool2d(3)(torch.randn(1, 2, 3, 5))",
        "nn.MaxPool2d(3, ceil_mode=True)(torch.randn(1, 2, 2, 5))",
    ),
}
ENCODER = """a = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 4, batch_first=True), 2)
x = torch.randn(2, 5, 8)
a(x, mask=torch.zeros(2, 1, 1, 5))"""


@pytest.mark.parametrize("text", KERNELS)
def test_a_kernel_larger_than_its_input_has_cures_that_differ(text: str) -> None:
    (found,) = findings(text, LONG)
    assert tuple(cure.text for cure in found.cures) == KERNELS[text]


@pytest.mark.parametrize("text", [*KERNELS, ENCODER])
def test_the_search_ends_where_nothing_nearer_can_come(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = []

    def counted(*args: Any) -> Any:
        readings.append(args[0])
        return read_again(*args)

    monkeypatch.setattr(cure_search, "read_again", counted)
    (found,) = findings(text, LONG)
    assert found.cures and len(readings) <= cure_search.PATIENCE + 2


GROUPED = """import torch, torch.nn as nn, torch.nn.functional as F
class Grouped(nn.Module):
    def __init__(self, dim=64, heads=8, groups=2):
        super().__init__()
        self.size = dim // heads
        self.heads, self.groups = heads, groups
        self.q = nn.Linear(dim, heads * self.size)
        self.k = nn.Linear(dim, groups * self.size)
        self.v = nn.Linear(dim, groups * self.size)
    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.heads, self.size).transpose(1, 2)
        k = self.k(x).view(b, t, self.groups, self.size).transpose(1, 2)
        v = self.v(x).view(b, t, self.groups, self.size).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v)
Grouped()(torch.randn(1, 12, 64))"""


def test_a_search_in_vain_keeps_no_other_one_from_its_cure() -> None:
    (found,) = findings(GROUPED, LONG)
    assert "enable_gqa=True" in found.cures[0].text
    assert {cure.text for cure in found.cures[1:]} == {  # behind many other orders of axes
        GROUPED.replace("heads=8", "heads=2"),
        GROUPED.replace("groups=2", "groups=8"),
    }


def test_a_layer_made_for_one_channel_is_a_cure_that_changes_the_model() -> None:
    (found,) = findings("nn.Conv2d(3, 8, 3)(torch.randn(2, 1, 9, 9))")
    assert found.says.startswith("Conv2d gets 1 channel (the channels of the input, line 1): ")
    assert [(cure.changes, cure.text) for cure in found.cures] == [
        ("model", "nn.Conv2d(1, 8, 3)(torch.randn(2, 1, 9, 9))"),
        ("input", "nn.Conv2d(3, 8, 3)(torch.randn(2, 3, 9, 9))"),
    ]
