"""A convolution as a matrix and turned over, and one in two steps beside the same at once."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ncd.app.panels.images import convolution_matrix, separable_cost
from ncd.app.panels.images.convolution_matrix import CONVOLUTION_MATRIX, line_matrix
from ncd.app.panels.images.separable_cost import BOTH_WAYS
from ncd.app.state import knobs
from tests.app.panels.views import images, scene, shown, tags

TRANSPOSED = "transposed-convolution"


@pytest.mark.parametrize(
    ("x", "s", "p", "o", "d"), [(4, 1, 0, 0, 1), (3, 2, 1, 1, 1), (5, 3, 0, 2, 2), (1, 2, 0, 0, 1)]
)
def test_a_line_times_the_matrix_is_the_layer_of_torch(
    x: int, s: int, p: int, o: int, d: int
) -> None:
    weight = torch.tensor([1.0, -2.0, 3.0])
    matrix = torch.from_numpy(line_matrix(weight, x, s, p, o, d).copy())
    line = torch.linspace(-1, 2, x)
    wanted = F.conv_transpose1d(line[None, None], weight[None, None], None, s, p, o, 1, d)
    torch.testing.assert_close(matrix @ line, wanted[0, 0])


@pytest.mark.parametrize("settings", [{}, {"n": 1, "s": 3}, {"n": 2, "s": 1, "o": 0}])
def test_both_matrices_are_as_large_as_the_lines_that_they_map(settings: dict[str, int]) -> None:
    here = scene(TRANSPOSED, **settings)
    told = shown(CONVOLUTION_MATRIX, here)
    x, y = here.settings["x"], here.circuit.outputs[0].array[-1].shape[-1]
    assert f"A convolution: {y} places to {x}" in told.text
    assert f"Turned over: {x} places to {y}" in told.text
    left, right = images(told.html)
    assert left.shape[:2] == (x, y) and right.shape[:2] == (y, x)
    assert (left.transpose(1, 0, 2) == right).all()
    sides = [re.findall(r"\* ([\d.]+)\)", own["style"]) for own in tags(told.html, "img")]
    share = f"{x / max(x, y):.4f}", f"{y / max(x, y):.4f}"
    assert sides == [[*share[::-1]], [*share]]
    places = "1 place" if here.settings["s"] == 1 else f"{here.settings['s']} places"
    assert f"the window, {places} further on" in told.text
    assert ("with the middle row" in told.text) == (here.settings["n"] > 1)
    assert "✓ the same" in told.text


def test_the_matrix_is_that_of_the_middle_row_of_the_first_map() -> None:
    here = scene(TRANSPOSED, n=2)
    weight, _ = here.module.parameters()
    line = weight[0, 0, weight.shape[2] // 2].detach()
    matrix, gap = convolution_matrix._compute(here)
    wanted = line_matrix(line, here.settings["x"], *(here.settings[name] for name in "spod"))
    assert (matrix == wanted).all() and gap < 1e-4


def test_as_many_weights_are_more() -> None:
    """At a window of one place both steps have more: 8 and 8 beside 8 at once."""
    told = shown(BOTH_WAYS, scene("depthwise-separable", k=1, c=8, f=1))
    assert "16 / 8 = " in told.text and "2 times more" in told.text
    assert separable_cost._ratio(2, 4, 16, 16).endswith("has no part in it.</p>")
    assert "1 times more" in separable_cost._ratio(2, 4, 16, 16)


def test_a_result_that_is_another_one_is_not_called_the_same() -> None:
    here = scene(TRANSPOSED)
    for gap, mark in ((0.9e-4, "✓ the same"), (1e-4, "here"), (1.0, "here")):
        assert f"is the input here: {mark}, {gap:.1g} apart" in convolution_matrix._words(here, gap)


def test_a_matrix_is_drawn_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    here = scene(TRANSPOSED)
    shape = here.circuit.inputs[0].array.numel
    longest = here.settings["x"] * here.circuit.outputs[0].array[-1].shape[-1]
    for limit, drawn in ((max(shape, longest), True), (max(shape, longest) - 1, False)):
        monkeypatch.setattr(convolution_matrix, "LARGEST", limit)
        told = shown(CONVOLUTION_MATRIX, here)
        assert bool(images(told.html)) is drawn
        assert (f"is drawn up to {limit:,} numbers" in told.text) is not drawn


@pytest.mark.parametrize(
    "settings", [{}, {"k": 5, "s": 2, "x": 11, "c": 4, "f": 3}, {"k": 1, "c": 8, "f": 1}]
)
def test_the_weights_of_both_ways_are_those_of_torchs_layers(settings: dict[str, int]) -> None:
    here = scene("depthwise-separable", **settings)
    k, c, f = (here.settings[name] for name in "kcf")
    told = shown(BOTH_WAYS, here)
    layers = (
        nn.Conv2d(c, f, k, bias=False),
        nn.Conv2d(c, c, k, groups=c, bias=False),
        nn.Conv2d(c, f, 1, bias=False),
    )
    once, each, across = (layer.weight.numel() for layer in layers)
    head, *rows = told.rows
    assert head == ["", "weights", "number", "FLOPs", ""]
    counts = (once, each, across, each + across)
    assert [row[2] for row in rows] == [f"{n:,}" for n in counts]
    flops = [int(row[3].replace(",", "")) for row in rows]
    assert flops[3] == flops[1] + flops[2]
    assert flops[0] * c == flops[2] * c * k * k  # k² products for each one of the last step
    widths = [float(own["width"]) for own in tags(told.html, "rect")]
    longest = max(once, each + across)
    assert widths == [round(100 * n / longest, 1) for n in counts]
    more = "fewer" if each + across < once else "more"
    times = f"{max(once, each + across) / min(once, each + across):.3g} times {more}"
    assert f"{each + across:,} / {once:,} = 1/f + 1/k² = 1/{f} + 1/{k * k} = " in told.text
    assert f"{100 * (each + across) / once:.3g} %: {times}." in told.text
    sizes = {k.name: (k.min, here.settings[k.name], k.max) for k in here.entry.knobs}
    assert told.sliders == {name: sizes[name] for name in "kcf"}


def test_a_slider_of_both_ways_sets_its_knob_only() -> None:
    here = scene("depthwise-separable")
    with patch.object(knobs, "set_values") as put:
        for picked in ("k=5", "c=99999", "c=100000", "q=1", "f=-1", "f=²", "f"):
            separable_cost._pick(here, picked)
    (most,) = [knob.legal(99999) for knob in here.entry.knobs if knob.name == "c"]
    assert [call.args[0] for call in put.call_args_list] == [{"k": 5}, {"c": most}]
