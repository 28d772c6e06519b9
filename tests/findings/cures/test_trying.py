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

    for module in (cure_search, cure_search):
        monkeypatch.setattr(module, "read_again", counted)
    (found,) = findings(text, LONG)
    assert found.cures and len(readings) <= cure_search.PATIENCE + 2
