"""A source is read in the mode in which it leaves its module: torch's default is training."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ncd import from_torch
from ncd.app.scene.own_entry import custom_entry
from ncd.language.terms import Term
from ncd.ops import BatchNorm, Dropout
from ncd.read.python_source.source_reader import read_source

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)
        self.drop, self.pool = nn.Dropout(0.3), nn.AdaptiveAvgPool2d(1)
    def forward(self, x):
        return self.drop(self.norm(self.conv(x)))
"""
TRAINING = (
    "In training batch norm takes the mean and the variance of this batch "
    "and dropout sets 30% of the numbers to 0."
)
EVALUATION = (
    "In evaluation batch norm takes the mean and the variance that it has kept (0 and 1 at first) "
    "and dropout changes nothing."
)


def _ops(term: Term, kind: type) -> int:
    return isinstance(term, kind) + sum(_ops(part, kind) for part in term.children)


@pytest.mark.parametrize(
    ("end", "training"),
    [
        ("", True),
        ("Net()(torch.randn(2, 3, 8, 8))", True),
        ("Net().eval()(torch.randn(2, 3, 8, 8))", False),
        ("model = Net()\nmodel.eval()\n2x3x8x8", False),
        ("model = Net().eval()\nmodel.train()(torch.randn(2, 3, 8, 8))", True),
    ],
)
def test_the_mode_is_the_one_of_the_text(end: str, training: bool) -> None:
    found = read_source(NET + end)
    assert found.call.training is training
    assert _ops(found.term, Dropout) == training and _ops(found.term, BatchNorm) == 1
    assert found.call.modes == (TRAINING if training else EVALUATION)


def test_a_norm_of_one_number_a_channel_is_given_two_examples() -> None:
    text = NET.replace("self.conv(x)", "self.pool(self.conv(x))")
    assert read_source(text).call.line == "Net()(torch.randn(2, 3, 64, 64))"


def test_what_the_mode_changes_nothing_in_has_none() -> None:
    plain = "nn.Sequential(nn.Linear(8, 3), nn.Dropout(0.0))(torch.randn(2, 8))"
    assert read_source(plain).call.modes == ""


ASKS = """
class Net(nn.Module):
    def forward(self, x):
        if self.training:
            x = {}
        return x.relu()
Net()(torch.randn(2, 3))
"""


def test_a_text_that_asks_for_its_mode_is_told_the_answer() -> None:
    assert read_source(ASKS.format("x * 2")).call.modes == "In training self.training is True."


def test_what_training_alone_does_may_not_be_understood() -> None:
    found = read_source(ASKS.format("x.map_(x, max)"))
    assert found.call.training is False and found.shapes == ((2, 3),)
    assert found.note.startswith("It is read in evaluation, as in training map_ of a tensor is not")


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_dropout_stands_between_recurrent_layers(kind: type[nn.RNNBase]) -> None:
    found = from_torch(kind(4, 3, 3, dropout=0.2), torch.randn(5, 2, 4))
    assert _ops(found.term, Dropout) == 2 and not found.boxes
    assert found.difference < 1e-6


def test_the_page_runs_a_module_in_its_mode() -> None:
    assert custom_entry(NET).training and not custom_entry(f"{NET}Net().eval()").training
