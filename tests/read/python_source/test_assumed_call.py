"""What a reading assumes is a last line, with which it reads the same and assumes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ncd.notation.term_reader import TextError
from ncd.read.python_source.model_choice import MIN_CHANNELS, other_settings
from ncd.read.python_source.other_files import _shape
from ncd.read.python_source.source_operators import is_placeholder
from ncd.read.python_source.source_reader import read_source
from ncd.read.python_source.structured_inputs import array_of, usual_ways, width_of

NAMES = """
class Net(nn.Module):
    def __init__(self, D_in, H, D_out, q, n):
        super().__init__()
        self.first = nn.Sequential(*[nn.Linear(D_in, D_in) for _ in range(n)])
        self.drop, self.part = nn.Dropout(q), Part(D_in, H)
        self.last = nn.Linear(H, D_out)
    def forward(self, x):
        return self.last(self.drop(self.part(self.first(x))))
class Part(nn.Module):
    def __init__(self, one, two):
        super().__init__()
        self.layer = nn.Linear(in_features=one, out_features=two)
    def forward(self, x):
        return self.layer(x)
"""
LISTS = """
class Head(nn.Module):
    def __init__(self, encoder_channels=(3, 8)):
        super().__init__()
        self.layer = nn.Conv2d(8, 4, 1)
    def forward(self, features):
        return self.layer(features[1]) + features[0].mean()
"""
FLAT = """
class VAE(nn.Module):
    def __init__(self, image_size=784):
        super().__init__()
        self.layer = nn.Linear(image_size, 20)
    def forward(self, x):
        return self.layer(x)
model = VAE()
"""
ROWS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(28, 16, batch_first=True)
    def forward(self, x):
        return self.layer(torch.flatten(x.view(-1, 28, 28), 2))[0]
Net()
"""
SETTINGS = """
n_embd, DEPTH = 24, 3
class Net(nn.Module):
    def __init__(self, n_embd, depth):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(n_embd, 24) for _ in range(depth)])
    def forward(self, x):
        return self.layers(x)
"""
COUNT = """
class Net(nn.Module):
    def __init__(self, dim, kind):
        super().__init__()
        self.layer = nn.Linear(dim, kind * 2)
    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SETTINGS, "Net(n_embd=24, depth=3)(torch.randn(1, 24))"),  # numbers of the source
        (NAMES, "Net(D_in=64, H=64, D_out=10, q=0.0, n=2)(torch.randn(1, 64))"),
        (f"{NAMES}Part\n", "Part(one=64, two=10)(torch.randn(1, 64))"),
        (f"{NAMES}5x64\n", "Net(D_in=64, H=64, D_out=10, q=0.0, n=2)(torch.randn(5, 64))"),
        (LISTS, "Head()([torch.randn(1, 3, 64, 64), torch.randn(1, 8, 32, 32)])"),
        (FLAT, "model(torch.randn(1, 784))"),
        (COUNT, "Net(dim=64, kind=8)(torch.randn(1, 64))"),  # any whole number will do
        (ROWS, "Net()(torch.randn(1, 28, 28))"),
    ],
)
def test_what_is_assumed_is_a_last_line_with_which_nothing_is(text: str, line: str) -> None:
    found = read_source(text)
    assert found.call.line == line
    again = read_source(f"{text.removesuffix('5x64' + chr(10))}\n{line}\n")
    assert (again.term, again.shapes) == (found.term, found.shapes)
    assert (again.call.line, again.call.assumed) == ("", ())


def test_the_name_of_a_class_as_the_last_line_chooses_it() -> None:
    assert read_source(NAMES).call.drawn == "Net"
    chosen = read_source(f"{NAMES}\nPart").call
    assert (chosen.drawn, chosen.classes) == ("Part", ("Net", "Part"))


NEEDS = """
class Net(nn.Module):
    def __init__(self, dim, kind):
        super().__init__()
        self.layer = nn.Linear(dim, 6)
        self.act = {"relu": nn.ReLU(), "gelu": nn.GELU()}[kind]
    def forward(self, x):
        return self.act(self.layer(x))
"""
SAYS_NOTHING = """
class Net(nn.Module):
    def forward(self, one, two):
        return one.view(2, 3) @ two.view(3, 4)
"""


@pytest.mark.parametrize(
    ("text", "line", "filled", "shapes"),
    [
        (NEEDS, "Net(dim=64, kind=...)", "Net(dim=64, kind='relu')", ((1, 6),)),
        (
            SAYS_NOTHING,
            "Net()(..., ...)",
            "Net()(torch.randn(2, 3), torch.randn(3, 4))",
            ((2, 4),),
        ),
    ],
)
def test_what_nothing_tells_is_a_blank_of_the_last_line(
    text: str, line: str, filled: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    with pytest.raises(TextError) as error:
        read_source(text)
    assert error.value.call is not None and error.value.call.line == line
    assert read_source(f"{text}\n{filled}").shapes == shapes


@pytest.mark.parametrize(
    ("given", "error", "found"),
    [
        ({"dim": 3}, "'NoneType' has no len()", {"heads": 4}),
        ({"depth": 2, "dim": 3}, "'int' object is not iterable", {"depth": (2,) * 4}),
        ({"dim": 16}, "object of type 'int' has no len()", {"dim": (16, 32, 64)}),
        ({"n": (2, 3), "m": 4}, "unsupported: 'tuple' and 'int'", {"n": 2}),
        ({"depth": 2, "channels": 3}, "groups must divide", {"channels": MIN_CHANNELS}),
        (
            {"in_channels": MIN_CHANNELS - 1, "out_channels": MIN_CHANNELS},
            "groups must divide",
            {"in_channels": MIN_CHANNELS},
        ),
    ],
)
def test_sizes_that_are_tried_next(
    given: dict[str, Any], error: str, found: dict[str, object]
) -> None:
    defaults = {"heads": None, "depth": 2, "norm": None, "bias": None}
    assert next(other_settings(given, defaults, error)) == found


@pytest.mark.parametrize(
    ("name", "shape", "settings", "ways"),
    [
        ("context", "2x16x8", {}, ["1x16x8", "2x16x8", "1x8"]),
        ("context", "2x16x8", {"dim": 5}, ["1x16x5", "2x16x8", "1x5"]),
        ("context", "2x16#9", {}, ["1x16x2", "2x16#9", "1x2"]),
        ("other", "2x3", {}, ["2x3"]),
    ],
)
def test_shapes_that_are_tried_for_an_input(
    name: str, shape: str, settings: dict[str, int], ways: list[str]
) -> None:
    assert usual_ways(name, shape, settings) == ways
    assert usual_ways(name, shape, settings, first=True) == [shape]


def test_a_width_is_the_first_whole_number_of_a_setting_of_its_name() -> None:
    assert width_of({"dim": 4, "d_model": 8}) == 8 and width_of({"dim": "a", "hidden_dim": 2}) == 2
    assert width_of({"depth": 3, "dim": True}) == 0


@pytest.mark.parametrize(
    ("shape", "mask"),
    [("2x16x8", (2, 16)), ("2x3x4x5", (2, 4, 5)), ("2x16#9", (2, 16)), ("7", (7,))],
)
def test_a_mask_has_the_places_of_its_input(shape: str, mask: tuple[int, ...]) -> None:
    nothing, truths = map(array_of, usual_ways("mask", shape, {}))
    assert nothing is None and tuple(truths.shape) == mask and truths.dtype == torch.bool


@pytest.mark.parametrize(
    ("shape", "args", "named", "found"),
    [
        ((2, 5, 8), (8, 3), {}, [2, 5, 3]),
        ((2, 8, 5), (8, 3), {}, [2, 3, 5]),
        ((2, 8, 4, 4), (8, 3), {}, [2, 3, 4, 4]),
        ((2, 4, 5, 8), (8, 3), {}, [2, 4, 5, 3]),
        ((2, 8, 4, 8), (8, 3), {}, [2, 3, 4, 8]),
        ((2, 8, 8), (8, 3), {}, [2, 8, 3]),
        ((8,), (8, 3), {}, [3]),
        ((2, 5, 8), (8,), {}, [2, 5, 8]),
        ((2, 5, 8), (7, 3), {}, [2, 5, 8]),
        ((2, 5, 8), (8, 0), {}, [2, 5, 8]),
        ((2, 5, 8), (8, True), {}, [2, 5, 8]),
        ((2, 5, 8), (), {"in_features": 8, "out_features": 3}, [2, 5, 3]),
        ((2, 5, 8), (8,), {"out_channels": 3}, [2, 5, 3]),
    ],
)
def test_an_unknown_layer_changes_the_width_that_it_is_given(
    shape: tuple[int, ...], args: tuple[int, ...], named: dict[str, int], found: list[int]
) -> None:
    assert _shape([torch.zeros(2).long(), torch.zeros(shape)], args, named) == found


def test_weights_are_placeholders_and_what_is_computed_is_not() -> None:
    spread = torch.zeros(1).expand(5)
    given = [torch.nn.Parameter(torch.ones(2)), spread, torch.ones(2), torch.zeros(1)]
    assert [is_placeholder(x) for x in given] == [True, True, False, False]


NETS = """
class Settings:
    pass
class Small(nn.Module):
    def forward(self, x):
        return x.relu()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.small = Small()
    def forward(self, x):
        return self.small(x).exp()
{last}
2x3
"""


@pytest.mark.parametrize(
    ("last", "count"), [("Small", 1), ("Net", 2), ("Settings", 2), ("other", 2), ("", 2)]
)
def test_the_class_whose_name_is_the_last_line_is_drawn(last: str, count: int) -> None:
    assert repr(read_source(NETS.format(last=last)).term).count("Elementwise") == count
