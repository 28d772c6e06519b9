"""Inputs and settings of a module that stands on parts of other files, by what a source tells."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source

PARTS = """
from typing import Optional
from torch import nn
from .parts import Encoder, Conv1dBlock, ConvAct2d, create_conv2d, pool3d, Block, nd_attention
MODES = ("near", "far")
class Net(nn.Module):
    def __init__(self, in_channels: int{arguments}):
        super().__init__()
        self.first = {first}
    def forward(self, x):
        return self.first(x)
"""
RANKS = {  # what the first part is made with, and the input that is tried
    "Encoder(in_channels, 6, nn.Conv3d, nn.ReLU)": (1, 3, 16, 16, 16),
    "Encoder(in_channels, norm=nn.BatchNorm2d)": (1, 3, 32, 32),
    "Encoder(in_channels, [nn.Conv1d, nn.ReLU])": (1, 3, 32),
    "Conv1dBlock(in_channels, 8)": (1, 3, 32),
    "ConvAct2d(in_channels, nn.Conv1d)": (1, 3, 32),
    "ConvAct2d(in_channels)": (1, 3, 32, 32),
    "create_conv2d(in_channels, 8)": (1, 3, 32, 32),
    "pool3d(2)": (1, 3, 16, 16, 16),
    "Block(dimensions, in_channels)": (1, 3, 32, 32),
}


@pytest.mark.parametrize("first", RANKS)
def test_a_part_of_another_file_tells_the_dimensions_of_the_input(first: str) -> None:
    more = ", dimensions: int" if "dimensions" in first else ""
    found = read_source(PARTS.format(first=first, arguments=more))
    assert found.call.line.endswith(f"(torch.randn{RANKS[first]})")


def test_told_dimensions_are_not_given_up() -> None:
    source = PARTS.format(first="Conv1dBlock(in_channels, 8)", arguments="")
    text = source.replace("return self", "assert x.ndim == 4\n        return self")
    with pytest.raises(TextError, match=r"x\.ndim == 4"):
        read_source(text)
    known = text.replace("Conv1dBlock(in_channels, 8)", "nn.ReLU()")
    assert len(read_source(known).shapes[0]) == 4, "without them the error itself tells them"


VIDEO = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv3d(3, 8, 3, padding=1)
    def forward(self, x):
        {told}
        frames, channels = x.shape[1:3]
        assert channels == 3
        return self.first(x.permute(0, 2, 1, 3, 4))
"""


def test_a_shape_that_is_told_is_tried_where_the_usual_one_fails() -> None:
    found = read_source(VIDEO.format(told="# x has shape (b, 7, c, h, w)"))
    assert found.call.line == "Net()(torch.randn(1, 7, 3, 32, 32))"
    assert found.shapes == ((1, 8, 7, 32, 32),)


SETTINGS = """
from typing import Optional
class Net(nn.Module):
    def __init__(
        self, norm: Optional[str], mode: Optional[str], kind: "str | None", dimensions: int
    ):
        super().__init__()
        assert norm is None and kind is None
        if mode not in MODES:
            raise ValueError("no mode")
        self.layer = {2: nn.Conv2d, 3: nn.Conv3d}[dimensions](3, 8, 3)
    def forward(self, x):
        return self.layer(x)
"""


def test_a_text_or_nothing_is_nothing_or_one_of_a_named_list() -> None:
    found = read_source(f'MODES = ("near", "far"){SETTINGS}')
    made = "Net(norm=None, mode='near', kind=None, dimensions=2)"
    assert found.call.line == f"{made}(torch.randn(1, 3, 64, 64))"


LOADED = """
import torch
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        try:
            import sklearn
        except ImportError as error:
            raise ImportError("it has to be installed") from error
        state = torch.load("weights.pt")
        self.load_state_dict({name[7:]: value for name, value in state.items()})
        for name in self.state_dict():
            print(name)
    def forward(self, x):
        with torch.autograd.set_grad_enabled(False):
            return self.layer(x)
"""


def test_weights_that_are_loaded_and_a_library_that_must_be_there_are_no_hindrance() -> None:
    assert read_source(f"{LOADED}2x4").shapes == ((2, 3),)


ATTENDS = """
from torch import nn
from .flash import flash_attn_func
class Net(nn.Module):
    def forward(self, q, k, v):
        return flash_attn_func(q, k, v, causal=True)
"""


@pytest.mark.parametrize(
    ("shapes", "result"),
    [
        ("2x4x5x8,2x4x7x8,2x4x7x3", (2, 4, 5, 3)),
        ("2x4x5x8,2x4x7x8,2x7x3", (2, 4, 5, 8)),  # another box, like its first array
    ],
)
def test_attention_of_another_file_gives_the_widths_of_its_values(
    shapes: str, result: tuple[int, ...]
) -> None:
    assert read_source(f"{ATTENDS}{shapes}").shapes == (result,)


TREES = """
from torch.utils._pytree import tree_map
class Net(nn.Module):
    def split(self, x):
        return x.reshape(2, 3, 4)
    def forward(self, x):
        whole = tree_map(self.split, {"a": (x, x + 1), "b": [x]})
        halves = tree_map(lambda a, b: a[..., :2] * b, (x, x), (2, 3))
        return whole["a"][1], whole["b"][0], halves[1]
"""


def test_a_function_goes_through_lists_and_dictionaries() -> None:
    assert read_source(f"{TREES}2x12").shapes == ((2, 3, 4), (2, 3, 4), (2, 2))


TURNED = """
from timm.layers import apply_rot_embed_cat
class Net(nn.Module):
    def forward(self, x, angles):
        return apply_rot_embed_cat(x, angles, {half})
"""


@pytest.mark.parametrize("half", [False, True])
def test_pairs_are_turned_as_complex_numbers_are(half: bool) -> None:
    found = read_source(TURNED.format(half=half) + "2x3x5x4,5x8")
    torch.manual_seed(0)
    x, angles = torch.randn(2, 3, 5, 4), torch.randn(5, 2)
    every = torch.cat((angles, angles), -1) if half else angles.repeat_interleave(2, -1)
    given = torch.cat((every.sin(), every.cos()), -1)
    pairs = (x[..., :2], x[..., 2:]) if half else (x[..., ::2], x[..., 1::2])
    turned = torch.complex(*pairs) * torch.polar(torch.ones(5, 2), angles)
    parts = (turned.real, turned.imag)
    wanted = torch.cat(parts, -1) if half else torch.stack(parts, -1).flatten(-2)
    torch.testing.assert_close(ncd.compile(found.term)(x, given), wanted)
