"""A question in English about a layer or an expression is answered by source that computes it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ncd.answers.answer import Answer
from ncd.answers.ask import _read_as
from ncd.read.python_source.source_reader import read_source
from ncd.read.question import pasted_code, question_source

ANSWERED: dict[str, tuple[str, tuple[int, ...]]] = {
    "what is the output shape of nn.Conv2d(3, 64, 7, stride=2) for a 224x224 image?": (
        "x = torch.randn(1, 3, 224, 224); y = nn.Conv2d(3, 64, 7, stride=2)(x)",
        tuple(nn.Conv2d(3, 64, 7, stride=2)(torch.zeros(1, 3, 224, 224)).shape),
    ),
    "What is `Conv2d(in_channels=3, out_channels=8, kernel_size=3)` of 32 x 32 x 3 images?": (
        "x = torch.randn(1, 3, 32, 32); "
        "y = nn.Conv2d(in_channels=3, out_channels=8, kernel_size=3)(x)",
        tuple(nn.Conv2d(3, 8, 3)(torch.zeros(1, 3, 32, 32)).shape),
    ),
    "If x is torch.Size([16, 8, 7, 7]), what comes out of ConvTranspose2d(8, 4, 4, 2, 1)?": (
        "x = torch.randn(16, 8, 7, 7); y = nn.ConvTranspose2d(8, 4, 4, 2, 1)(x)",
        tuple(nn.ConvTranspose2d(8, 4, 4, 2, 1)(torch.zeros(16, 8, 7, 7)).shape),
    ),
    "If I apply Conv2d(1, 32, 3) and then MaxPool2d(2) to a batch of 64 28x28 images, what then?": (
        "x = torch.randn(64, 1, 28, 28); "
        "y = nn.Sequential(nn.Conv2d(1, 32, 3), nn.MaxPool2d(2))(x)",
        tuple(nn.MaxPool2d(2)(nn.Conv2d(1, 32, 3)(torch.zeros(64, 1, 28, 28))).shape),
    ),
    "What is the output of nn.Conv1d(16, 33, 3, stride=2) if the sequence length is 50?": (
        "x = torch.randn(1, 16, 50); y = nn.Conv1d(16, 33, 3, stride=2)(x)",
        tuple(nn.Conv1d(16, 33, 3, stride=2)(torch.zeros(1, 16, 50)).shape),
    ),
    "What does nn.Linear(20, 30) give for a batch of 128?": (
        "x = torch.randn(128, 20); y = nn.Linear(20, 30)(x)",
        (128, 30),
    ),
    "Does nn.MaxPool2d(2) halve a 12x12 map with 6 channels, i.e. an input (8, 6, 12, 12)?": (
        "x = torch.randn(8, 6, 12, 12); y = nn.MaxPool2d(2)(x)",
        (8, 6, 6, 6),
    ),
    "output of nn.Embedding(1000, 64) for input of shape (32, 20)?": (
        "x = torch.randint(0, 1000, (32, 20)); y = nn.Embedding(1000, 64)(x)",
        (32, 20, 64),
    ),
    "x has shape (8, 3, 10). What is the shape of x.permute(0, 2, 1).reshape(8, -1).shape?": (
        "x = torch.randn(8, 3, 10); y = x.permute(0, 2, 1).reshape(8, -1)",
        (8, 30),
    ),
    "What does torch.cat([a, b], dim=1) return when a is (2, 3) and b is a tensor of (2, 5)?": (
        "a = torch.randn(2, 3); b = torch.randn(2, 5); y = torch.cat([a, b], dim=1)",
        (2, 8),
    ),
    "what is torch.randn(3, 4) @ torch.randn(4, 5)?": (
        "y = torch.randn(3, 4) @ torch.randn(4, 5)",
        (3, 5),
    ),
}


@pytest.mark.parametrize("question", ANSWERED)
def test_a_question_becomes_source_whose_result_is_torchs(question: str) -> None:
    source, shape = ANSWERED[question]
    found = pasted_code(question)
    assert found == "\n".join([f"# {question}", *source.split("; ")])
    assert pasted_code(found) == found
    assert read_source(found).shapes[0] == shape


def test_a_question_without_a_shape_is_about_the_layer() -> None:
    question = "how many parameters does nn.LSTM(8, 16, num_layers=2) have"
    found = question_source(question)
    assert found == f"# {question}\nlayer = nn.LSTM(8, 16, num_layers=2)"
    attends = question_source("Is nn.MultiheadAttention(8, 2) fine with (5, 2, 8)?")
    assert attends.endswith("x = torch.randn(5, 2, 8)\ny = nn.MultiheadAttention(8, 2)(x, x, x)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "what is attention?",
        "nn.Linear(8, 3)",
        "import torch\nx = torch.ones(2)\n1x8#30",
        "class Net(nn.Module)\n  pass",
        "What is nn.Conv2d(3, 4?",
        "what is x.view(2, 3)?",
        'Linear("m:8 -> k:3") >> Softmax("k")',
        "mat1 and mat2 shapes cannot be multiplied (64x9216 and 400x120)",
        f"what is nn.ReLU()(x) {'really ' * 200}?",
    ],
)
def test_what_is_no_question_about_code_stays_as_it_is(text: str) -> None:
    assert pasted_code(text) == text


def test_the_answer_says_how_a_question_was_read() -> None:
    plain = Answer("source", None, (), "out: 5 × 3", ("More.",))
    question = " What does nn.Linear(8, 3) give for (5, 8)?\n"
    said = _read_as(plain, question, pasted_code(question))
    assert said.assumed == (
        "The question is read as `x = torch.randn(5, 8); y = nn.Linear(8, 3)(x)`.",
        "More.",
    )
    for text in ("nn.Linear(8, 3)\n", "It's\n```\nnn.Linear(8, 3)\n```"):
        assert _read_as(plain, text, pasted_code(text)) is plain
