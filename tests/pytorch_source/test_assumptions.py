"""Shapes and values that are assumed where a source does not say them."""

from __future__ import annotations

import pytest
import torch

from ncd.pytorch_source.base.source_operators import is_placeholder
from ncd.pytorch_source.listed.elsewhere import _shape
from ncd.pytorch_source.model_arguments import WIDE, changed_sizes
from ncd.pytorch_source.source_reader import read_source
from ncd.pytorch_source.usual.several_inputs import _input, _ways, width_of


@pytest.mark.parametrize(
    ("given", "change", "found"),
    [
        ({"depth": 2, "dim": 3, "channels": 3}, "several", {"depth": (2,) * 4}),
        ({"depth": 2, "channels": 3, "dim": 3}, "wide", {"channels": WIDE}),
        ({"in_channels": WIDE - 1, "out_channels": WIDE}, "wide", {"in_channels": WIDE}),
        ({"depth": 2, "channels": 3}, "", {}),
    ],
)
def test_sizes_that_are_tried_next(
    given: dict[str, int], change: str, found: dict[str, object]
) -> None:
    assert dict(changed_sizes(given, change)) == found


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
    assert _ways(name, shape, settings, False) == ways
    assert _ways(name, shape, settings, True) == [shape]


def test_a_width_is_the_first_whole_number_of_a_setting_of_its_name() -> None:
    assert width_of({"dim": 4, "d_model": 8}) == 8 and width_of({"dim": "a", "hidden_dim": 2}) == 2
    assert width_of({"depth": 3, "dim": True}) == 0


@pytest.mark.parametrize(
    ("shape", "mask"),
    [("2x16x8", (2, 16)), ("2x3x4x5", (2, 4, 5)), ("2x16#9", (2, 16)), ("7", (7,))],
)
def test_a_mask_has_the_places_of_its_input(shape: str, mask: tuple[int, ...]) -> None:
    found = _input("mask", shape)
    assert found is not None and tuple(found.shape) == mask and found.dtype == torch.bool
    assert _input("None", shape) is None


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
