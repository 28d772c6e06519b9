"""Merged queries, keys and values: the eight lines of the exercise, retyped."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.app.panels.attention.torch_layer import head_owners, permutation
from tests.systems.retyped import given, same

SIZES = ({}, {"h": 3, "k": 5, "m": 7, "t": 4}, {"h": 1, "k": 1, "m": 2, "t": 1})


def scaled_dot_product(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    logits = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size()[-1])
    attention = nn.functional.softmax(logits, dim=-1)
    return torch.matmul(attention, v), attention


class Exercise(nn.Module):
    """With a batch of one sequence; ``outside`` chooses between (h, 3D) and (3D, h)."""

    def __init__(self, h: int, k: int, m: int, outside: bool) -> None:
        super().__init__()
        self.num_heads, self.head_dim, self.outside = h, k, outside
        self.qkv_proj, self.o_proj = nn.Linear(m, 3 * h * k), nn.Linear(h * k, m)

    def forward(self, x: Tensor) -> Tensor:
        batch_size, seq_length, _ = (x := x[None]).size()
        qkv = self.qkv_proj(x)
        if self.outside:
            qkv = qkv.reshape(batch_size, seq_length, self.num_heads, 3 * self.head_dim)
            qkv = qkv.permute(0, 2, 1, 3)
        else:
            qkv = qkv.reshape(batch_size, seq_length, 3 * self.head_dim, self.num_heads)
            qkv = qkv.permute(0, 3, 1, 2)
        q, k, v = qkv.chunk(3, dim=-1)
        values, _ = scaled_dot_product(q, k, v)
        values = values.permute(0, 2, 1, 3)
        values = values.reshape(batch_size, seq_length, self.num_heads * self.head_dim)
        return self.o_proj(values)[0]


@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_both_orders_are_those_of_the_exercise(sizes: dict[str, int], outside: int) -> None:
    entry = ncd.catalogue["merged-qkv"]
    n = entry.settings({**sizes, "outside": outside})
    ours = ncd.compile(entry.build(**n), seed=1)
    theirs = Exercise(n["h"], n["k"], n["m"], bool(outside))
    names = {"qkv": "qkv_proj", "o": "o_proj"}
    theirs.load_state_dict(
        {f"{names[k.split('.')[0]]}.{k.split('.')[1]}": w for k, w in ours.state_dict().items()}
    )
    weights = list(zip(ours.parameters(), theirs.parameters(), strict=True))
    same(ours, theirs, given([n["t"], n["m"]]), weights)


@pytest.mark.parametrize(("h", "k"), [(1, 1), (2, 3), (4, 8)])
def test_the_permutation_leads_from_one_order_to_the_other(h: int, k: int) -> None:
    outside, inside = head_owners(h, k, 1), head_owners(h, k, 0)
    assert [outside[i] for i in permutation(h, k).tolist()] == inside
    assert sorted(outside) == sorted(inside)
