"""The formats of numbers that calls take are asked for just as torch itself does."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ncd.findings.failures.explanation import explanation
from ncd.findings.failures.failure import failure_of
from ncd.findings.reading.format_check import WrongFormat
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.search import findings

PICTURE = "torch.ones(1, 4, 6, 6)"
SEQUENCE = "torch.ones(5, 3, 4)"
LINES = {  # what takes real numbers, and an array that it takes as such
    **dict.fromkeys(
        (
            *("nn.Linear(4, 2)", "nn.Bilinear(4, 4, 2)", "nn.LSTM(4, 2)", "nn.GRU(4, 2)"),
            *("nn.RNN(4, 2)", "nn.MultiheadAttention(4, 2)", "nn.TransformerEncoderLayer(4, 2, 8)"),
            *("nn.LayerNorm(4)", "nn.RMSNorm(4)", "nn.GroupNorm(1, 3)", "nn.BatchNorm1d(3)"),
            *("nn.InstanceNorm1d(3)", "nn.Softmax(-1)", "nn.LogSoftmax(-1)", "nn.GELU()"),
            *("nn.SiLU()", "nn.Mish()", "nn.ELU()", "nn.SELU()", "nn.CELU()", "nn.LeakyReLU()"),
            *("nn.Softplus()", "nn.Hardswish()", "nn.Hardsigmoid()", "nn.LogSigmoid()", "nn.GLU()"),
            *("nn.PReLU()", "nn.Dropout(0.5)", "nn.AdaptiveAvgPool1d(2)", "nn.MaxPool1d(2)"),
            *("nn.Tanh()", "nn.Sigmoid()", "nn.ReLU()", "nn.Hardtanh()", "nn.Softsign()"),
            *("nn.AvgPool1d(2)", "nn.ConstantPad1d(1, 0)", "nn.Flatten()"),
            *("torch.std", "torch.mean", "torch.exp", "torch.sum"),
        ),
        SEQUENCE,
    ),
    **dict.fromkeys(
        (
            *("nn.Conv2d(4, 2, 3)", "nn.ConvTranspose2d(4, 2, 3)", "nn.BatchNorm2d(4)"),
            *("nn.AdaptiveAvgPool2d(2)", "nn.AdaptiveMaxPool2d(2)", "nn.Upsample(scale_factor=2)"),
            *("nn.AvgPool2d(2)", "nn.MaxPool2d(2)", "nn.Unfold(2)", "nn.PixelShuffle(2)"),
            *("nn.Dropout2d(0.5)",),
        ),
        PICTURE,
    ),
    **dict.fromkeys(
        ("nn.LSTMCell(4, 2)", "nn.GRUCell(4, 2)", "nn.RNNCell(4, 2)"), "torch.ones(3, 4)"
    ),
}
SEVERAL = {"nn.Bilinear(4, 4, 2)": 2, "nn.MultiheadAttention(4, 2)": 3}  # arrays that they take


def run(made: str, array: str, move: str) -> bool:
    """Returns whether torch itself takes an array."""
    names = {"torch": torch, "nn": nn, "F": F}
    x = eval(f"{array}{move}", names)
    try:
        eval(made, names)(*[x] * SEVERAL.get(made, 1))
    except (RuntimeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("move", [".long()", ".double()"])
@pytest.mark.parametrize("made", LINES)
def test_a_format_is_refused_just_where_torch_refuses_it(made: str, move: str) -> None:
    array = LINES[made]
    text = f"f = {made}\nx = {array}{move}\ny = f({', '.join('x' * SEVERAL.get(made, 1))})"
    failure = failure_of(SourceTrace(text, symbolic=False).read())
    assert run(made, array, "")
    assert (failure is None) is run(made, array, move)
    if failure is not None:
        says = explanation(failure)
        assert ("takes real numbers" in says) is (move == ".long()")
        assert ("one format is needed" in says) is (move == ".double()")


def test_whole_numbers_become_real_ones() -> None:
    text = "fc = nn.Linear(3, 4)\nx = torch.tensor([[1, 2, 3], [4, 5, 6]])\ny = fc(x)"
    (found,) = findings(text)
    assert found.says == "Linear takes real numbers, but its array (2 × 3) holds whole ones."
    assert [cure.text.split("\n")[2] for cure in found.cures] == ["y = fc(x.float())"]


def test_a_product_of_two_arrays_says_both_formats() -> None:
    text = "a = torch.ones(2, 3)\nb = torch.ones(3, 4, dtype=torch.float64)\nc = a @ b"
    trace = SourceTrace(text).read()
    assert isinstance(trace.error, WrongFormat)
    assert (trace.error.given, trace.error.taken) == (torch.float32, torch.float64)
    failure = failure_of(trace)
    assert failure is not None
    assert explanation(failure) == (
        "`a @ b` gets an array (2 × 3) of float32 beside one of float64; one format is needed."
    )


def test_a_mask_is_no_array_of_real_numbers() -> None:
    made = f"f = nn.MultiheadAttention(4, 2)\nx = {SEQUENCE}\nm = torch.ones(5, 5).bool()"
    text = f"{made}\nf(x, x, x, attn_mask=m)"
    assert SourceTrace(text, symbolic=False).read().error is None


def test_dropout_passes_whole_numbers_on_in_evaluation() -> None:
    text = f"x = {SEQUENCE}.long()\ny = F.dropout(x, 0.5, training={{}})"
    assert SourceTrace(text.format(False), symbolic=False).read().error is None
    assert isinstance(SourceTrace(text.format(True), symbolic=False).read().error, WrongFormat)
