"""The input of a class that nothing calls is the one of which the words around it tell."""

from __future__ import annotations

import pytest

from ncd.answers.answer import Answer
from ncd.answers.ask import _read_as
from ncd.read.described_input import with_described_input
from ncd.read.question import pasted_code

NET = "class Net(nn.Module):\n    def __init__(self):\n        self.c = {}\n"
PICTURES, ROWS, LSTM = (
    NET.format(layer)
    for layer in ("nn.Conv2d(3, 8, 3)", "nn.Conv1d(in_channels=4)", "nn.LSTM(8, 4)")
)
SIZES = NET.format("nn.Conv2d(channels, 8, 3)")
PRODUCT = "# RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x9216 and 400x120)"
TOLD = {
    "a message that names the input": (
        "# RuntimeError: weight of size [8, 3, 3, 3], expected input[64, 1, 9, 7] to have 3",
        PICTURES,
        "64x1x9x7",
    ),
    "a message of too few axes": ("# but got input of size: [28, 28]", PICTURES, "28x28"),
    "the whole shape": ("# My input has shape (16, 3, 32, 32).", PICTURES, "16x3x32x32"),
    "no batch": ("# My images are 3x32x32", PICTURES, "1x3x32x32"),
    "no channels": ("# My images are 32 x 30", PICTURES, "1x3x32x30"),
    "channels last": ("# The pictures have size [32, 30, 3]", PICTURES, "1x3x32x30"),
    "the batch of a product": (f"# images of shape (1, 28, 28)\n{PRODUCT}", PICTURES, "64x1x28x28"),
    "a row": ("# x: (4, 100)", ROWS, "1x4x100"),
    "rows": ("# data of (16, 4, 100)", ROWS, "16x4x100"),
    "steps": ("# input shape: (32, 50, 8)", LSTM, "32x50x8"),
    "the largest": ("# images of 32x32, a batch of (8, 3, 32, 32)", PICTURES, "8x3x32x32"),
}


@pytest.mark.parametrize("name", TOLD)
def test_the_shape_of_the_words_is_the_last_line(name: str) -> None:
    words, net, shape = TOLD[name]
    assert with_described_input(f"{words}\n{net}") == f"{words}\n{net.rstrip()}\n# {shape}"


@pytest.mark.parametrize(
    "text",
    [
        PICTURES,
        f"# images of 32x32\n{SIZES}",  # of which the channels are not known
        f"# My images are 3x32x32\n{PICTURES}Net()(torch.randn(1, 3, 8, 8))",
        f"# My images are 3x32x32\n{PICTURES}# 1x3x8x8",
        "# My images are 3x32x32\nnn.Conv2d(3, 8, 3)",
        f"{PRODUCT}\n{PICTURES}",
        f"# It has 3x4 heads\n{PICTURES}",
        f"# inputs are 1x2x3x4x5x6\n{PICTURES}",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert with_described_input(text) == text


def test_the_answer_says_that_the_input_is_that_of_the_words() -> None:
    text = f"I've images of (8, 3, 32, 32).\n\n{PICTURES}"
    said = _read_as(Answer("source", None, (), "out: 5 × 3"), text, pasted_code(text))
    assert said.assumed == ("The input is that of the words: 8x3x32x32.",)
