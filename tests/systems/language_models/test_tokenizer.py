"""The vectors of tokens beside ``torch.nn.Embedding``, and the two ways to read its table."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ncd
from ncd.systems.language_models.byte_pair_tokens import PRODUCT, ROW, WAYS

ENTRY = ncd.catalogue["tokenizer"]


@pytest.mark.parametrize("way", [ROW, PRODUCT], ids=WAYS)
def test_vectors_and_gradients_are_those_of_an_embedding(way: int) -> None:
    """A token that comes twice is a row with two gradients; one that does not come has none."""
    module = ncd.compile(ENTRY.build(v=300, t=4, m=5, way=way), 1)
    layer = nn.Embedding(300, 5)
    (table,) = module.parameters()
    with torch.no_grad():
        layer.weight.copy_(table)
    numbers = torch.tensor([299, 7, 0, 7])
    pull = torch.randn(4, 5, generator=torch.Generator().manual_seed(2))
    ours, theirs = module(numbers), layer(numbers)
    torch.testing.assert_close(ours, theirs)
    for made in (ours, theirs):
        (made * pull).sum().backward()
    assert table.grad is not None and layer.weight.grad is not None
    torch.testing.assert_close(table.grad, layer.weight.grad)
    assert table.grad.any(1).nonzero().flatten().tolist() == [0, 7, 299]
    torch.testing.assert_close(table.grad[7], pull[1] + pull[3])


def test_a_product_takes_work_for_every_token_that_there_is() -> None:
    row, product = (ncd.cost(ENTRY.build(v=300, t=4, m=5, way=way)) for way in (ROW, PRODUCT))
    assert row.parameters == product.parameters == 1500
    assert (row.flops, product.flops) == (0, 2 * 4 * 300 * 5)
