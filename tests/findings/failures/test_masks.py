"""A mask of the wrong shape, or under the wrong name, gets its reason and a cure that torch runs."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ncd.findings.search import findings

LONG = 300.0  # on a busy machine
ATTENTION = "a = nn.MultiheadAttention(8, 4, batch_first=True)\nx = torch.randn(2, 5, 8)\n"
ENCODER = "a = nn.TransformerEncoderLayer(8, 4, batch_first=True)\nx = torch.randn(2, 5, 8)\n"
DECODER = (
    "a = nn.TransformerDecoderLayer(8, 4)\nx = torch.randn(3, 2, 8)\ny = torch.randn(5, 2, 8)\n"
)
TABLE = "it takes 5 × 5 (queries, keys) for all, or 8 × 5 × 5 (batch 2 · heads 4, queries, keys)."
KEYS = "it takes 2 × 5 (batch, keys)."
WHOLE = (
    "it takes bool, where True leaves a key out, or real numbers, which are added to the scores."
)
CASES = (
    (ATTENTION, "a(x, x, x, attn_mask=torch.zeros(2, 5).bool())",
     f"MultiheadAttention gets an attn_mask of 2 × 5; {TABLE}",
     "a(x, x, x, key_padding_mask=torch.zeros(2, 5).bool())"),
    (ATTENTION, "a(x, x, x, attn_mask=torch.zeros(2, 1, 5).bool())",
     f"MultiheadAttention gets an attn_mask of 2 × 1 × 5; {TABLE}",
     "a(x, x, x, key_padding_mask=torch.zeros(2, 1, 5).bool()[:, 0])"),
    (ATTENTION, "a(x, x, x, attn_mask=torch.zeros(2, 5, 5))",
     f"MultiheadAttention gets an attn_mask of 2 × 5 × 5; {TABLE}",
     "a(x, x, x, attn_mask=torch.zeros(2, 5, 5).repeat_interleave(4, 0))"),
    (ATTENTION, "a(x, x, x, attn_mask=torch.zeros(4, 5, 5))",
     f"MultiheadAttention gets an attn_mask of 4 × 5 × 5; {TABLE}",
     "a(x, x, x, attn_mask=torch.zeros(4, 5, 5).repeat(x.size(0), 1, 1))"),
    (ATTENTION, "a(x, x, x, attn_mask=torch.zeros(2, 4, 5, 5))",
     f"MultiheadAttention gets an attn_mask of 2 × 4 × 5 × 5; {TABLE}",
     "a(x, x, x, attn_mask=torch.zeros(2, 4, 5, 5).flatten(0, 1))"),
    (ATTENTION, "a(x, x, x, attn_mask=torch.zeros(9, 9))",
     f"MultiheadAttention gets an attn_mask of 9 × 9; {TABLE}",
     "a(x, x, x, attn_mask=torch.zeros(9, 9)[:x.size(1), :x.size(1)])"),
    (ATTENTION, "a(x, x, x, key_padding_mask=torch.zeros(5, 5))",
     f"MultiheadAttention gets a key_padding_mask of 5 × 5; {KEYS}",
     "a(x, x, x, attn_mask=torch.zeros(5, 5))"),
    (ATTENTION, "a(x, x, x, torch.zeros(5, 5), attn_mask=torch.zeros(2, 5))",
     f"MultiheadAttention gets a key_padding_mask of 5 × 5; {KEYS}",
     "a(x, x, x, attn_mask=torch.zeros(5, 5), key_padding_mask=torch.zeros(2, 5))"),
    (ATTENTION, "a(x, x, x, key_padding_mask=torch.zeros(2, 9))",
     f"MultiheadAttention gets a key_padding_mask of 2 × 9; {KEYS}",
     "a(x, x, x, key_padding_mask=torch.zeros(2, 9)[:, :x.size(1)])"),
    (ATTENTION, "a(x, x, x, key_padding_mask=torch.zeros(2, 5).long())",
     f"MultiheadAttention gets a mask of whole numbers (key_padding_mask); {WHOLE}",
     "a(x, x, x, key_padding_mask=torch.zeros(2, 5).long().bool())"),
    (ENCODER, "a(x, torch.zeros(2, 5))",
     f"self_attn (MultiheadAttention) gets an attn_mask of 2 × 5; {TABLE}",
     "a(x, src_key_padding_mask=torch.zeros(2, 5))"),
    (ENCODER, "a(x, None, torch.zeros(2, 5).int())",
     f"TransformerEncoderLayer gets a mask of whole numbers (src_key_padding_mask); {WHOLE}",
     "a(x, None, torch.zeros(2, 5).int().bool())"),
    (DECODER, "a(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5))",
     "self_attn (MultiheadAttention) gets an attn_mask of 5 × 5; it takes 3 × 3 (queries, keys) for all, or "
     "8 × 3 × 3 (batch 2 · heads 4, queries, keys).",
     "a(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5)[:x.size(0), :x.size(0)])"),
    (DECODER, "a(x, y, memory_mask=torch.zeros(2, 5))",
     "multihead_attn (MultiheadAttention) gets an attn_mask of 2 × 5; it takes 3 × 5 (queries, keys) for all, or "
     "8 × 3 × 5 (batch 2 · heads 4, queries, keys).",
     "a(x, y, memory_key_padding_mask=torch.zeros(2, 5))"),
    ("q = torch.randn(2, 4, 5, 8)\n", "F.scaled_dot_product_attention(q, q, q, torch.ones(2, 5).bool())",
     "`F.scaled_dot_product_attention(q, q, q, torch.ones(2, 5).bo…`: query, key and value are 2 × 4 × 5 × 8, "
     "2 × 4 × 5 × 8, 2 × 4 × 5 × 8; the mask is 2 × 5, and does not meet the scores of 2 × 4 × 5 × 5 (batch, "
     "heads, queries, keys).",
     "F.scaled_dot_product_attention(q, q, q, torch.ones(2, 5).bool()[:, None, None])"),
    ("a = torch.randn(2, 4, 5, 5)\nm = torch.ones(2, 5)\n", "a.masked_fill(m == 0, 0.0)",
     "`a.masked_fill(m == 0, 0.0)`: 2 × 4 × 5 × 5 and 2 × 5 do not meet: in the third axis one has 5 (the height of "
     "the input, line 1) and the other 2 (the batch of the input, line 2), and neither is 1.",
     "a.masked_fill((m == 0)[:, None, None], 0.0)"),
)  # fmt: skip


@pytest.mark.few(5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_a_wrong_mask_is_explained_and_cured(case: tuple[str, str, str, str]) -> None:
    before, line, says, cured = case
    (found,) = findings(before + line, LONG)
    assert found.says == says
    assert found.cures[0].text.split("\n")[-1] == cured
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(before, names)
    result = eval(cured, names)
    results = result if isinstance(result, tuple) else (result,)
    assert tuple(tuple(one.shape) for one in results) == found.cures[0].shapes


def test_the_mask_of_later_keys_is_read_as_a_function_of_the_class() -> None:
    text = (
        f"{ATTENTION}m = nn.Transformer.generate_square_subsequent_mask(5)\na(x, x, x, attn_mask=m)"
    )
    assert [found for found in findings(text, LONG) if found.kind == "failure"] == []
