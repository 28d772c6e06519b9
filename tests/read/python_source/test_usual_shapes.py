"""Shapes that are tried for a module of which nothing says what it takes, the likeliest first."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from einops.layers.torch import Rearrange
from torch import nn

from ncd.notation.term_reader import TextError
from ncd.read.python_source import source_reader
from ncd.read.python_source.first_layers import in_format, in_range, steps_first
from ncd.read.python_source.input_shapes import likely as is_likely
from ncd.read.python_source.input_shapes import (
    of_last_dimension,
    of_layer,
    of_names,
    of_settings,
    sequences_first,
    sides_of,
)
from ncd.read.python_source.model_inputs import _candidates, inputs_of_shapes
from ncd.read.python_source.structured_inputs import (
    fits,
    guess_of,
    of_pattern,
    optional,
    usual_ways,
)


class Net(nn.Module):
    """A module of one's own, with parts and with sizes that it keeps."""

    def __init__(self, *parts: nn.Module, **sizes: Any) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.__dict__.update(sizes)


def small(kind: type[nn.Module], *sizes: Any, **words: Any) -> nn.Module:
    with torch.device("meta"):
        return kind(*sizes, **words)


CONV, LINEAR, TABLE = small(nn.Conv2d, 3, 4, 3), small(nn.Linear, 8, 3), small(nn.Embedding, 9, 8)
GREY = small(nn.Conv2d, 1, 4, 3)
FREE = "64 224 256 32 28 96 128 299 512"
FIXED = "32 224 28 64 256 96 128 299"
LENGTHS, SIDES = "16 8 64 128", "224 256 32 64"
SOUNDS = "16 8 64 128 1024 16000"


def every(pattern: str, sizes: str) -> list[str]:
    return [pattern.format(n) for n in sizes.split()]


def of_width(n: int) -> list[str]:
    return [f"10x{n}", f"1x16x{n}", f"1x{n}x32x32"]


@pytest.mark.parametrize(
    ("text", "model", "likely", "shapes"),
    [
        ("", Net(CONV, LINEAR), False, every("1x3x{0}x{0}", FIXED)),
        ("224", Net(CONV, LINEAR), False, every("1x3x{0}x{0}", f"224 {FIXED}")),
        ("adaptive_", Net(CONV, LINEAR), True, every("1x3x{0}x{0}", FREE)),
        ("", Net(CONV, nn.AdaptiveAvgPool2d(1), LINEAR), True, every("1x3x{0}x{0}", FREE)),
        ("", Net(CONV), True, every("1x3x{0}x{0}", FREE)),
        ("", Net(GREY), False, every("1x1x{0}x{0}", f"28 {FIXED}")),
        ("", Net(small(nn.Conv1d, 4, 2, 3)), False, every("1x4x{}", SOUNDS)),
        ("", Net(small(nn.Conv3d, 2, 2, 3)), False,
         [*every("1x2x{0}x{0}x{0}", "16 32 64"), "1x2x16x224x224"]),
        ("", Net(TABLE, LINEAR), True, every("1x{}#9", f"{LENGTHS} 4 1")),
        ("", Net(LINEAR, TABLE), False,
         ["1x8", "1x16x8", *every("1x3x{0}x{0}", SIDES), *every("1x{}#9", LENGTHS)]),
        ("", Net(LINEAR, CONV), False, ["1x8", "1x16x8", *every("1x3x{0}x{0}", SIDES)]),
        ("", Net(LINEAR, CONV, in_channels=3), False,  # the layer of a time
         [*every("1x3x{0}x{0}", FIXED), "1x8", "1x16x8", *every("1x3x{0}x{0}", SIDES),
              *of_width(3)]),
        ("", Net(CONV, LINEAR, image_size=48), True,
         [*every("1x3x{0}x{0}", f"48 {FREE}")]),
        ("", Net(LINEAR, dim=20), False,
         ["1x8", "1x16x8", *every("1x3x{0}x{0}", SIDES), "1x20x8x8", *of_width(20)]),
        ("", Net(dim=20), False, [*of_width(20), "1x20x8x8", *of_width(20)]),
        ("", Net(), False, []),
    ],
)  # fmt: skip
def test_the_shapes_that_a_module_may_take(text, model, likely, shapes) -> None:
    machine = source_reader.new_machine()
    machine.text = text
    assert is_likely(machine, model) is likely
    assert [*_candidates(machine, model)] == shapes


@pytest.mark.parametrize(
    ("layer", "shapes"),
    [
        (small(nn.Linear, 8, 3), ["8x8", "1x8x32", "1x8x32x32"]),
        (nn.ReLU(), ["8x16", "1x16x32", "1x16x32x32"]),
        (small(nn.EmbeddingBag, 9, 4), ["4x8#9", "8x16", "1x16x32", "1x16x32x32"]),
        (small(nn.RMSNorm, (3, 5)), ["8x3x5", "8x16", "1x16x32", "1x16x32x32"]),
        (small(nn.GroupNorm, 2, 6), ["1x6x32x32", "8x6", "1x6x32", "1x6x32x32"]),
        (small(nn.BatchNorm1d, 6), ["1x6x32", "8x6", "1x6x32", "1x6x32x32"]),
        (small(nn.BatchNorm2d, 6), ["1x6x32x32", "8x6", "1x6x32", "1x6x32x32"]),
        (nn.MaxPool3d(2), ["1x16x16x16x16", "8x16", "1x16x32", "1x16x32x32"]),
    ],
)
def test_the_shapes_that_a_layer_takes(layer: nn.Module, shapes: list[str]) -> None:
    assert [*of_layer(layer)] == shapes


def test_the_shapes_that_a_layer_takes_along_its_last_axis() -> None:
    sides = every("1x3x{0}x{0}", SIDES)
    rows = small(nn.RNN, 28, 4)
    for model, first, shapes in (
        (Net(), small(nn.Linear, 784, 2), ["1x784", "1x16x784", "1x1x28x28", *sides]),
        (Net(), small(nn.Linear, 3072, 2), ["1x3072", "1x16x3072", "1x3x32x32", *sides]),
        (Net(), small(nn.LayerNorm, (4, 6)), ["1x6", "1x16x6", *sides]),
        (Net(), rows, ["1x16x28", "1x28x28", "1x1x28x28", *sides]),
        (Net(img_size=8), small(nn.Linear, 9, 2), ["1x3x8x8", "1x9", "1x16x9", *sides]),
        (Net(img_size=9), small(nn.Linear, 9, 2), ["1x9", "1x16x9", *sides]),
    ):
        assert [*of_last_dimension(model, first)] == shapes


@pytest.mark.parametrize(
    ("sizes", "named", "plain"),
    [
        ({}, [], []),
        ({"channels": 3, "image_size": 32}, ["1x3x32x32"], []),
        ({"channels": 3, "image_size": (32, 48), "frames": 4}, ["1x3x4x32x32"], []),
        ({"input_channels": 3, "seq_len": 20}, ["1x3x20"], []),
        ({"channels": 3}, [], []),
        ({"channels": 5000, "seq_len": 20}, [], []),
        ({"input_axis": 2}, ["1x16x16x3"], []),
        ({"input_axis": 3, "input_channels": 2}, ["1x16x16x16x2"], []),
        ({"input_axis": 4}, [], []),
        ({"input_axis": True}, [], []),
        ({"n_channels": 2}, [], ["1x2x64x64"]),
        ({"in_chans": 2, "in_dim": 7}, [], ["1x2x64x64", "10x7", "1x16x7", "1x7x32x32"]),
        ({"in_features": 7, "dim": 9}, [], ["10x7", "1x16x7", "1x7x32x32"]),
        ({"dim": 5000}, [], []),
        ({"dim": 0, "d_model": 4999}, [], ["10x4999", "1x16x4999", "1x4999x32x32"]),
    ],
)
def test_shapes_by_the_names_of_sizes(sizes: Any, named: list[str], plain: list[str]) -> None:
    assert [*of_names(Net(**sizes), sizes)] == named
    assert [*of_settings(sizes)] == plain


MODULE = """
class Net(nn.Module):
    def __init__(self, {0}):
        super().__init__()
        {1}
    def forward(self, x):
        {2}
"""
WORDS = '''"""Args: x (Tensor): a sound (an array) of shape (batch, channels, time)."""
        return x * self.w[:, None]'''
TOLD = [
    (
        ("d_k, heads=4", "self.d_k = d_k", "s, b, h, k = x.shape; return x.view(b, s * h, k)"),
        "16, 1, 4, 16",
    ),
    (("dim", "self.n = dim", "a, q, z = x.size(); return x.view(a * q, z)"), "1, 16, 64"),  # any
    (("channels", "self.w = nn.Parameter(torch.ones(channels))", WORDS), "1, 3, 16"),
    (
        ("input_size=(3, 40, 60)", "self.one = nn.Conv2d(3, 4, 3)", "return self.one(x)"),
        "1, 3, 40, 40",
    ),
    (
        ("n=5", "self.one = nn.Conv1d(1, n, 250, 160)", "return self.one(x)"),
        "1, 1, 1024",
    ),
    (
        (
            "dim",
            "self.all = Stack(nn.ModuleList([nn.Linear(dim, 8), nn.Conv2d(dim, 8, 3)]))",
            "return self.all(x)",
        ),
        "1, 64, 32, 32",
    ),
]


@pytest.mark.parametrize(("lines", "sizes"), TOLD)
def test_shapes_that_a_source_takes_apart_or_tells(lines: tuple[str, ...], sizes: str) -> None:
    text = "from .other import Stack" + MODULE.format(*lines)
    assert f"(torch.randn({sizes}))" in source_reader.read_source(text).call.line


def test_sides_of_a_picture_by_their_names() -> None:
    assert sides_of(Net(image_size=[32, 48], resolution=1999)) == [32, 1999]
    assert sides_of(Net(image_size=2000, img_size=0, input_size=1, resolution=())) == [1]


def test_steps_and_batches_of_layers_on_sequences() -> None:
    rnn = {one: small(nn.RNN, 3, 4, batch_first=one) for one in (False, True)}
    attention = small(nn.MultiheadAttention, 6, 2, batch_first=True)
    assert [*sequences_first(Net(rnn[False], attention))] == ["16x2x3", "2x16x6"]
    given = ((False, (5, 2, 3)), (True, (5, 2, 3)), (False, (5, 3)))
    steps = [steps_first(rnn[one], (torch.empty(*shape),)) for one, shape in given]
    assert steps == [{"input": "t b m"}, {}, {}]
    assert steps_first(rnn[False], ()) == {} == steps_first(LINEAR, (torch.empty(5, 2, 3),))


@pytest.mark.parametrize(
    ("pattern", "sizes", "shape"),
    [
        ("b c (h p) (w q) -> b (h w) (p q c)", {"channels": 1}, "1x1x48x48"),
        ("b c (f a) h w -> b f (a c) h w", {"frames": 8}, "1x3x8x48x48"),
        ("b c f h w -> b f c h w", {"frames": "all"}, "1x3x16x48x48"),
        ("b (n p) c -> b n (p c)", {"seq_len": 20, "channels": 2}, "1x20x2"),
        ("b (n p) c -> b n (p c)", {"seq_len": None}, "1x64x3"),
        ("b n c -> b c n", {}, "1x48x3"),
        ("b c h -> b h c", {"channels": "three"}, ""),
    ],
)
def test_the_shape_that_a_first_pattern_takes(pattern: str, sizes: Any, shape: str) -> None:
    pairs = {letter: 2 for letter in "pqa" if f" {letter})" in pattern.partition("->")[0]}
    assert of_pattern(nn.Sequential(Rearrange(pattern, **pairs)), sizes, 48) == shape


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        (("1x16x64",), "1x16x64"),
        (("1x16x64", "1#1000"), "x 1x16x64, t 1#1000"),
        (("2x8", "None"), "x 2x8, no t"),
        (("None", "None"), ", no x or t"),
        (("2x8", "2x8!"), "x 2x8, t of truths"),
        (("2x8", "=4"), "x 2x8, t 4"),
        (({"a": "2x3", "b": "4#5"},), "a 2x3, b 4#5"),
        ((["2x3", "4"], "5"), "x a list of 2x3, 4, t 5"),
        ((("2x3", "4"),), "a tuple of 2x3, 4"),
    ],
)
def test_inputs_in_words(ways: Any, words: str) -> None:
    assert guess_of(["x", "t"], ways).words == words


def test_what_is_usual_beside_a_main_input() -> None:
    assert usual_ways("query_pos", "1x8", {"query_pos_dim": 5, "dim": 6}) == ["100x5"]
    assert usual_ways("h", "1x8#50", {}) == ["1x1", "1x1x1", "1x8#50"]
    assert usual_ways("other", "1x8", {}) == ["1x8"] == usual_ways("t", "1x8", {}, first=True)


def test_limits_of_an_input() -> None:
    assert fits("4096x4096") and not fits("4096x4097") and not fits("2x0") and fits("1")
    assert inputs_of_shapes("2x3,1x4#9", 1)[1].dtype == torch.int64
    with pytest.raises(TextError, match="an input has more than 16,777,216 numbers"):
        inputs_of_shapes("1x3,4096x4097#5", 1)


def test_assumed_inputs_are_whole_or_of_64_bits_where_the_module_wants_it() -> None:
    real = torch.ones(2, 5)
    assert in_range(TABLE, (real,))[0].max() <= 8 and in_range(TABLE, (real,))[0].shape == (2, 5)
    assert in_range(Net(TABLE), (real,)) == (real,) == in_range(LINEAR, (real,))
    assert len(in_range(TABLE, (real, real))) == 2
    whole, double = torch.ones(2, dtype=torch.int64), small(nn.Linear, 2, 2, dtype=torch.float64)
    kinds = [x.dtype for x in in_format(double, (real, whole))]
    assert kinds == [torch.float64, torch.int64]
    assert in_format(LINEAR, (real,)) == (real,)


class Takes(nn.Module):
    def forward(self, x, *more, y=0):
        return x


class Optional(nn.Module):
    def forward(self, x, a=None, b=None, c=None):
        return x


def test_two_optional_inputs_may_be_given() -> None:
    assert [*optional(Optional())] == [["a"], ["a", "b"]]
    assert [*optional(Takes())] == []


def test_a_model_of_boxes_takes_a_picture_where_its_settings_have_the_size_of_one() -> None:
    source = """
from .layers import Block
class Net(nn.Module):
    def __init__(self, in_channels=3, {0}=(96, 96)):
        super().__init__()
        self.in_channels, self.{0} = in_channels, {0}
        self.block = Block(in_channels)
    def forward(self, x):
        return self.block(x)
"""
    assert source_reader.read_source(source.format("in_size")).shapes == ((1, 3, 96, 96),)
    assert source_reader.read_source(source.format("other")).shapes == ((10, 3),)
