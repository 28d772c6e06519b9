"""Masks of a wrong shape, kind or name: the edits that are proposed, and that torch takes them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ncd.findings.cures.mask_edits import mask_edits
from ncd.findings.failures.failure import failure_of
from ncd.findings.reading.finding import apply_edits
from ncd.findings.reading.source_trace import SourceTrace

# Of an attention of 2 heads over 9 steps in batches of 3: the mask, its name, the call that cures.
ATTENTION = (
    ("torch.ones(9, 9).long()", "attn_mask", "attn_mask=m.bool()", 0.3),
    ("torch.zeros(12, 11)", "attn_mask", "attn_mask=m[:x.size(0), :x.size(0)]", 0.45),
    ("torch.zeros(9)", "attn_mask", "attn_mask=m.expand(9, -1)", 0.45),
    ("torch.zeros(3, 9, 9)", "attn_mask", "attn_mask=m.repeat_interleave(2, 0)", 0.3),
    ("torch.zeros(2, 9, 9)", "attn_mask", "attn_mask=m.repeat(x.size(1), 1, 1)", 0.3),
    ("torch.zeros(3, 2, 9, 9)", "attn_mask", "attn_mask=m.flatten(0, 1)", 0.3),
    (
        "torch.zeros(3, 1, 9, 9)",
        "attn_mask",
        "attn_mask=m.expand(-1, 2, -1, -1).flatten(0, 1)",
        0.3,
    ),
    ("torch.zeros(1, 9, 9)", "attn_mask", "attn_mask=m[0]", 0.3),
    ("torch.zeros(1, 1, 9, 9)", "attn_mask", "attn_mask=m[0, 0]", 0.3),
    ("torch.zeros(3, 9) > 0", "attn_mask", "key_padding_mask=m", 0.3),
    ("torch.zeros(3, 1, 9) > 0", "attn_mask", "key_padding_mask=m[:, 0]", 0.3),
    ("torch.zeros(3, 1, 1, 9) > 0", "attn_mask", "key_padding_mask=m[:, 0, 0]", 0.3),
    ("torch.zeros(8, 12)", "attn_mask", "", 0),
    ("torch.zeros(9) > 0", "key_padding_mask", "key_padding_mask=m.expand(x.size(1), -1)", 0.45),
    ("torch.zeros(3, 9, 1) > 0", "key_padding_mask", "key_padding_mask=m.squeeze(-1)", 0.3),
    ("torch.zeros(3, 12) > 0", "key_padding_mask", "key_padding_mask=m[:, :x.size(0)]", 0.45),
    ("torch.zeros(9, 3) > 0", "key_padding_mask", "key_padding_mask=m.transpose(0, 1)", 0.3),
    ("torch.zeros(9, 9) > 0", "key_padding_mask", "attn_mask=m", 0.3),
    ("torch.zeros(6, 9, 9) > 0", "key_padding_mask", "attn_mask=m", 0.3),
    (
        "torch.zeros(3, 9, 9) > 0",
        "key_padding_mask",
        "attn_mask=m.repeat_interleave(2, 0)",
        0.3,
    ),
    ("torch.zeros(4, 9) > 0", "key_padding_mask", "", 0),
)
# The lines before a call, the call, and the one that is proposed in its place.
CALLS = (
    (
        "a = nn.MultiheadAttention(4, 2, batch_first=True)\nx = torch.ones(3, 9, 4)\n"
        "m = torch.zeros(9) > 0",
        "a(x, x, x, key_padding_mask=m)",
        "a(x, x, x, key_padding_mask=m.expand(x.size(0), -1))",
    ),
    (
        "a = nn.MultiheadAttention(4, 2, batch_first=True)\nx = torch.ones(3, 9, 4)\n"
        "m = torch.zeros(12, 12)",
        "a(x, x, x, attn_mask=m)",
        "a(x, x, x, attn_mask=m[:x.size(1), :x.size(1)])",
    ),
    (
        "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 4)\nm = torch.zeros(12) > 0",
        "a(x, x, x, key_padding_mask=m)",
        "a(x, x, x, key_padding_mask=m[:x.size(0)])",
    ),
    (
        "a = nn.MultiheadAttention(4, 2)\nq = torch.ones(5, 3, 4)\nx = torch.ones(9, 3, 4)\n"
        "m = torch.zeros(7, 12)",
        "a(q, x, x, attn_mask=m)",
        "a(q, x, x, attn_mask=m[:5, :9])",
    ),
    (
        "a = nn.MultiheadAttention(4, 2)\nq = torch.ones(5, 3, 4)\nx = torch.ones(9, 3, 4)\n"
        "m = torch.zeros(3, 12) > 0",
        "a(q, x, x, key_padding_mask=m)",
        "a(q, x, x, key_padding_mask=m[:, :9])",
    ),
    (
        "a = nn.MultiheadAttention(4, 2)\nm = torch.zeros(12, 12)",
        "a(*[torch.ones(9, 3, 4)] * 3, attn_mask=m)",
        "a(*[torch.ones(9, 3, 4)] * 3, attn_mask=m[:9, :9])",
    ),
    (
        "a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\nm = torch.zeros(3, 9) > 0",
        "a(x, x, x, None, True, m)",
        "",
    ),
    (
        "a = nn.TransformerEncoderLayer(4, 2, 8)\nx = torch.ones(9, 3, 4)\n"
        "m = torch.zeros(3, 9) > 0",
        "a(x, m)",
        "a(x, src_key_padding_mask=m)",
    ),
    (
        "a = nn.TransformerEncoderLayer(4, 2, 8)\nx = torch.ones(9, 3, 4)\n"
        "m = torch.zeros(9, 9) > 0",
        "a(x, src_key_padding_mask=m)",
        "a(x, src_mask=m)",
    ),
    (
        "a = nn.TransformerEncoderLayer(4, 2, 8)\nx = torch.ones(9, 3, 4)\n"
        "m, n = torch.zeros(9, 9) > 0, torch.zeros(3, 9) > 0",
        "a(x, src_key_padding_mask=m, src_mask=n)",
        "a(x, src_mask=m, src_key_padding_mask=n)",
    ),
    (
        "q = torch.ones(2, 4, 5, 8)\nm = torch.zeros(2, 5)",
        "F.scaled_dot_product_attention(q, q, q, attn_mask=m)",
        "F.scaled_dot_product_attention(q, q, q, attn_mask=m[:, None, None])",
    ),
    (
        "q = torch.ones(2, 4, 5, 8)\nm = torch.zeros(2, 5, 5)",
        "F.scaled_dot_product_attention(q, q, q, m)",
        "F.scaled_dot_product_attention(q, q, q, m[:, None])",
    ),
    (
        "q = torch.ones(2, 5, 8)\nm = torch.zeros(2, 5)",
        "F.scaled_dot_product_attention(q, q, q, m)",
        "F.scaled_dot_product_attention(q, q, q, m[:, None])",
    ),
    (
        "s = torch.ones(2, 4, 5, 5)\nm = torch.zeros(2, 5) > 0",
        "s.masked_fill(m, 0)",
        "s.masked_fill(m[:, None, None], 0)",
    ),
    (
        "s = torch.ones(2, 4, 5, 5)\nm = torch.zeros(2, 5, 5)",
        "s + m",
        "s + m[:, None]",
    ),
    ("s = torch.ones(2, 4, 5, 5)\nm = torch.zeros(2, 5, 5)", "s * m", ""),
    ("s = torch.ones(8, 5, 5)\nm = torch.zeros(2, 5, 5)", "s + m", ""),
    ("s = torch.ones(2, 4, 5, 5)\nm = torch.zeros(2)", "s + m", ""),
    ("s = torch.ones(2, 4, 5, 5)\nm = torch.zeros(2, 5, 5)", "s += m", ""),
)


def proposed(head: str, call: str) -> list[tuple[str, float]]:
    """Returns the calls that are proposed in the place of one, with their costs."""
    text = f"{head}\n{call}"
    failure = failure_of(SourceTrace(text, False).read())
    assert failure is not None
    found = [(apply_edits(text, one.edits), one.cost) for one in mask_edits(failure)]
    assert all(text.startswith(f"{head}\n") for text, _ in found)
    return [(text.split("\n")[-1], cost) for text, cost in found]


def run(lines: str) -> None:
    exec(lines, {"torch": torch, "nn": nn, "F": F})  # lines of the tables above


@pytest.mark.parametrize(("mask", "name", "cure", "cost"), ATTENTION)
def test_a_mask_of_an_attention(mask: str, name: str, cure: str, cost: float) -> None:
    head = f"a = nn.MultiheadAttention(4, 2)\nx = torch.ones(9, 3, 4)\nm = {mask}"
    cures = [(f"a(x, x, x, {cure})", cost)] if cure else []
    assert proposed(head, f"a(x, x, x, {name}=m)") == cures
    if cure:
        run(f"{head}\na(x, x, x, {cure})")


@pytest.mark.parametrize(("head", "call", "cure"), CALLS)
def test_a_mask_of_other_calls(head: str, call: str, cure: str) -> None:
    assert [text for text, _ in proposed(head, call)] == ([cure] if cure else [])
    with pytest.raises((RuntimeError, AssertionError)):
        run(f"{head}\n{call}")
    if cure:
        run(f"{head}\n{cure}")
