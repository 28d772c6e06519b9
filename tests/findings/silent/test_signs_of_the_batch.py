"""What remarks, names and calls say about which axis is the batch."""

from __future__ import annotations

import ast

import pytest

from ncd.findings.reading.batch_signs import text_signs
from ncd.findings.reading.source_text import SourceText
from ncd.findings.silent.batch_mixing import _call_signs


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("# x: (batch, seq, dim)", [True]),
        ("# [B, C]", [True]),
        ("# (N, L, E)", [True]),
        ("# (N, C)", []),  # of any features
        ("# B x T", [True]),
        ("# (seq_len, batch, dim)", [False]),
        ("# T x B", [False]),
        ("# (N, L) becomes (L, N)", [False]),
        ("# batch_first=False, as torch has it", [False]),
        ("# a remark", []),
        ("# batch, tokens, width", [True]),
        ("y = f(x)  # x: batch x steps x width", [True]),
        ("# tokens, batch, width", [False]),
        ("# a batch, tokens of it", []),
        ("b, t, d = x.shape", [True]),
        ("t, b, d = x.shape", [False]),
        ("b, t = x.shape[:2]", [True]),
        ("t, n = x.size()[:2]", [False]),
        ("b, t = x.size()", [True]),
        ("b, t = x.shape[1:]", []),
        ("b, t = x", []),
        ("c, d = x.shape", []),
        ("t, d = x.shape", []),
        ("b = x.size(0)", [True]),
        ("b = x.size(1)", [False]),
        ("b = x.shape[0]", [True]),
        ("b = x.shape[1]", [False]),
        ("steps = x.shape[1]", [True]),
        ("steps = x.size(0)", [False]),
        ("b = x.shape[2]", []),
        ("width = x.shape[0]", []),
        ("x = torch.randn(b, t, d)", [True]),
        ("x = torch.zeros(t, b)", [False]),
        ("x = torch.randint(n, t)", [True]),
        ("x = torch.randn(b)", []),
        ("x = torch.stack(b, t)", []),
        ("x = torch.randn(2, b, t)", [True]),  # the names alone
        ('def f(x: Float["batch seq dim"]): pass', [True]),
        ('def f(x: Float["seq batch dim"]): pass', []),
    ],
)
def test_a_line_says_which_axis_is_the_batch(text: str, signs: list[bool]) -> None:
    assert [*text_signs(SourceText(text, ast.parse(text)))] == signs


ALL = slice(None)


@pytest.mark.parametrize(
    ("name", "index", "signs"),
    [
        ("__getitem__", -1, [False]),  # a step, where axis 0 is the steps
        ("__getitem__", True, []),
        ("__getitem__", (ALL, -1), [True]),
        ("__getitem__", (ALL, 0, ALL), [True]),
        ("__getitem__", (ALL, ALL, 0), []),
        ("__getitem__", (ALL, slice(0, 3)), []),
        ("__getitem__", (0, ALL), []),
        ("mean", 0, [False]),
        ("sum", 1, [True]),
        ("max", 2, []),
        ("amax", None, []),
        ("flatten", 1, [True]),
        ("flatten", 0, []),
        ("softmax", 1, []),
    ],
)
def test_what_is_taken_of_an_axis_says_which_one_is_the_batch(name, index, signs) -> None:
    assert [*_call_signs(name, index)] == signs
